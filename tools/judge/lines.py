"""The lines of a decoder's own file, and which lines are run."""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from engine.decoders.base import Decoder
from engine.decoders.verdict import source_of


def lines_of(kind: type[Decoder]) -> frozenset[int]:
    """Return the line numbers of the class's own functions; empty if the class has no file."""
    codes = [function.__code__ for function in vars(kind).values() if inspect.isfunction(function)]
    file = str(source_of(kind))
    return frozenset(line for code in codes if code.co_filename == file for line in _lines(code))


def _lines(code: CodeType) -> Iterator[int]:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    for _, line in dis.findlinestarts(code):
        if line and line > code.co_firstlineno:
            yield line
    for each in inner:
        yield from _lines(each)


@contextmanager
def lines_run(kind: type[Decoder]) -> Iterator[set[int]]:
    """Yield a set that collects the numbers of the lines of the class's file that run.

    Only lines that run in this thread, within this context, are collected.
    """
    lines, before = set[int](), sys.gettrace()
    file = str(source_of(kind))

    def in_function(frame: FrameType, event: str, argument: Any) -> Any:
        lines.add(frame.f_lineno)
        return in_function

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        return in_function if frame.f_code.co_filename == file else None

    sys.settrace(called)
    try:
        yield lines
    finally:
        sys.settrace(before)
