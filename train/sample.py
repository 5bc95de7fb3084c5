"""Batched vanilla AR sampling, for the evaluation only.

The decoders that race are in `engine/decoders/`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from engine.models.cache import WindowCache
from engine.models.context import guide
from engine.models.embedded.networks import EmbeddedTarget, EmbeddedVQ
from engine.models.lean import LeanBody
from engine.numerics.distributions import logits_to_probs
from engine.settings import Sampling


def guided_probs(conditional: Tensor, unconditional: Tensor, sampling: Sampling) -> Tensor:
    """Turn conditional and unconditional logits [..., V] into probabilities, as in every lane."""
    logits = guide(torch.stack([conditional, unconditional]), sampling.guidance).flatten(0, -2)
    free = torch.zeros(len(logits), dtype=torch.bool, device=logits.device)
    return logits_to_probs(logits, sampling, free).view_as(conditional)


@torch.inference_mode()
def draw_codes(target: EmbeddedTarget, captions: Tensor, sampling: Sampling, seed: int) -> Tensor:
    """Sample codes [B, image tokens] for the token ids of captions [B, P].

    As a side effect, the target's matrices become views of fused matrices, as in the engine.
    """
    body, device = target.model, captions.device
    lean = LeanBody(body.layers, body.norm, body.rotary_emb)
    noise = torch.Generator(device).manual_seed(seed)
    count, first = captions.shape[0], captions.shape[1] + 1
    length = target.config.image_tokens
    cache = WindowCache(
        len(lean.layers),
        2 * count,
        lean.kv_heads,
        first + length,
        lean.head_dim,
        target.dtype,
        device,
    )
    rows = target.embed_caption(torch.cat([captions, torch.zeros_like(captions)]))
    slots = torch.arange(first, device=device)
    mask = torch.full((1, 1, first, first), -torch.inf, dtype=target.dtype, device=device).triu(1)
    hides: Tensor | None = mask.expand(2 * count, -1, -1, -1)
    codes = []
    for position in range(length):
        cache.open(len(slots))
        hidden = lean(rows, hides, slots.expand(2 * count, -1), cache)
        cache.keep(range(len(slots)))
        conditional, unconditional = target.lm_head(hidden[:, -1]).float().split(count)
        p = guided_probs(conditional, unconditional, sampling)
        codes.append(torch.multinomial(p, 1, generator=noise))
        place = torch.tensor([position], device=device)
        rows, hides = target.embed_codes(codes[-1].repeat(2, 1), place), None
        slots = place + first
    return torch.cat(codes, 1)


@torch.inference_mode()
def pictures(vq: EmbeddedVQ, codes: Tensor) -> np.ndarray:
    """Turn codes [B, n * n] into pixels, uint8 [B, 8n, 8n, 3]."""
    side = int(codes.shape[1] ** 0.5)
    drawn = torch.cat([vq.decode(some.unflatten(1, (side, side))) for some in codes.split(16)])
    return ((drawn.clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1).cpu().numpy()
