"""What the step table records of a verification is what it was made by."""

from __future__ import annotations

import functools
import gc
import math
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from engine.core import Window
from engine.decoders import DECODERS, WHOLE, recorder
from engine.decoders.base import Badge
from engine.decoders.collect import Observation
from engine.decoders.gsd import GSD, GSDSettings
from engine.decoders.lantern import LanternSettings
from engine.decoders.priced import Priced
from engine.decoders.recorder import StepRecorder, find_sources
from engine.decoders.relaxed import RelaxedSettings
from engine.decoders.rows import ParallelRowsSettings
from engine.failures import Failure
from engine.race import Lane
from engine.trace import LaneState, Status, Step, StepTable
from engine.trace.rows import TOP, Source
from engine.trace.seconds import PARTS
from engine.trace.shares import NONE, ONE
from tests.floats import STORED, rounding
from tests.races import race_of
from tests.steps import Spot, every, share, spots
from tests.variants import further
from tools.judge.toys import Toy

CODES = 12
BY_UNIFORM = ["sjd", "gsd", "lantern", "sjd-pac"]
UNTOLD = "sjd-plus-plus", "auto-correct"  # no test alone tells their shift
LOSSLESS = [name for name in WHOLE if DECODERS[name].badge is not Badge.CHANGED_DISTRIBUTION]
# Of so few codes LANTERN's share is the draft alone, and rows of four begin one after the other.
SETTINGS = {"lantern": LanternSettings(k=CODES), "rows": ParallelRowsSettings(c=1)}
LANTERN_TREE = LanternSettings(k=CODES, drafts="tree", depth=3, width=2, nodes=7)
LOSSY = [
    ("gsd", GSDSettings(G=4)),
    ("lantern", LanternSettings(k=CODES)),
    ("lantern", LanternSettings(k=CODES, drafter="jacobi")),
    ("lantern", LANTERN_TREE),
    ("sjd-relaxed", None),
    ("sjd-relaxed", RelaxedSettings(relax="typical")),
]


@functools.cache
def decoded(
    name: str, *, forced: bool = False, seeds: range = range(6), settings: object = None
) -> list[list[Step]]:
    """The steps of a few pictures, decoded once for all tests but those that watch it happen:
    `decoded.__wrapped__`."""
    model = Toy((4, 4), CODES, forced=forced)
    decoder = DECODERS[name](model, settings or SETTINGS.get(name), model.sampling)
    return [list(decoder.steps("", seed)) for seed in seeds]


def touched(pictures: list[list[Step]]) -> list[Spot]:
    return [spot for steps in pictures for spot in every(steps)]


def verified_spots(pictures: list[list[Step]]) -> list[Spot]:
    return [spot for spot in touched(pictures) if spot.uniform is not None]


def with_spots(pictures: list[list[Step]]) -> list[tuple[Step, list[Spot]]]:
    """Every step, and what it did at each position."""
    return [pair for steps in pictures for pair in zip(steps, spots(steps), strict=True)]


@pytest.mark.parametrize("forced", [*further(False), True])
@pytest.mark.parametrize("name", WHOLE)
def test_distributions_are_recorded_by_their_likeliest_tokens(name: str, forced: bool) -> None:
    for p in touched(decoded(name, forced=forced)):
        for top, most in ((p.top, p.top1), (p.top_draft, p.top1_draft)):
            shares = [share for _, share in top]
            assert shares == sorted(shares, reverse=True)
            assert len({token for token, _ in top}) == len(top)
            assert not top or shares[0] == most
            assert sum(shares) <= 1 + 0.5 * len(shares) / ONE  # each is rounded
        assert bool(p.top_draft) == (p.draft is not None)
        if p.status is not Status.FORCED and p.draft is not None:
            assert dict(p.top).get(p.draft, p.p) == p.p
            assert dict(p.top_draft).get(p.draft, p.q) == p.q
            assert p.q > 0, "a draft can be drawn from its own distribution"


@pytest.mark.parametrize("name", WHOLE)
def test_the_rows_of_a_step_are_those_that_the_target_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, forward = list[int](), Toy.forward

    def counted(self: Toy, ctx: Any, tokens: Tensor, *others: Any) -> Tensor:
        read.append(len(tokens))
        return forward(self, ctx, tokens, *others)

    monkeypatch.setattr(Toy, "forward", counted)
    (steps,) = decoded.__wrapped__(name, seeds=range(1))
    assert [int(step.rows.steps["rows"][0]) for step in steps] == read[: len(steps)]
    assert (len(read) > len(steps)) == issubclass(DECODERS[name], Priced)


