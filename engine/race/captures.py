"""Tests, before anybody races, whether each decoder's steps can be captured as CUDA graphs.

Each decoder's first few steps are drawn without graphs, and then with their kernels captured and
replayed. Both ways must record the same.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from engine.decoders import DECODERS
from engine.decoders.window import WindowDecoder
from engine.graphs import Captures
from engine.infilling import Fills, Infilling
from engine.models.base import ImageModel, planned
from engine.trace.steps import recorded

log = logging.getLogger(__name__)

PROMPT = "golden retriever"  # also a class of ImageNet, so that every model can draw it
STEPS = 12  # of a picture; the first step reads the prompt, the second is captured
SLACK = 2**20  # bytes by which one race may take more than the one before


def try_captures(model: ImageModel) -> None:
    """Note in `model.captures` the decoders that run without graphs on this model, and why.

    A decoder runs without graphs if its steps raise an error with graphs, if they record something
    else with graphs than without, or if their memory grows from race to race. Each decoder runs
    with its default settings, on the calling thread, which must be the one that will race. A
    decoder that draws no whole pictures (`infills`) fills in the lower half of one. It is skipped
    unless the model's `fills_in` is `Fills.ANY`.
    """
    if model.captures is None:
        return
    for name, kind in DECODERS.items():
        if not issubclass(kind, WindowDecoder):
            continue
        if kind.infills and model.fills_in is not Fills.ANY:
            continue
        filler, plan = planned(model, _lower_half(model.grid) if kind.infills else None)
        decoder = kind(filler, plan=plan)
        if decoder.captured and (fault := _fault(decoder)):
            model.captures.without[name] = fault
            log.warning("%s runs without CUDA graphs: %s", decoder.title, fault)


@contextmanager
def launched(
    model: ImageModel, captures: Captures | None, *, static: bool | None = None
) -> Iterator[None]:
    """Set the model's captures to `captures` within a `with` block; None launches kernel by kernel.

    If `static` is not None, it also decides whether windows have static shapes.
    """
    changed: dict[str, object] = {"captures": captures}
    if static is not None:
        changed["static"] = static
    own = {name: getattr(model, name) for name in changed}
    vars(model).update(changed)
    try:
        yield
    finally:
        vars(model).update(own)


def _lower_half(grid: tuple[int, int]) -> Infilling:
    cells = range(grid[0] * grid[1])
    return Infilling.of_mask([0] * len(cells), [2 * cell >= len(cells) for cell in cells])


def _fault(decoder: WindowDecoder) -> str | None:
    """Return what is wrong with a decoder's graphs, or None if nothing is.

    Also returns None if the decoder raises without graphs: then graphs are not to blame.
    """
    model = decoder.model
    try:
        with launched(model, None):
            expected = _steps(decoder)
    except Exception:  # it fails without graphs too, and its race will say so
        return None
    races, used = list[list[object]](), list[int]()
    try:
        for _ in range(3):  # the first one captures
            races.append(_steps(decoder))
            used.append(allocated(model.device))
    except Exception as error:
        return f"with graphs it raises {type(error).__name__}: {error}"
    if model.captures and decoder.name in model.captures.without:
        return model.captures.without[decoder.name]
    for steps in races:
        for number, (one, other) in enumerate(zip(expected, steps, strict=True), 1):
            if one != other:
                return f"step {number} differs from the one of kernels launched one by one"
    if (more := used[2] - used[1]) > SLACK:
        return f"its graphs take {more / 2**20:.0f} MiB more in every race"
    return None


@torch.inference_mode()
def _steps(decoder: WindowDecoder) -> list[object]:
    """Return what the first STEPS steps of a picture record."""
    steps = decoder.steps(PROMPT, 0)
    try:
        return recorded(list(itertools.islice(steps, STEPS)))
    finally:
        steps.close()


def allocated(device: torch.device) -> int:
    """Return how many bytes all tensors on a CUDA device take; 0 for another device."""
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
