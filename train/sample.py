"""Batched vanilla AR sampling, for the evaluation alone: the decoders that race are in
`engine/decoders/`."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache

from engine.distributions import logits_to_probs
from engine.models.body import guide
from engine.models.embedded_networks import EmbeddedTarget, EmbeddedVQ
from engine.settings import Sampling
from train.loop import autocast


def guided_probs(conditional: Tensor, unconditional: Tensor, sampling: Sampling) -> Tensor:
    """Conditional and unconditional logits [..., V] to probabilities, as in every lane."""
    logits = guide(torch.stack([conditional, unconditional]), sampling.guidance).flatten(0, -2)
    free = torch.zeros(len(logits), dtype=torch.bool, device=logits.device)
    return logits_to_probs(logits, sampling, free).view_as(conditional)


@torch.inference_mode()
def draw_codes(target: EmbeddedTarget, captions: Tensor, sampling: Sampling, seed: int) -> Tensor:
    """One sample for each caption [B, P], in bfloat16: codes [B, 256]."""
    noise = torch.Generator(captions.device).manual_seed(seed)
    count, first = captions.shape[0], captions.shape[1] + 1
    cache = DynamicCache(config=target.config)
    embedded = target.embed_caption(torch.cat([captions, torch.zeros_like(captions)]))
    slots = torch.arange(first, device=captions.device)[None]
    codes = []
    for position in range(target.config.image_tokens):
        with autocast():
            out = target.model(
                inputs_embeds=embedded, position_ids=slots, past_key_values=cache, use_cache=True
            )
            logits = target.lm_head(out.last_hidden_state[:, -1])
        conditional, unconditional = logits.float().split(count)
        codes.append(
            torch.multinomial(
                guided_probs(conditional, unconditional, sampling), 1, generator=noise
            )
        )
        embedded = target.embed_codes(
            codes[-1].repeat(2, 1), torch.tensor([position], device=captions.device)
        )
        slots = torch.tensor([[first + position]], device=captions.device)
    return torch.cat(codes, 1)


@torch.inference_mode()
def pictures(vq: EmbeddedVQ, codes: Tensor) -> np.ndarray:
    """Codes [B, 256] to pixels, uint8 [B, 128, 128, 3]."""
    drawn = torch.cat([vq.decode(some.unflatten(1, (16, 16))) for some in codes.split(16)])
    return ((drawn.clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1).cpu().numpy()
