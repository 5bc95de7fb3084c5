"""The rest of a picture, given known tokens that came from the same seed: every outcome of both
decodes, whose random numbers have common keys. The mark `exact` is on further variants:
`make test-exact`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from torch import Tensor

from engine.core import Plan
from engine.decoders import DECODERS, FILLING, WHOLE
from engine.decoders.ar import VanillaAR
from engine.decoders.base import Badge
from engine.decoders.window import WindowDecoder
from engine.infilling import FORK, MASKED, ORDERS, Infilling
from engine.models.base import planned
from engine.numerics.randomness import Purpose
from tests.engine.decoders.test_exact import small
from tests.variants import further
from tools.judge.choices import Intervals, Key
from tools.judge.enumeration import CLOSE, Joint, Node, Walk, _steps, distance, exactly
from tools.judge.sampling import log_e_value, rejects
from tools.judge.symbolic import SymbolicNoise
from tools.judge.toys import InfillToy

exact = exactly()
CLEAR = 5e-3  # a difference that is none of rounding
LOSSLESS = [name for name in WHOLE if DECODERS[name].badge is not Badge.CHANGED_DISTRIBUTION]
AGAIN = [name for name in FILLING if DECODERS[name].badge is not Badge.CHANGED_DISTRIBUTION]
Known = Callable[[tuple[int, ...]], Infilling]  # of a picture's tokens


class PlansNoise(SymbolicNoise):
    """Numbers that have one key in every decode with the same seed, as `Noise` keys them."""

    def __init__(self, plan: Plan, numbers: dict[Key, int]) -> None:
        super().__init__()
        self.plan, self.numbers = plan, numbers

    def _of(self, keys: list[list[Key]], shape: tuple[int, int]) -> Tensor:
        plan = self.plan
        own = [
            [(plan.gumbel_stream if key[0] is Purpose.NOISE else plan.stream, *key) for key in row]
            for row in keys
        ]
        return super()._of(own, shape)


def ends(
    decoder: WindowDecoder, numbers: dict[Key, int], intervals: Intervals
) -> Iterator[tuple[tuple[int, ...], float, Intervals]]:
    """Tokens, probability and intervals of every outcome of a decode, given some intervals."""
    walk = Walk(decoder)
    walk.noise = PlansNoise(decoder.plan, numbers)
    start = walk.begin()
    start.intervals = intervals
    nodes: list[Node] = [start]
    while nodes:
        node = nodes.pop()
        if node.state.frontier == decoder.plan.length:
            yield tuple(node.state.tokens.tolist()), node.chance, node.intervals
        else:
            nodes += list(_steps(walk, node))


def off(first: WindowDecoder, second: type[WindowDecoder], known: Known, **knobs: object) -> float:
    """The largest error of a probability of the rest that `second` draws, given what is known.

    `known` makes the infilling of the tokens of a picture, which `first` draws.
    """
    numbers: dict[Key, int] = {}
    settings = second.Settings(**knobs) if knobs else small(second)
    decoders: dict[Infilling, tuple[WindowDecoder, set[int]]] = {}
    ways: dict[Infilling, dict[tuple[Any, ...], float]] = defaultdict(lambda: defaultdict(float))
    for tokens, chance, intervals in list(ends(first, numbers, {})):
        if (infilling := known(tokens)) not in decoders:
            model, plan = planned(first.model, infilling)
            decoder = second(model, settings, plan=plan)
            read = {number for *_, found in ends(decoder, numbers, {}) for number in found}
            decoders[infilling] = decoder, read
        # Numbers that the rest does not read again make no difference to it.
        read = decoders[infilling][1]
        ways[infilling][tuple((n, each) for n, each in sorted(intervals.items()) if n in read)] += (
            chance
        )
    worst = 0.0
    for infilling, starts in ways.items():
        decoder, joint, total = decoders[infilling][0], Joint(), sum(starts.values())
        for narrow, chance in starts.items():
            for tokens, share, _ in ends(decoder, numbers, dict(narrow)):
                joint[tokens] = joint.get(tokens, 0.0) + share * chance / total
        worst = max(worst, distance(joint, decoder.model.joint_distribution(decoder.plan)))
    return worst


def masks(order: str, *masked: int) -> Known:
    """Keep all tokens but those of the cells `masked`."""

    def known(tokens: tuple[int, ...]) -> Infilling:
        codes = (MASKED if cell in masked else token for cell, token in enumerate(tokens))
        return Infilling(tuple(codes), order)

    return known


def fork(kept: int, token: int | None = None) -> Known:
    """Keep the first tokens, then put `token` in the next cell where there is one."""

    def known(tokens: tuple[int, ...]) -> Infilling:
        first = (*tokens[:kept], *([] if token is None else [token]))
        return Infilling((*first, *[MASKED] * (len(tokens) - len(first))), FORK)

    return known


def drawn(name: str, cells: int = 3, **knobs: object) -> WindowDecoder:
    kind = DECODERS[name]
    return kind(InfillToy((1, cells), 2), kind.Settings(**knobs) if knobs else small(kind))


@exact
@pytest.mark.parametrize("order", ["spread", *further("raster")])
@pytest.mark.parametrize("name", AGAIN)
def test_the_seed_that_drew_a_picture_fills_in_a_part_of_it(name: str, order: str) -> None:
    for parent in {"ar", name} & set(LOSSLESS):
        for masked in ((1, 2), (0, 2)):
            assert off(drawn(parent), DECODERS[name], masks(order, *masked)) < CLOSE


BLOCK = {"window": 4, "verification": "block"}
TOGETHER = [  # several drafts are tested together, so that later numbers decide about earlier ones
    *further(("sjd", BLOCK)),
    ("sjd", {**BLOCK, "fresh": "uniform"}),
    ("sjd-pac", {"window": 5, "K": 2, "D": 2, "verification": "traversal", "AC": False}),
]


@exact
@pytest.mark.parametrize(("name", "knobs"), TOGETHER)
def test_a_picture_whose_drafts_were_tested_together_is_drawn_on_with_its_seed(
    name: str, knobs: dict[str, object]
) -> None:
    parent = partial(drawn, name, 4, **knobs)
    for known in (fork(1), fork(1, 0)):
        assert off(parent(), DECODERS[name], known, **knobs) < CLOSE
        assert off(parent(), DECODERS["scd"], known) < CLOSE


@exact
@pytest.mark.parametrize("name", ["scd", *further(*(name for name in LOSSLESS if name != "scd"))])
def test_a_fork_is_drawn_with_its_parents_seed(name: str) -> None:
    """Its Gumbel noise is the parent's too, which decides nothing before its own position."""
    for second in {"ar", name}:
        for known in (fork(1), fork(1, 1)):
            assert off(drawn(name), DECODERS[second], known) < CLOSE


