"""GSD's rule against its definition in plain lists."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from engine.decoders.gsd import GSDSettings, group_acceptance, group_acceptances, spread_of
from tests.engine.decoders.driving import near
from tests.floats import rounding


def group_ratio(
    p: Sequence[float], q: Sequence[float], x: int, codebook: Tensor, s: GSDSettings
) -> float:
    """GSD's acceptance as its paper states it, in lists."""
    ranked = sorted(range(len(p)), key=lambda v: (p[v], v))
    at, half = ranked.index(x), s.G // 2
    if p[x] == 0:
        return 0.0
    spread = 4 * codebook.double().var(0, correction=0).sum()
    chosen = [x]
    for y in ranked[max(0, at - half) : at + half]:
        gap = abs(p[y] - p[x])
        apart = float((codebook[y].double() - codebook[x].double()).square().sum() / spread)
        if y != x and gap <= s.delta and apart <= s.d:
            chosen.append(y)
    return min(1.0, sum(p[y] for y in chosen) / sum(q[y] for y in chosen))


@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.integers(1, 60),
    st.floats(0, 2, width=32),
    st.floats(0, 0.5, width=32),
)
def test_gsd_equals_its_definition(seed: int, codes: int, G: int, d: float, delta: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    p, q = torch.softmax(2 * torch.randn(2, codes, generator=generator), -1)
    if seed % 3 == 0:  # as top-k leaves it, with ties at 0
        p = torch.where(p < p.median(), 0, p)
    elif seed % 3 == 1:  # with equal probabilities, which stand by id
        p = (4 * codes * p).round() + 1
    p /= p.sum()
    codebook = torch.randn(codes, 3, generator=generator)
    settings = GSDSettings(G=G, d=d, delta=delta)
    x = torch.arange(codes)
    every, spread = (p.expand(codes, -1), q.expand(codes, -1)), spread_of(codebook)
    ours = group_acceptance(*every, x, codebook, settings, spread)
    defined = [group_ratio(p.tolist(), q.tolist(), int(i), codebook, settings) for i in x]
    near(ours, defined, rounding(1))
    by_one_sort = group_acceptances(p[None], q[None], codebook, settings, spread, codes)
    near(by_one_sort[0], defined, rounding(1))
