"""Fill in the blanks of a text by XLNet, first one token a pass, then by ASSD:

    python -m examples.fill_in_text "The capital of France is [2], and it lies on the [1]."

[2] is a blank of two tokens. The file shows how a model that draws no pictures becomes an
`ImageModel`, so that decoders can use it. A text is a grid of one row; its tokens are the codes.

XLNet (Yang et al., NeurIPS 2019) is the any-subset model of the ASSD paper. It predicts the token
at a position from the tokens that a mask lets the position see. In a pass that drafts, every
position sees the known and committed tokens alone. In a pass that verifies a chain, it also sees
the drafts before it. The mask is order causal (Eq. 6), and known tokens see one another. Nothing is
cached.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoTokenizer, XLNetLMHeadModel

from engine.core import Plan
from engine.decoders import DECODERS
from engine.infilling import MASKED, Fills, Infilling
from engine.models.base import ImageModel, Parents, planned
from engine.models.slots import Slot
from engine.settings import Sampling, SettingError

BLANK = re.compile(r"\[(\d{1,3})\]")
MAX_TOKENS = 512


class TextContext:
    """One decode: the text with its committed tokens, and each token's place in the order."""

    def __init__(self, plan: Plan, device: torch.device) -> None:
        assert plan.infilling is not None, "a text is drawn around what is known of it"
        self.order = torch.tensor(plan.cells, device=device)
        self.known = torch.tensor(plan.infilling.known, device=device)
        # Place in the order [N]; -1 for known tokens.
        self.rank = torch.full_like(self.known, -1)
        self.rank[self.order] = torch.arange(plan.length, device=device)
        self.tokens: list[int] = []  # committed tokens except the newest
        self.window: list[int] = []
        self.started = False

    def attended(self, rows: int) -> int:
        return 0  # it has no cache

    def keep(self, rows: Sequence[int], frontier: int | None = None) -> None:
        # The newest committed token is not a row yet: it is the root of the next window.
        before = 0 if self.started else 1
        self.tokens += [self.window[row - before] for row in rows if row >= before]
        self.started = True

    def close(self) -> None:
        """There is no cache to free."""


class XLNetText(ImageModel):
    """XLNet as an `ImageModel` of texts.

    Its grid is one row of `length` tokens, some of which are known.
    """

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
        """Begin a decode. The prompt and the guidance are ignored: the text is its own prompt."""
        return TextContext(plan or self.plan, self.device)

    def forward(
        self,
        ctx: TextContext,
        tokens: Tensor,
        parents: Parents = None,
        targets: Tensor | None = None,
    ) -> Tensor:
        """Run one pass as `ImageModel.forward` says; nothing is cached.

        `parents` is None for a chain. If every row is its own parent, all rows are copies of the
        root. Raises ValueError for any other tree: a text has one token at a position.
        """
        if parents not in (None, tuple(range(len(tokens)))):
            raise ValueError("A text is verified in chains, not in trees.")
        ctx.window = tokens.tolist() if ctx.started else tokens.tolist()[1:]
        committed = len(ctx.tokens) + ctx.started
        visible = len(ctx.order)
        filled = [*ctx.tokens, *ctx.window]
        if parents is not None:  # copies of the root ask for uncommitted positions
            visible, filled = committed, filled[:committed]
        asked = ctx.order[committed : committed + len(tokens)]
        ids = ctx.known.clamp_min(0)
        ids[ctx.order[: len(filled)]] = torch.tensor(filled, device=self.device, dtype=ids.dtype)
        seen = (ctx.rank < 0) | (ctx.rank < ctx.rank[:, None].clamp_max(visible))
        mapping = torch.nn.functional.one_hot(asked, len(ids))
        logits = self.network(
            ids[None],
            perm_mask=(~seen)[None].to(self.network.dtype),
            target_mapping=mapping[None].to(self.network.dtype),
            use_mems=False,
        ).logits[0]
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def pixels(self, tokens: np.ndarray) -> np.ndarray:
        raise TypeError("a text has no pixels")


def read_blanks(text: str, tokenizer: Any) -> Infilling:
    """Return a text's infilling, from left to right; `[n]` is a blank of n tokens.

    Raises SettingError for a text without a blank.
    """
    known: list[int] = []
    for i, part in enumerate(BLANK.split(text)):
        if i % 2:
            known += [MASKED] * int(part)
        else:
            known += tokenizer.encode(part, add_special_tokens=False)
    if MASKED not in known:
        raise SettingError("Leave a blank to fill in: [3] stands for three tokens.")
    ends = [tokenizer.sep_token_id, tokenizer.cls_token_id]  # XLNet's come last
    return Infilling((*known, *(token for token in ends if token is not None)), "raster")


def main(text: str, name: str = "xlnet/xlnet-base-cased", seed: int = 0) -> None:
    """Print each decoder's text and passes.

    `name` is a folder, or a model on the hub, from where 470 MB are downloaded. Raises OSError if
    there is no such model, and SettingError for a text that cannot be filled in.
    """
    tokenizer = AutoTokenizer.from_pretrained(name)
    infilling = read_blanks(text, tokenizer)
    network = XLNetLMHeadModel.from_pretrained(name, use_safetensors=True).eval()
    model, plan = planned(XLNetText(network, len(infilling.known)), infilling)
    for decoder in ("ar", "assd"):
        with torch.inference_mode():
            steps = list(DECODERS[decoder](model, plan=plan).steps(text, seed))
        tokens = list(infilling.known)
        for cell, token in zip(
            plan.cells, (t for step in steps for t in step.committed["token"]), strict=True
        ):
            tokens[cell] = int(token)
        filled = tokenizer.decode(tokens, skip_special_tokens=True)
        print(f"{decoder}, {len(steps)} passes: {filled}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit('usage: python -m examples.fill_in_text "a text with a [2]" [model]')
    try:
        main(*sys.argv[1:])
    except SettingError as error:
        sys.exit(str(error))
