"""Races that are over: each visitor's last one, visitors' files, and the recorded ones that come
with the page."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest

from app.page.handlers import Races
from app.serving.sessions import MAX_ROWS, Place, RecordedRaces, SessionStore, StoredRace
from engine.trace import MAX_BYTES
from tests.app.conftest import VISITOR, begun, toy_pool
from tests.toy import Toy
from visualize.recorded_race import RecordedRace


def test_a_finished_race_is_stored_for_its_visitor_alone(races) -> None:
    assert races.finished(VISITOR) is None
    last = list(begun(races))[-1]
    trace = races.finished(VISITOR).recording.trace
    assert (trace.header.prompt, [frame.state.value for frame in trace.frames[-1:]]) == (
        last["prompt"],
        ["finished"],
    )
    assert races.finished(SimpleNamespace(session_hash="another")) is None
    races.leave(VISITOR)
    assert races.finished(VISITOR) is None


def test_a_race_that_was_closed_is_stored_as_stopped(races) -> None:
    race = begun(races)
    next(race), next(race)
    race.close()
    trace = races.finished(VISITOR).recording.trace
    assert {frame.lane: frame.state.value for frame in trace.frames} == {0: "stopped", 1: "stopped"}
    assert RecordedRace.loads(races.finished(VISITOR).recording.dumps()).trace == trace


def test_programs_leave_nothing_behind(races) -> None:
    nobody = SimpleNamespace(session_hash=None)
    list(begun(races, nobody, lanes=("ar",)))
    assert races.finished(nobody) is None


@pytest.fixture
def file(races, tmp_path) -> Path:
    """A recorded race: vanilla AR and SJD."""
    list(begun(races))
    path = tmp_path / "race.json"
    path.write_text(races.finished(VISITOR).recording.dumps())
    races.leave(VISITOR)
    return path


def test_a_file_is_put_on_the_board_and_stored(races, file) -> None:
    shown = races.open_file(str(file), VISITOR)
    assert (shown["recorded"], shown["state"], shown["prompt"]) == (True, "finished", "red apple")
    assert races.finished(VISITOR).recording == RecordedRace.loads(file.read_text())


@pytest.fixture
def toured(file) -> Races:
    """Races with a recorded one, which is the tour's too."""
    (file.parent / "tour.json").write_text(file.read_text())
    return Races(toy_pool(Toy()), RecordedRaces(file.parent))


def board_prompt(races: Races) -> str:
    return races.finished(VISITOR).recording.trace.header.prompt


def test_the_visitors_last_race_stays_at_hand(toured, file) -> None:
    recorded = toured.choices(VISITOR)
    list(begun(toured, prompt="my own"))
    assert toured.choices(VISITOR) == [("Your last race: my own", "own"), *recorded]
    for opened in (
        lambda: toured.open_recorded("race", VISITOR),
        lambda: toured.open_file(str(file), VISITOR),
        lambda: toured.open_tour(VISITOR),
    ):
        assert opened()["recorded"]
        assert board_prompt(toured) == "red apple"
        shown = toured.open_recorded("own", VISITOR)
        assert (shown["prompt"], shown["recorded"], shown["state"]) == ("my own", False, "finished")
        assert board_prompt(toured) == "my own"
    another = SimpleNamespace(session_hash="another")
    assert toured.choices(another) == recorded
    with pytest.raises(gr.Error, match="no such recorded race"):
        toured.open_recorded("own", another)


def test_leaving_the_tour_puts_back_what_was_there(toured) -> None:
    assert toured.open_tour(VISITOR)["prompt"] == "red apple"
    assert toured.leave_tour(VISITOR)["recorded"]  # the race that the page opens with
    list(begun(toured, prompt="my own"))
    toured.open_tour(VISITOR)
    shown = toured.leave_tour(VISITOR)
    assert (shown["prompt"], shown["recorded"]) == ("my own", False)
    assert board_prompt(toured) == "my own"


def test_a_race_that_the_tour_stops_comes_back_as_far_as_it_was(toured) -> None:
    race = begun(toured, prompt="cut short")
    next(race), next(race)
    threading.Timer(0.2, race.close).start()  # as gradio does when another event cancels it
    toured.open_tour(VISITOR)
    shown = toured.leave_tour(VISITOR)
    assert (shown["prompt"], shown["state"]) == ("cut short", "stopped")


def test_nothing_is_stored_for_a_visitor_who_left(toured) -> None:
    race = begun(toured)
    next(race), next(race)
    toured.leave(VISITOR)
    race.close()
    assert [name for _, name in toured.choices(VISITOR)] == ["race", "tour"]


def test_a_race_that_is_on_gives_way_to_a_file(races, model, file) -> None:
    race = begun(races, prompt="octopus")
    next(race), next(race)
    races.open_file(str(file), VISITOR)
    before = model.passes
    list(race)
    assert model.passes - before <= 2
    assert races.finished(VISITOR).recording.trace.header.prompt == "red apple"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\x80\x04\x95", "not JSON"),
        (b"{}", "not a trace"),
        (b'{"format": "photo-finish-trace", "version": 4}', "damaged"),
    ],
)
def test_a_bad_file_is_rejected_and_the_board_stays_as_it_was(races, file, text, words) -> None:
    races.open_file(str(file), VISITOR)
    kept = races.finished(VISITOR)
    file.write_bytes(text)
    with pytest.raises(gr.Error, match=words):
        races.open_file(str(file), VISITOR)
    assert races.finished(VISITOR) is kept


def test_a_file_too_large_is_not_read(races, tmp_path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(gr.Error, match="larger than 32 MB"):
        races.open_file(str(path), VISITOR)


@pytest.mark.parametrize("path", [None, 5, "", "nowhere.json", "\0", ["a"]])
def test_no_file_is_no_trouble(races, path) -> None:
    with pytest.raises(gr.Error, match=r"no file|not JSON"):
        races.open_file(path, VISITOR)


def test_recorded_races_are_put_on_the_board_without_a_model(file) -> None:
    def never() -> Toy:
        raise AssertionError("no model is needed")

    races = Races(toy_pool(Toy(), never), RecordedRaces(file.parent))
    assert races.first_board()["prompt"] == "red apple"
    assert races.finished(VISITOR).recording.trace.header.prompt == "red apple"
    assert races.open_recorded("race", VISITOR)["recorded"]
    for name in (None, 5, "../race", "another", ["race"], {}):
        with pytest.raises(gr.Error, match="no such recorded race"):
            races.open_recorded(name, VISITOR)


def test_the_least_recently_used_session_is_dropped_first() -> None:
    store = SessionStore(2)
    kept = [StoredRace(n, RecordedRace.__new__(RecordedRace), 1) for n in range(3)]
    store.put("a", kept[0], Place.BOARD)
    store.put("b", kept[1], Place.BOARD)
    assert store.get("a", Place.BOARD) is kept[0]
    store.put("c", kept[2], Place.OWN, Place.BOARD)
    assert [store.get(session, Place.BOARD) for session in "abc"] == [kept[0], None, kept[2]]


def test_long_races_leave_room_for_fewer() -> None:
    store = SessionStore(10)
    kept = [StoredRace(n, RecordedRace.__new__(RecordedRace), MAX_ROWS - 1) for n in range(2)]
    store.put("a", kept[0], Place.BOARD)
    store.put("b", kept[1], Place.BOARD)
    assert (store.get("a", Place.BOARD), store.get("b", Place.BOARD)) == (None, kept[1])
