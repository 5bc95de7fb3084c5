"""Parallel rows, every outcome of small pictures: a token is a sample of its row's p given what the
row saw, so that where it saw all that it depends on the joint distribution is the model's; and
planted bugs that the same enumeration finds. The mark `exact` is on further variants:
`make test-exact`."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.decoders.rows import ParallelRows, ParallelRowsSettings
from engine.numerics.distributions import one_hot, total_variation
from tests.engine.decoders import planted_rows as planted
from tests.rows_toys import AboveToy, SureToy
from tests.variants import further
from tools.judge.enumeration import CLOSE, StepOutcome, Walk, distance, exactly, walked
from tools.judge.enumeration import Node as WalkNode
from tools.judge.shift import recorded_shift
from tools.judge.symbolic import settled
from tools.judge.toys import Toy

exact = exactly()
CLEAR = 5e-3  # an error of a position that is none of rounding


class ByDistribution(Walk):
    """By position and the p of its row: the probabilities of the tokens that were committed there,
    and of its samples [V] each."""

    def begin(self) -> WalkNode:
        self.drawn: dict[tuple[int, tuple[float, ...]], Tensor] = defaultdict(
            lambda: torch.zeros(2, self.decoder.model.vocab_size)
        )
        return super().begin()

    def leads_on(self, outcome: StepOutcome) -> bool:
        state, v = outcome.after, outcome.verification
        count = state.frontier - outcome.before.state.frontier
        chance = outcome.before.chance * outcome.chance
        places = settled(v.places)[:count]
        tokens = one_hot(state.tokens[places], self.decoder.model.vocab_size)
        for position, token, p in zip(places.tolist(), tokens, v.p[:count], strict=True):
            key = position, tuple(round(share, 12) for share in p.tolist())
            self.drawn[key] += chance * torch.stack([token, p])
        return True

    @property
    def off(self) -> dict[int, float]:
        """By position, TV of what is committed and samples of p, of all p together."""
        found = dict[int, float]()
        for (position, _), (tokens, p) in self.drawn.items():
            found[position] = found.get(position, 0.0) + float(total_variation(tokens, p))
        return found


def rows(model: Toy, kind: type[ParallelRows] = ParallelRows, **knobs: object) -> ParallelRows:
    return kind(model, ParallelRowsSettings(**knobs))


def enumerated(decoder: ParallelRows) -> tuple[dict[int, float], float]:
    """By position how far what is committed is from samples of p, and how far whole pictures are
    from the model's."""
    walk = ByDistribution(decoder)
    joint = walked(walk).joint
    return walk.off, distance(joint, decoder.model.joint_distribution())


def sure(kind: type[SureToy], *, forced: bool = False, seed: int = 0) -> SureToy:
    """Two rows of three tokens: the first one's ends are sure, and the picture's last token."""
    return kind((2, 3), forced=forced, seed=seed, sure=(0, 2, 5 + forced))


SQUARES = [(1, 3), *further((1, 2), (2, 3))]
OBLONGS = [(1, 3), (2, 2), (2, 3), (3, 3)]
forced = pytest.mark.parametrize("forced", [False, *further(True)])
every_draw = pytest.mark.parametrize("draws", ["coupled", "fresh"])
draws = pytest.mark.parametrize("draws", [*further("coupled"), "fresh"])


@exact
@forced
@every_draw
@pytest.mark.parametrize(("c", "window"), SQUARES)
def test_where_a_token_depends_on_its_left_and_the_one_above_nothing_is_lost(
    c: int, window: int, draws: str, forced: bool
) -> None:
    """Whatever it is committed in, both are there: the joint distribution is the model's."""
    model = AboveToy((2, 2), forced=forced)
    off, joint = enumerated(rows(model, c=c, window=window, draws=draws))
    assert max(off.values()) < CLOSE
    assert joint < CLOSE


@pytest.mark.exact
@exact
@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize(("c", "window"), OBLONGS)
def test_nor_where_rows_are_longer(c: int, window: int, forced: bool) -> None:
    draws = "coupled" if (c + window) % 2 else "fresh"
    model = sure(AboveToy, forced=forced)
    off, joint = enumerated(rows(model, c=c, window=window, draws=draws))
    assert max(off.values()) < CLOSE
    assert joint < CLOSE


