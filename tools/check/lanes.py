"""Checks of lanes: equal tokens however kernels are launched, and logits that are exact enough.

Each lane runs kernel by kernel, first with changing and then with static shapes, and then as CUDA
graphs. The device's logits are compared with a processor's in float64.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from engine.decoders import DECODERS, WHOLE
from engine.decoders.ar import VanillaAR
from engine.graphs import Captures, CudaCapture
from engine.models.body import BodyModel
from engine.models.likelihood import teacher_forced
from engine.models.supply.card import GIB
from engine.models.supply.device import available
from engine.race.captures import PROMPT, launched
from engine.trace import Step, StepTable
from engine.trace.steps import recorded
from tools.check.finding import REPORT, Finding, Subject, fault, good, left_out

TOKENS = 64  # tokens of a picture that each lane draws
ROWS = 32  # tokens whose logits are compared
# How far logits may be off, as a share of the largest logit; rounding stays far below.
MOST_OFF = {torch.float64: 1e-9, torch.float32: 1e-3, torch.bfloat16: 0.15, torch.float16: 0.05}


def check_lanes(subject: Subject) -> Iterator[Finding]:
    """Compare every lane's first steps with changing shapes, with static shapes, and captured.

    Captured steps and steps with static shapes run the same kernels, so their records must be
    equal. Static shapes may change tokens, since rounding differs.
    """
    model = subject.model
    for name in WHOLE:
        with launched(model, None, static=False):
            expected = drawn(model, name)
        with launched(model, None, static=True):
            fixed = first_steps(model, name)
        captured = first_steps(model, name) if model.captures else None
        without = model.captures.without if model.captures else {}
        differs = first_differing_step(expected, tokens_of(fixed))
        words = "static shapes change no token"
        if differs is not None:
            words = f"static shapes change tokens, from number {differs + 1} on, as rounding may"
        figures = {"lane": name, "static_differs_at": differs}
        what = f"{DECODERS[name].title}, {subject.title}"
        if captured is None:
            yield good(what, f"{words}.", **figures)
            continue
        differs = first_differing_step(recorded(fixed), recorded(captured))
        figures |= {"captured_differs_at": differs, "uncaptured": without.get(name)}
        if differs is not None:
            yield fault(
                what,
                f"{words}; captured, its record differs from step {differs + 1} on.",
                f"set PHOTO_FINISH_GRAPHS=off, or --no-graphs, and {REPORT}.",
                **figures,
            )
        elif name in without:
            yield fault(
                what,
                f"It runs without graphs: {without[name]}.",
                f"nothing needs to be set: it is only slower; {REPORT}.",
                **figures,
            )
        elif not DECODERS[name](model).captured:
            yield good(what, f"{words}; with a drafter it is not captured.", **figures)
        else:
            yield good(what, f"{words}; captured, all that is recorded is the same.", **figures)


class FailingCapture(CudaCapture):
    """A capture of a CUDA graph that always fails, at an operation that waits for the device."""

    def __call__(self, function: Callable[[], Any]) -> tuple[Any, Callable[[], None]]:
        return super().__call__(lambda: (function(), torch.zeros(1, device=self.device).item()))


def check_failed_capture(subject: Subject) -> Iterator[Finding]:
    """Check a lane whose capture fails, and the next lane.

    The first capture must fail, its lane must still draw its tokens, and the next lane must be
    captured and draw the same.
    """
    model, name, what = subject.model, "sjd", "a capture that fails"
    if model.captures is None:
        yield left_out(what, "Nothing is captured here.")
        return
    captured, failing = drawn(model, name), Captures(partial(FailingCapture, model.device))
    with launched(model, failing, static=True):
        model.slots.trim(0)
        tokens = drawn(model, name)
    after = drawn(model, name)
    is_captured = name not in model.captures.without
    if name in failing.without and is_captured and tokens == captured == after:
        yield good(what, "The lane went on without graphs, and the next one was captured.")
    else:
        yield fault(
            what,
            "The lane drew other tokens, or the next one did or was not captured.",
            f"set PHOTO_FINISH_GRAPHS=off, or --no-graphs, and {REPORT}.",
        )


def check_logits(subject: Subject) -> Iterator[Finding]:
    """Compare the logits of the first tokens with those that a processor computes in float64."""
    model, name = subject.model, f"logits of {subject.title}"
    need = 8 * sum(parameter.numel() for parameter in parameters(model))
    free = available(torch.device("cpu"))
    if free is not None and need > free / 4:
        yield left_out(name, f"The weights in float64 take {need / GIB:.0f} GiB of main memory.")
        return
    twin = subject.twin(torch.device("cpu"), torch.float64)
    for attribute, part in vars(model).items():
        if isinstance(part, nn.Module):
            vars(twin)[attribute].load_state_dict(part.state_dict())
    tokens = torch.tensor(drawn(model, VanillaAR.name)[:ROWS])
    logits, exact = (
        teacher_forced(each, each.plan, PROMPT, each.sampling, tokens.to(each.device))
        .double()
        .cpu()
        for each in (model, twin)
    )
    off = float((logits.double().cpu() - exact).abs().max())
    most = float(exact.abs().max())
    words = f"They are off by {off:.2g} at most, the largest being {most:.3g}."
    figures = {"largest_difference": off, "largest": most, "dtype": str(model.dtype)}
    if off <= MOST_OFF[model.dtype] * most:  # false for NaN
        yield good(name, words, **figures)
    else:
        advice = "set PHOTO_FINISH_DTYPE=float32, or --dtype float32, and check again."
        yield fault(name, words, advice, **figures)


def parameters(model: BodyModel) -> list[Tensor]:
    """Return the parameters of all the model's networks, each once."""
    parts = [part for part in vars(model).values() if isinstance(part, nn.Module)]
    tensors = (tensor for part in parts for tensor in part.parameters())
    return list({id(tensor): tensor for tensor in tensors}.values())


def drawn(model: BodyModel, name: str) -> list[int]:
    """Return the first TOKENS tokens of a lane, or all of a smaller picture."""
    return tokens_of(first_steps(model, name))


@torch.inference_mode()
def first_steps(model: BodyModel, name: str) -> list[Step]:
    """Return the steps in which a lane draws TOKENS tokens, or all of a smaller picture."""
    steps, prefix = DECODERS[name](model).steps(PROMPT, 0), list[Step]()
    for step in steps:
        prefix.append(step)
        if step.after >= TOKENS:
            break
    steps.close()
    return prefix


def tokens_of(steps: list[Step]) -> list[int]:
    """Return the first TOKENS tokens that the steps committed."""
    tokens: list[int] = StepTable.join([step.rows for step in steps]).tokens
    return tokens[:TOKENS]


def first_differing_step(one: list[Any], other: list[Any]) -> int | None:
    """Return the first index where two lists differ; None if they are equal."""
    pairs = itertools.zip_longest(one, other)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), None)
