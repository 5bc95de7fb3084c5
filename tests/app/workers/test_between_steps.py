"""Other work and lanes' steps take turns."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
from starlette.applications import Starlette

from app.page.export import make_file
from app.races.race_events import race_routes
from app.races.race_table import StoredRace
from app.races.races import Races
from app.workers import between_steps, race_stream
from app.workers.between_steps import BETWEEN_STEPS, PART, SHARE, BetweenSteps
from engine.race import Race
from engine.trace import Frame
from tests.app.conftest import NONE_RECORDED, toy_pool
from tests.coroutines import run
from tests.races import race_of, raced
from tests.set_clock import Clock
from tools.judge.toys import Toy
from visualize.pictures.recorded_race import record

LONG = 30.0  # seconds after which a thread counts as one that waits for ever


class Crowd:
    """Counts who is at it, and keeps what was ever so at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps = self._works = 0
        self.seen = set[tuple[int, int]]()

    def come(self, steps: int, works: int) -> None:
        with self._lock:
            self._steps += steps
            self._works += works
            self.seen.add((self._steps, self._works))


def test_no_work_is_done_beside_a_step(monkeypatch) -> None:
    monkeypatch.setattr(between_steps, "PART", 0.0)
    turns, crowd = BetweenSteps(), Crowd()

    def lane() -> None:
        with turns.race():
            for _ in range(200):
                with turns.step():
                    crowd.come(1, 0)
                    crowd.come(-1, 0)

    def film() -> None:
        with turns.work() as work:
            for _ in range(20):
                crowd.come(0, 1)
                crowd.come(0, -1)
                work.pause()

    with ThreadPoolExecutor(5) as threads:
        for done in [threads.submit(each) for each in (lane, film, lane, film, film)]:
            done.result(LONG)
    assert not [(steps, works) for steps, works in crowd.seen if steps and works]
    assert {(1, 0), (0, 1)} <= crowd.seen


@pytest.fixture
def waits() -> Callable[[Callable[[], None]], threading.Thread]:
    """Starts a thread, and returns it once it waits: it has had time to go on and did not."""

    def start(act: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=act, daemon=True)
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
        return thread

    return start


def test_a_step_waits_for_the_part_in_progress_and_work_for_the_step(waits) -> None:
    clock = Clock()
    turns = BetweenSteps(clock)

    def step() -> None:
        with turns.step():
            pass

    with turns.race(), turns.work() as work:
        lane = waits(step)
        work.pause()  # too early
        clock.now = PART
        film = threading.Thread(target=work.pause)
        film.start()
        lane.join(LONG)
        assert not lane.is_alive()
        clock.now = PART / SHARE
        film.join(LONG)
        assert not film.is_alive()
    with turns.step():
        film = waits(lambda: turns.work().__enter__().end())
    film.join(LONG)
    assert not film.is_alive()


def test_beside_a_race_work_has_its_share_of_the_time(waits) -> None:
    clock = Clock()
    turns = BetweenSteps(clock)
    with turns.race():
        with turns.work() as work:
            clock.now = 0.1
            assert work.seconds == 0.1
        more = waits(lambda: turns.work().__enter__().end())
        clock.now = 0.1 / SHARE
        more.join(LONG)
        assert not more.is_alive()


def test_what_hangs_holds_nothing_up(monkeypatch) -> None:
    monkeypatch.setattr(between_steps, "PATIENCE", 0.01)
    turns = BetweenSteps()
    with turns.race(), turns.step(), turns.work():
        pass
    with turns.race(), turns.work(), turns.step():
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_process_that_is_forked_while_a_film_is_made_waits_for_none() -> None:
    with BETWEEN_STEPS.work():
        process = multiprocessing.get_context("fork").Process(target=_step)
        process.start()
        process.join(LONG)
    assert process.exitcode == 0


def _step() -> None:
    between_steps.PATIENCE = 10 * LONG
    with BETWEEN_STEPS.step():
        pass


def test_without_a_race_nothing_waits() -> None:
    clock = Clock()
    turns = BetweenSteps(clock)
    with turns.work(), turns.work() as work:
        clock.now = 10.0
        assert work.seconds == 10.0
    with turns.work():
        pass


RACE = race_of(Toy((2, 2), 4), ["ar", "sjd"])


def test_a_race_computes_each_step_as_one(monkeypatch) -> None:
    """And nothing else: what is drawn of it is charged to nobody."""
    stands = Counter[str]()

    class Watched(BetweenSteps):
        @contextmanager
        def race(self) -> Iterator[None]:
            with super().race():
                stands["race"] += 1
                yield
                stands["race"] -= 1

        @contextmanager
        def step(self) -> Iterator[None]:
            with super().step():
                stands["step"] += 1
                yield
                stands["step"] -= 1

    class Stepping(Race):
        def __iter__(self) -> Iterator[Frame]:
            for frame in super().__iter__():
                assert (stands["race"], stands["step"]) == (1, 1)
                yield frame

    monkeypatch.setattr(race_stream, "BETWEEN_STEPS", Watched())
    stream = race_stream.RaceStream(Stepping(RACE.model, RACE.request), "", float("inf"))
    for _ in stream.events():
        assert not stands["step"]
    assert len(stream.frames) > 4
    assert not stands["race"]


RECORDING = record(raced(RACE.model, ["ar", "sjd"]), RACE.model)


async def _opened() -> None:
    stored = StoredRace("a", RECORDING, "", raced_here=False)
    app = Starlette(routes=race_routes(lambda _: stored, StoredRace.replay, print))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
        await client.get("/races/a/events")


RACES, TEXT = Races(toy_pool(Toy()), NONE_RECORDED), RECORDING.dumps()


def _upload() -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(TEXT)
        file.flush()
        RACES.open_file(file.name, "a visitor", "")


@pytest.mark.parametrize(
    "work",
    [
        lambda: make_file(RECORDING, "CSV of the steps", None, None, print),
        _upload,
        lambda: run(_opened()),
    ],
)
def test_other_work_waits_for_the_step_in_progress(work, waits) -> None:
    with BETWEEN_STEPS.step():
        other = waits(work)
    other.join(LONG)
    assert not other.is_alive()