@exact
@pytest.mark.parametrize(
    ("name", "second", "cells", "knobs", "known"),
    [
        ("ar", "ar", 3, {}, masks("spread", 1, 2)),
        ("sjd", "sjd", 3, {}, masks("spread", 1, 2)),
        ("scd", "fpi", 3, {}, masks("raster", 0, 2)),
        ("sjd", "sjd", 4, TOGETHER[1][1], fork(1)),
        ("sjd-pac", "sjd-pac", 4, TOGETHER[2][1], fork(1, 0)),
    ],
)
def test_the_pictures_own_numbers_are_found(
    name: str, second: str, cells: int, knobs: dict[str, object], known: Known
) -> None:
    with patch.object(Infilling, "stream", 0):
        own = knobs if second == name else {}
        assert off(drawn(name, cells, **knobs), DECODERS[second], known, **own) > CLEAR


@pytest.mark.parametrize("order", ORDERS)
def test_keyed_noise_is_the_infillings_own(order: str) -> None:
    """As a race draws, from seeds: the second token of two, given the first."""
    model, counts = InfillToy((1, 2), 2), np.zeros((2, 2), int)
    for seed in range(200):
        first, _ = VanillaAR(model).generate("", seed)
        plan = planned(model, Infilling((first, MASKED), order))[1]
        counts[first, VanillaAR(model, plan=plan).generate("", seed)[0]] += 1
    p = [model.conditional(planned(model, Infilling((t, MASKED), order))[1], []) for t in range(2)]
    assert not any(rejects(log_e_value(*each)) for each in zip(counts, p, strict=True))
