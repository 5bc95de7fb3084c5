"""Parallel rows: SJD and SCD in its first row; what each row's distributions were computed from,
and their prices, against the rule written out. What it commits is in test_rows_exact.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from engine.decoders.rows import ParallelRows, ParallelRowsSettings
from engine.decoders.scd import SCD
from engine.decoders.sjd import SJD
from engine.decoders.window import WindowDecoder
from engine.models.base import MAX_ROWS
from engine.models.supply.card import ModelError
from engine.numerics.distributions import total_variation
from engine.race import Lane, RaceRequest
from engine.settings import SettingError
from engine.trace import LaneStats, Status, Step, StepTable
from engine.trace.rows import DTYPES
from engine.trace.shares import NONE, ONE
from tests.engine.decoders import planted_rows
from tests.floats import STORED
from tests.steps import Spot, spots
from tests.variants import further
from tools.judge.toys import Toy, infilling

RESIDUAL = [{}, {"draws": "fresh"}]
OTHERS = [{"lower_rows": "postponed"}, {"reading": "code"}]


def decoded(decoder: WindowDecoder, seed: int = 0) -> list[Step]:
    with torch.inference_mode():
        return list(decoder.steps("", seed))


def rows(model: Toy, kind: type[ParallelRows] = ParallelRows, **knobs: object) -> ParallelRows:
    return kind(model, ParallelRowsSettings(**knobs))


# One row after the other


def twin(model: Toy, draws: str, window: int) -> WindowDecoder:
    """What the first row is decoded as."""
    if draws == "fresh":
        return SJD(model, SJD.Settings(window=window))
    return SCD(model, SCD.Settings(window=window))


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("draws", ["coupled", "fresh"])
@pytest.mark.parametrize("window", [3, *further(2, 5, 16)])
def test_with_c_the_pictures_width_the_first_row_is_sjds_or_scds(
    window: int, draws: str, forced: bool
) -> None:
    """Token for token and pass by pass, as far as a row goes; then the next one begins."""
    model = Toy((3, 6), 8, forced=forced)
    stride = model.plan.stride
    for seed in range(4):
        steps = decoded(rows(model, c=6, window=window, draws=draws), seed)
        expected = decoded(twin(model, draws, window), seed)
        for step, other in zip(steps, expected, strict=False):
            row = other.committed["token"][: stride - other.before]
            assert step.before == other.before
            assert step.committed["token"].tolist() == row.tolist()
            if step.after == stride:
                break
        table = StepTable.join([step.rows for step in steps])
        position = table.position[table.committed]
        assert position.tolist() == list(range(model.plan.length))


@pytest.mark.parametrize("draws", ["coupled", "fresh"])
@pytest.mark.parametrize("window", [4, *further(2, 9, 16)])
def test_a_picture_of_one_row_is_sjds_or_scds_pass_by_pass(window: int, draws: str) -> None:
    """With all that is recorded of each position."""
    model = Toy((1, 9), 8)
    for seed in range(4):
        found, expected = (
            StepTable.join([step.rows for step in decoded(decoder, seed)])
            for decoder in (
                rows(model, c=1, window=window, draws=draws),
                twin(model, draws, window),
            )
        )
        assert found.positions.tobytes() == expected.positions.tobytes()
        assert found.steps["committed"].tolist() == expected.steps["committed"].tolist()
        assert found.position.tolist() == expected.position.tolist()


# What a row sees


def seen_by(model: Toy, drawn: dict[int, int], found: list[Spot], spot: Spot) -> dict[int, int]:
    """What a token's p was computed from, by position: all that was there before the pass and comes
    before it, and the drafts of its own row. Where the row has not begun, and the one above has
    not ended, a borrowed token stands in for its end: the row's newest, or what the layout forces
    there."""
    stride = model.plan.stride
    row = spot.position // stride
    seen = {at: token for at, token in drawn.items() if at < spot.position}
    for other in found:
        if other.position // stride == row and other.position < spot.position:
            assert other.draft is not None
            forced = int(model.forced_ids[other.position])
            seen[other.position] = forced if forced >= 0 else other.draft
    first = row * stride
    if row and first not in drawn and first - 1 not in drawn:
        newest = max(at for at in drawn if at // stride == row - 1)
        forced = int(model.forced_ids[first - 1])
        seen[first - 1] = forced if forced >= 0 else drawn[newest]
    return seen


def from_what_each_row_saw(model: Toy, steps: list[Step]) -> Iterator[tuple[Spot, Tensor]]:
    """Every row of every step, with the p that it should have had: a toy's distribution is that
    behind the last two tokens."""
    drawn = dict[int, int]()
    for step, found in zip(steps, spots(steps), strict=True):
        for spot in found:
            seen = seen_by(model, drawn, found, spot)
            yield spot, model.distribution([seen[at] for at in sorted(seen)])
        committed = found[: step.after - step.before]
        assert not drawn.keys() & {spot.position for spot in committed}
        above = {spot.position - model.plan.stride for spot in committed}
        assert {at for at in above if at >= 0} <= drawn.keys()
        drawn |= {spot.position: spot.token for spot in committed}
    assert sorted(drawn) == list(range(model.plan.length))


def check_what_was_seen(model: Toy, steps: list[Step]) -> None:
    for spot, p in from_what_each_row_saw(model, steps):
        if int(model.forced_ids[spot.position]) < 0:
            expected = {token: float(p[token]) for token, _ in spot.top}
            assert dict(spot.top) == pytest.approx(expected, abs=STORED), spot


@pytest.mark.parametrize("forced", [*further(False), True])
@pytest.mark.parametrize("c", [1, 2, *further(3), 5])
@pytest.mark.parametrize("knobs", [*RESIDUAL, *OTHERS], ids=str)
def test_a_row_sees_what_is_there_before_it_and_its_own_drafts(
    knobs: dict[str, object], c: int, forced: bool
) -> None:
    model = Toy((4, 5), 6, forced=forced)
    for window, seed in ((2, 1), (3, 2), (5, 3), (8, 4)):
        steps = decoded(rows(model, c=c, window=window, **knobs), seed)
        check_what_was_seen(model, steps)
        at_once = max(len({*(step.rows.position // model.plan.stride)}) for step in steps)
        assert (at_once > 1) == (c < 5), "rows of the picture in one pass"


@pytest.mark.parametrize(
    "bug",
    [planted_rows.OthersDraftsVisible, planted_rows.PassesTheRowAbove, planted_rows.BorrowedKept],
)
def test_a_row_that_sees_something_else_or_goes_too_far_is_found(bug: type[ParallelRows]) -> None:
    model = Toy((4, 5), 6)

    def look() -> None:
        for seed in range(8):
            check_what_was_seen(model, decoded(rows(model, bug, c=1, window=4), seed))

    with pytest.raises((AssertionError, ValueError)):
        look()


def test_no_more_rows_are_read_than_a_pass_may_have() -> None:
    model = Toy((14, 28), 4)
    for window, most in ((8, 12), (12, 8), (16, 6)):
        steps = decoded(rows(model, c=1, window=window), 1)
        assert max(int(step.rows.steps["rows"][0]) for step in steps) <= MAX_ROWS
        assert max(len({*(step.rows.position // 28)}) for step in steps) == most


# Prices


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("knobs", [*RESIDUAL, *OTHERS], ids=str)
def test_a_token_is_priced_by_what_it_did_not_see(knobs: dict[str, object], forced: bool) -> None:
    """TV between its row's p and the model's behind the whole picture before it; its test's own
    shift is 0 where the rule is exact within the row, and not known where it is not."""
    model = Toy((4, 4), 6, forced=forced)
    steps = decoded(rows(model, c=1, window=3, **knobs), 3)
    saw = {spot.position: p for spot, p in from_what_each_row_saw(model, steps)}  # the last p stays
    table = StepTable.join([step.rows for step in steps])
    picture, prices = table.tokens, table.prices["shift"]
    for at, price in enumerate(prices.tolist()):
        off = total_variation(saw[at], model.distribution(picture[:at]))
        expected = NONE if model.forced_ids[at] >= 0 else round(float(off) * ONE)
        assert price == pytest.approx(expected, abs=2)
    priced = prices[prices != NONE] / ONE
    assert (priced > 0.01).sum() > 2
    shift, found = table.positions["shift"], LaneStats()
    tested = table.committed & (table.positions["draft"] != NONE)
    tested &= table.positions["status"] != Status.FORCED
    assert tested.any()
    assert (shift[tested] == (0 if knobs in RESIDUAL else NONE)).all()
    assert (shift[~tested] == NONE).all()
    for step in steps:
        assert found.mean_shift() is None
        found.add(step)
    assert found.mean_shift() == pytest.approx(priced.mean())


@pytest.mark.parametrize("draws", ["coupled", "fresh"])
def test_one_row_after_the_other_costs_nothing(draws: str) -> None:
    model = Toy((3, 4), 6, forced=True)
    prices = decoded(rows(model, c=4, window=3, draws=draws))[-1].rows.prices["shift"]
    assert (prices[model.forced_ids.numpy() < 0] == 0).all()


# What is recorded


@pytest.mark.parametrize("knobs", [*RESIDUAL, *OTHERS], ids=str)
def test_a_steps_rows_are_those_that_it_committed_then_the_others_each_once(
    knobs: dict[str, object],
) -> None:
    decoder, outcomes = rows(Toy((4, 5), 6, forced=True), c=2, window=3, **knobs), set()
    for step in [step for seed in range(6) for step in decoded(decoder, seed)]:
        table = step.rows
        assert table.places.dtype == DTYPES["places"]
        assert len(table.places) == len(table.positions)
        assert not len(table.rejections)
        for part in (table.position[table.committed], table.position[~table.committed]):
            assert (part[1:] > part[:-1]).all()
        assert len({*table.position}) == len(table.position)
        status = map(Status, table.positions["status"].tolist())
        outcomes |= {*zip(status, table.committed.tolist(), strict=True)}
    expected = {(Status.FORCED, True), (Status.FORCED, False), (Status.REFINED, False)}
    expected |= {(each, True) for each in (Status.ACCEPTED, Status.RESAMPLED, Status.FRESH)}
    if knobs == {"lower_rows": "postponed"}:
        expected |= {(Status.REJECTED, False)}
    assert outcomes == expected


def test_of_the_other_rules_nobody_has_said_the_shift() -> None:
    p, q, i = torch.tensor([[0.3, 0.7]]), torch.tensor([[0.5, 0.5]]), torch.zeros(1)
    for knobs in RESIDUAL:
        assert rows(Toy(), **knobs).shift(p, q, i).tolist() == [0.0]
    for knobs in OTHERS:
        assert rows(Toy(), **knobs).shift(p, q, i).isnan().all()


def test_a_probability_that_is_no_number_is_named_by_its_position() -> None:
    model = Toy((2, 3), 3)
    model.logits[:] = torch.tensor([90.0, 0, 0])
    model.logits[0, 0] = torch.nan  # behind two tokens
    with pytest.raises(ModelError, match="at position 2 are not numbers"):
        decoded(rows(model, c=1, window=2))
    model.logits[0, 0] = torch.tensor([90.0, 0, 0])
    model.logits[-1, 0] = torch.nan  # behind one
    with pytest.raises(ModelError, match="at position 1 are not numbers"):
        decoded(rows(model, c=1, window=2))


def test_an_infilling_has_no_rows() -> None:
    known = infilling((True,) * 12, "raster", 5)
    with pytest.raises(SettingError, match="Parallel rows draws whole pictures: it fills in no"):
        RaceRequest("a", 0, (Lane("rows"),), Toy().sampling, "toy", known)