@pytest.mark.parametrize("name", BY_UNIFORM)
def test_a_uniform_below_the_acceptance_probability_is_an_acceptance(name: str) -> None:
    outcomes = set()
    for p in verified_spots(decoded(name)):
        passed = p.status is Status.ACCEPTED or (p.status is Status.REFINED and p.token == p.draft)
        assert (p.uniform < p.acceptance) == passed, p
        outcomes.add(p.status)
    assert {Status.ACCEPTED, Status.RESAMPLED} <= outcomes


@pytest.mark.parametrize("name", BY_UNIFORM)
def test_every_draft_that_was_accepted_or_rejected_has_its_uniform(name: str) -> None:
    for step, found in with_spots(decoded(name, forced=True)):
        for p in found[: step.after - step.before]:
            judged = p.draft is not None and p.status in (Status.ACCEPTED, Status.RESAMPLED)
            assert (p.uniform is not None) == judged, p
        rejected = step.committed["status"][-1] == Status.RESAMPLED
        assert len(step.rows.rejections) == rejected


@pytest.mark.parametrize("name", ["ar", "jacobi", "fpi"])
def test_a_rule_without_uniforms_records_none(name: str) -> None:
    assert not verified_spots(decoded(name))
    assert not any(len(step.rows.rejections) for steps in decoded(name) for step in steps)


@pytest.mark.parametrize("forced", [*further(False), True])
@pytest.mark.parametrize("name", [name for name in WHOLE if name not in UNTOLD])
def test_a_shift_is_recorded_where_a_test_committed_a_token(name: str, forced: bool) -> None:
    tested = 0
    for step, found in with_spots(decoded(name, forced=forced)):
        for n, p in enumerate(found):
            outcome = p.status in (Status.ACCEPTED, Status.RESAMPLED) and p.draft is not None
            committed = n < step.after - step.before
            assert (p.shift is not None) == outcome == (outcome and committed), p
            tested += outcome
    assert (tested > 0) == (name not in ("ar", "zipar"))


def test_a_shift_that_no_test_tells_is_not_recorded() -> None:
    """SJD++'s drafts are not samples of their q, and a run's are tested together."""
    runs = RelaxedSettings(relax="runs")
    for steps in (decoded("sjd-plus-plus"), decoded("sjd-relaxed", settings=runs)):
        assert {spot.shift for spot in verified_spots(steps)} == {None}


def shifts(pictures: list[list[Step]]) -> list[float]:
    return [p.shift for p in touched(pictures) if p.shift is not None]


@pytest.mark.parametrize("name", LOSSLESS)
def test_a_lossless_lane_s_shift_is_zero_in_every_test(name: str) -> None:
    found = shifts(decoded(name, forced=True))
    assert set(found) == ({0.0} if name != "ar" else set())


@pytest.mark.parametrize(("name", "settings"), LOSSY, ids=str)
def test_a_changed_distribution_has_a_shift(name: str, settings: object) -> None:
    found = shifts(decoded(name, settings=settings))
    assert np.mean(found) > 0.01
    assert max(found) <= 1


@pytest.mark.parametrize(
    "settings",
    [
        LanternSettings(k=CODES, delta=0.0),
        LanternSettings(k=CODES, delta=0.0, drafter="jacobi"),
        replace(LANTERN_TREE, delta=0.0),
        replace(LANTERN_TREE, k=1),
    ],
    ids=lambda s: f"{s.drafter} {s.drafts} k={s.k}",
)
def test_lantern_that_borrows_nothing_has_no_shift(settings: LanternSettings) -> None:
    assert set(shifts(decoded("lantern", settings=settings))) == {0.0}


