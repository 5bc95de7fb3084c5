"""Traces: step tables, a race's file and a lane's figures. Needs neither torch nor a model."""

from engine.trace.file import (
    MAX_BYTES,
    MAX_ERROR,
    MAX_LANES,
    MAX_PROMPT,
    MAX_SEED,
    MAX_SIDE,
    Frame,
    Header,
    LaneState,
    Trace,
    TraceError,
    TraceLane,
    parse,
)
from engine.trace.rows import Status
from engine.trace.seconds import Seconds
from engine.trace.stats import LaneStats
from engine.trace.steps import Step, StepTable

__all__ = [
    "MAX_BYTES",
    "MAX_ERROR",
    "MAX_LANES",
    "MAX_PROMPT",
    "MAX_SEED",
    "MAX_SIDE",
    "Frame",
    "Header",
    "LaneState",
    "LaneStats",
    "Seconds",
    "Status",
    "Step",
    "StepTable",
    "Trace",
    "TraceError",
    "TraceLane",
    "parse",
]
