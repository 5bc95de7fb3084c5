"""The threads on which races compute.

All races on a device run in one Python thread. On a CPU, PyTorch may compute a pass with several
threads; `use_threads` sets how many.
"""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor

import torch

from engine.models.base import ImageModel
from engine.processors import processors

# As torch counts them, which it does before any is set, and within a container's quota, which it
# does not read.
_CORES = min(torch.get_num_threads(), processors())


@functools.cache
def device_thread(device: torch.device) -> ThreadPoolExecutor:
    """Return a device's one thread.

    Libraries keep handles, workspaces and plans for each thread, and would set them up again in
    another thread.
    """
    return ThreadPoolExecutor(1, f"race-{device}")


def use_threads(model: ImageModel) -> None:
    """Set how many threads the calling thread computes with; on a GPU nothing is set.

    The embedded model gains from at most two threads, a public model from one on every core. If
    another process uses the core of one thread, all other threads of a pass have to wait. So at
    least one core is left to the page and the browser. Only a public model on two cores uses both.
    """
    if model.device.type != "cpu":
        return
    most, least = (_CORES, 2) if model.slow_pixels else (2, 1)
    torch.set_num_threads(min(_CORES, most, max(least, _CORES - 1)))
