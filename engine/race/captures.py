"""Whether a lane's steps can be captured as CUDA graphs here, tried before anybody races: a few
steps are run one by one, captured and replayed, and what they record must be the same."""

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

PROMPT = "golden retriever"  # a class of ImageNet too: every model draws it
STEPS = 12  # of a picture: the first reads the prompt, the second is captured
SLACK = 2**20  # bytes by which one race may take more than the one before


def try_captures(model: ImageModel) -> None:
    """Notes in `model.captures` the decoders that run without graphs on this model, and why: what
    capturing or replaying raises, a step that is recorded otherwise, or memory that grows from race
    to race. Runs each with its own settings, on the thread that will race. Decoders that fill in
    are tried where the model fills in any cell."""
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
    """With other graphs, or none, and with static shapes or not, where that is said."""
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
    """What is wrong with a lane's graphs, if anything is."""
    model = decoder.model
    try:
        with launched(model, None):
            expected = _steps(decoder)
    except Exception:  # nor would it race without graphs, as its race will say
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
    """What the first steps of a picture record."""
    steps = decoder.steps(PROMPT, 0)
    try:
        return recorded(list(itertools.islice(steps, STEPS)))
    finally:
        steps.close()


def allocated(device: torch.device) -> int:
    """Bytes of tensors on a CUDA device; 0 on another."""
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
