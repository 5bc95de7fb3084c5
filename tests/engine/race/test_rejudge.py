"""What if: rejections judged again, against known answers and the decoders' own decisions."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders.gsd import GSDSettings
from engine.decoders.lantern import LanternSettings
from engine.decoders.sjd import SJD
from engine.race import Lane
from engine.race.rejudge import Tally, rejudge
from engine.race.request import parse_lane
from engine.settings import Sampling, SettingError
from engine.trace import Frame, Header, LaneState, Status, Trace
from engine.trace.rejections import as_stored
from tests.races import raced
from tests.steps import Rejection, Spot, build
from tools.judge.toys import Toy

GSD_SETTINGS = st.builds(GSDSettings, G=st.integers(1, 9), d=st.floats(0, 4), delta=st.floats(0, 1))
LANTERN_SETTINGS = st.builds(
    LanternSettings,
    k=st.integers(1, 20),
    delta=st.floats(0, 1),
    lam=st.floats(1, 10),
    bound=st.sampled_from(["delta", "lambda"]),
)
# Codes on a line: from code 1, the nearest are 2, 0, 3, 4.
LINE = np.array([[2.0], [0.0], [1.0], [3.0], [4.0]], "<f4")
P, Q = [0.30, 0.25, 0.20, 0.15, 0.10], [0.05, 0.60, 0.20, 0.10, 0.05]
RACED = {"gsd": "gsd:G=4;delta=0.1;d=1.0", "lantern": "lantern:k=6"}
# Rules without their slack, and with it.
STRICT = [
    *(("gsd", GSDSettings(G=1)), ("lantern", LanternSettings(k=1))),
    ("lantern", LanternSettings(k=62, delta=0.0)),
]
SLACK = [("gsd", GSDSettings()), ("lantern", LanternSettings(k=62, delta=0.4))]


def rejection(
    p: list[float], q: list[float], draft: int, uniform: float, tokens: list[int] | None = None
) -> tuple[int, Rejection]:
    ids = tokens if tokens is not None else list(range(len(p)))
    kept = (np.array(distribution, "<f4")[ids] for distribution in (p, q))
    return draft, Rejection(uniform, ids, *kept)


def rejected(*rejections: tuple[int, Rejection], codebook: np.ndarray = LINE) -> Trace:
    """A trace of one lane with a step for each rejection."""
    lanes = (Lane("sjd").plain(),)
    header = Header(
        "a prompt", 1, "toy", (1, 8), len(codebook), tuple(range(8)), Sampling(), lanes, "here"
    )
    frames = []
    for i, (draft, entry) in enumerate(rejections):
        spot = Spot(i, draft, 0, Status.RESAMPLED, 0.5, 0.5, 0.5, 0.1, uniform=entry.uniform)
        frames.append(Frame(0, LaneState.RACING, build(i + 1, i, i + 1, [spot], rejection=entry)))
    return Trace(header, tuple(frames), codebook.tobytes())


@functools.cache
def race() -> Trace:
    return raced(Toy((6, 6), 20), ("ar", "sjd", *RACED.values(), "sjd-pac", "jacobi"), seed=5)


@functools.cache
def reread() -> Trace:
    return Trace.loads(race().dumps())


def lane(name: str) -> int:
    return [entry.decoder for entry in race().header.lanes].index(name)


@pytest.mark.parametrize(
    ("changes", "acceptance"),
    [
        *(({"delta": 0.15}, 0.25 / 0.60), ({"delta": 0.25}, 0.45 / 0.60), ({"delta": 1.0}, 1.0)),
        ({"delta": 0.25, "k": 1}, 0.25 / 0.60),
        *(({"bound": "lambda", "lam": lam}, p / 0.60) for lam, p in ((2.0, 0.45), (1.0, 0.25))),
    ],
)
def test_lantern_judges_by_what_the_neighbours_lend(changes: dict, acceptance: float) -> None:
    """ALGORITHMS' worked example: the acceptance probability decides which uniform numbers pass."""
    settings = LanternSettings(**{"k": 3, **changes})
    uniforms = [acceptance - 0.01, acceptance + 0.01]
    trace = rejected(*(rejection(P, Q, 1, uniform) for uniform in uniforms))
    assert rejudge(trace, 0, "lantern", settings) == Tally(2, 1)


