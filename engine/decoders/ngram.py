"""Drafts from bigrams of the known codes (Stewart et al., 2024; ASSD, Alg. 2 and Eq. 23).

A cell's draft copies one known cell, chosen at random among those whose left neighbour has the same
code as the cell's own left neighbour. In the order of Alg. 2 a left neighbour is always known or
drafted; in other orders it may be unknown. If it is unknown or missing, or if no known cell has
such a left neighbour, the neighbours above, to the right and below are tried in turn. If none of
them gives a code, the draft is a sample of all known codes. If no code is known, the draft is
uniform.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.decoders.decode_state import DecodeState
from engine.infilling import MASKED
from engine.numerics.distributions import sample
from engine.numerics.randomness import Purpose

NEIGHBOURS = ((0, -1), (-1, 0), (0, 1), (1, 0))  # rows and columns from a cell: left first


def draft_ngrams(state: DecodeState, count: int) -> tuple[Tensor, Tensor]:
    """Return `drafts` and `q` of a `Window` with drafts for an infilling's next `count` positions.

    The drafts are [count + 1]. Their q [count + 1, V] has the distributions that they were drawn
    from. The last row of both is 0, because a window's last row has no draft.
    """
    model, plan, device = state.model, state.plan, state.tokens.device
    assert plan.infilling is not None
    codes = torch.tensor(plan.infilling.known, device=device)
    cells = torch.tensor(plan.cells, device=device)
    codes[cells[: state.frontier]] = state.tokens[: state.frontier]
    u = state.uniform(Purpose.DRAFT, count, 1)
    drafts, q = codes.new_zeros(count + 1), state.q.new_zeros(count + 1, model.vocab_size)
    tables = _Bigrams(codes.view(model.grid), model.vocab_size)
    for i, cell in enumerate(cells[state.frontier : state.frontier + count].tolist()):
        q[i] = tables.distribution(cell, codes)
        drafts[i] = codes[cell] = sample(q[i], u[i, 0])
    return drafts, q


class _Bigrams:
    """Bigram counts over the known cells of a grid [h, w]; unknown cells are MASKED.

    `vocab` is the number of codes.
    """

    def __init__(self, grid: Tensor, vocab: int) -> None:
        self.shape, self.vocab, self.codes = grid.shape, vocab, grid.flatten()
        known = self.codes != MASKED
        self.unigrams = torch.bincount(self.codes[known], minlength=vocab)
        padded = F.pad(grid, (1, 1, 1, 1), value=MASKED)
        height, width = self.shape
        # For each direction, the code beside each known cell in that direction.
        self.beside = [
            torch.where(
                known,
                padded[1 + down : 1 + down + height, 1 + right : 1 + right + width].flatten(),
                MASKED,
            )
            for down, right in NEIGHBOURS
        ]

    def distribution(self, cell: int, codes: Tensor) -> Tensor:
        """Return the distribution [V] that a cell's draft is drawn from.

        It is c(. | code): each code's share of the known cells whose neighbour on one side has the
        same code as the cell's own. The side is the first of NEIGHBOURS with such cells. If no side
        has any, it is the distribution of all known codes, or uniform. `codes` [h * w] has the
        known codes and the earlier drafts; other cells are MASKED.
        """
        row, column = divmod(cell, self.shape[1])
        for (down, right), beside in zip(NEIGHBOURS, self.beside, strict=True):
            y, x = row + down, column + right
            if not (0 <= y < self.shape[0] and 0 <= x < self.shape[1]):
                continue
            code = codes[y * self.shape[1] + x]
            followers = self.codes[(beside == code) & (beside != MASKED)]
            if len(followers):
                return torch.bincount(followers, minlength=self.vocab) / len(followers)
        total = self.unigrams.sum()
        if total:
            return self.unigrams / total
        return torch.full((self.vocab,), 1 / self.vocab, device=codes.device)
