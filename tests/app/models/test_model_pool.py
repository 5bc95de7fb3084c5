"""Models on the page: which can race and why others cannot, one public one warm at a time, and what
happens when one fails."""

from __future__ import annotations

import html
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import gradio as gr
import pytest
import torch
from huggingface_hub import constants

import app.models.model_pool
from app.models.model_pool import Availability, Device, check_availability, public_models
from app.page import model_choice
from app.page.form import Fields
from app.page.links import Links
from app.page.model_choice import choices, describe
from app.races import live_race, race_runner
from app.races.races import Races
from app.settings import AppSettings
from app.workers.gpu_errors import DEVICE_LOST, OUT_OF_MEMORY
from engine.decoders import DEFAULT
from engine.models.supply.card import CARDS, ModelCard, ModelError
from engine.models.supply.device import required_bytes, resolve_dtype
from engine.models.supply.progress import Phase, Progress
from tests.app.conftest import NONE_RECORDED, VISITOR, Watched, toy_pool, wait_until
from tests.app.conftest import begun as begun_on
from tools.judge.toys import Toy

JANUS, LLAMAGEN = "janus-pro-1b", "llamagen-256"
PUBLIC = {CARDS[name]: Availability() for name in (JANUS, LLAMAGEN)}
OFF = {CARDS["anole"]: Availability("it is <b>research</b>.", "research only")}
OTHER = gr.Request(session_hash="other")


def over(load, own: Toy | None = None) -> Races:
    """Races over a toy, and public models that `load` loads."""
    return Races(toy_pool(own or Watched(), None, PUBLIC | OFF, load), NONE_RECORDED)


def begun(races: Races, model: str | None = JANUS, visitor: object = VISITOR, **values: object):
    return begun_on(races, visitor, model=model, **values)


@pytest.fixture
def gpu(monkeypatch) -> None:
    """A machine with one, as far as the pool looks."""
    pool = app.models.model_pool
    resolved = {"auto": torch.device("cuda"), "cpu": torch.device("cpu")}
    monkeypatch.setattr(pool, "resolve_device", resolved.__getitem__)


