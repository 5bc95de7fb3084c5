"""Chooses a model's device and dtype, checks that the model fits there, and classifies failures.

Memory is checked before any weights are read.
"""

from __future__ import annotations

import functools
import os
from functools import partial
from pathlib import Path

import torch

from engine.failures import Failure
from engine.models.base import MAX_ROWS
from engine.models.slots import Slots
from engine.models.supply.card import CARDS, GIB, ModelCard, ModelError
from engine.processors import CGROUP
from engine.settings import SettingError

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
LANES = 2  # lanes that must fit beside the weights; a race asks for its own number
# Bytes that a lane's graphs keep for their results, for each of the model's codes. This is the most
# that any decoder took on an H200: LANTERN's 208 MiB with Janus-Pro's 16,384 codes.
_GRAPHS = 13 * 2**10
_PROMPT = 256  # positions of a prompt; longer ones are rare
_CUDA_MEMORY_ALLOCATION = 2  # cudaErrorMemoryAllocation
# A container's files in cgroup v2, then in v1: the memory limit, the memory in use, the
# statistics. The last name is that of the statistics' entry for cached files.
_LIMITS = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    (
        "memory/memory.limit_in_bytes",
        "memory/memory.usage_in_bytes",
        "memory/memory.stat",
        "total_inactive_file",
    ),
)
_MEMINFO = Path("/proc/meminfo")


def zero_gpu() -> bool:
    """Return whether this is a ZeroGPU Space.

    Such a Space has a real GPU only in calls of functions decorated with `spaces.GPU`. Outside
    these calls torch.cuda is emulated.
    """
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "true")


def resolve_device(wanted: str = "auto") -> torch.device:
    """Return the device called `wanted`; "auto" is a GPU if there is one, else the CPU.

    Raises ModelError for an unknown or missing device.
    """
    if wanted == "auto":
        wanted = "cuda" if zero_gpu() or torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(wanted)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ModelError(f"{wanted!r} is not a device: it is auto, cpu, cuda, or cuda:0 and so on.")
    if device.type == "cuda" and not zero_gpu():
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            here = f"{count} GPU{'s' * (count > 1)}" if count else "the CPU"
            raise ModelError(f"There is no {wanted} here, only {here}: set the device to auto.")
    return device


def loading_device(device: torch.device) -> torch.device:
    """Return the device that weights from files are copied to, one tensor at a time.

    That is `device` itself. On ZeroGPU, where the GPU appears only later, it is the CPU.
    """
    return torch.device("cpu") if zero_gpu() else device


def resolve_dtype(device: torch.device, wanted: str | torch.dtype | None = None) -> torch.dtype:
    """Return the dtype to run in: `wanted` or, for None and "auto", the fastest on the device.

    The fastest is bfloat16 on Ampere and later GPUs, and on CPUs that multiply in bfloat16. It is
    float16 on older GPUs, and float32 on other CPUs. Raises ModelError for any name but "auto" and
    those in DTYPES.
    """
    if isinstance(wanted, torch.dtype):
        return wanted
    if wanted not in (None, "auto"):
        if wanted not in DTYPES:
            raise ModelError(f"{wanted!r} is not a dtype: it is auto, {', '.join(DTYPES)}.")
        return DTYPES[wanted]
    if device.type == "cpu":
        return torch.bfloat16 if cpu_has_bfloat16() else torch.float32
    # every ZeroGPU card is later than Ampere
    if zero_gpu() or torch.cuda.get_device_capability(device) >= (8, 0):
        return torch.bfloat16
    return torch.float16


@functools.cache
def cpu_has_bfloat16() -> bool:
    """Return whether the CPU multiplies in bfloat16.

    A CPU that does not (AVX2 alone) takes 28 times as long in bfloat16 as in float32.
    """
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name) for name in ("avx512_bf16", "amx_bf16"))


def race_bytes(card: ModelCard, dtype: torch.dtype, lanes: int, graphs: bool = False) -> int:
    """Return the bytes that a race takes besides the weights.

    Each lane takes a KV cache of two guidance rows, with one more layer for a drafter, and the
    memory that captured `graphs` keep. The race also takes the working memory of a pass or of
    decoding one picture.
    """
    positions = card.length + _PROMPT + MAX_ROWS
    drafter = any(source.part == "drafter" for source in card.repos)  # loaded, not only published
    values = card.kv_values + drafter * card.kv_values // card.depth
    lane = 2 * positions * values * dtype.itemsize + (_GRAPHS * card.codes if graphs else 0)
    return lanes * lane + card.working


def required_bytes(card: ModelCard, dtype: torch.dtype, lanes: int = LANES) -> int:
    """Return the bytes that a model takes together with a race of `lanes` lanes."""
    return card.parameters * dtype.itemsize + race_bytes(card, dtype, lanes)


