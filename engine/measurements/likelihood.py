"""Teacher forcing: what a model says of a picture whose tokens are known."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.models.base import MAX_ROWS, ImageModel
from engine.settings import Sampling


@torch.inference_mode()
def teacher_forced(model: ImageModel, prompt: str, sampling: Sampling, tokens: Tensor) -> Tensor:
    """Logits [length, V] of each position of a picture, `tokens` [length] on the device, given
    those before it, as `ImageModel.forward` returns them, with the guidance of `sampling`."""
    fed = torch.cat([tokens[:1], tokens[:-1]])  # whatever stands for the first root
    ctx = model.start(prompt, sampling.guidance, sampling.guided_tokens)
    logits = list[Tensor]()
    for window in torch.split(fed, MAX_ROWS):
        logits.append(model.forward(ctx, window))
        model.keep(ctx, range(len(window)))
    ctx.close()
    return torch.cat(logits)