@pytest.mark.exact
@exact
def test_nor_where_three_rows_are_drawn_at_once() -> None:
    _, joint = enumerated(rows(AboveToy((3, 2), sure=(0, 1, 3)), c=1, window=2, draws="fresh"))
    assert joint < CLOSE


@exact
@draws
@forced
@pytest.mark.parametrize("is_long", [False, *further(True)])
def test_what_a_row_commits_is_a_sample_of_its_p_whatever_it_did_not_see(
    is_long: bool, forced: bool, draws: str
) -> None:
    """Where tokens depend on what rows did not see, the pictures are others: that is the price."""
    model = sure(SureToy, forced=forced) if is_long else SureToy((2, 2), forced=forced)
    off, joint = enumerated(rows(model, c=1, window=3, draws=draws))
    assert max(off.values()) < CLOSE
    assert joint > CLEAR


@exact
@draws
def test_below_the_first_row_what_is_postponed_is_no_sample_of_p(draws: str) -> None:
    decoder = rows(sure(SureToy), c=1, window=3, draws=draws, lower_rows="postponed")
    off, _ = enumerated(decoder)
    assert max(off[position] for position in range(3)) < CLOSE
    assert max(off[position] for position in range(3, 6)) > CLEAR


@exact
@draws
def test_of_the_released_readings_rule_even_one_row_is_not(draws: str) -> None:
    """Where a draft stays behind a rejection: with three drafts at least."""
    for columns, is_off in ((3, False), (4, True)):
        decoder = rows(Toy((1, columns), 2, seed=2), c=1, window=4, draws=draws, reading="code")
        off, joint = enumerated(decoder)
        assert (max(off.values()) > CLEAR) == (joint > CLEAR) == is_off


# Planted bugs: within the rule, then of what a row sees and where it may go


IN_THE_RULE = [
    (planted.Replaced, "fresh", {"grid": (2, 2)}),
    *further(
        (planted.RejectedBelowCommitted, "fresh", {"grid": (2, 2)}),
        (planted.UntestedStays, "fresh", {"grid": (2, 3), "sure": (0, 2, 5)}),
        (planted.RedrawnWithOldDistribution, "fresh", {"grid": (2, 3), "sure": (0, 2, 5)}),
        (planted.NoiseOfTheColumn, "coupled", {"grid": (2, 2)}),
    ),
]
AROUND_IT = [
    (planted.PassesTheRowAbove, {"grid": (2, 2)}),
    *further((planted.EndNotRead, {"grid": (2, 3), "sure": (0, 2, 3)})),
]


def named(value: object) -> str | None:
    return value.__name__ if isinstance(value, type) else None


@exact
@pytest.mark.parametrize(("bug", "draws", "toy"), IN_THE_RULE, ids=named)
def test_a_bug_in_the_rule_is_found(
    bug: type[ParallelRows], draws: str, toy: dict[str, Any]
) -> None:
    off, _ = enumerated(rows(SureToy(**toy), bug, c=1, window=3, draws=draws))
    assert max(off.values()) > CLEAR


@exact
@pytest.mark.parametrize(("bug", "toy"), AROUND_IT, ids=named)
def test_a_bug_in_what_is_there_is_found(bug: type[ParallelRows], toy: dict[str, Any]) -> None:
    _, joint = enumerated(rows(AboveToy(**toy), bug, c=1, window=3, draws="fresh"))
    assert joint > CLEAR


def keeps_what_it_says(decoder: ParallelRows) -> bool:
    """A decoder that records that its tests shift nothing commits samples of p."""
    said = recorded_shift(decoder)
    return said is None or max(enumerated(decoder)[0].values()) < CLOSE


def one_row(kind: type[ParallelRows] = ParallelRows, **knobs: object) -> ParallelRows:
    """Of four tokens, where the released reading is not exact."""
    return rows(Toy((1, 4), 2, seed=2), kind, c=1, window=4, draws="fresh", **knobs)


@pytest.mark.exact
@exact
def test_a_rule_that_is_not_exact_and_is_said_to_be_is_found() -> None:
    assert not keeps_what_it_says(one_row(planted.ReleasedCalledExact, reading="code"))
    assert keeps_what_it_says(one_row(reading="code"))


@pytest.mark.exact
@exact
def test_the_rule_that_is_exact_is_not() -> None:
    assert keeps_what_it_says(one_row())
