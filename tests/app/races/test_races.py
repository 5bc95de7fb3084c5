"""Races as the page asks for them: each has an id by which it is stopped, found again and shown."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

import app.races.live_race
import app.races.race_runner
from app.races import race_table
from app.races.race_table import StoredRace
from app.races.races import NOT_KEPT, NOT_OVER, NOT_YOURS, Races
from app.races.recorded_races import RecordedRaces
from app.settings import AppSettings
from app.workers.between_steps import Work
from app.workers.race_stream import RaceStream
from engine.decoders import DEFAULT
from engine.trace import MAX_BYTES
from tests.app.conftest import (
    NONE_RECORDED,
    VISITOR,
    NoPictures,
    Watched,
    begun,
    form,
    raced,
    ready_pool,
    toy_pool,
    wait_until,
)
from tests.engine.trace.reread import reread
from tools.judge.toys import Toy
from visualize.pictures.recorded_race import RecordedRace

SESSION = VISITOR.session_hash
RELOADED = SimpleNamespace(session_hash="after a reload")


class Slow(Watched):
    """A toy whose race is held after six forward passes until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = threading.Event()

    def forward(self, *window):
        if self.passes == 6:
            assert self.goes_on.wait(300)
        return super().forward(*window)


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def held(slow) -> Any:
    pool = toy_pool(slow)
    pool.loader.wait(300)
    yield Races(pool, RecordedRaces(Path("nowhere")))
    slow.goes_on.set()


def racing(boards: Any) -> dict[str, Any]:
    """The first board of a race that has begun."""
    return next(board for board in boards if board.state == "racing")


def test_a_race_has_its_id_before_its_first_step_and_a_link_to_its_settings(races, model) -> None:
    race = begun(races)
    first = next(race)
    assert (first.state, first.prompt) == ("waiting", "red apple")
    assert first.link.startswith("?prompt=red+apple&seed=7&")
    assert "go=" not in first.link
    boards = [first, *race]
    assert {(board.id, board.link) for board in boards} == {(first.id, first.link)}
    assert boards[-1].state == "finished"
    assert [lane.n for lane in boards[-1].lanes] == [36, 36]
    assert model.open == 0
    assert next(begun(races)).id != first.id


def test_a_race_whose_sampling_does_not_fit_the_picture_is_not_queued(races) -> None:
    races.read(form(knobs={"sampling.guided_tokens": 36}))
    with pytest.raises(gr.Error, match="guided_tokens is a whole number from 0 to 36, "):
        races.read(form(knobs={"sampling.guided_tokens": 37}))


def test_a_race_that_cannot_be_started_leaves_its_place_in_the_queue(races, monkeypatch) -> None:
    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        with pytest.raises(RuntimeError):
            next(begun(races))
    assert raced(races).recording.trace.frames[-1].state.value == "finished"


@pytest.mark.parametrize("broken", ["put", "finish"])
def test_a_fault_in_what_keeps_races_leaves_the_queue_to_others(races, monkeypatch, broken) -> None:
    """Before the race as behind it, and who watches hears of its end."""

    def fail(*_: object) -> None:
        monkeypatch.undo()
        raise MemoryError

    monkeypatch.setattr(race_table.RaceTable, broken, fail)
    with contextlib.suppress(MemoryError):
        list(begun(races, RELOADED))
    assert raced(races).recording.trace.frames[-1].state.value == "finished"


def test_a_race_that_ends_without_memory_for_its_pictures_is_kept_without_them() -> None:
    races = Races(ready_pool(NoPictures()), NONE_RECORDED)
    race = raced(races)
    assert [frame.state.value for frame in race.recording.trace.frames].count("finished") == 2
    assert race.recording.pictures.lanes == (None, None)
    assert [lane.n for lane in races.replay(race).lanes] == [36, 36]
    assert RecordedRace.loads(race.recording.dumps()).trace == reread(race.recording.trace)


