"""Traces as they are read back from their files."""

from __future__ import annotations

from dataclasses import replace

from engine.trace import Trace
from engine.trace.rejections import as_stored
from engine.trace.steps import Step


def reread(trace: Trace) -> Trace:
    """The trace with its rejections rounded; everything else is stored as it is."""
    frames = tuple(
        replace(
            frame, step=Step.of(replace(frame.step.rows, rejections=as_stored(frame.step.rows)))
        )
        if frame.step
        else frame
        for frame in trace.frames
    )
    return replace(trace, frames=frames)
