"""GSD's rule against worked numbers and its definition in plain lists."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from engine.decoders.gsd import GSDSettings, group, group_acceptance
from tests.engine.decoders.driving import P, near
from tests.floats import rounding


def test_gsd_leaves_out_tokens_of_another_probability_or_look() -> None:
    # variance 1.25: neighbours are 0.2 apart, the next 0.8
    codebook, x = torch.arange(4.0)[:, None], torch.tensor([2])

    def members(**changes: float) -> set[int]:
        settings = GSDSettings(**({"G": 8, "d": 10.0, "delta": 1.0} | changes))
        tokens, inside = group(P[None], x, codebook, settings)
        return set(tokens[inside].tolist())

    assert members() == {0, 1, 2, 3}
    assert members(delta=0.15) == {1, 2, 3}
    assert members(delta=0.05) == {2}
    assert members(d=0.5) == {1, 2, 3}
    assert members(d=0.1) == {2}
    assert members(d=0.0, delta=0.0) == {2}


def oracle(p: Tensor, q: Tensor, x: int, codebook: Tensor, s: GSDSettings) -> float:
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
    ours = group_acceptance(p.expand(codes, -1), q.expand(codes, -1), x, codebook, settings)
    near(ours, [oracle(p.tolist(), q.tolist(), int(i), codebook, settings) for i in x], rounding(1))