@pytest.fixture
def cpu(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def named(name: str, report=None) -> Watched:
    model = Watched()
    model.name = name
    return model


def test_a_race_on_a_public_model_loads_it_with_progress_on_the_board() -> None:
    goes_on = threading.Event()

    def load(name, report):
        report(Progress(Phase.DOWNLOADING, 0.43, 1_800_000_000, 4_200_000_000))
        assert goes_on.wait(300)
        return named(name)

    race, notes = begun(over(load)), []
    while "43%" not in "".join(notes):
        notes.append(next(race).note)
    assert notes[-1] == "Downloading Janus-Pro 1B, 43% (1.8 of 4.2 GB)"
    goes_on.set()
    last = list(race)[-1]
    assert (last.state, last.model, last.note) == ("finished", JANUS, "")


@pytest.mark.parametrize(
    ("phase", "share", "text"),
    [
        (Phase.LOADING, 0.8, "Loading Emu3-Gen, 80%"),
        (Phase.LOOKING_UP, 0, "Looking for Emu3-Gen, 0%"),
        (Phase.DOWNLOADING, 7, "Downloading Emu3-Gen, 100%"),
        (Phase.WARMING, 1, "Warming up Emu3-Gen, 100%"),
    ],
)
def test_progress_is_a_line_of_text(phase, share, text) -> None:
    assert Progress(phase, share).text("Emu3-Gen") == text


def test_a_model_stays_warm_until_another_is_needed_and_is_freed_first() -> None:
    loads, alive, models = [], [], []

    def load(name, report):
        alive.append([each().name for each in models if each() is not None])
        loads.append(name)
        model = named(name)
        models.append(weakref.ref(model))
        return model

    races = over(load)
    for name in (JANUS, JANUS, None, JANUS, LLAMAGEN, JANUS):
        assert list(begun(races, name, lanes=("ar", "sjd", "lantern")))[-1].state == "finished"
    assert loads == [JANUS, LLAMAGEN, JANUS]
    assert alive == [[], [], []], "at no load is another public model in memory"


def test_the_threads_of_a_race_that_is_over_hold_no_model(monkeypatch) -> None:
    """Neither the race's nor the device's does, where both go on until the next model is loaded."""
    loading, alive, models = threading.Event(), [], []
    end, thread = live_race.LiveRace.end, race_runner.device_thread

    def load(name, report):
        alive.append([each().name for each in models if each() is not None])
        if models:
            loading.set()
        model = named(name)
        models.append(weakref.ref(model))
        return model

    def ends(live, error):
        end(live, error)
        assert loading.wait(300)

    def submit(run, *args):
        may_run = threading.Event()
        future = thread(torch.device("cpu")).submit(lambda: may_run.wait(300) and run(*args))
        future.add_done_callback(lambda _: loading.wait(300))
        may_run.set()
        return future

    monkeypatch.setattr(live_race.LiveRace, "end", ends)
    monkeypatch.setattr(race_runner, "device_thread", lambda _: SimpleNamespace(submit=submit))
    races = over(load)
    for name in (JANUS, LLAMAGEN):
        assert list(begun(races, name, lanes=("ar",)))[-1].state == "finished"
    assert alive == [[], []]


def test_a_model_that_cannot_be_loaded_is_reported_and_the_embedded_one_races_on() -> None:
    tries = []

    def load(name, report):
        tries.append(name)
        raise ModelError("x/y is gated: accept its licence on <https://huggingface.co/x/y>.")

    races = over(load)
    for _ in range(2):
        with pytest.raises(gr.Error, match="embedded model can race") as caught:
            list(begun(races))
        words = "Janus-Pro 1B: x/y is gated: accept its licence on <https://"
        assert caught.value.message.startswith(words)
    assert tries == [JANUS, JANUS], "the next race tries again"
    assert list(begun(races, None))[-1].state == "finished"


def test_the_own_model_races_while_a_public_one_is_loaded_for_another(gpu) -> None:
    goes_on = threading.Event()
    races = over(lambda name, report: goes_on.wait(300) and named(name))
    waits = begun(races, visitor=OTHER)
    assert "Loading" in next(board.note for board in waits if board.note)
    assert list(begun(races, None))[-1].state == "finished"
    goes_on.set()
    assert list(waits)[-1].state == "finished"


def test_a_loading_that_was_left_goes_on_and_the_next_model_waits_for_it() -> None:
    goes_on, loads = threading.Event(), []

    def load(name, report):
        loads.append(name)
        assert goes_on.wait(300)
        return named(name)

    races = over(load)
    left = begun(races)
    waits = next(board for board in left if board.note)
    races.stop(waits.id, "", VISITOR.session_hash)
    list(left)
    other = begun(races, LLAMAGEN)
    next(board for board in other if "Waiting for another model" in board.note)
    goes_on.set()
    assert list(other)[-1].model == LLAMAGEN
    assert loads == [JANUS, LLAMAGEN]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("anole", "Anole 7B cannot race here: it is <b>research"),
        ("dalle", "model must be one of toy, janus-pro-1b"),
    ],
)
def test_what_is_off_or_unknown_is_rejected_with_a_message(name, words) -> None:
    with pytest.raises(gr.Error, match=words):
        next(begun(over(named), name))


def test_the_card_shows_the_reason_and_the_licence_as_text() -> None:
    pool = over(named).pool
    for name, words in (
        ("anole", "Off: it is &lt;b&gt;research&lt;/b&gt;."),
        ("anole", "Chameleon Research License"),
        (JANUS, 'href="https://github.com/deepseek-ai/Janus'),
        (JANUS, 'href="https://huggingface.co/deepseek-community/Janus-Pro-1B"'),
        (JANUS, "Its first race downloads about 4.2 GB."),
        (JANUS, "We have never raced it with its true weights: tell us how it goes."),
    ):
        assert words in describe(pool, name)
    assert "downloads" not in describe(pool, "toy")
    assert "never raced" not in describe(pool, "toy")
    for name in (None, 5, ["anole"], {}, "<script>"):
        assert describe(pool, name) == ""


