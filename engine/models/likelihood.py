"""Teacher forcing: a model's logits for a picture whose tokens are known."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from engine.core import Plan
from engine.models.base import MAX_ROWS, ImageModel
from engine.settings import Sampling


def teacher_forced(
    model: ImageModel, plan: Plan, prompt: str, sampling: Sampling, tokens: Tensor
) -> Tensor:
    """Return logits [length, V] of each position of a plan, given the tokens before it.

    The logits are those of `ImageModel.forward`, with the guidance of `sampling`. `tokens` [length]
    are on the device.
    """
    return torch.cat(list(windows(model, plan, prompt, sampling, tokens)))


@torch.inference_mode()
def windows(
    model: ImageModel, plan: Plan, prompt: str, sampling: Sampling, tokens: Tensor
) -> Iterator[Tensor]:
    """Yield the logits of `teacher_forced` window by window, each [rows, V].

    All logits of a large picture would take a gigabyte.
    """
    fed = torch.cat([tokens[:1], tokens[:-1]])  # the first root's id is ignored
    slot = model.slots.take()
    try:
        ctx = model.start(prompt, sampling.guidance, sampling.guided_tokens, plan, slot)
        for window in torch.split(fed, MAX_ROWS):
            yield model.forward(ctx, window)
            ctx.keep(range(len(window)))
        ctx.close()
    except Exception:
        slot.clear()  # as after a lane that failed
        raise
    finally:
        model.slots.release(slot)
