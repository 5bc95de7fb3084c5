"""A lane a racer, without a cluster: racers are threads of this process."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.workers.race_stream import Idle, WorkerFailure
from app.workers.waiting import Waiting
from cluster import lanes_apart
from cluster.lanes_apart import join, race_apart
from cluster.streams import Event, Stream, merge
from engine.failures import Failure
from engine.race import RaceRequest
from engine.trace import Frame, LaneState
from tests.cluster.toys import Ledger, Racing, card, request, until_threads_end
from visualize.board.snapshot import Snapshot, Update
from visualize.pictures.recorded_race import RecordedRace

LANES = ("ar", "sjd", "gsd")


class Listed(list):
    """Events that have come already."""

    def cancel(self) -> None:
        pass


class Silent:
    """A race for which there is no racer yet."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()

    def __iter__(self) -> Iterator[Event]:
        self._cancelled.wait()
        raise RuntimeError("cancelled")
        yield

    def cancel(self) -> None:
        self._cancelled.set()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


def apart(race: RaceRequest, start: Callable[[RaceRequest], Stream]) -> Iterator[Event]:
    return race_apart(race, Waiting(race, card("toy")).board(), start)


def test_the_race_is_that_of_one_device_in_the_order_of_the_lanes_clocks(ledger) -> None:
    race = request(*LANES)
    *events, recording = apart(race, lambda lane: Racing(ledger, lane))
    (*_, alone) = Racing(ledger, race)
    one, several = (RecordedRace.loads(each.text) for each in (alone, recording))
    assert several.trace.header == one.trace.header
    assert several.pictures == one.pictures
    for i in range(len(LANES)):
        ours, theirs = several.trace.table(i), one.trace.table(i)
        assert ours.positions.tobytes() == theirs.positions.tobytes()
        assert ours.steps["nfe"].tolist() == theirs.steps["nfe"].tolist()

    clocks, seen = [0.0] * len(LANES), []
    for frame in several.trace.frames:
        if frame.step is not None:
            clocks[frame.lane] += frame.step.seconds.total
            seen.append(clocks[frame.lane])
    assert seen == sorted(seen)
    assert len(seen) > len(LANES)
    shown = [event for event in events if isinstance(event, Snapshot | Update)]
    assert [event.seq for event in shown] == list(range(1, len(shown) + 1))
    board, boards = shown[0], []
    for event in shown:
        board = board.after(event) if isinstance(event, Update) else event
        boards.append(board)
        assert [lane.title for lane in board.lanes] == ["Vanilla AR", "SJD", "GSD"]
        assert board.apart
    *boards, last = boards
    assert {board.state for board in boards} == {"racing"}
    # What came of the lanes one by one is what the whole race has.
    assert [lane.table for lane in boards[-1].lanes] == [lane.table for lane in last.lanes]
    assert (last.state, last.note, last.recorded) == ("finished", "a hint", False)
    assert sorted(lane.places["passes"] for lane in last.lanes)[0] == 1


def test_two_lanes_of_one_decoder_keep_their_names_and_places(ledger) -> None:
    *_, last, _ = apart(request("sjd", "sjd"), lambda lane: Racing(ledger, lane))
    assert [lane.title for lane in last.lanes] == ["SJD (1)", "SJD (2)"]


def test_a_lane_whose_racer_dies_ends_all(ledger) -> None:
    racings: list[Racing] = []

    def start(lane: RaceRequest) -> Racing:
        die = ConnectionError("lost") if lane.lanes[0].decoder == "gsd" else None
        racings.append(Racing(ledger, lane if die else replace(lane, prompt="held"), die))
        return racings[-1]

    with pytest.raises(ConnectionError, match="lost"):
        list(apart(request(*LANES), start))
    assert all(racing.cancelled.is_set() for racing in racings)
    until_threads_end()
    assert not ledger.racing()


def test_a_failure_in_words_is_the_last_event(ledger) -> None:
    failure = WorkerFailure(Failure.BUG, "no")
    streams = iter([Listed([Idle(), failure]), Racing(ledger, request("sjd", prompt="held"))])
    events = list(apart(request("ar", "sjd"), lambda lane: next(streams)))
    assert events[-1] is failure
    until_threads_end()
    assert not ledger.racing()


def test_closing_ends_every_lane(ledger) -> None:
    racings = [Racing(ledger, request(name, prompt="held")) for name in LANES]
    waiting = iter(racings)
    events = apart(request(*LANES, prompt="held"), lambda lane: next(waiting))
    for event in events:
        if isinstance(event, Snapshot) and ledger.racing():
            break
    events.close()
    until_threads_end()
    assert not ledger.racing()


def test_a_race_can_be_closed_before_it_has_a_racer() -> None:
    waiting = Silent()
    events = merge([waiting])
    assert [event for _, event in itertools.islice(events, 2)] == [Idle(), Idle()]
    events.close()
    until_threads_end()


def test_a_lane_that_fails_stays_in_the_race(ledger) -> None:
    recordings = [[*Racing(ledger, request(name))][-1] for name in LANES[:2]]
    bad, good = (RecordedRace.loads(recording.text) for recording in recordings)
    frames = (Frame(0, LaneState.RACING), Frame(0, LaneState.FAILED, error="no"))
    bad = RecordedRace(replace(bad.trace, frames=frames), None)
    whole = join([bad, good])
    states = {frame.lane: frame.state for frame in whole.trace.frames}
    assert states == {0: LaneState.FAILED, 1: LaneState.FINISHED}
    assert whole.pictures is None


@pytest.mark.parametrize("lacking", ["a lane", "memory"])
def test_a_race_that_is_over_stands_where_it_cannot_be_kept(ledger, monkeypatch, lacking) -> None:
    streams = iter([[*Racing(ledger, request(name))] for name in LANES[:2]])

    def start(_: RaceRequest) -> Listed:
        events = Listed(next(streams))
        return Listed(events[:-1]) if lacking == "a lane" else events

    def fail(*_: object) -> None:
        raise MemoryError

    if lacking == "memory":
        monkeypatch.setattr(lanes_apart, "join", fail)
    *_, last = apart(request(*LANES[:2]), start)
    assert (last.state, last.recorded) == ("finished", False)
    assert [lane.state for lane in last.lanes] == ["finished"] * 2