def test_the_list_says_what_is_off_or_not_downloaded(monkeypatch, tmp_path) -> None:
    pool = over(named).pool
    first, *middle, last = choices(pool)
    assert (first, last) == (("toy", "toy"), ("Anole 7B (off: research only)", "anole"))
    assert ("Janus-Pro 1B (not downloaded)", JANUS) in middle
    monkeypatch.setattr(model_choice, "at_hand", lambda source: tmp_path)
    assert ("Janus-Pro 1B", JANUS) in choices(pool)


class Failing(Watched):
    """A toy whose second lane's forward passes raise."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def forward(self, *window):
        if self.passes > 5 and len(window[1]) > 1:
            raise self._error
        return super().forward(*window)


def test_a_lane_without_memory_says_so_and_the_others_finish() -> None:
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 ...")
    races = over(lambda name, report: Failing(error))
    lanes = list(begun(races))[-1].lanes
    assert [lane.state for lane in lanes] == ["finished", "failed"]
    assert lanes[1].error == OUT_OF_MEMORY
    assert races.pool.availability(JANUS).available


def test_a_lost_gpu_turns_public_models_off_and_the_page_goes_on() -> None:
    error = torch.AcceleratorError("CUDA error: device-side assert triggered")
    races = over(lambda name, report: Failing(error))
    assert list(begun(races))[-1].lanes[1].error == DEVICE_LOST
    reasons = [races.pool.availability(card.name).short_reason for card in races.pool.cards]
    assert reasons == ["", "GPU lost", "GPU lost", "research only"]
    with pytest.raises(gr.Error, match="The GPU was lost"):
        next(begun(races))
    assert list(begun(races, None))[-1].state == "finished"


def test_no_memory_for_a_picture_ends_the_race_with_a_message_and_the_next_runs() -> None:
    races = over(named, own := Watched())
    no_memory = torch.OutOfMemoryError("CUDA out of memory")
    with patch.object(own, "pixels", side_effect=no_memory), pytest.raises(gr.Error) as caught:
        list(begun(races, None))
    assert caught.value.message == OUT_OF_MEMORY
    assert own.open == 0
    assert list(begun(races, None))[-1].state == "finished"


def reasons(**settings: object) -> dict[str, str]:
    found = public_models(AppSettings(**settings))
    return {card.name: here.short_reason for card, here in found.items()}


def test_on_a_cpu_public_models_without_weights_are_off_with_the_reason(monkeypatch, cpu) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", "/nowhere")
    assert set(reasons(torchscript=True).values()) == {"no GPU here", "research only"}
    assert set(reasons(models="all", torchscript=True).values()) == {"no GPU here"}
    only = reasons(models="emu3")
    expected = {"emu3": "no GPU here", JANUS: "not switched on", "anole": "research only"}
    assert expected.items() <= only.items()


def test_a_model_whose_decoder_is_torchscript_is_off_until_the_host_allows_that(
    monkeypatch,
) -> None:
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")  # where there is memory for all
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    off = [name for name, why in reasons().items() if why == "TorchScript off"]
    assert off == ["simplear-512", "simplear-1024"]
    here = check_availability(CARDS[off[0]], AppSettings())
    assert "start the page with PHOTO_FINISH_TORCHSCRIPT=on" in here.reason
    assert reasons(torchscript=True)[off[0]] == ""


@pytest.fixture
def folder(monkeypatch, tmp_path) -> Path:
    """Janus's in the folder of weights, without a file."""
    folder = tmp_path / CARDS[JANUS].repos[0].repo
    folder.mkdir(parents=True)
    monkeypatch.setattr("engine.models.supply.hub.folder_of_weights", tmp_path)
    return folder


