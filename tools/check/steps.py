"""Checks of what a step costs a GPU besides arithmetic.

These checks count how often the host waits for the GPU, and how many kernels, graphs and copies a
step launches.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Iterator

import torch
from torch.profiler import ProfilerActivity, profile

from engine.decoders import DECODERS, WHOLE
from engine.models.body import BodyModel
from engine.race.captures import PROMPT, launched
from tools.check.finding import REPORT, Finding, Subject, fault, good, left_out

WARM = 4  # steps before the checked one: the first ones read the prompt and are captured
LAUNCHES = {
    "kernels": ("cudaLaunchKernel", "cudaLaunchKernelExC"),
    "graphs": ("cudaGraphLaunch",),
    "copies": ("cudaMemcpyAsync",),
}


def check_steps(subject: Subject) -> Iterator[Finding]:
    """Count launches and waits for the GPU in a step of each lane.

    If the model captures steps, two steps of vanilla AR are counted: one captured, and one launched
    kernel by kernel. Each step waits once, at its end. Any other wait is a fault if the lane can be
    captured on this model.
    """
    if not subject.on_gpu:
        yield left_out("launches of a step", "They are counted only on a GPU.")
        return
    model = subject.model
    for name in WHOLE:
        ways = ("captured", "eager") if name == "ar" and model.captures else ("as it races",)
        for way in ways:
            captures = None if way == "eager" else model.captures
            with launched(model, captures):
                waits, launches = one_step(model, name)
            counts = ", ".join(f"{launches[what]} {what}" for what in LAUNCHES)
            what, words = f"a step of {DECODERS[name].title}, {way}", f"{counts} launched"
            figures = {"lane": name, "way": way, "waits": waits, **launches}
            if waits and DECODERS[name](model).captured:
                yield fault(
                    what,
                    f"{words}; the host waits {1 + len(waits)} times, once at its end and in"
                    f" {', '.join(sorted(set(waits)))}.",
                    f"it is only slower; {REPORT}.",
                    **figures,
                )
            else:
                yield good(
                    what,
                    f"{words}, and the host waits {1 + len(waits)} time{'s' * bool(waits)}.",
                    **figures,
                )


@torch.inference_mode()
def one_step(model: BodyModel, name: str) -> tuple[list[str], Counter[str]]:
    """Return the lines of code where a step waits for the device, and the step's launches by kind.

    The wait at the step's end is not among them. The kinds are those of LAUNCHES.
    """
    steps = DECODERS[name](model).steps(PROMPT, 0)
    for _ in itertools.islice(steps, WARM):
        pass
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            next(steps)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    waits = [
        f"{warning.filename.rpartition('/')[2]}, line {warning.lineno}"
        for warning in caught
        if "synchroniz" in str(warning.message) and "prototype" not in str(warning.message)
    ]
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        next(steps)
    steps.close()
    called = Counter(event.name for event in profiled.events() or [])
    return waits, Counter(
        {what: sum(called[name] for name in names) for what, names in LAUNCHES.items()}
    )
