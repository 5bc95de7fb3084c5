"""Fields of positions are stored as differences from what is expected, and come back whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders import DECODERS, WHOLE
from engine.trace import StepTable
from engine.trace.residuals import EXPECTED, positions_of, residuals
from engine.trace.rows import Source
from engine.trace.shares import NONE, ONE
from tools.judge.toys import Toy


def raced(name: str, codes: int = 12) -> StepTable:
    steps = DECODERS[name](Toy((4, 4), codes, forced=True)).steps("", 3)
    return StepTable.join([step.rows for step in steps])


SJD = raced("sjd")


@pytest.mark.parametrize("name", WHOLE)
def test_rows_are_restored_from_their_residuals(name: str) -> None:
    table = raced(name)
    stored = residuals(table)
    assert positions_of(replace(table, positions=stored)).tobytes() == table.positions.tobytes()
    for field in set(stored.dtype.names or ()) - set(EXPECTED):
        assert (stored[field] == table.positions[field]).all()


@given(st.integers(0, 2**32 - 1))
def test_any_rows_at_all_are_restored(seed: int) -> None:
    """Even such as no race has, where each refers to what there is."""
    drawn = np.random.default_rng(seed).integers(0, 256, SJD.positions.nbytes, "u1")
    positions = drawn.view(SJD.positions.dtype)
    positions["refs"] = SJD.positions["refs"]
    table = replace(SJD, positions=positions)
    again = positions_of(replace(table, positions=residuals(table)))
    assert again.tobytes() == positions.tobytes()


@pytest.mark.parametrize(
    ("field", "share"),
    [("draft", 0.5), ("top1", 1), ("top1_draft", 1), ("p", 0.5), ("q", 0.7), ("acceptance", 0.4)],
)
def test_most_of_sjds_fields_are_as_expected(field: str, share: float) -> None:
    stored = residuals(SJD)
    assert (stored[field] == 0).mean() >= share
    assert (SJD.positions[field] == 0).mean() < share


def test_what_is_expected_is_what_stands_elsewhere() -> None:
    """Field by field, of rows with an earlier one; docs/trace-format.md says the same. SCD keeps
    drafts, and of 40 codes many are not among the eight likeliest."""
    table = raced("scd", 40)
    later = np.flatnonzero((table.earlier >= 0) & (table.source == Source.BEFORE))
    assert len(later) > 5
    stored = residuals(table)
    for at in later:
        row, before, left = table.positions[at], table.positions[table.earlier[at]], stored[at]

        def share(of: np.void, draft: int = int(row["draft"])) -> int:
            return dict(zip(of["top"].tolist(), of["top_shares"].tolist(), strict=True)).get(
                draft, 0
            )

        p, q = int(row["p"]), int(row["q"])
        same = row["draft"] == before["draft"]
        expected = {
            "draft": before["token"],
            "top1": row["top_shares"][0],
            "top1_draft": before["top_shares"][0],
            "p": share(row),
            "q": before["p"] if same else share(before),
            "acceptance": min(ONE, (ONE * p + q // 2) // max(q, 1)),
        }
        if NONE in (p, q):
            expected["acceptance"] = NONE
        for name, value in expected.items():
            assert int(left[name]) == (int(row[name]) - int(value)) % 2**16, name


def test_the_latest_earlier_row_of_a_position() -> None:
    position = SJD.position
    for at, earlier in enumerate(SJD.earlier.tolist()):
        before = np.flatnonzero(position[:at] == position[at])
        assert earlier == (before[-1] if len(before) else -1)
