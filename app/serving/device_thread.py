"""One thread for each device: libraries keep handles, workspaces and plans for each thread, and set
them up again in another."""

from __future__ import annotations

import functools
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

T = TypeVar("T")


@functools.cache
def device_thread(device: torch.device) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, f"race-{device}")


def on_device_thread(
    device: torch.device, items: Generator[T, None, None]
) -> Generator[T, None, None]:
    """What `items` yields, none of which is None, computed on the device's thread, where it is
    closed as well. Whatever thread asks for the next one waits."""
    thread = device_thread(device)
    try:
        while (item := thread.submit(next, items, None).result()) is not None:
            yield item
    finally:
        thread.submit(items.close).result()
