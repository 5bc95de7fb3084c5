"""Traversal verification against its definition, node by node; its laws are in test_exact.py."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from engine.decoders.candidates import TreeWindow
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import SJDPAC, PACSettings
from engine.decoders.traversal import verify_traversal
from engine.settings import SettingError
from engine.trace import Status
from tests.variants import further
from tools.judge.enumeration import CLOSE, exactly
from tools.judge.one_pass import verify_chain
from tools.judge.toys import Toy

CODES = 4


def walked(
    window: TreeWindow, p: Tensor, u: Tensor
) -> tuple[list[int], Tensor, dict[int, float], dict[int, float]]:
    """The rows of the accepted path, the p of the last token, and of every node that was left its a
    and the number of its test."""
    layout, left, numbers = window.layout, {}, {}
    token = dict(enumerate(window.nodes.tolist(), 1))
    q_of = {row: window.q[row] for row in range(layout.spine + 1)}

    def visit(row: int, number: int, a: float, path: list[int]) -> tuple[list[int], Tensor] | None:
        here, depth = p[row].double(), len(path) - 1
        q = q_of[depth].double()
        for k, child in enumerate(layout.children[row]):
            if child < 0 or q[token[child]] == 0:
                continue
            x = token[child]
            below = number * len(layout.children[row]) + k
            found = visit(child, below, min(1.0, a * float(here[x] / q[x])), [*path, child])
            if found:
                return found
            excess = (a * here - q).clamp_min(0)
            mass = float(excess.sum())
            a = mass / (mass + 1 - a) if a < 1 else 1.0
            here = excess / mass if mass else here
            q = q.clone()
            q[x] = 0
            q = q / q.sum() if q.sum() else q
        left[row] = a
        numbers[row] = float(u[depth - 1, number])
        return (path, here) if row == 0 or numbers[row] < a else None

    path, here = visit(0, 0, 1.0, [0])
    return path, here, left, numbers


@exactly()
@pytest.mark.parametrize(("K", "D", "window"), [(2, 2, 6), *further((3, 2, 9)), (2, 3, 11)])
def test_the_first_node_that_passes_is_accepted(K: int, D: int, window: int) -> None:
    settings = PACSettings(window=window, K=K, D=D, AC=False, verification="traversal")
    decoder = SJDPAC(Toy((3, 5), CODES), settings)
    ways = set()
    for seed in range(50):
        state = decoder.begin("", seed)
        generator = torch.Generator().manual_seed(seed)
        drawn = decoder.propose(state)
        p = (3 * torch.randn(len(drawn.parents), CODES, generator=generator)).softmax(-1)
        room = torch.tensor(len(drawn.drafts) - 1)
        shape = len(drawn.drafts), K ** (D - 1)
        accept = torch.rand(shape, generator=generator, dtype=torch.float64)
        u_end = torch.rand(shape[0], generator=generator, dtype=torch.float64)
        verification = verify_traversal(drawn, p, room, accept, u_end)
        path, last, left, numbers = walked(drawn, p, accept)
        count = len(path)
        assert verification.count == count
        assert verification.path[:count].tolist() == path
        assert verification.tokens[: count - 1].tolist() == [
            int(drawn.nodes[row - 1]) for row in path[1:]
        ]
        cumulative = last.cumsum(0) / last.sum()
        expected = int((cumulative <= u_end[count - 1]).sum())
        assert verification.tokens[count - 1] == expected
        tokens, tests = verification.diagnostics().candidates
        for depth in range(min(len(tokens), count)):
            rows = [row for row in drawn.layout.children[path[depth]] if row >= 0]
            tried = rows[: rows.index(path[depth + 1]) + 1] if depth + 1 < count else rows
            shown = tokens[depth][: len(tried)].tolist()
            assert shown == [int(drawn.nodes[row - 1]) for row in tried]
            assert (tokens[depth][len(tried) :] == -1).all()
            for row, (_, _, h, u) in zip(tried, tests[depth].tolist(), strict=False):
                if row in left:
                    assert h == pytest.approx(left[row], abs=CLOSE)
                    assert u == pytest.approx(numbers[row])
        ways.add(min(count, 3))
    assert ways == {1, 2, 3}


def test_on_a_chain_it_is_block_verification() -> None:
    generator = torch.Generator().manual_seed(5)
    chain = PACSettings(window=5, K=1, AC=False, verification="traversal")
    decoders = (
        SJDPAC(Toy((3, 3), 3), chain),
        SJD(Toy((3, 3), 3), SJD.Settings(verification="block")),
    )
    for _ in range(10):
        p, q = torch.randn(2, 5, 3, generator=generator).softmax(-1)
        numbers = torch.rand(4, 3, generator=generator).tolist()
        found = [verify_chain(each, p, q[:4], [0, 2, 1, 1], verify=numbers) for each in decoders]
        assert found[0].tokens.equal(found[1].tokens)
        assert found[0].acceptance.equal(found[1].acceptance)


def test_below_a_node_the_candidates_are_its_own() -> None:
    settings = PACSettings(window=12, K=2, D=3, AC=False, verification="traversal")
    decoder, different = SJDPAC(Toy((3, 5), 50), settings), 0
    for seed in range(5):
        drawn = decoder.propose(decoder.begin("", seed))
        _, first, second = drawn.candidates.tolist()
        different += first != second
        assert drawn.nodes[0] == drawn.drafts[0] == drawn.candidates[0, 0]
    assert different == 5


def test_it_does_not_go_with_drafts_that_are_kept() -> None:
    with pytest.raises(SettingError, match="goes with AC = false"):
        PACSettings(verification="traversal")


def test_statuses_of_a_path_off_the_spine() -> None:
    settings = PACSettings(window=5, K=2, D=2, AC=False, verification="traversal")
    decoder = SJDPAC(Toy((3, 3), CODES), settings)
    state = decoder.begin("", 0)
    drawn = decoder.propose(state)
    side = len(drawn.parents) - 1
    p = torch.zeros(len(drawn.parents), CODES)
    p[:, int(drawn.nodes[side - 1])] = 1  # of the root's two candidates the second alone can pass
    accept = torch.full((len(drawn.drafts), 2), 0.5, dtype=torch.float64)
    verification = verify_traversal(drawn, p, torch.tensor(3), accept, accept[:, 0])
    assert verification.path[:2].tolist() == [0, side]
    assert verification.status.tolist()[:2] == [Status.ACCEPTED, Status.FRESH]
    assert verification.drafts[1] == -1
