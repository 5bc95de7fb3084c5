"""What `spaces` does to a generator on ZeroGPU (0.51.3, spaces/zero/wrappers.py): each call runs in
a forked process, arguments and yielded values go through pickle, the duration is computed from
the same arguments, and a closed call ends after a yield."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import gradio as gr

FORK = multiprocessing.get_context("fork")


class Spaces(ModuleType):
    """The module. `durations` of its calls, `workers` the processes; `error` is
    raised in place of a call."""

    def __init__(self) -> None:
        super().__init__("spaces")
        self.durations: list[float] = []
        self.workers: list[Any] = []
        self.error: Exception | None = None

    def GPU(self, duration: Callable[..., float]) -> Callable[[Any], Any]:
        def decorate(task: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
            def call(*args: Any) -> Iterator[Any]:
                self.durations.append(duration(*args))
                if self.error is not None:
                    raise self.error
                yield from self._called(task, args)

            return call

        return decorate

    def _called(self, task: Callable[..., Iterator[Any]], args: tuple[Any, ...]) -> Iterator[Any]:
        ours, theirs = FORK.Pipe()
        stop = FORK.Event()
        worker = FORK.Process(
            target=_work, args=(task, pickle.dumps(args), theirs, stop), daemon=True
        )
        self.workers.append(worker)
        worker.start()
        theirs.close()
        try:
            while True:
                try:
                    kind, data = pickle.loads(ours.recv_bytes())
                except EOFError:
                    raise gr.Error("GPU task aborted", title="ZeroGPU worker error") from None
                if kind == "end":
                    return
                if kind == "error":
                    raise gr.Error(data, title="ZeroGPU worker error")
                yield data
        finally:
            stop.set()
            worker.join(300)


def _work(task: Callable[..., Iterator[Any]], args: bytes, pipe: Any, stop: Any) -> None:
    try:
        for value in task(*pickle.loads(args)):
            pipe.send_bytes(pickle.dumps(("value", value)))
            if stop.is_set():
                break
        pipe.send_bytes(pickle.dumps(("end", None)))
    except BaseException as error:
        pipe.send_bytes(pickle.dumps(("error", type(error).__name__)))
    finally:
        pipe.close()
        os._exit(0)
