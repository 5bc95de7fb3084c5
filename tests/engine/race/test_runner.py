"""Races: the honest clock, failures, stopping, and the same picture twice."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders import DECODERS, WHOLE
from engine.decoders.jacobi_window import SpeculativeSettings
from engine.decoders.sjd import SJD
from engine.models.supply.card import ModelError
from engine.race import MAX_LANES, MAX_PROMPT, MAX_SEED, Lane
from engine.settings import SettingError
from engine.trace import Frame, LaneState, LaneStats, Seconds, Step, StepTable
from tests.races import race_of
from tests.steps import EIGHT, every, retimed
from tools.judge.toys import Toy, ToyContext

BY_ROWS = Lane("rows", DECODERS["rows"].Settings(c=1))
ALL = [BY_ROWS if name == "rows" else Lane(name) for name in EIGHT]
TOO_LONG = "x" * (MAX_PROMPT + 1)


class Counted(Toy):
    """Counts the contexts it gives, and those it got back."""

    def __init__(self, grid: tuple[int, int] = (3, 4), codes: int = 8, **changes: object) -> None:
        super().__init__(grid, codes, **changes)
        self.given = self.back = 0

    def start(self, prompt: str, *more: Any) -> ToyContext:
        self.given += 1
        context = super().start(prompt, *more)
        close = context.close

        def closed() -> None:
            self.back += 1
            close()

        context.close = closed
        return context


def steps(frames: Iterable[Frame], lane: int = 0) -> list[Step]:
    return [frame.step for frame in frames if frame.lane == lane and frame.step]


def timeless(frames: Iterable[Frame], lane: int = 0) -> list[Step]:
    return [retimed(step, Seconds()) for step in steps(frames, lane)]


@pytest.mark.parametrize("forced", [False, True])
def test_every_lane_finishes_with_every_position_committed_once(forced: bool) -> None:
    model = Counted(forced=forced)
    frames = list(race_of(model, ALL, "a prompt", 7))
    for lane, entry in enumerate(ALL):
        mine = [frame for frame in frames if frame.lane == lane]
        assert mine[0] == Frame(lane, LaneState.RACING)
        states = [LaneState.RACING] * (len(mine) - 1) + [LaneState.FINISHED]
        assert [frame.state for frame in mine] == states, entry
        taken = steps(frames, lane)
        assert [step.nfe for step in taken] == list(range(1, len(taken) + 1))
        assert [step.before for step in taken] == [0, *(step.after for step in taken[:-1])]
        table = StepTable.join([step.rows for step in taken])
        assert sorted(table.position[table.committed]) == list(range(model.plan.length))
        for spot in every(taken):
            token = int(model.forced_ids[spot.position])
            assert spot.token == token if token >= 0 else spot.token < model.vocab_size
            assert (spot.draft is None) or 0 <= spot.draft < model.vocab_size
            for share in (spot.top1, spot.top1_draft, spot.tv, spot.acceptance):
                assert share is None or 0 <= share <= 1
    audits = 1  # of Parallel rows
    assert model.given == model.back == len(ALL) + audits


def test_the_lane_furthest_behind_steps_next() -> None:
    """Read from the frames alone: the next lane has the least seconds of those still running."""
    frames = list(race_of(Counted((4, 6)), ALL, "a prompt", 3))
    clocks, running = [LaneStats() for _ in ALL], set(range(len(ALL)))
    moves = 0
    for frame in frames[len(ALL) :]:
        assert clocks[frame.lane].clock == min(clocks[lane].clock for lane in running)
        clocks[frame.lane].add(frame.step)
        if frame.state is LaneState.FINISHED:
            running.remove(frame.lane)
        moves += 1
    assert not running
    assert moves > 24


@pytest.mark.parametrize("name", WHOLE)
def test_the_same_seed_gives_the_same_trace_twice_and_another_seed_another(name: str) -> None:
    def run(seed: int) -> list[Step]:
        return timeless(race_of(Counted((4, 4), 16), [Lane(name)], seed=seed))

    assert run(5) == run(5)
    assert [s.committed.tobytes() for s in run(5)] != [s.committed.tobytes() for s in run(6)]


def test_a_lanes_steps_do_not_depend_on_the_other_lanes() -> None:
    together = list(race_of(Counted(), ALL, seed=5))
    for lane, entry in enumerate(ALL):
        assert timeless(together, lane) == timeless(race_of(Counted(), [entry], seed=5))


def test_one_lanes_failure_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SJD.verify

    def verify(self: SJD, state: object, *args: object) -> object:
        if state.step == 2:
            raise RuntimeError("a bolt came loose")
        return real(self, state, *args)

    monkeypatch.setattr(SJD, "verify", verify)
    model = Counted()
    frames = list(race_of(model, [Lane("ar"), Lane("sjd"), Lane("jacobi")], "a prompt", 4))
    last = {frame.lane: frame for frame in frames}
    assert last[1].state is LaneState.FAILED
    assert last[1].error == "RuntimeError: a bolt came loose"
    assert len(steps(frames, 1)) == 2
    assert {last[0].state, last[2].state} == {LaneState.FINISHED}
    assert model.given == model.back == 3


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("no such prompt"), "ValueError: no such prompt"),
        (ModelError("It is too long."), "It is too long."),
    ],
)
def test_a_model_that_cannot_start_fails_the_lane_and_not_the_race(
    error: Exception, words: str
) -> None:
    class Broken(Counted):
        def start(self, prompt: str, *more: Any) -> ToyContext:
            raise error

    frames = list(race_of(Broken(), [Lane("ar")], "a prompt", 4))
    assert [frame.state for frame in frames] == [LaneState.RACING, LaneState.FAILED]
    assert frames[-1].error == words


def test_stop_ends_the_race_after_the_step_in_progress() -> None:
    model = Counted()
    race = race_of(model, ALL, "a prompt", 4)
    frames = []
    for frame in race:
        frames.append(frame)
        if len(frames) == len(ALL) + 5:
            race.stop()
    assert len(frames) == 2 * len(ALL) + 5
    assert [frame.state for frame in frames[-len(ALL) :]] == [LaneState.STOPPED] * len(ALL)
    assert model.given == model.back


def test_a_full_collection_in_a_race_does_not_look_at_what_was_there_before() -> None:
    """It would be charged to a lane."""
    race = iter(race_of(Toy(), [Lane("ar")], "a prompt"))
    next(race)
    assert gc.get_freeze_count() > 10_000
    race.close()
    assert gc.get_freeze_count() == 0


def test_stop_from_another_thread_and_before_the_first_frame() -> None:
    model = Counted()
    race = race_of(model, ALL, "a prompt", 4)
    thread = threading.Thread(target=race.stop)
    thread.start()
    thread.join()
    assert not any(frame.step for frame in race)
    assert model.given == model.back


@pytest.mark.parametrize("after", [0, 1, 3, len(ALL), len(ALL) + 1, len(ALL) + 7])
def test_a_race_that_is_left_gives_its_contexts_back(after: int) -> None:
    model = Counted()
    frames = iter(race_of(model, ALL, "a prompt", 4))
    for _ in range(after):
        next(frames)
    frames.close()
    assert model.given == model.back
    assert list(frames) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lanes": []}, f"1 to {MAX_LANES} lanes, not 0"),
        ({"lanes": [Lane("ar")] * (MAX_LANES + 1)}, f"1 to {MAX_LANES} lanes, not {MAX_LANES + 1}"),
        ({"prompt": ""}, "prompt is empty"),
        ({"prompt": " \n\t"}, "prompt is empty"),
        ({"prompt": None}, "should show, as text"),
        ({"prompt": "an\0apple"}, "holds a NUL"),
        ({"prompt": "an apple \ud83c"}, "half a character"),
        ({"prompt": TOO_LONG}, f"has {MAX_PROMPT + 1} characters; at most {MAX_PROMPT}"),
        ({"seed": -1}, f"whole number from 0 to {MAX_SEED}"),
        ({"seed": MAX_SEED + 1}, "whole number"),
        ({"seed": 1.0}, "whole number"),
        ({"seed": True}, "whole number"),
        ({"seed": "7"}, "whole number"),
    ],
)
def test_what_cannot_be_raced_is_rejected_with_a_message(changes: dict, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        race_of(Counted(), **{"lanes": [Lane("ar")], **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"lanes": [Lane("ar")] * MAX_LANES},
        *({"prompt": "x" * MAX_PROMPT}, {"seed": MAX_SEED}, {"seed": 0}),
    ],
)
def test_the_ends_of_what_can_be_raced(changes: dict) -> None:
    race = race_of(Counted((1, 2)), **{"lanes": [Lane("ar")], **changes})
    assert {frame.state for frame in race} == {LaneState.RACING, LaneState.FINISHED}


def test_a_lane_is_of_a_known_decoder_with_its_own_settings() -> None:
    with pytest.raises(SettingError, match="no decoder called 'jet'; there are ar,"):
        Lane("jet")
    with pytest.raises(SettingError, match="not settings of sjd-pac"):
        Lane("sjd-pac", SpeculativeSettings())
    assert Lane("sjd").settings == DECODERS["sjd"].Settings()
    with pytest.raises(TypeError, match="sjd-pac takes PACSettings"):
        DECODERS["sjd-pac"](Counted(), SpeculativeSettings())


@given(st.integers(0, 2**53 - 1), st.text(min_size=1, max_size=50).filter(str.strip))
def test_any_seed_and_prompt_race(seed: int, prompt: str) -> None:
    assert len(list(race_of(Counted((1, 2)), [Lane("sjd")], prompt, seed))) >= 2
