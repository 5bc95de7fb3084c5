"""A raster model in the order of a wavefront, against one pass of transformers' own layers over the
finished picture."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from engine.decoders.decode_state import DecodeState, Verification, Window
from engine.decoders.zipar import ZipAR, ZipARSettings
from engine.models.body import guide
from engine.settings import Sampling
from tests.engine.models.families import TINY
from tests.floats import rounding

LAG = 2


class Watched(ZipAR):
    """Keeps the distributions that it draws from, and how many rows of the batch gave them."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        self.drawn_from = [*getattr(self, "drawn_from", []), p]
        self.batch = [*getattr(self, "batch", []), (state.frontier, state.ctx.rows)]
        return super().verify(state, window, p)


@pytest.mark.parametrize(("guidance", "guided_tokens"), [(1.0, 0), (2.0, 0), (2.0, 7), (2.0, 8)])
@torch.inference_mode()
def test_a_token_attends_to_what_is_there_before_it_in_raster_order(
    guidance: float, guided_tokens: int
) -> None:
    """Every token once, and a stand-in for each row but the first: with places of their own, and a
    mask of who was there, and before whom. The guided ones are the first in the waves' order."""
    model = TINY["embedded"].model
    (height, width), prompt = model.grid, "cat on red"
    decoder = Watched(model, ZipARSettings(s=LAG), Sampling(guidance, guided_tokens, top_k=0))
    tokens = decoder.generate(prompt, 3)
    last = 0 if guidance == 1 else guided_tokens or model.plan.length
    assert decoder.batch == [(frontier, 1 + (frontier < last)) for frontier, _ in decoder.batch]
    order = decoder.plan.slots
    codes = torch.zeros(len(order), dtype=torch.long)
    codes[list(order)] = torch.tensor(tokens)
    rows = [(at, at // width * LAG + at % width, int(codes[at])) for at in range(len(codes))]
    for row in range(1, height):  # place, wave, code
        rows.append((row * width - 1, row * LAG - 1, int(codes[(row - 1) * width + LAG - 1])))
    place, wave, code = torch.tensor(rows).T
    begin = model.prompt(prompt, guidance != 1).embeddings
    P, count = begin.shape[1], len(rows)
    seen = (place[:, None] >= place) & (wave[:, None] >= wave)
    seen[:, len(codes) :] = False
    whole = torch.ones(P + count, P + count, dtype=torch.bool).tril()
    whole[P:, P:] = seen | torch.eye(count, dtype=torch.bool)
    mask = torch.zeros(whole.shape, dtype=torch.float64)
    mask.masked_fill_(~whole, torch.finfo(mask.dtype).min)
    states = model.target.model(
        inputs_embeds=torch.cat([begin, model.embed(code, place).expand(len(begin), -1, -1)], 1),
        attention_mask=mask[None, None],
        position_ids=torch.cat([torch.arange(P), P + place])[None],
    ).last_hidden_state
    logits = model.head(states[:, P - 1 :])  # the prompt's end, then the rows
    guided, alone = guide(logits, guidance), logits[0]
    for n, (at, p) in enumerate(zip(order, torch.cat(decoder.drawn_from), strict=True)):
        row, column = divmod(at, width)
        source = at if column or not row else len(codes) + row
        expected = (guided if n < guided_tokens or not guided_tokens else alone)[source]
        # A decoder's p is float32: its logits are rounded, by as much as the largest is.
        bound = rounding(expected)
        torch.testing.assert_close(p.double(), torch.softmax(expected, -1), atol=0, rtol=bound)
