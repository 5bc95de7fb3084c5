"""A race in progress and those who watch it, without a model: its thread is the test's."""

from __future__ import annotations

import asyncio
import threading
import zlib
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor

import gradio as gr
import pytest

import app.races.live_race
from app.races.event_stream import GZIP
from app.races.fair_queue import Ticket
from app.races.live_race import LiveRace
from app.workers.waiting import Waiting
from engine.race import Lane, RaceRequest
from engine.settings import Sampling
from engine.trace import Frame, LaneState
from tests.app.conftest import toy_card
from tests.visualize.races import frame, pixels, step, toy_race
from tools.judge.toys import Toy
from visualize.board.board import Board

LANES = ("ar", "sjd")


class Raced:
    """A board of two lanes of 16 tokens, and its race."""

    def __init__(self) -> None:
        self.board = Board(toy_race(LANES, side=4).header, pixels, preview=pixels)
        lanes = tuple(map(Lane, LANES))
        request = RaceRequest("red apple", 7, lanes, Sampling(), "toy")
        waiting = Waiting(request, toy_card(Toy((4, 4))))
        self.live = LiveRace("id", waiting, "?", Ticket("me", "", "cpu"))

    def step(self, lane: int, before: int, after: int) -> None:
        self.board.fold(frame(lane, step(before, after), 16))
        self.live.show(self.board.update())

    def finish(self) -> None:
        for lane in range(2):
            self.board.fold(frame(lane, step(0, 16), 16))
        self.live.show(self.board.update())
        self.live.end(None)


@pytest.fixture
def raced() -> Raced:
    return Raced()


def text_of(chunks: list[bytes]) -> str:
    return zlib.decompressobj(GZIP).decompress(b"".join(chunks)).decode()


def numbers(chunks: list[bytes]) -> list[int]:
    return [int(line[4:]) for line in text_of(chunks).splitlines() if line.startswith("id: ")]


def run(watch: Coroutine[None, None, None]) -> None:
    """On a thread of its own: a browser test before this one may have left its event loop running
    on the main one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, watch).result()


async def read(live: LiveRace, chunks: list[bytes]) -> None:
    async for chunk in live.stream():
        chunks.append(chunk)


def test_everyone_is_sent_every_event_once_from_the_first_on(raced) -> None:
    """Whenever they come; those who come after the end, too."""
    early, late, last = [], [], []

    async def watch() -> None:
        first = asyncio.create_task(read(raced.live, early))
        while not early:
            await asyncio.sleep(0)
        await asyncio.to_thread(raced.step, 0, 0, 3)
        second = asyncio.create_task(read(raced.live, late))
        await asyncio.to_thread(raced.step, 1, 0, 5)
        await asyncio.to_thread(raced.finish)
        await asyncio.gather(first, second, read(raced.live, last))

    run(watch())
    assert numbers(early) == [0, 1, 2, 3, 4]
    assert text_of(early) == text_of(late) == text_of(last)
    assert text_of(last).count("event: snapshot") == 1
    assert '"state":"finished"' in text_of(last).splitlines()[-2]


def test_a_program_sees_the_same_as_whole_boards(raced) -> None:
    boards = raced.live.watch()
    assert [lane.n for lane in next(boards).lanes] == [0, 0]
    thread = threading.Thread(target=raced.step, args=(0, 0, 3))
    thread.start()
    board = next(filter(None, boards))
    assert [lane.n for lane in board.lanes] == [3, 0]
    assert board.lanes[0].table["steps"]
    closing = threading.Thread(target=raced.finish)
    closing.start()
    *_, last = filter(None, boards)
    for each in (thread, closing):
        each.join()
    assert (last.state, [lane.n for lane in last.lanes]) == ("finished", [16, 16])
    assert last.results
    assert raced.live.wait(0)


def test_that_a_race_is_over_is_shown_when_it_can_be_asked_for(raced) -> None:
    for lane in range(2):
        raced.board.fold(frame(lane, step(0, 16), 16))
    raced.live.show(raced.board.update())
    board = raced.live.board
    assert (board.state, board.results) == ("racing", ())
    assert [lane.state for lane in board.lanes] == ["finished"] * 2
    assert not raced.live.wait(0)
    raced.live.end(None)
    assert raced.live.board.state == "finished"
    assert len(raced.live.board.results) == 2


def test_an_error_is_said_on_the_board_and_to_programs(raced) -> None:
    raced.step(0, 0, 3)
    raced.live.end(gr.Error("1 < 2", print_exception=False))
    board = raced.live.board
    assert (board.state, board.note) == ("stopped", "1 < 2")
    assert [lane.state for lane in board.lanes] == ["stopped"] * 2
    for watch in (lambda: list(raced.live.watch()), lambda: raced.live.wait(0)):
        with pytest.raises(gr.Error):
            watch()


def test_nobody_waits_for_one_who_is_slow(raced, monkeypatch) -> None:
    """Who does not come back for more holds the race up once, whatever it is sent from then on."""
    monkeypatch.setattr(app.races.live_race, "PASS_ON_SECONDS", 0.2)
    waits = []
    wait_for = raced.live._turn.wait_for
    monkeypatch.setattr(
        raced.live._turn,
        "wait_for",
        lambda until, seconds: waits.append(until()) or wait_for(until, seconds),
    )

    async def watch() -> None:
        stream = raced.live.stream()
        await anext(stream)
        reading = asyncio.create_task(anext(stream))  # comes back, and takes the next
        await asyncio.sleep(0)
        await asyncio.to_thread(raced.step, 0, 0, 1)
        await reading
        await asyncio.to_thread(raced.step, 0, 1, 2)
        await asyncio.to_thread(raced.step, 0, 2, 3)
        await stream.aclose()

    run(watch())
    assert waits == [False, True, True]


def test_a_race_that_nobody_watches_ends(raced, monkeypatch) -> None:
    monkeypatch.setattr(app.races.live_race, "UNWATCHED_SECONDS", 0.0)
    boards = raced.live.watch()
    next(boards)
    assert not raced.live.ends
    boards.close()
    assert raced.live.ends
    assert "no page was watching it" in raced.live.reason


def test_bets_are_placed_until_a_lane_is_half_way_and_counted(raced) -> None:
    live = raced.live
    assert live.bet("one voter", 0)
    assert live.bet("another voter", 1)
    assert live.bet("one voter", 1), "instead of the one before"
    assert not live.bet("a third voter", 2), "there are two lanes"
    raced.step(1, 0, 7)
    assert live.board.bets == (0, 2)
    assert live.bet("a third voter", 0)
    raced.step(1, 7, 8)
    assert not live.bet("a fourth voter", 0)
    raced.board.fold(Frame(0, LaneState.STOPPED))
    raced.board.fold(Frame(1, LaneState.STOPPED))
    live.show(raced.board.update())
    live.end(None)
    assert live.board.bets == (1, 2)
    assert not live.bet("one voter", 0)


def test_no_more_bets_are_kept_than_there_is_room_for(raced, monkeypatch) -> None:
    monkeypatch.setattr(app.races.live_race, "MAX_BETS", 2)
    assert [raced.live.bet(f"voter {i}", 0) for i in range(3)] == [True, True, False]
    assert raced.live.bet("voter 0", 1)
