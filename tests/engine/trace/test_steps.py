"""Steps reject what cannot have happened, tables join and split, shares keep decisions, and a
lane's figures add up."""

from __future__ import annotations

import base64
import dataclasses
import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders import DECODERS, WHOLE
from engine.race import Lane
from engine.trace import Frame, LaneState, LaneStats, Seconds, Status, Step, StepTable
from engine.trace.rows import DTYPES, SENT, dtypes
from engine.trace.shares import NONE, ONE, quantise, quantise_test, share_values
from engine.trace.steps import step_row, steps_of
from tests.races import race_of
from tests.steps import Spot, build
from tools.judge.toys import Toy


def spot(at: int, status: Status = Status.ACCEPTED) -> Spot:
    return Spot(at, 1, 1, status, 0.5, 0.5, 0.1, 0.9)


def step(
    nfe: int, before: int, after: int, *, drafts: int = 0, seconds: float = 1.0, drafter: int = 0
) -> Step:
    spots = [spot(at) for at in range(before, after)]
    spots += [spot(at, Status.REFINED) for at in range(after, after + drafts)]
    return build(nfe, before, after, spots, Seconds(forward=seconds), drafter)


def test_committed_and_window_split_a_step() -> None:
    made = step(1, 2, 4, drafts=3)
    assert len(made.committed) == 2
    assert len(made.window) == 3
    assert made.rows.position.tolist() == [2, 3, 4, 5, 6]
    assert made.rows.committed.tolist() == [True] * 2 + [False] * 3


def raw(nfe: int, start: int, committed: int, rows: int, touched: int | None = None) -> Step:
    row = step_row(
        nfe, rows, rows if touched is None else touched, committed, 0, (0, 0, 0, 0), False
    )
    empty = StepTable.join([])
    positions = np.zeros(rows, DTYPES["positions"])
    return Step.of(dataclasses.replace(empty, steps=row, positions=positions, start=start))


@pytest.mark.parametrize(("nfe", "start", "committed"), [(0, 0, 1), (1, 0, 0), (1, -1, 2)])
def test_a_step_commits_at_least_one_token(nfe: int, start: int, committed: int) -> None:
    with pytest.raises(ValueError, match="commits at least one"):
        raw(nfe, start, committed, 4)


@pytest.mark.parametrize(("committed", "rows", "touched"), [(2, 0, 0), (2, 1, 1), (2, 2, 3)])
def test_every_committed_position_has_a_row(committed: int, rows: int, touched: int) -> None:
    with pytest.raises(ValueError, match="each has a row"):
        raw(1, 0, committed, rows, touched)


@pytest.mark.parametrize("part", ["forward", "verify", "cache", "draft"])
def test_time_does_not_run_backwards(part: str) -> None:
    with pytest.raises(ValueError, match="backwards"):
        Seconds(**{part: -1e-9})


@pytest.mark.parametrize("state", LaneState)
def test_a_lane_has_an_error_exactly_if_it_failed(state: LaneState) -> None:
    failed = state is LaneState.FAILED
    assert Frame(0, state, error="why" if failed else None).state is state
    with pytest.raises(ValueError, match="exactly if it failed"):
        Frame(0, state, error=None if failed else "why")


def test_steps_and_frames_are_frozen() -> None:
    for record in (step(1, 0, 1).rows, step(1, 0, 1), Seconds(), Frame(0, LaneState.RACING)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, dataclasses.fields(record)[0].name, 5)


@pytest.mark.parametrize("name", WHOLE)
def test_a_table_is_its_steps_and_splits_into_them(name: str) -> None:
    steps = list(DECODERS[name](Toy((4, 4), 12, forced=True)).steps("", 3))
    table = StepTable.join([step.rows for step in steps])
    assert table.split() == [step.rows for step in steps]
    assert list(steps_of(table)) == steps
    for again, step in zip(steps_of(table), steps, strict=True):
        assert (again.nfe, again.before, again.after) == (step.nfe, step.before, step.after)
        assert (again.drafter_passes, again.micros) == (step.drafter_passes, step.micros)
    assert len(table) == len(steps)
    assert table.frontier.tolist() == [0, *(step.after for step in steps)]
    assert table.clock[-1] == pytest.approx(sum(step.seconds.total for step in steps))
    committed = table.position[table.committed]
    assert committed.tolist() == list(range(20))


def test_a_table_without_a_step() -> None:
    empty = StepTable.join([])
    assert empty.split() == []
    assert (empty.frontier.tolist(), empty.clock.tolist()) == ([0], [0])