def test_the_recorded_shift_is_that_of_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row by row, with every row of the window computed."""
    expected: list[list[float]] = []
    observe = StepRecorder.observe

    def spy(self: StepRecorder, state: Any, window: Window, verification: Any) -> Any:
        p = verification.p[: len(window.q)]
        rule = GSD(Toy((4, 4), CODES), GSDSettings(G=4))
        expected.append(rule.shift(p, window.q, torch.arange(len(p))).tolist())
        return observe(self, state, window, verification)

    monkeypatch.setattr(StepRecorder, "observe", spy)
    found = with_spots(decoded.__wrapped__("gsd", settings=GSDSettings(G=4)))
    compared = 0
    for (_, step), shift in zip(found, expected, strict=True):
        for p, value in zip(step, shift, strict=False):
            if p.shift is not None:
                assert p.shift == pytest.approx(value, abs=STORED)
                compared += value > 0.01
    assert compared > 10


def test_the_recorded_group_is_the_one_that_was_verified() -> None:
    settings = GSDSettings(G=4)
    seen = 0
    for p in verified_spots(decoded("gsd", settings=settings)):
        assert p.group is not None
        assert p.group.tokens[0] == p.draft
        assert p.group.count == len(p.group.tokens) <= 4
        assert min(1.0, p.group.p / p.group.q) == pytest.approx(p.acceptance, abs=STORED)
        seen += p.group.count > 1
    assert seen > 10


def test_the_recorded_neighbourhood_is_the_one_that_was_verified() -> None:
    lent = 0
    for p in verified_spots(decoded("lantern")):
        assert p.group is not None
        assert p.group.tokens[0] == p.draft
        assert share(p.group.q) == share(p.q)
        assert -STORED <= p.group.p - p.p <= 0.1 + STORED, "delta = 0.1"
        assert min(1.0, p.group.p / p.group.q) == pytest.approx(p.acceptance, abs=STORED)
        lent += p.group.count > 1
    assert lent > 0


def test_candidates_are_recorded_in_the_order_they_were_tried() -> None:
    rescued = 0
    for step, found in with_spots(decoded("sjd-pac", seeds=range(20))):
        for p in found:
            tried = p.candidates
            assert not any(s.accepted for s in tried[:-1]), "the first accepted ends the trials"
            assert len({s.token for s in tried}) == len(tried), "drawn without replacement"
            if tried:
                assert p.position < step.after
                assert tried[-1].accepted == (p.status is Status.ACCEPTED)
                assert tried[0].q == dict(p.top_draft).get(tried[0].token, tried[0].q)
            if tried and p.status is Status.ACCEPTED:
                assert p.token == tried[-1].token
                rescued += len(tried) > 1
    assert rescued > 5


@pytest.mark.parametrize("name", BY_UNIFORM)
def test_a_rejection_records_both_distributions(name: str) -> None:
    rejected = 0
    for step in (step for steps in decoded(name) for step in steps):
        if not len(step.rows.rejections):
            continue
        rejected += 1
        (row,) = step.rows.rejections
        known = row["tokens"] != NONE
        tokens, p, q = (row[column][known] for column in ("tokens", "p", "q"))
        last = step.committed[-1]
        assert (np.diff(tokens.astype(int)) > 0).all()
        assert last["draft"] in tokens
        assert p.sum() == pytest.approx(1, abs=rounding(1))
        assert q.sum() == pytest.approx(1, abs=rounding(1))
        assert row["uniform"] == pytest.approx(last["uniform"] / ONE, abs=1.6 / ONE)
        assert 0.5 * np.abs(p - q).sum() == pytest.approx(last["tv"] / ONE, abs=STORED)
    assert rejected > 5


@pytest.mark.parametrize("name", WHOLE)
def test_q_is_read_back_wherever_it_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The likeliest tokens of q, followed to their source, are those that the window came with."""
    given: list[list[list[tuple[int, int]]]] = []
    observe = StepRecorder.observe

    def spy(self: StepRecorder, state: Any, window: Window, verification: Any) -> Any:
        q = verification.diagnostics().q
        found = (window.q if q is None else q).topk(TOP)
        rows = zip(found.indices.tolist(), found.values.tolist(), strict=True)
        given.append([[(x, share(q)) for x, q in zip(*row, strict=True) if q > 0] for row in rows])
        return observe(self, state, window, verification)

    monkeypatch.setattr(StepRecorder, "observe", spy)
    found = with_spots(decoded.__wrapped__(name, forced=True, seeds=range(2)))
    for (_, step), drafts in zip(found, given, strict=True):
        for p, q in zip(step, drafts, strict=False):
            assert p.draft is None or [(x, share(each)) for x, each in p.top_draft] == q


