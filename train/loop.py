"""The training loop of every stage: progress bar, checkpoints, resuming.

The learning rate warms up, then stays constant, and falls on request. So the length of a run need
not be known in advance. The fall has its own checkpoint, so that training at the constant rate can
be resumed after a fall.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

from engine.models.supply.device import cpu_has_bfloat16
from engine.processors import processors

Batch = TypeVar("Batch")

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of malloc.h
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
# How many times larger a GPU's batches are than a CPU's; large batches allow the full rates.
LARGER = 16 if DEVICE.type == "cuda" else 1
WARM_RATE = 1.0 if DEVICE.type == "cuda" else 0.5  # share of the peak rates for saved weights


def has_bfloat16() -> bool:
    """Return whether matrix products are faster in bfloat16 than in float32 here."""
    return DEVICE.type == "cuda" or cpu_has_bfloat16()


@contextlib.contextmanager
def at_sigterm(handler: Callable[..., None]) -> Iterator[None]:
    """Call `handler` if a SIGTERM comes within this context."""
    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def autocast() -> torch.autocast:
    """Return a context in which matrix products are computed in bfloat16 if that is faster."""
    return torch.autocast(DEVICE.type, torch.bfloat16, enabled=has_bfloat16())


def stage_parser(
    description: str, *, minutes: float, weights: str = "weights", warm: bool = False
) -> argparse.ArgumentParser:
    """Return a parser with the options of every training stage.

    With `warm` the parser also has `--warm`, for a stage that can continue from the saved
    weights.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    held = "minutes with the learning rate held, over all runs together"
    parser.add_argument("--minutes", type=float, default=minutes, help=held)
    parser.add_argument("--fall", type=float, default=0, help="minutes in which it then falls")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where checkpoints go")
    parser.add_argument("--weights", type=Path, default=Path(weights))
    if warm:
        parser.add_argument("--warm", action="store_true", help="begin from the saved weights")
    return parser


class Supply(Dataset[Batch], Generic[Batch]):
    """A supply of training batches, one for each step.

    On a CPU a batch is made when it is asked for. With a GPU, worker processes make batches
    ahead, and steps must be asked for in order.
    """

    def __init__(self, make: Callable[[int], Batch]) -> None:
        self._make = make
        self._ahead: Iterator[Batch] | None = None

    def __getitem__(self, step: int) -> Batch:
        return self._make(step)

    def batch(self, step: int) -> Batch:
        """Return the batch of step `step`, in main memory."""
        if DEVICE.type == "cpu":
            return self._make(step)
        if self._ahead is None:
            workers = max(1, processors() - 1)
            self._ahead = iter(
                DataLoader(
                    self,
                    batch_size=None,
                    sampler=range(step, sys.maxsize),
                    num_workers=workers,
                    pin_memory=True,
                )
            )
        return next(self._ahead)


def keep_memory() -> None:
    """Make glibc keep large blocks that are freed.

    Otherwise glibc maps memory anew for each temporary tensor, and page faults take a quarter
    of a step on a CPU.
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def rate(step: int, fallen: float, *, warmup: int = 100) -> float:
    """Return the learning rate at a step as a fraction of its peak.

    The rate warms up linearly, is constant, then falls linearly to a fiftieth as `fallen` goes
    from 0 to 1.
    """
    return min(1.0, (step + 1) / warmup) * (1 - 0.98 * fallen)


def train(
    name: str,
    module: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    loss_of: Callable[[int, float], tuple[torch.Tensor, dict[str, float]]],
    save: Callable[[], None],
    args: argparse.Namespace,
    every: float = 240.0,
) -> None:
    """Train for `args.minutes`, then for `args.fall` minutes while the learning rate falls.

    A run continues from the stage's checkpoint, if there is one. The minutes of earlier runs, which
    the checkpoint records, count towards `args.minutes` and `args.fall`. If `args.minutes` is 0,
    the rate falls from the first step of this run. SIGTERM ends the training early. A checkpoint is
    saved every `every` seconds and at the end, in the folder `args.runs`: as `NAME.pt`, or as
    `NAME-fall.pt` during a fall. `save()` then writes the weights.

    Args:
        name: the stage's name.
        module: the network.
        optimizers: its optimizers.
        loss_of: `loss_of(step, fallen)` returns the loss, and figures for the progress bar;
            `fallen` is the share of the fall that is over.
        save: writes the weights.
        args: the options of `stage_parser`.
        every: seconds between checkpoints.
    """
    keep_memory()
    minutes, fall, folder = args.minutes, args.fall, args.runs
    folder.mkdir(parents=True, exist_ok=True)
    held, falling = folder / f"{name}.pt", folder / f"{name}-fall.pt"
    step, used, fell = 0, 0.0, 0.0
    if (file := falling if fall and falling.exists() else held).exists():
        kept = torch.load(file, map_location=DEVICE, weights_only=True)
        module.load_state_dict(kept["module"])
        for optimizer, state in zip(optimizers, kept["optimizers"], strict=True):
            optimizer.load_state_dict(state)
        step, used, fell = kept["step"], kept["used"], kept["fell"]
        tqdm.write(
            f"{name}: resumed at step {step:,}, after {used / 60:.1f} minutes held and"
            f" {fell / 60:.1f} falling"
        )
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group.setdefault("peak", group["lr"])
    ended = False

    def end(*_: object) -> None:
        nonlocal ended
        ended = True

    def checkpoint() -> None:
        state = {
            "module": module.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in optimizers],
            "step": step,
            "used": used,
            "fell": fell,
        }
        file = falling if fell else held
        torch.save(state, file.with_suffix(".tmp"))
        os.replace(file.with_suffix(".tmp"), file)
        save()

    bar = tqdm(unit="s", desc=name, mininterval=5, initial=round(used + fell))
    last_save = time.monotonic()
    smooth: dict[str, float] = {}
    with at_sigterm(end):
        while not ended and (used < minutes * 60 or fell < fall * 60):
            start = time.monotonic()
            fallen = fell / (fall * 60) if fall and used >= minutes * 60 else 0.0
            for optimizer in optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = group["peak"] * rate(step, fallen)
            loss, figures = loss_of(step, fallen)
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
            bar.update(round(used + fell + now - start) - round(used + fell))
            if used < minutes * 60:
                used += now - start
            else:
                fell += now - start
            if step % 20 == 0:
                bar.set_postfix(
                    step=step,
                    **{key: f"{value:.3f}" for key, value in smooth.items()},
                    refresh=False,
                )
            if now - last_save > every:
                checkpoint()
                last_save = now
        checkpoint()
    bar.close()
