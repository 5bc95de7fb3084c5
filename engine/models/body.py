"""BodyModel: an ImageModel made of any Llama-like transformers body.

The body runs with a 4D mask, explicit position ids and our KV cache. Each family's module adds its
own prompt rows, embedding, head, forced tokens and pixels.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from engine.core import Parents, Plan
from engine.infilling import Fills
from engine.models.base import MAX_ROWS, ImageModel
from engine.models.context import BodyContext, Prompt, context_kind
from engine.models.lean import LeanBody
from engine.models.onnx_body import Body, fastest_body
from engine.models.slots import Slot
from engine.models.supply.card import ModelCard

BUCKET = 256  # with static shapes, bodies attend to a multiple of this number of slots


class BodyModel(ImageModel):
    """An ImageModel over a body that transformers has loaded.

    `fastest_body` chooses what runs the body's layers.
    """

    body: PreTrainedModel
    dtype: torch.dtype
    fills_in = Fills.BELOW
    inputs = 1  # number of the body's inputs in each row of a window
    linear_head = True  # whether `head` is linear, apart from a bias
    card: ModelCard | None = None  # of a public model at its true size
    # How many whole pictures `pixels` decodes at once. Smaller pictures are decoded in batches of
    # at most as many cells. A card's working memory is for one whole picture.
    together: int = 1
    graphs: Path | None = None  # folder of the layers' ONNX graphs; needs prompts without padding

    @cached_property
    def lean(self) -> LeanBody:
        """The body's layers as one LeanBody.

        It is built in the first `start`, because ZeroGPU has no device before that.
        """
        return LeanBody(self.body.layers, self.body.norm, self.body.rotary_emb)

    @cached_property
    def run_layers(self) -> Body:
        return fastest_body(self.lean, self.graphs)

    @property
    def runtime(self) -> str:
        """Name and version of the runtime that runs the layers; "" for PyTorch.

        On a GPU it is "" until the layers have run.
        """
        runs = "run_layers" in vars(self) or self.graphs
        return self.run_layers.runtime if runs else ""

    @abstractmethod
    def prompt(self, text: str, guided: bool) -> Prompt:
        """Return the prompt's rows: the conditional row and, if guided, the unconditional row."""

    @abstractmethod
    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Return the embeddings [L, D] of tokens [L].

        `positions` [L] has each token's slot, its number in the model's own order (`Plan`).
        """

    @abstractmethod
    def head(self, hidden: Tensor) -> Tensor:
        """Return logits [R, L, V] over image codes from hidden states [R, L, D]."""

    def guided_logits(
        self, ctx: BodyContext, hidden: Tensor, targets: Tensor, guidance: Tensor | None = None
    ) -> Tensor:
        """Return logits [L, V], with guidance mixed in, from hidden states [R, L, D].

        `targets` [L] and `guidance` are as in `BodyContext.guide`.

        Guidance is linear, and its factors sum to 1. So a linear head reads the mixed states, once
        instead of once for each guidance row. In half precision the head reads each row, as in the
        models' own code, because mixed states would be rounded.
        """
        if self.linear_head and hidden.dtype in (torch.float32, torch.float64):
            return self.head(ctx.guide(hidden, targets, guidance)[None])[0]
        return ctx.guide(self.head(hidden), targets, guidance)

    @abstractmethod
    def decode(self, codes: Tensor) -> Tensor:
        """Turn codes [B, h, w] on the device into pixels [B, 3, H, W], about -1 .. 1."""

    @torch.inference_mode()
    def pixels(self, tokens: np.ndarray) -> np.ndarray:
        codes = torch.as_tensor(np.asarray(tokens), dtype=torch.long, device=self.device)
        cells = self.together * self.grid[0] * self.grid[1]
        most = max(1, cells // (codes.shape[-2] * codes.shape[-1]))
        some = torch.split(codes if codes.dim() == 3 else codes[None], most)
        try:
            drawn = [((self.decode(c).clamp(-1, 1) + 1) * 127.5).round().byte().cpu() for c in some]
        except torch.OutOfMemoryError as error:
            raise MemoryError(f"no memory is left on {self.device} for a picture") from error
        pictures = torch.cat(drawn).permute(0, 2, 3, 1).numpy()
        return pictures if codes.dim() == 3 else pictures[0]

    def embed_rows(
        self, ctx: BodyContext, tokens: Tensor, slots: Tensor, target_slots: Tensor | None
    ) -> Tensor:
        """Return the body's inputs for a window's tokens [L] at slots [L].

        The inputs are [L, D], or [R, L, D] if they differ between the R guidance rows. The root's
        slot is -1 in the first window of a whole picture. If the plan lets rows ask ahead,
        `target_slots` [L] has the slot that each row asks for; otherwise it is None.
        """
        return self.embed(tokens, slots)

    def embed_known(self, tokens: Tensor, slots: Tensor) -> Tensor:
        """Return the body's inputs for known tokens [K] at slots [K].

        Each token has `self.inputs` inputs, so the result is [`self.inputs` * K, D].
        """
        return self.embed(tokens, slots)

    def position_ids(self, places: Tensor, start: Tensor) -> Tensor:
        """Return the position ids [R, T] of `places` [T] in each prompt row.

        Text input i has place i. With P text inputs, slot n has place P + n. `start` [R] is the
        length of each row's left padding, which position ids do not count.
        """
        return (places - start[:, None]).clamp_min(0)

    def start(
        self,
        prompt: str,
        guidance: float,
        guided_tokens: int = 0,
        plan: Plan | None = None,
        slot: Slot | None = None,
    ) -> BodyContext:
        rows, plan = self.prompt(prompt, guidance != 1.0), plan or self.plan
        count, text = rows.embeddings.shape[:2]
        if plan.known:
            slots, ids = torch.tensor(plan.known, device=self.device).unbind(1)
            known = self.embed_known(ids, slots).expand(count, -1, -1)
            rows = Prompt(torch.cat([rows.embeddings, known], 1), rows.start)
        lean, slot = self.lean, slot or Slot()
        cache = slot.cache(
            "body",
            len(lean.layers),
            count,
            lean.kv_heads,
            text + self.inputs * (len(plan.known) + plan.length + MAX_ROWS),
            lean.head_dim,
            self.dtype,
            self.device,
            BUCKET if self.static else 1,
        )
        kind = context_kind(plan)
        return kind(plan, rows, text, guidance, guided_tokens, cache, slot, self.inputs)

    def forward(
        self,
        ctx: BodyContext,
        tokens: Tensor,
        parents: Parents = None,
        targets: Tensor | None = None,
    ) -> Tensor:
        before, length = ctx.prompt_rows, len(tokens)
        ctx.cache.open(before + length)
        if targets is None:
            targets = ctx.positions(parents, length) + 1
        slots, target_slots = ctx.standing(parents, targets)
        embedded = self.embed_rows(ctx, tokens, slots, target_slots).expand(ctx.batch, -1, -1)
        places = slots + ctx.behind
        if not ctx.cache.base:
            # The first window's root is the prompt's last token, whatever id is given for it.
            embedded = torch.cat([ctx.prompt.embeddings, embedded[:, 1:]], 1)
            places = torch.cat([ctx.cached[:before], places])
        mask, queries = ctx.mask(places, before, parents), None
        if target_slots is not None:
            standing = torch.cat([ctx.cached[:before], target_slots + ctx.behind - 1])
            queries = self.position_ids(standing, ctx.start)
        ids = self.position_ids(places, ctx.start)
        text = 0 if ctx.cache.base else ctx.text
        hidden = self.run_layers(embedded, mask, ids, ctx.cache, queries, text)
        ctx.hidden = hidden[:, -length:]
        if before and self.drafter is not None and not ctx.plan.infilling:
            ctx.prompt_hidden = hidden[:, :before]
        return self.guided_logits(ctx, ctx.hidden, targets)