@pytest.mark.parametrize(("G", "acceptance"), [(1, 0.25), (2, 0.25), (4, 0.4286), (6, 2 / 3)])
def test_gsd_judges_by_the_groups_masses(G: int, acceptance: float) -> None:
    p, q = [0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]
    pair = (rejection(p, q, 0, acceptance + side) for side in (-0.01, 0.01))
    settings = GSDSettings(G=G, delta=1.0, d=10.0)
    assert rejudge(rejected(*pair, codebook=LINE[:4]), 0, "gsd", settings) == Tally(2, 1)


def test_gsd_leaves_out_codes_that_look_different() -> None:
    """Draft 0 with its one neighbour in rank, 1: together 0.3 / 0.7, alone 0.1 / 0.4; they lie 4
    apart, squared, in units in which an average pair is half a unit apart."""
    p, q = [0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]
    trace = rejected(rejection(p, q, 0, 0.3), codebook=LINE[:4])
    apart = 4 / (4 * float(LINE[:4].var()))
    grouped = GSDSettings(G=4, delta=1.0, d=apart * 1.01)
    assert rejudge(trace, 0, "gsd", grouped).accepted == 1
    assert rejudge(trace, 0, "gsd", replace(grouped, d=apart * 0.99)).accepted == 0


def test_what_a_distribution_leaves_out_is_spread_over_the_other_tokens() -> None:
    """Draft 1 borrows from 2, of which the record says nothing: the missing 0.4 of p are 0.2 for
    each of two tokens."""
    p = [0.30, 0.20, 0.20, 0.10, 0.20]
    trace = rejected(*(rejection(p, Q, 1, uniform, [0, 1, 3]) for uniform in (0.65, 0.68)))
    # (0.20 + 0.20) / 0.60
    assert rejudge(trace, 0, "lantern", LanternSettings(k=2, delta=0.25)) == Tally(2, 1)


@pytest.mark.parametrize(
    ("name", "rule", "settings"),
    [
        *((name, name, parse_lane(text).settings) for name, text in RACED.items()),
        *((name, *strict) for name in ("sjd", "sjd-pac") for strict in STRICT),
    ],
)
def test_a_lanes_own_rule_changes_nothing_as_does_one_without_its_slack(
    name, rule, settings
) -> None:
    tally = rejudge(race(), lane(name), rule, settings)
    assert tally.rejections >= 5
    assert tally.accepted == 0


@pytest.mark.parametrize(
    ("rule", "relaxed"),
    [("gsd", GSDSettings(delta=1.0, d=10.0)), ("lantern", LanternSettings(k=20, delta=0.2))],
)
def test_a_relaxed_rule_would_have_accepted_what_a_lossless_lane_rejected(rule, relaxed) -> None:
    tally = rejudge(race(), lane("sjd"), rule, relaxed)
    assert 0 < tally.accepted < tally.rejections


@given(st.integers(1, 20), st.floats(0, 1), st.floats(0, 1))
def test_more_to_borrow_never_lowers_the_count(k: int, one: float, other: float) -> None:
    low, high = (
        rejudge(race(), lane("sjd"), "lantern", LanternSettings(k=k, delta=x)).accepted
        for x in sorted((one, other))
    )
    assert low <= high


@given(GSD_SETTINGS | LANTERN_SETTINGS)
def test_no_more_is_accepted_than_was_rejected(settings: GSDSettings | LanternSettings) -> None:
    rule = "gsd" if isinstance(settings, GSDSettings) else "lantern"
    for name in ("sjd", "gsd", "lantern", "sjd-pac"):
        tally = rejudge(race(), lane(name), rule, settings)
        assert 0 <= tally.accepted <= tally.rejections


