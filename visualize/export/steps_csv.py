"""Steps: a race as a table for a spreadsheet, one row a step."""

from __future__ import annotations

import csv
import io

import numpy as np

from engine.race.request import lane_names
from engine.trace import Status, Trace
from engine.trace.shares import share_values

COLUMNS = (
    "lane",
    "decoder",
    "name",
    "step",
    "nfe",
    "rows",
    "frontier_before",
    "frontier_after",
    *(status.name.lower() for status in Status),
    "drafter_passes",
    "forward_seconds",
    "verify_seconds",
    "cache_seconds",
    "draft_seconds",
    "lane_seconds",
    "shift",
)


def steps_csv(trace: Trace) -> str:
    """Return a race as CSV (RFC 4180): a header line, then a line for each step of each lane.

    Lanes and steps are numbered from 1. The frontier counts committed tokens, forced ones included.
    The column of a status counts the positions that the step gave this status. `lane_seconds` is
    the lane's clock after the step. `shift` is the mean shift of the tests that committed a token.
    If the lane's table has prices (see engine/decoders/priced.py), `shift` is the mean price of the
    committed tokens. `shift` is empty if the step has neither shifts nor prices. A field is a
    number, or the name of a decoder or a lane. No field has a visitor's text, so a spreadsheet
    finds no formula.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    names = lane_names(trace.header.lanes)
    for number, lane in enumerate(trace.header.lanes, 1):
        table = trace.table(number - 1)
        statuses = np.zeros((len(table), len(Status)), int)
        np.add.at(statuses, (table.step, table.positions["status"]), 1)
        shifts = share_values(table.shift)
        tests = np.bincount(table.step, ~np.isnan(shifts), len(table))
        sums = np.bincount(table.step, np.nan_to_num(shifts), len(table))
        for k in range(len(table)):
            step = table.steps[k]
            times = [*table.seconds[k], table.clock[k + 1]]
            writer.writerow(
                [
                    number,
                    lane.decoder,
                    names[number - 1],
                    k + 1,
                    step["nfe"],
                    step["rows"],
                    *table.frontier[k : k + 2],
                    *statuses[k],
                    step["drafter_passes"],
                    *(f"{value:.6f}" for value in times),
                    f"{sums[k] / tests[k]:.6f}" if tests[k] else "",
                ]
            )
    return out.getvalue()
