"""Processes that enumerate or sample; each works on one model at a time."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import torch

from engine.decoders.base import Decoder
from engine.settings import Settings

Work = Callable[[Callable[..., Any], Sequence[Any]], Iterable[Any]]  # results in order


@contextmanager
def workers(kind: type[Decoder], every: Sequence[Settings], processes: int) -> Iterator[Work]:
    """Yield a `map` whose tasks find the decoder `kind` and the settings `every` in JUDGED.

    The tasks run in `processes` forked processes; if `processes` is 1, they run in this process.
    When the context ends, tasks that have not begun are dropped.
    """
    if processes == 1:
        _begin(kind, every)
        yield map
        return
    # Forked, because only this process has loaded the class.
    context = get_context("fork")
    pool = ProcessPoolExecutor(processes, context, _begin_worker, (kind, every))
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)


# The decoder that each process judges, and the settings.
JUDGED: list[tuple[type[Any], Sequence[Settings]]] = []


def _begin(kind: type[Decoder], every: Sequence[Settings]) -> None:
    JUDGED[:] = [(kind, every)]


def _begin_worker(kind: type[Decoder], every: Sequence[Settings]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that forked this one ends it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)  # threads from before the fork do not exist here
    _begin(kind, every)