def test_a_race_that_no_memory_is_left_to_keep_has_its_end(races, model, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(RaceStream, "trace", fail)
    last = list(begun(races))[-1]
    assert (last.state, last.note) == ("finished", "")
    monkeypatch.undo()
    assert raced(races).recording.trace.frames[-1].state.value == "finished"


def test_a_race_that_is_over_can_be_asked_for_at_once(races, caplog) -> None:
    caplog.set_level(logging.INFO, "app.workers.race_stream")
    race = raced(races)
    assert race.recording.trace.frames[-1].state.value == "finished"
    assert races.show(race.id, SESSION) == {"race": race.id, "key": "", "more": False}
    shown = races.replay(race)
    assert (shown.id, shown.recorded, shown.state) == (race.id, False, "finished")
    assert "race closed" in caplog.text


def test_what_is_not_over_or_not_kept_is_said_in_words(held, slow) -> None:
    """Never another race in its place."""
    before = begun(held, prompt="octopus")
    race_id = racing(before).id
    with pytest.raises(gr.Error) as error:
        held.kept(race_id, SESSION)
    assert error.value.message == NOT_OVER
    slow.goes_on.set()
    list(before)
    assert held.kept(race_id, SESSION).recording.trace.header.prompt == "octopus"
    for gone in ("", "another", None, 5):
        with pytest.raises(gr.Error) as error:
            held.kept(gone, SESSION)
        assert error.value.message == NOT_KEPT
        with pytest.raises(gr.Error, match="no longer kept"):
            held.show(gone, SESSION)


def test_a_page_that_comes_back_finds_its_race_going_on(held, slow) -> None:
    before = begun(held)
    race_id = racing(before).id
    before.close()
    held.leave(SESSION)
    value = held.show(race_id, RELOADED.session_hash)
    assert value == {"race": race_id, "key": held.find(race_id).key, "more": False}
    after = held.find(race_id).watch()
    assert (board := next(after)).id == race_id
    assert board.state == "racing"
    slow.goes_on.set()
    assert list(filter(None, after))[-1].state == "finished"


def test_a_race_that_no_page_looks_at_is_stopped_and_kept(held, slow, monkeypatch) -> None:
    race = begun(held)
    race_id = racing(race).id
    race.close()
    monkeypatch.setattr(app.races.live_race, "UNWATCHED_SECONDS", 0.0)
    before = slow.passes
    slow.goes_on.set()
    wait_until(lambda: slow.open == 0)
    assert slow.passes - before <= 2
    wait_until(lambda: isinstance(held.find(race_id), StoredRace))
    assert held.replay(held.kept(race_id, SESSION)).state == "stopped"
    assert held.kept(race_id, SESSION).raced_here


def test_stop_ends_the_race_with_that_id_within_two_steps(held, slow) -> None:
    race = begun(held)
    race_id = racing(race).id
    held.stop("another", "", SESSION)
    before = slow.passes
    held.stop(race_id, "", SESSION)
    slow.goes_on.set()
    last = list(race)[-1]
    assert slow.passes - before <= 2
    assert (last.state, slow.open) == ("stopped", 0)
    recording = held.kept(race_id, SESSION).recording
    assert {f.lane: f.state.value for f in recording.trace.frames} == {0: "stopped", 1: "stopped"}
    assert RecordedRace.loads(recording.dumps()).trace == reread(recording.trace)
    held.stop(race_id, "", SESSION)


def test_a_race_that_is_stopped_in_the_queue_says_nothing_of_the_queue(held, slow) -> None:
    first = begun(held)
    racing(first)
    second = begun(held, RELOADED)
    waits = next(board for board in second if board.note)
    assert waits.note == "In the queue: 1 race comes before yours."
    held.stop(waits.id, "", RELOADED.session_hash)
    last = list(second)[-1]
    assert (last.state, last.note) == ("stopped", "")
    with pytest.raises(gr.Error, match="never began"):
        held.kept(last.id, RELOADED.session_hash)
    slow.goes_on.set()
    assert list(first)[-1].state == "finished"


def test_another_race_on_the_board_stops_the_one_that_was_there(held, slow) -> None:
    first = begun(held, prompt="octopus")
    race_id = racing(first).id
    second = begun(held, prompt="rocket")
    assert next(second).prompt == "rocket"
    slow.goes_on.set()
    assert list(first)[-1].state == "stopped"
    assert list(second)[-1].state == "finished"
    assert held.kept(race_id, SESSION).recording.trace.frames[-1].state.value == "stopped"


def test_who_watches_another_visitors_race_neither_stops_nor_ends_it(held, slow, file) -> None:
    race = begun(held)
    race_id = racing(race).id
    guest = "a phone in the hall"
    assert held.show(race_id, guest) == {"race": race_id, "key": "", "more": False}
    for key in ("", "another", None, 5):
        with pytest.raises(gr.Error) as error:
            held.stop(race_id, key, guest)
        assert error.value.message == NOT_YOURS
    held.open_file(file, guest, "")
    held.leave(guest)
    slow.goes_on.set()
    assert list(race)[-1].state == "finished"


def test_a_page_that_is_loaded_again_may_stop_its_race_by_its_key(held, slow) -> None:
    """Though the server has not noticed yet that the page before is gone."""
    race = begun(held)
    race_id = racing(race).id
    held.stop(race_id, held.find(race_id).key, RELOADED.session_hash)
    slow.goes_on.set()
    assert list(race)[-1].state == "stopped"


def test_the_visitors_own_race_gives_way_to_a_recording(held, slow, file) -> None:
    race = begun(held)
    racing(race)
    held.open_file(file, SESSION, "")
    slow.goes_on.set()
    assert list(race)[-1].state == "stopped"


def test_programs_leave_nothing_behind_and_end_with_their_call(held, slow) -> None:
    nobody = SimpleNamespace(session_hash=None)
    race = begun(held, nobody)
    race_id = racing(race).id
    race.close()
    before = slow.passes
    slow.goes_on.set()
    wait_until(lambda: slow.open == 0)
    assert slow.passes - before <= 2
    assert held.find(race_id, "") is None


def test_race_over_its_time_is_stopped_and_says_so(races, monkeypatch) -> None:
    monkeypatch.setattr(app.workers.race_stream, "SETTINGS", AppSettings(race_seconds=1e-9))
    last = list(begun(races))[-1]
    assert last.state == "stopped"
    assert "may take at most 1e-09 seconds" in last.note


def test_ready_board_shows_the_default_lanes(races) -> None:
    idle = races.waiting_board()
    assert (idle.state, idle.id) == ("waiting", "")
    assert [lane.decoder for lane in idle.lanes] == list(DEFAULT)


@pytest.fixture
def file(races, tmp_path) -> Path:
    """A recorded race: vanilla AR and SJD."""
    path = tmp_path / "race.json"
    path.write_text(raced(races).recording.dumps())
    return path


def test_a_files_race_has_an_id_as_any_other(races, file) -> None:
    kept = races.kept(races.open_file(str(file), SESSION, "")["race"], SESSION)
    shown = races.replay(kept)
    assert (shown.recorded, shown.state, shown.prompt) == (True, "finished", "red apple")
    assert kept.recording == RecordedRace.loads(file.read_text())
    assert kept.link == shown.link != ""


def test_the_visitors_last_race_stays_at_hand(file) -> None:
    races = Races(toy_pool(Toy()), RecordedRaces(file.parent))
    own = raced(races, prompt="my own")
    races.open_file(str(file), SESSION, "")
    races.show("race", SESSION)
    shown = races.replay(races.kept(races.show(own.id, SESSION)["race"], SESSION))
    assert (shown.prompt, shown.recorded) == ("my own", False)


BARE = b'{"format": "photo-finish-trace", "version": 4}'


@pytest.mark.parametrize(
    ("text", "words"), [(b"\x80\x04\x95", "not JSON"), (b"{}", "not a trace"), (BARE, "damaged")]
)
def test_a_bad_file_is_rejected_with_a_message(races, file, text, words) -> None:
    file.write_bytes(text)
    with pytest.raises(gr.Error, match=words):
        races.open_file(str(file), SESSION, "")


def test_a_file_too_large_is_not_read_or_not_kept(races, file, tmp_path, monkeypatch) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as large:
        large.truncate(MAX_BYTES + 1)
    with pytest.raises(gr.Error, match="larger than 32 MB"):
        races.open_file(str(path), SESSION, "")
    monkeypatch.setattr(app.races.races, "MAX_BYTES", 1000)
    with pytest.raises(gr.Error, match="MB of memory; this page keeps"):
        races.open_file(str(file), SESSION, "")


def test_a_file_that_takes_too_long_to_read_is_given_up_and_lanes_go_on_meanwhile(
    races, file, monkeypatch
) -> None:
    """However busy the machine is: what counts is a processor's time for it."""
    pauses = list[float]()
    monkeypatch.setattr(Work, "pause", lambda work: pauses.append(work.seconds))
    board = races.open_file(str(file), SESSION, "")
    assert len(pauses) > 2 * len(races.kept(board["race"], SESSION).recording.trace.header.lanes)
    monkeypatch.setattr(app.races.races.time, "thread_time", itertools.count(step=2).__next__)
    with pytest.raises(gr.Error, match="takes over 5 seconds, the limit for one file"):
        races.open_file(str(file), SESSION, "")


@pytest.mark.parametrize("path", [None, 5, "", "nowhere.json", "\0", ["a"]])
def test_no_file_is_no_trouble(races, path) -> None:
    with pytest.raises(gr.Error, match=r"no file|not JSON"):
        races.open_file(path, SESSION, "")


def test_a_race_too_large_to_keep_is_shown_and_not_kept(races, monkeypatch) -> None:
    monkeypatch.setattr(race_table, "MAX_BYTES", 1000)
    last = list(begun(races))[-1]
    assert last.state == "finished"
    with pytest.raises(gr.Error, match="no longer kept"):
        races.kept(last.id, SESSION)
