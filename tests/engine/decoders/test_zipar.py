"""ZipAR: what it draws from what, against the rule written out; and the price of what nothing
verifies."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from engine.decoders.ar import VanillaAR
from engine.decoders.parallel import Parallel, rounds
from engine.decoders.zipar import ZipAR, ZipARSettings
from engine.models.base import planned
from engine.numerics.distributions import total_variation
from engine.race import Lane, RaceRequest
from engine.settings import SettingError
from engine.trace import LaneStats, Status, Step, StepTable
from engine.trace.shares import NONE, ONE
from tests.floats import STORED
from tests.infill_toys import NeighbourToy
from tests.steps import every
from tools.judge.toys import Toy, infilling

WHOLE = infilling((True,) * 12, "raster", 5)


def decoded(decoder: object, seed: int) -> list[Step]:
    with torch.inference_mode():
        return list(decoder.steps("", seed))


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("lag", [4, 5, 256])
def test_a_lag_of_the_pictures_width_is_vanilla_ar_token_for_token(lag: int, forced: bool) -> None:
    model = Toy((3, 4), 12, forced=forced)
    for seed in range(5):
        steps = decoded(ZipAR(model, ZipARSettings(s=lag)), seed)
        table = StepTable.join([step.rows for step in steps])
        assert table.tokens == VanillaAR(model).generate("", seed)
        assert len(steps) == model.plan.length
        free = model.forced_ids.numpy() < 0
        assert (steps[-1].rows.prices["shift"] == np.where(free, 0, NONE)).all()


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("lag", [1, 2, 3])
def test_a_token_is_drawn_from_what_is_there_before_it_and_priced_by_what_is_not(
    lag: int, forced: bool
) -> None:
    """A toy's distribution is that behind the last two tokens: a token's left neighbour and the one
    before that; for a row's first token the stand-in, or the mark that ends a row, and before it
    the newest of the row above. Its price is TV to that behind the whole picture before it."""
    model, width = Toy((4, 4), 6, forced=forced), 4 + forced
    decoder = ZipAR(model, ZipARSettings(s=lag))
    steps, drawn, q = decoded(decoder, 3), dict[int, int](), dict[int, Tensor]()
    assert len(steps) == width + 3 * lag
    for step in steps:
        found = {}
        for spot in every([step]):
            at = spot.position
            path = [drawn[each] for each in sorted(drawn) if each < at]
            if at % width == 0 and at and at - 1 not in drawn:
                newest = max(each for each in drawn if each // width == at // width - 1)
                path.append(model.forced_ids[at - 1].item() if forced else drawn[newest])
            q[at], found[at] = model.distribution(path), spot.token
            if spot.status is not Status.FORCED:
                assert spot.status is Status.FRESH
                expected = {token: float(q[at][token]) for token, _ in spot.top}
                assert dict(spot.top) == pytest.approx(expected, abs=STORED)
        drawn |= found
    picture = [drawn[at] for at in range(model.plan.length)]
    prices = steps[-1].rows.prices["shift"]
    for at, price in enumerate(prices.tolist()):
        off = total_variation(q[at], model.distribution(picture[:at]))
        expected = NONE if model.forced_ids[at] >= 0 else round(float(off) * ONE)
        assert price == pytest.approx(expected, abs=2)
    priced = prices[prices != NONE] / ONE
    assert (priced > 0.01).sum() > 2
    stats = LaneStats()
    for step in steps:
        assert stats.mean_shift() is None
        stats.add(step)
    assert stats.mean_shift() == pytest.approx(priced.mean())


@pytest.mark.parametrize("reading", ["paper", "code"])
@pytest.mark.parametrize(
    ("grid", "lag"), [((3, 4), 1), ((4, 4), 2), ((5, 7), 3), ((6, 2), 1), ((1, 5), 2)]
)
def test_each_row_is_so_many_tokens_behind_the_one_above(
    grid: tuple[int, int], lag: int, reading: str
) -> None:
    """As many passes as the papers count; the released code draws the whole first row alone."""
    height, width = grid
    steps = decoded(ZipAR(Toy(grid, 6), ZipARSettings(s=lag, reading=reading)), 1)
    first = (width if reading == "code" else lag) if height > 1 else 0
    assert len(steps) == width + first + max(0, height - 2) * lag
    drawn = {spot.position: n for n, step in enumerate(steps) for spot in every([step])}
    for at, n in drawn.items():
        row, column = divmod(at, width)
        behind = lag if row > 1 else first
        assert n == (drawn[at - 1] + 1 if column else drawn[at - width] + behind if row else 0)


def test_a_cell_of_a_round_is_priced_by_the_cells_of_its_round_before_it() -> None:
    model, plan = planned(NeighbourToy((3, 4), 5), WHOLE)
    steps = decoded(Parallel(model, Parallel.Settings(T=3), plan=plan), 2)
    tokens = [int(token) for step in steps for token in step.committed["token"]]
    ends = rounds(12, 3)
    for n, price in enumerate((steps[-1].rows.prices["shift"] / ONE).tolist()):
        known = max(end for end in ends if end <= n)
        p, q = (torch.softmax(model.logits_of(plan, tokens[:end], n), -1) for end in (n, known))
        assert price == pytest.approx(float(total_variation(p, q)), abs=STORED)
    assert steps[-1].rows.prices["shift"].max() > 0.02 * ONE


def test_an_infilling_has_no_rows() -> None:
    with pytest.raises(SettingError, match="ZipAR draws whole pictures: it fills in no part"):
        RaceRequest("a", 0, (Lane("zipar"),), Toy().sampling, "toy", WHOLE)
