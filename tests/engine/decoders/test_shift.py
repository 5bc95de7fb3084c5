"""Shifts: of LANTERN's trees, and with static shapes. That of every rule on a chain is in
test_rules.py."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from engine.decoders.base import Badge
from engine.decoders.lantern import Lantern, LanternSettings
from engine.decoders.lantern_tree import TreeWalk
from engine.decoders.relaxed import RelaxedSJD
from engine.decoders.sjd import SJD
from engine.decoders.window import WindowDecoder
from engine.numerics.distributions import one_hot, total_variation
from engine.settings import Sampling
from engine.trace import LaneStats
from tests.engine.decoders.test_rules import CHANGED
from tests.floats import rounding
from tools.bench.grids import random_model
from tools.judge.toys import Toy

CODES = 18
TOY = Toy((2, 12), CODES, seed=3)
LOSSY = [kind(TOY, kind.Settings(**knobs)) for kind, knobs, _ in CHANGED]


def pairs(seed: int, rows: int = 3, codes: int = CODES) -> tuple[Tensor, Tensor]:
    """p and q [rows, V] as windows have them: the second row's q one-hot, the third's p and q with
    tokens that top-k leaves out, not the same ones."""
    generator = torch.Generator().manual_seed(seed)
    p, q = torch.softmax(1.5 * torch.randn(2, rows, codes, generator=generator), -1)
    q[1] = one_hot(torch.randint(codes, (), generator=generator), codes)
    for row in (p[2], q[2]):
        row[torch.randperm(codes, generator=generator)[: codes // 2]] = 0
        row /= row.sum()
    return p, q


@pytest.mark.parametrize(("delta", "lossless"), [(0.0, True), (0.3, False), (1.0, False)])
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_a_tree_s_shift_is_that_of_its_walks(delta: float, lossless: bool, seed: int) -> None:
    """Every node's children tried one by one by the released walk: accepted in order, at last a
    sample of what they left."""
    lantern = Lantern(TOY, LanternSettings(k=6, delta=delta))
    generator = torch.Generator().manual_seed(seed)
    parents = (0, 0, 0, 0, 1, 1, 4)
    nodes = torch.cat([torch.randperm(CODES, generator=generator)[:3], torch.tensor([4, 9, 2])])
    p = torch.softmax(1.5 * torch.randn(7, CODES, generator=generator), -1)
    walk = TreeWalk(nodes, parents, p, lantern._neighbourhood)
    for _ in range(3):
        walk.descend(torch.zeros(3))  # the first child of each
    walk.finish(torch.full((4,), 0.5))
    expected = []
    for row, tokens in ((0, nodes[:3].tolist()), (1, [4, 9]), (4, [2])):
        left, reached = p[row].double(), 1.0
        committed = torch.zeros(CODES, dtype=torch.float64)
        for x in tokens:
            members, added = lantern._neighbourhood(left[None].float(), torch.tensor([x]))
            a = min(1.0, float(left[x]) + float(added))
            committed[x] += reached * a
            reached *= 1 - a
            rest = left.masked_fill(members[0], 0)
            rest[x] = 0
            left = rest / rest.sum() if rest.sum() > 0 else left
        expected.append(float(total_variation(committed + reached * left, p[row].double())))
    found, whole = walk.shift(), torch.tensor(expected).double()
    torch.testing.assert_close(found, whole, atol=rounding(1), rtol=0)
    assert (found.max() < rounding(1)) == lossless


@pytest.mark.parametrize("decoder", LOSSY, ids=lambda d: f"{d.name} {d.settings}"[:70])
def test_static_shapes_have_the_same_shift(decoder: WindowDecoder) -> None:
    """But where a distribution holds over twice top-k tokens: there is none."""
    p, q = pairs(4)
    p[2, p[2].argsort()[:-4]] = q[2, q[2].argsort()[:-4]] = 0  # of 4 tokens each
    wide = type(decoder)(Toy((2, 12), CODES, seed=3), decoder.settings, Sampling(top_k=CODES // 2))
    narrow = type(decoder)(wide.model, decoder.settings, Sampling(top_k=3))
    wide.model.static = True
    expected = decoder.shift(p, q, torch.arange(len(p)))
    torch.testing.assert_close(wide.shift(p, q, torch.arange(len(p))), expected)
    found = narrow.shift(p, q, torch.arange(len(p)))
    torch.testing.assert_close(found[2], expected[2])
    if not isinstance(decoder, RelaxedSJD):
        assert found[0].isnan()


@pytest.mark.parametrize("block", [1, 5, 17])
def test_neighbourhoods_held_in_blocks_are_the_same(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    p, q = pairs(9)
    decoder = Lantern(TOY, LanternSettings(k=8, delta=0.3))
    expected = decoder.committed(p, q, torch.arange(len(p)))
    monkeypatch.setattr("engine.decoders.lantern.DRAFTS_AT_ONCE", block)
    torch.testing.assert_close(decoder.committed(p, q, torch.arange(len(p))), expected)


class Counted(TorchDispatchMode):
    """Counts operations."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += 1
        return function(*args, **(kwargs or {}))


def test_without_top_k_lanterns_shift_takes_no_operation_a_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With blocks a sixteenth of what they are, of 1,024 codes: as many as of 16,384."""
    monkeypatch.setattr("engine.decoders.lantern.DRAFTS_AT_ONCE", 256)
    monkeypatch.setattr("engine.decoders.lantern.MOST_DRAFTS", 64)
    model = random_model(2)
    model.static = True
    decoder = Lantern(model, LanternSettings(), Sampling(top_k=0))
    generator = torch.Generator().manual_seed(0)
    p, q = torch.softmax(3 * torch.randn(2, 15, model.vocab_size, generator=generator), -1)
    p[0], q[0] = 1 / model.vocab_size, p[0]  # far fewer tokens lack anything than elsewhere
    with Counted() as counted:
        shift = decoder.shift(p, q, torch.arange(len(p)))
    assert counted.count < 400
    model.static = False
    known = ~shift.isnan()
    assert known.any()
    exact_shift = decoder.shift(p, q, torch.arange(len(p)))
    torch.testing.assert_close(shift[known], exact_shift[known])


def test_a_changed_rule_that_does_not_say_what_it_commits_has_no_shift() -> None:
    class Silent(SJD):
        badge = Badge.CHANGED_DISTRIBUTION

    stats, known = LaneStats(), LaneStats()
    with torch.inference_mode():
        for step in Silent(TOY, SJD.Settings(window=4)).steps("", 0):
            stats.add(step)
        for step in SJD(TOY, SJD.Settings(window=4)).steps("", 0):
            known.add(step)
    assert stats.mean_shift() is None
    assert known.mean_shift() == 0
