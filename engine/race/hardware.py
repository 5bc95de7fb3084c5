"""The machine's description, which accompanies every measured figure."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

import torch

from engine.decoders import DECODERS
from engine.models.base import ImageModel


def machine_of(model: ImageModel) -> str:
    """Describe a model's device, its runtime if not PyTorch, and whether steps are CUDA graphs."""
    return ", ".join(filter(None, (device_name(model.device), model.runtime, _graphs(model))))


def _graphs(model: ImageModel) -> str:
    if model.captures is None:
        return ""
    without = [DECODERS[name].title for name in model.captures.without]
    if len(without) > 3:  # a header's line is short
        without = [f"{len(without)} decoders"]
    return "CUDA graphs" + (f" but for {', '.join(without)}" if without else "")


def device_name(device: torch.device) -> str:
    """Return one line with the device, its cores or memory, and torch's version."""
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        return (
            f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB, torch"
            f" {torch.__version__}"
        )
    names = [line.partition(":")[2].strip() for line in _cpuinfo() if line.startswith("model name")]
    name = names[0] if names else platform.processor() or platform.machine()
    name = re.sub(r"\((R|TM)\)| (CPU|Processor)\b", "", name)
    counts = (_plural(os.cpu_count() or 1, "core"), _plural(torch.get_num_threads(), "thread"))
    return f"{name}, {', '.join(counts)}, torch {torch.__version__}"


def is_of_this_machine(name: str) -> bool:
    """Return whether a `device_name` may belong to this machine.

    It may if it names the machine's processor, or a GPU that this process uses. Threads and torch's
    version do not matter.
    """
    devices = [torch.device("cpu")]
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        devices += [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    return _hardware(name) in [_hardware(device_name(device)) for device in devices]


def _hardware(name: str) -> list[str]:
    """Return the device's name and its cores or memory, from a `device_name`."""
    return name.split(", ")[:2]


def _plural(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _cpuinfo() -> list[str]:
    file = Path("/proc/cpuinfo")  # Linux alone has it
    return file.read_text().splitlines() if file.exists() else []