@given(st.lists(st.none() | st.floats(-0.5, 1.5), max_size=20))
def test_a_share_is_as_near_as_16_bits_come(values: list[float | None]) -> None:
    numbers = np.array([np.nan if x is None else x for x in values], float)
    found = share_values(quantise(numbers))
    assert (np.isnan(found) == np.isnan(numbers)).all()
    np.testing.assert_allclose(found, numbers.clip(0, 1), atol=0.5 / ONE + 1e-12)


NEAR = st.tuples(st.floats(0, 1), st.floats(-3e-5, 3e-5)) | st.just((np.nan, 0.5))


@given(st.lists(NEAR, min_size=1, max_size=20))
def test_rounding_changes_no_decision(pairs: list[tuple[float, float]]) -> None:
    acceptance = np.array([a for a, _ in pairs])
    uniform = np.array([0.5 if np.isnan(a) else np.clip(a + d, 0, 1 - 1e-9) for a, d in pairs])
    a, u = quantise_test(acceptance, uniform)
    known = ~np.isnan(acceptance)
    assert ((u < a) == (uniform < acceptance))[known].all()
    assert (a[~known] == NONE).all()
    np.testing.assert_allclose(share_values(u), uniform, atol=1.6 / ONE)
    np.testing.assert_allclose(share_values(a[known]), acceptance[known], atol=1 / ONE)


def test_base64_of_a_longer_table_begins_with_that_of_a_shorter_one() -> None:
    for name, dtype in DTYPES.items():
        assert dtype.itemsize % 3 == 0, name
        data = np.arange(3 * dtype.itemsize).astype("u1").tobytes()
        texts = [base64.b64encode(data[: n * dtype.itemsize]).decode() for n in range(4)]
        assert all(longer.startswith(shorter) for shorter, longer in itertools.pairwise(texts))


def test_a_touched_token_travels_in_76_bytes() -> None:
    assert 4 * DTYPES["positions"].itemsize / 3 == 76


def test_the_layout_says_where_each_field_is() -> None:
    tables = dtypes().tables
    assert tuple(tables) == SENT
    for name, table in tables.items():
        rows = np.zeros(2, DTYPES[name])
        raw = rows.view("u1").reshape(2, table.size)
        for field, (kind, offset, count) in table.fields.items():
            width = int(kind.removeprefix("Uint").removeprefix("Float")) // 8
            rows[field][1] = np.full(count, 7).reshape(rows[field][1].shape)
            expected = np.full(count, 7, rows[field].dtype).tobytes()
            assert raw[1, offset : offset + width * count].tobytes() == expected
        assert not raw[0].any()


def test_the_trace_is_read_without_torch_a_model_or_a_race(tmp_path) -> None:
    race = race_of(Toy((2, 3), 6), [Lane("sjd"), Lane("gsd")])
    file = tmp_path / "race.json"
    file.write_text(race.trace(list(race)).dumps())
    code = (
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "from engine.trace import Trace\n"
        f"trace = Trace.loads(open({str(file)!r}).read())\n"
        "assert len(trace.table(1)) > 0\n"
        "print(sorted(name for name in sys.modules if name.startswith('engine')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for other in ("race", "decoders", "models"):
        assert f"engine.{other}" not in done.stdout


def test_empty_figures_divide_by_nothing() -> None:
    assert LaneStats().step_compression == LaneStats().mean_acceptance_length == 0


@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.integers(0, 3))
def test_a_lanes_figures_are_the_sum_of_its_steps(lengths: list[int], drafter: int) -> None:
    stats, frontier = LaneStats(), 0
    for nfe, length in enumerate(lengths, 1):
        stats.add(step(nfe, frontier, frontier + length, drafter=drafter))
        frontier += length
    assert (stats.nfe, stats.frontier) == (len(lengths), sum(lengths))
    assert stats.drafter_passes == drafter * len(lengths)
    assert stats.seconds.total == stats.clock == len(lengths)
    for mean in (stats.step_compression, stats.mean_acceptance_length):
        assert mean == pytest.approx(sum(lengths) / len(lengths))
    assert stats.lengths == lengths


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("drafter_passes", 65536), ("drafter_passes", -1), ("micros", Seconds(4295.0).micros)),
        *(("positions", 65536), ("rows", 65536)),
    ],
)
def test_what_a_step_cannot_have_fits_no_row(field: str, value: object) -> None:
    good = dict.fromkeys(("nfe", "rows", "positions", "committed", "drafter_passes"), 1)
    good |= {"micros": (0, 0, 0, 0), "rejected": False}
    step_row(**good)
    with pytest.raises(OverflowError):
        step_row(**good | {field: value})