def test_every_first_rejection_is_judged_again() -> None:
    steps = race().steps(lane("sjd"))
    resampled = [step for step in steps if step.committed["status"][-1] == Status.RESAMPLED]
    assert rejudge(race(), lane("sjd"), "gsd", GSDSettings()).rejections == len(resampled)


def test_many_rejections_of_a_large_vocabulary_are_judged_as_one_by_one(monkeypatch) -> None:
    whole = [rejudge(race(), lane("sjd"), *rule) for rule in SLACK]
    monkeypatch.setattr("engine.race.rejudge.BLOCK", 3 * 20)
    assert whole == [rejudge(race(), lane("sjd"), *rule) for rule in SLACK]


@given(GSD_SETTINGS | LANTERN_SETTINGS)
def test_a_race_and_its_file_are_judged_alike(settings: GSDSettings | LanternSettings) -> None:
    rule = "gsd" if isinstance(settings, GSDSettings) else "lantern"
    for name in ("sjd", "gsd", "lantern", "sjd-pac"):
        before, after = (rejudge(trace, lane(name), rule, settings) for trace in (race(), reread()))
        assert (before, before.positions) == (after, after.positions)


def test_a_race_is_judged_by_the_numbers_that_its_file_rounds() -> None:
    """Draft 1 borrows from 2 what the file rounds; the uniform number lies between the answers."""
    p = [0.3, 0.25, 0.2 + 2**-16, 0.15, 0.1]
    table = rejected(rejection(p, Q, 1, 0.5)).table(0)
    lent = [float(rows["p"][0, 2]) for rows in (table.rejections, as_stored(table))]
    exact, stored = ((0.25 + mass) / Q[1] for mass in lent)
    assert abs(exact - stored) > 1e-6
    trace = rejected(rejection(p, Q, 1, (exact + stored) / 2))
    for judged in (trace, Trace.loads(trace.dumps())):
        tally = rejudge(judged, 0, "lantern", LanternSettings(k=2, delta=0.5))
        assert tally == Tally(1, int(stored > exact))


@pytest.mark.parametrize("name", ["ar", "jacobi"])
def test_of_a_lane_that_tests_no_draft_none_is_judged(name: str) -> None:
    assert rejudge(race(), lane(name), "gsd", GSDSettings()) == Tally(0, 0)


def test_without_a_codebook_nothing_is_known() -> None:
    trace = replace(race(), codebook=b"")
    tally = rejudge(trace, lane("sjd"), "lantern", LanternSettings(k=62))
    assert tally.accepted is None
    assert tally.rejections > 0
    assert rejudge(trace, lane("ar"), "lantern", LanternSettings(k=62)) == Tally(0, 0)


@pytest.mark.parametrize(
    ("lane", "rule", "settings"),
    [
        *((0, "sjd", SJD.Settings()), (0, "gsd", LanternSettings(k=62))),
        *((0, "lantern", GSDSettings()), (9, "gsd", GSDSettings()), (-1, "gsd", GSDSettings())),
    ],
)
def test_what_cannot_be_judged_is_rejected(lane, rule, settings) -> None:
    with pytest.raises(SettingError):
        rejudge(race(), lane, rule, settings)


def test_a_trace_beyond_any_picture_is_rejected_before_it_costs_anything(monkeypatch) -> None:
    one, wide = rejection(P, Q, 1, 0.5), np.zeros((5, 513), "<f4")
    with pytest.raises(SettingError, match="too large"):
        rejudge(rejected(one, codebook=wide), 0, "gsd", GSDSettings())
    monkeypatch.setattr("engine.race.rejudge.MAX_ENTRIES", 2 * 5)
    rejudge(rejected(one, one), 0, "gsd", GSDSettings())
    with pytest.raises(SettingError, match="too large"):
        rejudge(rejected(one, one, one), 0, "gsd", GSDSettings())