@pytest.mark.parametrize(
    ("environment", "free", "hours", "short", "words"),
    [
        ({}, 2.0, 0.1, "", "a picture takes Vanilla AR about 6 minutes and SCD at most 12 minutes"),
        ({"SPACE_ID": "a/b"}, 2.0, 0.1, "no GPU here", "it needs a GPU, and this Space has none."),
        ({}, 0.5, 0.1, "not enough memory", "Janus-Pro 1B needs"),
        ({}, 2.0, 1.1, "too slow here", "a picture takes hours on this machine's processor."),
    ],
)
def test_on_a_cpu_a_public_model_races_where_its_weights_are_and_fit(
    monkeypatch, cpu, folder, environment, free, hours, short, words
) -> None:
    """`free` memory as a multiple of what it needs; `hours` that vanilla AR takes."""
    card = CARDS[JANUS]
    (folder / "model.safetensors").write_bytes(b"")
    monkeypatch.setattr(
        "app.models.model_pool.lane_seconds",
        lambda card, dtype, lane: 3600 * hours * (1 if lane.decoder == "ar" else 2),
    )
    need = required_bytes(card, resolve_dtype(torch.device("cpu")))
    monkeypatch.setattr("engine.models.supply.device.available", lambda device: free * need)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    here = check_availability(card, AppSettings())
    assert here.short_reason == short
    assert words in here.reason + here.note
    chosen(monkeypatch, "auto")
    pool = toy_pool(Toy(), None, {card: here}, named)
    assert pool.opening[0].name == "toy", "never by default"
    assert pool.lanes("toy") == DEFAULT
    assert pool.lanes(JANUS) == (DEFAULT if short else ("ar", "sjd", "scd"))
    if not short:
        links = Links(Races(pool, NONE_RECORDED), Fields({}))
        _, answer = links.open(f"?model={JANUS}", SimpleNamespace(session_hash=""))
        assert answer["form"]["lanes"] == ["ar", "sjd", "scd"], "of a link that names none"
        assert pool.opening[1].endswith("processor: Janus-Pro 1B.")
        assert here.note in html.unescape(describe(pool, JANUS))
        assert "downloads" not in describe(pool, JANUS)


def test_a_model_of_which_the_folder_of_weights_has_a_part_says_what_is_missing(
    cpu, folder
) -> None:
    here = check_availability(CARDS[JANUS], AppSettings())
    assert "bring it into the folder of weights" in here.reason


def test_on_zerogpu_all_that_are_switched_on_may_race(monkeypatch) -> None:
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert reasons()[JANUS] == reasons()["emu3"] == ""
    assert reasons()["anole"] == "research only"


def test_memory_and_the_hub_are_checked_before_a_model_is_available(monkeypatch) -> None:
    settings, card = AppSettings(device="cpu"), CARDS[JANUS]
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("engine.models.supply.device.available", lambda device: 2**30)
    here = check_availability(card, settings)
    assert here.short_reason == "not enough memory"
    assert "needs" in here.reason
    enough = 2 * required_bytes(card, torch.float32)
    monkeypatch.setattr("engine.models.supply.device.available", lambda device: enough)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", "/nowhere")
    here = check_availability(card, settings)
    assert here.short_reason == "offline"
    assert "is not on this machine" in here.reason


def chosen(monkeypatch, name: str) -> None:
    for module in ("app.races.races", "app.models.model_pool"):
        monkeypatch.setattr(f"{module}.SETTINGS", AppSettings(model=name))


def test_the_hosts_model_opens_the_page_where_it_can_race(monkeypatch) -> None:
    chosen(monkeypatch, JANUS)
    races = over(named)
    assert (races.default.model, races.default.sampling) == (JANUS, CARDS[JANUS].sampling)
    assert races.model_note == ""