@pytest.mark.parametrize("static", [*further(False), True])
@pytest.mark.parametrize("name", WHOLE)
def test_rows_are_the_same_whenever_they_are_asked_for(
    name: str, static: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each step, after some, at the end; and where little is kept until then."""
    model = Toy((4, 4), CODES, forced=True)
    model.static = static
    decoder = DECODERS[name](model, SETTINGS.get(name))

    def rows(asked: Callable[[int], bool]) -> list[StepTable]:
        steps = list[Step]()
        for step in decoder.steps("", 3):
            steps.append(step)
            if asked(len(steps)):
                _ = step.rows
        tables = [step.rows for step in steps]
        for table in tables:
            for part in PARTS:
                table.steps[part] = 0
        return tables

    expected = rows(lambda count: True)
    assert rows(lambda count: count % 3 == 2) == rows(lambda count: False) == expected
    monkeypatch.setattr(recorder, "MOST_BYTES", 1000)
    assert rows(lambda count: False) == expected


def test_a_step_kept_when_its_lane_is_over_holds_nothing_of_the_model() -> None:
    decoder = DECODERS["sjd"](Toy((4, 4), CODES))
    model = weakref.ref(decoder.model)
    steps = list(decoder.steps("", 0))
    del decoder
    gc.collect()
    assert model() is None
    assert len(StepTable.join([step.rows for step in steps])) == len(steps)


def test_what_a_step_keeps_counts_its_candidates_and_not_what_walked_through_them() -> None:
    decoder = DECODERS["sjd-pac"](Toy((4, 4), CODES))
    state = decoder.begin("", 0)
    window = decoder.propose(state)
    verification = decoder.verify(state, window, torch.full((64, CODES), 1 / CODES))
    walk = weakref.ref(verification.diagnostics.__self__)  # type: ignore[attr-defined]
    seen = Observation.of(window, verification)
    assert seen.details.candidates is not None
    parts = window.q, window.candidate_q, verification.p, *seen.details.candidates
    assert seen.bytes > sum(part.nbytes for part in parts)
    del verification
    assert walk() is None


def test_most_qs_are_where_they_were_before() -> None:
    sources = {
        name: {int(x) for steps in decoded(name) for step in steps for x in step.rows.source}
        for name in WHOLE
    }
    assert sources["ar"] == {Source.NONE}
    assert {Source.CERTAIN, Source.BEFORE} <= sources["sjd"] & sources["gsd"]
    assert Source.OWN not in sources["sjd"]
    assert Source.OWN in sources["lantern"]
    assert {Source.BEFORE, Source.OWN} <= sources["sjd-pac"]
    assert sources["rows"] == {Source.NONE, Source.CERTAIN, Source.BEFORE}


def likeliest(*pairs: tuple[int, int]) -> list[int]:
    """A row of `top` and one of `top_shares`."""
    rest = TOP - len(pairs)
    return [*(x for x, _ in pairs), *[NONE] * rest, *(q for _, q in pairs), *[0] * rest]


@pytest.mark.parametrize(
    ("q", "draft", "source"),
    [
        (((7, 500), (5, 250)), 5, Source.BEFORE),
        (((7, 501), (5, 250)), 5, Source.OWN),
        (((7, 500), (5, 251)), 5, Source.OWN),
        (((7, 500), (6, 250)), 5, Source.OWN),
        (((7, 500), (5, 250), (9, 0)), 5, Source.OWN),
        (((5, ONE),), 5, Source.CERTAIN),
        (((4, ONE),), 5, Source.OWN),  # certain means the draft, and nothing else
        (((5, ONE), (6, 0)), 5, Source.OWN),
        (((5, 500),), 5, Source.OWN),
        ((), 5, Source.NONE),
        (((7, 500), (5, 250)), NONE, Source.NONE),
    ],
)
def test_q_is_that_of_before_only_if_it_is_the_same_to_the_last_bit(
    q: tuple[tuple[int, int], ...], draft: int, source: Source
) -> None:
    latest = np.array([likeliest((7, 500), (5, 250))])
    found = find_sources(np.array([draft]), np.array([likeliest(*q)]), latest)
    assert found.tolist() == [source]


def failures(model: Toy, lanes: list[Lane], static: bool) -> dict[int, str]:
    """What the lanes of a race failed with, which must be an overflow."""
    model.static = static
    frames = list(race_of(model, lanes, "a prompt", 1))
    failed = [frame for frame in frames if frame.state is LaneState.FAILED]
    assert {frame.failure for frame in failed} == {Failure.OVERFLOW}
    return {frame.lane: frame.error for frame in failed}


BAD = [[math.nan] * 3, [0.0, math.nan, 0.0], [0.0, 0.0, math.inf], [-math.inf] * 3]


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("logits", BAD)
def test_probabilities_that_are_not_numbers_end_the_lane_in_words(
    logits: list[float], static: bool
) -> None:
    model = Toy((2, 2), 3)
    model.logits[-1, 0] = torch.tensor(logits)  # after a single token, 0
    model.logits[-1, -1] = torch.tensor([90.0, 0, 0])
    errors = failures(model, [Lane("ar"), Lane("sjd"), Lane("sjd-pac")], static)
    assert set(errors) == {0, 1, 2}
    words = "The model's probabilities at position 1 are not numbers"
    assert all(error.startswith(words) for error in errors.values())


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("logits", BAD)
def test_nor_may_a_drafters_be_none(logits: list[float], static: bool) -> None:
    model = Toy((2, 2), 3)
    model.drafter.logits[:] = torch.tensor(logits)
    trees = [LanternSettings(drafts="tree", depth=depth) for depth in (1, 2)]
    errors = failures(model, [Lane("lantern"), *(Lane("lantern", s) for s in trees)], static)
    assert set(errors) == {0, 1, 2}
    words = "The drafter's probabilities at position 1 are not numbers"
    assert all(error.startswith(words) for error in errors.values())