def check_lane_count(
    card: ModelCard,
    device: torch.device,
    dtype: torch.dtype,
    lanes: int,
    slots: Slots,
    graphs: bool = False,
) -> None:
    """Raise SettingError if a race of `lanes` lanes does not fit beside the loaded model.

    The message says how many lanes fit. The race reuses the caches of the model's first `lanes`
    free slots. If memory is short, the other free slots are cleared.
    """
    free, need = available(device), partial(race_bytes, card, dtype, graphs=graphs)
    if free is None:
        return
    free += slots.bytes(lanes)
    if need(lanes) > free:
        free += slots.trim(lanes)
    if need(lanes) <= free:
        return
    fit = [count for count in range(1, lanes) if need(count) <= free]
    raise SettingError(
        f"{lanes} lanes of {card.title} need {_gib(need(lanes))} on {device},"
        f" and {_gib(free)} are free: {f'race {max(fit)} at most' if fit else 'free some'}."
    )


def available(device: torch.device) -> int | None:
    """Return the bytes free on the device; None if the number is unknown, as on ZeroGPU."""
    if device.type == "cuda":
        if zero_gpu():
            return None
        pooled = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + pooled
    return main_memory()


def main_memory(meminfo: Path = _MEMINFO, cgroup: Path = CGROUP) -> int | None:
    """Return the bytes free in main memory, or None if the system does not report them.

    In a container this is at most what the container's limit leaves.
    """
    free = [bound for bound in (_machine(meminfo), _container(cgroup)) if bound is not None]
    return min(free, default=None)


def _machine(meminfo: Path) -> int | None:
    try:
        lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, LookupError, ValueError):
        return None


def _container(cgroup: Path) -> int | None:
    for limit, current, numbers, cached in _LIMITS:
        try:
            bound, used = (int((cgroup / name).read_text()) for name in (limit, current))
            stat = dict(line.split() for line in (cgroup / numbers).read_text().splitlines())
            # cached files count as used, but are evicted when memory is needed
            return max(0, bound - used + int(stat[cached]))
        except (OSError, LookupError, ValueError):  # "max" where there is no limit
            continue
    return None


def check(card: ModelCard, device: torch.device, dtype: torch.dtype) -> None:
    """Raise ModelError if the model does not fit on the device; the message says what would fit."""
    short = shortage(card, device, dtype)
    if short is None:
        return
    half = resolve_dtype(device)
    if half.itemsize < dtype.itemsize and shortage(card, device, half) is None:
        short += f" In {_name(half)} it would fit: {_gib(required_bytes(card, half))}."
    others = sorted(CARDS.values(), key=lambda other: -other.parameters)
    fitting = [
        other.title
        for other in others
        if other.name != card.name
        and not other.research_only
        and shortage(other, device, dtype) is None
    ]
    fit = "No other model fits either: free some memory."
    if fitting:
        fit = f"What fits, the largest first: {', '.join(fitting[:3])}."
    raise ModelError(f"{short} {fit}")


def shortage(card: ModelCard, device: torch.device, dtype: torch.dtype) -> str | None:
    """Return a sentence on the missing memory; None if the model fits or the memory is unknown."""
    free, need = available(device), required_bytes(card, dtype)
    if free is not None and need > free:
        return (
            f"{card.title} needs {_gib(need)} on {device} in {_name(dtype)}, and {_gib(free)} are"
            " free."
        )
    weights = card.parameters * dtype.itemsize
    main = main_memory() if device.type == "cuda" and not zero_gpu() else None
    if main is not None and weights > main:
        return (
            f"{card.title} passes through main memory, where its weights need {_gib(weights)}, and"
            f" {_gib(main)} are free."
        )
    return None


def classify(error: BaseException, device: torch.device) -> Failure:
    """Return the kind of failure that an exception stands for; the code ran on `device`."""
    if isinstance(error, SettingError):
        return Failure.REJECTED_SETTING
    if isinstance(error, ModelError):
        return error.failure
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return Failure.OUT_OF_MEMORY
    if isinstance(error, torch.AcceleratorError):
        code = getattr(error, "error_code", None)
        return Failure.OUT_OF_MEMORY if code == _CUDA_MEMORY_ALLOCATION else Failure.DEVICE_LOST
    # cuBLAS and cuDNN report a lost device as a plain RuntimeError
    started: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    if isinstance(error, RuntimeError) and device.type == "cuda" and started:
        try:
            torch.cuda.synchronize(device)
        except RuntimeError:
            return Failure.DEVICE_LOST
    return Failure.BUG


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _gib(count: int) -> str:
    return f"{count / GIB:.1f} GiB"