def test_the_hosts_model_that_cannot_race_is_named_in_the_log_and_on_the_page(
    monkeypatch, caplog
) -> None:
    chosen(monkeypatch, "anole")
    races = over(named)
    assert races.default.model == "toy"
    words = (
        "Anole 7B, which the host chose for this page, cannot race here: it is <b>research</b>."
        " The page opens with toy instead."
    )
    assert f"PHOTO_FINISH_MODEL=anole: {words}" in caplog.text
    links = Links(races, Fields({}))
    notice, _ = links.open("?fbclid=1", SimpleNamespace(session_hash=""))
    assert notice == f'<p class="notice" role="status">{html.escape(words)}</p>'


def test_the_hosts_model_is_loaded_when_the_page_starts(monkeypatch) -> None:
    for name, loaded in ((JANUS, [JANUS]), ("anole", [])):
        loads = []
        chosen(monkeypatch, name)
        pool = over(lambda name, report, loads=loads: loads.append(name) or named(name)).pool
        pool.start()
        assert pool.loader.wait(300).name == "toy"
        if loaded:
            assert pool.wait(JANUS, 300).name == JANUS
        assert loads == loaded


def test_by_itself_the_page_opens_with_the_best_model_to_be_had_that_fits(monkeypatch, gpu) -> None:
    chosen(monkeypatch, "auto")
    missing = {}
    monkeypatch.setattr("app.models.model_pool._missing", lambda card: missing.get(card.name, ""))
    large, small = (CARDS[f"janus-pro-{size}"] for size in ("7b", "1b"))
    everything = {large: Availability(), small: Availability()}
    short = {large: Availability("it needs 15 GiB.", "memory"), small: Availability()}
    neither = dict.fromkeys(everything, Availability("it needs a GPU, and there is none here."))

    def opening(public: dict[ModelCard, Availability]) -> tuple[str, str]:
        card, why = toy_pool(Toy(), None, public, lambda name, report: named(name)).opening
        return card.name, why

    def best(card: ModelCard) -> tuple[str, str]:
        return card.name, f"The page opens with {card.title}, the best model that can race here."

    cannot = "The page opens with toy. Janus-Pro 1B cannot race here: "
    assert opening(everything) == best(large)
    assert opening(short) == best(small)
    assert opening(neither) == ("toy", f"{cannot}it needs a GPU, and there is none here.")
    missing[large.name] = "The hub cannot be reached."
    assert opening(everything) == best(small)
    missing[small.name] = "The hub cannot be reached."
    assert opening(everything) == ("toy", f"{cannot}The hub cannot be reached.")
    assert opening({}) == ("toy", "")


def test_every_device_has_its_own_queue(monkeypatch, gpu) -> None:
    pool = over(named).pool
    assert (pool.device("toy"), pool.device(JANUS)) == (Device.CPU, Device.GPU)
    monkeypatch.setattr(app.models.model_pool, "SETTINGS", AppSettings(device="cpu"))
    assert pool.device(JANUS) == Device.CPU


def test_a_second_race_of_a_visitor_takes_the_place_of_the_first() -> None:
    races = over(named)
    first = begun(races, None)
    while next(first).state != "racing":
        pass
    second = [board for board in begun(races) if board]
    assert list(first)[-1].state == "stopped"
    assert second[-1].state == "finished"


def test_a_race_that_is_not_watched_gives_its_place_in_the_queue_up(monkeypatch) -> None:
    goes_on = threading.Event()
    races = over(lambda name, report: goes_on.wait(300) and named(name))
    first, second, boards = begun(races), begun(races, LLAMAGEN, OTHER), []
    boards.append(next(first))
    watching = threading.Thread(target=lambda: boards.extend(first))
    watching.start()
    waits = next(board for board in second if "queue" in board.note)
    second.close()
    monkeypatch.setattr(live_race, "UNWATCHED_SECONDS", 2.0)
    wait_until(lambda: races.find(waits.id, "") is None)
    goes_on.set()
    watching.join()
    assert boards[-1].state == "finished"
