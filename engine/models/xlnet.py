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
from engine.settings import Sampling, SettingError

_BLANK = re.compile(r"\[(\d{1,3})\]")
MAX_TOKENS = 512


class TextContext:
    """`tokens`: those committed, but the newest."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.window: list[int] = []
        self.started = False

    def close(self) -> None:
        self.window = []


class XLNetText(ImageModel):
    """A text of N tokens, a grid of one row; its tokens are the codes. Filled in, its sequence
    positions are the blanks'."""

    name = "xlnet"
    sampling = Sampling(guidance=1.0, top_k=0)

    def __init__(self, network: XLNetLMHeadModel, infilling: Infilling) -> None:
        """Raises SettingError for a text of more than MAX_TOKENS."""
        if len(infilling.known) > MAX_TOKENS:
            raise SettingError(f"The text has more than {MAX_TOKENS} tokens.")
        self.network, self.infilling = network, infilling
        self.grid, self.vocab_size = (1, len(infilling.known)), network.config.vocab_size
        self.device = network.device
        self.codebook = torch.empty(self.vocab_size, 0)  # words have no distance
        infilling.check(self.grid, self.vocab_size)
        self.forced_ids = torch.full((infilling.masked,), -1)
        self._order = torch.tensor(self.cells, device=self.device)
        self._known = torch.tensor(infilling.known, device=self.device)
        # Place in the order [N]; known tokens come before all.
        self._rank = torch.full_like(self._known, -1)
        self._rank[self._order] = torch.arange(self.length, device=self.device)

    @property
    def fills_in(self) -> Fills:
        return Fills.ANY

    def infill(self, infilling: Infilling) -> XLNetText:
        return XLNetText(self.network, infilling)

    def start(self, prompt: str, guidance: float, guided_tokens: int = 0) -> TextContext:
        """The text is its own prompt, and there is no guidance."""
        return TextContext()

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
        visible = self.length
        filled = [*ctx.tokens, *ctx.window]
        if parents is not None:  # copies of the root, which ask for what is not committed
            visible, filled = committed, filled[:committed]
        asked = self._order[committed : committed + len(tokens)]
        ids = self._known.clamp_min(0)
        ids[self._order[: len(filled)]] = torch.tensor(filled, device=self.device, dtype=ids.dtype)
        rank = self._rank
        seen = (rank < 0) | (rank < rank[:, None].clamp_max(visible))
        mapping = torch.nn.functional.one_hot(asked, len(ids))
        logits = self.network(
            ids[None],
            perm_mask=(~seen)[None].to(self.network.dtype),
            target_mapping=mapping[None].to(self.network.dtype),
            use_mems=False,
        ).logits[0]
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def keep(self, ctx: TextContext, rows: Sequence[int]) -> None:
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
