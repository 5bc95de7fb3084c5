"""One thread for each device: libraries keep handles, workspaces and plans for each thread, and set
them up again in another."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor

import torch


@functools.cache
def device_thread(device: torch.device) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, f"race-{device}")
