"""A CUDA graph on a CPU: the operations of a function with the tensors they read and wrote, which
a replay runs again on those very tensors. Whatever the function took from the host stays as it was
at the capture, as in a real graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

COPIES = ("aten._local_scalar_dense", "aten.nonzero", "aten.masked_select", "aten._unique2")
FROM_HOST = "aten.lift_fresh"  # torch.tensor of numbers


class Recorder(TorchDispatchMode):
    """Keeps every operation with its arguments and results. Raises AssertionError for one that
    would wait for a device and, unless they are `copied`, for numbers of the host."""

    def __init__(self, *, copied: bool = False) -> None:
        super().__init__()
        self.copied = copied
        self.operations: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        assert not str(function).startswith(COPIES), f"{function} copies to the host"
        from_host = str(function).startswith(FROM_HOST)
        assert self.copied or not from_host, "numbers of the host become a tensor"
        results = function(*args, **(kwargs or {}))
        self.operations.append((function, args, kwargs or {}, results))
        return results

    def replay(self) -> None:
        for function, args, kwargs, results in self.operations:
            for old, new in zip(
                tree_leaves(results), tree_leaves(function(*args, **kwargs)), strict=True
            ):
                # A view of its arguments, or one of them: it is there already.
                if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


def capture(function: Callable[[], Any]) -> tuple[Any, Callable[[], None]]:
    """As `engine.graphs.CudaCapture` does it, but that the result holds something already."""
    with Recorder() as recorder:
        result = function()
    return result, recorder.replay


def capture_toy(function: Callable[[], Any]) -> tuple[Any, Callable[[], None]]:
    """As `capture`, but for a toy's forward pass, which lists of the host make up: a replay calls
    it again."""
    if function.func.__name__ != "read_rows":
        return capture(function)
    result = function()
    return result, lambda: result.copy_(function())
