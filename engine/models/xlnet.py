"""XLNet on texts with blanks: the any-subset model of the ASSD paper (Yang et al., NeurIPS 2019).

Its two streams give the distribution of every position from what its mask lets it see, so that one
pass over the text either verifies a chain or asks for many positions at once. The mask is order
causal (Eq. 6), known tokens see one another, and nothing is cached.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import XLNetLMHeadModel

from engine.infilling import MASKED, Fills, Infilling
from engine.models.base import ImageModel, Parents
from engine.models.slots import Slot
from engine.plan import Plan
from engine.settings import Sampling, SettingError

_BLANK = re.compile(r"\[(\d{1,3})\]")
MAX_TOKENS = 512


class TextContext:
    """`tokens`: those committed, but the newest."""

    def attended(self, rows: int) -> int:
        return 0  # it has no cache

    def __init__(self, plan: Plan, device: torch.device) -> None:
        assert plan.infilling is not None, "a text is drawn around what is known of it"
        self.length = plan.length
        self.order = torch.tensor(plan.cells, device=device)
        self.known = torch.tensor(plan.infilling.known, device=device)
        # Place in the order [N]; known tokens come before all.
        self.rank = torch.full_like(self.known, -1)
        self.rank[self.order] = torch.arange(plan.length, device=device)
        self.tokens: list[int] = []
        self.window: list[int] = []
        self.started = False

    def close(self) -> None:
        self.window = []


class XLNetText(ImageModel):
    """A text of N tokens, a grid of one row; its tokens are the codes."""

    name = "xlnet"
    sampling = Sampling(guidance=1.0, top_k=0)
    fills_in = Fills.ANY

    def __init__(self, network: XLNetLMHeadModel, length: int) -> None:
        """Raises SettingError for a text of more than MAX_TOKENS."""
        if length > MAX_TOKENS:
            raise SettingError(f"The text has more than {MAX_TOKENS} tokens.")
        self.network, self.grid = network, (1, length)
        self.vocab_size, self.device = network.config.vocab_size, network.device
        self.codebook = torch.empty(self.vocab_size, 0)  # words have no distance
        self.forced_ids = torch.full((length,), -1)

    def start(
        self,
        prompt: str,
        guidance: float,
        guided_tokens: int = 0,
        plan: Plan | None = None,
        slot: Slot | None = None,
    ) -> TextContext:
        """The text is its own prompt, and there is no guidance."""
        return TextContext(plan or self.plan, self.device)

    def forward(
        self,
        ctx: TextContext,
        tokens: Tensor,
        parents: Parents = None,
        targets: Tensor | None = None,
    ) -> Tensor:
        """Raises ValueError for a tree: a text holds one token at a position."""
        if parents not in (None, tuple(range(len(tokens)))):
            raise ValueError("A text is verified in chains, not in trees.")
        ctx.window = tokens.tolist() if ctx.started else tokens.tolist()[1:]
        committed = len(ctx.tokens) + ctx.started
        visible = ctx.length
        filled = [*ctx.tokens, *ctx.window]
        if parents is not None:  # copies of the root, which ask for what is not committed
            visible, filled = committed, filled[:committed]
        asked = ctx.order[committed : committed + len(tokens)]
        ids = ctx.known.clamp_min(0)
        ids[ctx.order[: len(filled)]] = torch.tensor(filled, device=self.device, dtype=ids.dtype)
        rank = ctx.rank
        seen = (rank < 0) | (rank < rank[:, None].clamp_max(visible))
        mapping = torch.nn.functional.one_hot(asked, len(ids))
        logits = self.network(
            ids[None],
            perm_mask=(~seen)[None].to(self.network.dtype),
            target_mapping=mapping[None].to(self.network.dtype),
            use_mems=False,
        ).logits[0]
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def keep(self, ctx: TextContext, rows: Sequence[int], frontier: int | None = None) -> None:
        # The newest committed token is no row yet: it is the next window's root.
        ctx.tokens += [ctx.window[row - (not ctx.started)] for row in rows if row or ctx.started]
        ctx.started = True

    def pixels(self, tokens: np.ndarray) -> np.ndarray:
        raise TypeError("a text has no pixels")


def read_blanks(text: str, tokenizer: Any) -> Infilling:
    """A text in which `[n]` stands for a blank of n tokens, filled in from left to right. Raises
    SettingError where there is none."""
    known: list[int] = []
    for i, part in enumerate(_BLANK.split(text)):
        if i % 2:
            known += [MASKED] * int(part)
        else:
            known += tokenizer.encode(part, add_special_tokens=False)
    if MASKED not in known:
        raise SettingError("Leave a blank to fill in: [3] stands for three tokens.")
    ends = [tokenizer.sep_token_id, tokenizer.cls_token_id]  # XLNet's come last
    return Infilling((*known, *(token for token in ends if token is not None)), "raster")
