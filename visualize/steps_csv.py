"""Steps: a race as a table for a spreadsheet, one row a step."""

from __future__ import annotations

import csv
import io

from engine.records import Status
from engine.trace import Trace

COLUMNS = (
    "lane",
    "decoder",
    "step",
    "nfe",
    "frontier_before",
    "frontier_after",
    *(status.name.lower() for status in Status),
    "drafter_passes",
    "forward_seconds",
    "verify_seconds",
    "cache_seconds",
    "draft_seconds",
    "lane_seconds",
)


def steps_csv(trace: Trace) -> str:
    """CSV (RFC 4180) with a header line: lanes in their order, each lane's steps in theirs; both
    count from 1.

    The frontier counts tokens, forced ones included; a column for each status counts the positions
    that the step did that to; `lane_seconds` is the lane's clock after the step. Cells hold numbers
    and decoders' names alone, nothing that a visitor wrote, so that a spreadsheet finds no formula.
    """
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(COLUMNS)
    for number, lane in enumerate(trace.header.lanes, 1):
        clock = 0.0
        for count, step in enumerate(trace.steps(number - 1), 1):
            statuses = [position.status for position in step.positions]
            seconds = step.seconds
            clock += seconds.total
            times = (seconds.forward, seconds.verify, seconds.cache, seconds.draft, clock)
            table.writerow(
                [
                    number,
                    lane.decoder,
                    count,
                    step.nfe,
                    step.before,
                    step.after,
                    *(statuses.count(status) for status in Status),
                    step.drafter_passes,
                    *(f"{value:.6f}" for value in times),
                ]
            )
    return out.getvalue()
