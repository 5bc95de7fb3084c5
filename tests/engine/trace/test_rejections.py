"""Rejections are rounded without a change of what a rule makes of them: the draft's own numbers,
its rank by p, and masses as exact as its q."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.trace import Status, StepTable
from engine.trace.rejections import HEAD, LISTED, as_stored, rounded
from engine.trace.rows import SUPPORT
from engine.trace.shares import NONE
from tests.steps import Rejection, Spot, build

CODES = 40
# Of tokens beside the draft: whole distributions, ones that hardly reach the draft, and none.
MASSES = st.one_of(
    st.floats(0, 1, width=32), st.floats(0, 2**-20, width=32), st.just(0.0), st.just(2.0**-5)
)
LISTS = st.lists(st.tuples(MASSES, MASSES), min_size=1, max_size=CODES)


def table_of(draft: int, *rejections: Rejection) -> StepTable:
    steps = [
        build(i + 1, i, i + 1, [spot(i, draft, entry.uniform)], rejection=entry)
        for i, entry in enumerate(rejections)
    ]
    return StepTable.join([step.rows for step in steps])


def spot(at: int, draft: int, uniform: float) -> Spot:
    return Spot(at, draft, 0, Status.RESAMPLED, 0.5, 0.5, 0.5, 0.1, uniform=uniform)


def rejection(masses: Sequence[tuple[float, float]], first: int = 0) -> Rejection:
    p, q = (np.array(values, "<f4") for values in zip(*masses, strict=True))
    return Rejection(0.75, range(first, first + len(masses)), p, q)


def numbers(rows: np.ndarray, name: str) -> np.ndarray:
    """p or q of each token [N, CODES]; 0 of one that is not listed."""
    found = np.zeros((len(rows), CODES), "<f4")
    for row, values in zip(rows, found, strict=True):
        known = row["tokens"] != NONE
        values[row["tokens"][known]] = row[name][known]
    return found


@given(st.lists(LISTS, min_size=1, max_size=3))
def test_rounding_keeps_the_draft_its_rank_and_every_mass(drawn: list) -> None:
    draft = 0
    table = table_of(draft, *map(rejection, drawn))
    before, after = table.rejections, as_stored(table)
    assert (after["uniform"] == before["uniform"]).all()
    p, q = numbers(before, "p"), numbers(before, "q")
    p_after, q_after = numbers(after, "p"), numbers(after, "q")
    assert (p_after[:, draft] == p[:, draft]).all()
    assert (q_after[:, draft] == q[:, draft]).all()
    own = p[:, [draft]]
    for compare in (np.less, np.equal, np.greater):
        assert ((compare(p_after, own) == compare(p, own)) | (own == 0)).all()
    assert (np.diff(np.take_along_axis(p_after, np.argsort(p, -1), -1), axis=-1) >= 0).all()
    # Half a step: at scale c, c / 4096 near 0 and 1 / 4096 of a mass above it; c is q(x) / 64 and
    # q(x) / 2, at most, with q(x) counted as 1/256 at least.
    scale = np.maximum(q[:, [draft]], 2.0**-8).astype(float)
    ranked = np.where(own > 0, scale / 64, scale / 2)
    assert (np.abs(p_after.astype(float) - p) <= (p + ranked) / 8192 * 1.01).all()
    assert (np.abs(q_after.astype(float) - q) <= (q + scale / 2) / 8192 * 1.01).all()


@given(st.lists(LISTS, max_size=3))
def test_what_is_rounded_stays_as_it_is(drawn: list) -> None:
    table = table_of(0, *map(rejection, drawn))
    again = replace(table, rejections=as_stored(table))
    assert (as_stored(again) == again.rejections).all()
    assert rounded(again) == rounded(table)


def test_tokens_without_a_mass_are_left_out_but_for_the_draft() -> None:
    masses = [(0.0, 0.0), (0.5, 0.0), (1e-9, 1e-9), (0.0, 0.25), (1e-9, 0.25), (0.5, 0.75)]
    tokens = as_stored(table_of(0, rejection(masses)))["tokens"][0]
    assert tokens[tokens != NONE].tolist() == [0, 1, 3, 4, 5]


def test_a_mass_just_above_the_drafts_stays_above_it_and_listed() -> None:
    least = np.nextafter(np.float32(1e-9), np.float32(1))
    table = table_of(0, rejection([(1e-9, 0.5), (float(least), 0.0), (1e-10, 0.0), (0.9, 0.5)]))
    (row,) = as_stored(table)
    assert row["tokens"][:3].tolist() == [0, 1, 3]
    assert row["p"][1] > row["p"][0] == np.float32(1e-9)


@given(st.floats(2**-30, 1, width=32), st.floats(2**-12, 1, width=32), st.integers(1, 2**12))
def test_masses_a_few_roundings_from_the_drafts_stay_on_their_side(
    own: float, q: float, away: int
) -> None:
    near = np.float32(own).view("<u4") + np.array([0, -away, away, -1, 1])
    p = near.astype("<u4").view("<f4").tolist()
    table = table_of(0, rejection([(each, q) for each in p]))
    after = as_stored(table)["p"][0, : len(p)]
    assert np.sign(after - after[0]).tolist() == [0, -1, 1, -1, 1]
    assert after[0] == np.float32(own)


def test_a_full_list_and_any_tokens_are_stored() -> None:
    rows = np.linspace(0.1, 1, SUPPORT)
    full = rejection(list(zip(rows, rows, strict=True)), first=60_000)
    table = table_of(60_007, full, rejection([(0.5, 0.5)], first=3))
    assert len(rounded(table).listed) == SUPPORT + 1
    assert (as_stored(table)["tokens"] == table.rejections["tokens"]).all()


def test_a_draft_that_is_not_listed_has_no_mass() -> None:
    table = table_of(9, rejection([(0.5, 0.25), (0.5, 0.75)]))
    assert rounded(table).heads[["p", "q"]].tolist() == [(0, 0)]
    assert as_stored(table)["p"][0, :2].tolist() == [0.5, 0.5]


def test_a_token_takes_six_bytes_before_compression() -> None:
    assert (HEAD.itemsize, LISTED.itemsize) == (14, 6)
