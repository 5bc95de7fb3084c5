"""The rows that the drafter trains on are those that it drafts by."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from engine.models.embedded.networks import EmbeddedDrafter, EmbeddedTarget
from tests.floats import EXACT, rounding
from tests.train.test_infill import some
from train.drafter import FIRST, draft, rows
from train.target import inputs


def guessed(drafter: EmbeddedDrafter, tokens: Tensor, before: Tensor, depth: int) -> Tensor:
    """The state drafted at the last of `tokens` [B, L, D], the `depth` last states of `before`
    being the drafter's own: as tests/engine/models/test_body.py holds the engine to."""
    hidden = before[:, : tokens.shape[1] - depth]
    for count in range(hidden.shape[1], tokens.shape[1] + 1):
        slots = torch.arange(FIRST, FIRST + count).expand(len(tokens), -1)
        state = drafter(torch.cat([tokens[:, :count], hidden], -1), slots)[:, -1:]
        hidden = torch.cat([hidden, state], 1)
    return hidden[:, -1]


@torch.no_grad()
@pytest.mark.usefixtures("without_bfloat16")
def test_each_draft_of_a_chain_reads_what_it_reads_in_a_race(
    target: EmbeddedTarget, drafter: EmbeddedDrafter
) -> None:
    embedded = inputs(target, some())[:, : FIRST + 9]
    hidden = torch.randn(embedded.shape, generator=torch.Generator().manual_seed(2)).double()
    drafted = draft(drafter, embedded, hidden)
    tokens, before = embedded[:, FIRST:], hidden[:, FIRST - 1 :]
    for i in range(9):
        for depth in range(3):
            own = min(depth, i)  # the first state is the target's
            expected = guessed(drafter, tokens[:, : i + 1], before, own)
            torch.testing.assert_close(drafted[:, depth, i], expected, **EXACT)


@pytest.mark.usefixtures("without_bfloat16")
def test_drafts_are_compared_with_the_tokens_that_they_draft(
    target: EmbeddedTarget, drafter: EmbeddedDrafter
) -> None:
    embedded = inputs(target, some())
    drafted, hidden, logits, target_logits = rows(drafter, target, embedded)
    assert drafted.shape == (3, 3, 399, hidden.shape[-1])
    whole = target(inputs_embeds=embedded, use_cache=False).logits[:, FIRST:]
    # Kept in float32: of states that are rounded to it the logits are sums of 32 products.
    expected, bound = target.lm_head(drafted.double()), rounding(target.lm_head.weight.norm(dim=1))
    bound *= drafted.norm(dim=-1).max().item()
    torch.testing.assert_close(logits.double(), expected, atol=bound, rtol=0)
    torch.testing.assert_close(target_logits.double(), whole, atol=rounding(whole), rtol=0)
