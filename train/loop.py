"""The training loop every stage shares: a time budget, a progress bar, checkpoints, and resuming where it stopped.

The schedule follows the clock, not a step count: learning rates warm up, hold and fall to nothing just as the budget
ends, so a stage always finishes, on whatever machine it runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from tqdm import tqdm

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def rate(progress: float, step: int, *, warmup: int = 100, fall_from: float = 0.35) -> float:
    """Share of the peak learning rate: linear warm-up, constant, then linear down to a fiftieth."""
    falling = 1 - 0.98 * max(0.0, (progress - fall_from) / (1 - fall_from))
    return min(1.0, (step + 1) / warmup) * falling


def train(
    name: str,
    module: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    loss_of: Callable[[int, float], tuple[torch.Tensor, dict[str, float]]],
    *,
    minutes: float,
    folder: Path,
    save: Callable[[], None],
    every: float = 120.0,
) -> None:
    """Runs `loss_of(step, progress)` until `minutes` of training, over all runs together, are used up.

    Checkpoints go to `folder/NAME.pt` every `every` seconds and at the end; `save()` then writes the weights.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.pt"
    step, used = 0, 0.0
    if file.exists():
        kept = torch.load(file, map_location=DEVICE, weights_only=True)
        module.load_state_dict(kept["module"])
        for optimizer, state in zip(optimizers, kept["optimizers"], strict=True):
            optimizer.load_state_dict(state)
        step, used = kept["step"], kept["used"]
        tqdm.write(f"{name}: resumed at step {step:,}, {used / 60:.1f} of {minutes:g} minutes used")
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group.setdefault("peak", group["lr"])

    def checkpoint() -> None:
        state = {
            "module": module.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in optimizers],
            "step": step,
            "used": used,
        }
        torch.save(state, file.with_suffix(".tmp"))
        os.replace(file.with_suffix(".tmp"), file)
        save()

    bar = tqdm(total=round(minutes * 60), initial=round(used), unit="s", desc=name, mininterval=5, smoothing=0.05)
    last_save, smooth = time.monotonic(), {}
    while used < minutes * 60:
        start = time.monotonic()
        scale = rate(used / (minutes * 60), step)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * scale
        loss, figures = loss_of(step, used / (minutes * 60))
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        step += 1
        for key, value in figures.items():
            smooth[key] = value if key not in smooth else 0.98 * smooth[key] + 0.02 * value
        now = time.monotonic()
        bar.update(round(used + now - start) - round(used))
        used += now - start
        if step % 20 == 0:
            bar.set_postfix(step=step, **{key: f"{value:.3f}" for key, value in smooth.items()}, refresh=False)
        if now - last_save > every:
            checkpoint()
            last_save = now
    checkpoint()
    bar.close()
