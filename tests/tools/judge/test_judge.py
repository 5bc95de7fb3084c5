"""Whole verdicts, on the smallest models and with few settings."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine import decoders
from engine.decoders.ar import VanillaAR
from engine.decoders.assd import ASSD
from engine.decoders.base import Badge, Decoder
from engine.decoders.fpi import FixedPoint
from engine.decoders.gsd import GSD
from engine.decoders.outside import classes_of
from engine.decoders.relaxed import RelaxedSJD
from engine.decoders.sjd import SJD
from engine.decoders.verdict import Counterexample, Outcome, Verdict
from engine.decoders.window import WindowDecoder
from engine.models.base import planned
from engine.settings import Settings
from tests.tools.judge.faults import (
    ALittle,
    Bytes,
    DeepAndManyCodes,
    DeepAndStatic,
    NarrowAndLong,
    OnlyDeep,
    OnlyInside,
    OnlyLong,
)
from tests.tools.judge.rules import OneByOne, Rule
from tests.tools.judge.test_checks import GlobalTorch, Idle
from tests.variants import further
from tools.judge import cases, larger, sampling
from tools.judge import judge as module
from tools.judge.cases import Case, Cases, enumerate_on, standard_toys
from tools.judge.corners import settings_to_judge
from tools.judge.counterexample import counterexample, true_shift
from tools.judge.enumeration import CLOSE, enumerated, exactly
from tools.judge.judge import judge
from tools.judge.standard import SAMPLED
from tools.judge.toys import InfillToy, infilling
from tools.judge.words import in_words

pytestmark = pytest.mark.exact

EXAMPLES = Path(decoders.__file__).parents[2] / "examples" / "decoders"
FEW_LARGER = (SAMPLED[0], *SAMPLED[4:6])  # a row, the Gumbel noise of four codes, an infilling
exact = exactly()


@pytest.fixture(scope="module", autouse=True)
def few_runs() -> Iterator[pytest.MonkeyPatch]:
    """Of each of the smallest models the defaults and a few settings more, and few pictures where
    samples are taken; expected tokens a pass on the smallest model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "RUNS_SMALL", 60)
        patch.setattr(cases, "RUNS_LARGER", 0)
        patch.setattr(cases, "RUNS_A_CASE", 300)
        patch.setattr(cases, "RUNS_CHOICES", 0)
        patch.setattr(larger, "SAMPLED", FEW_LARGER)
        patch.setattr(larger, "PICTURES", 50)
        patch.setattr(larger, "FEW", 25)
        patch.setattr(larger, "LOOKED_AT", 1)
        patch.setattr(module, "_tokens_a_pass", lambda kind, settings: {kind.title: 1.5})
        yield patch


@functools.cache
def example(name: str) -> type[WindowDecoder]:
    (found,) = classes_of(EXAMPLES / f"{name}.py")
    return found


@functools.cache
def verdict_of(kind: type[Decoder]) -> Verdict:
    return judge(kind)


def with_settings(kind: type[Decoder], *some: dict[str, Any]) -> Verdict:
    """The verdict on some settings alone."""
    with pytest.MonkeyPatch.context() as patch:
        every = [kind.Settings(**values) for values in some]
        patch.setattr(module, "settings_to_judge", lambda settings: every)
        return judge(kind)


# Outcomes


def test_the_example_is_lossless() -> None:
    found = verdict_of(example("my_rule"))
    assert found.outcome is Outcome.LOSSLESS
    assert found.claim == Badge.SAME_DISTRIBUTION.value
    assert found.difference < CLOSE
    assert found.total_variation == 0
    assert found.counterexample is None
    assert not found.unseen
    assert not found.stopped
    assert found.samples.log10_e < 1
    assert all(check.passed for check in found.checks)
    names = [standard.name for standard, *_ in standard_toys()[: len(cases.SMALL)]]
    assert list(dict.fromkeys(each.model for each in found.cases)) == [
        name for name in names if name != "four" or not found.left_out
    ]
    assert found.cases[0].settings == {"window": 24, "init": "random"}
    assert (found.shift.recorded, found.shift.true) == (0, pytest.approx(0, abs=CLOSE))


@pytest.mark.parametrize("kind", [VanillaAR, *further(FixedPoint)])
def test_vanilla_ars_own_picture_is_identical(kind: type[WindowDecoder]) -> None:
    found = with_settings(kind, {"window": 3} if kind is FixedPoint else {})
    assert found.outcome is Outcome.IDENTICAL
    models = [standard.words for standard in FEW_LARGER if standard.suits(kind)]
    assert [each.model for each in found.samples.models][: len(models)] == models
    assert [each.pictures for each in found.samples.models[: len(models)]] == [50, 25, 25]


def test_another_picture_of_the_same_distribution_is_not_identical() -> None:
    class Claiming(Rule):
        badge = Badge.IDENTICAL

    assert with_settings(Claiming, {"window": 2}).outcome is Outcome.LOSSLESS


RELEASED = {
    "wrong_rule": {"window": 3},
    "released_pjd": {"window": 3, "fresh": "uniform"},
    "released_scd": {"window": 3, "fresh": "uniform"},
    "released_simplear": {"window": 3},
    "kept_block": {"window": 4, "fresh": "uniform"},
}


@functools.cache
def released(name: str) -> Verdict:
    return with_settings(example(name), RELEASED[name])


IN_EVERY_RUN = "released_scd"
OTHERS = [name for name in RELEASED if name != IN_EVERY_RUN]


@pytest.mark.parametrize("name", [IN_EVERY_RUN, *further(*OTHERS)])
def test_a_released_rule_is_changed(name: str) -> None:
    found = released(name)
    assert found.outcome is Outcome.CHANGED
    assert found.counterexample is not None


@pytest.mark.exact
def test_sjd_is_lossless_with_the_released_rules_settings() -> None:
    some = {"window": 3}, {"window": 3, "fresh": "uniform"}, {"window": 4, "fresh": "uniform"}
    assert with_settings(SJD, *some).outcome is Outcome.LOSSLESS


@exact
def test_the_released_tree_of_candidates_is_changed() -> None:
    kind, found = example("released_sjd_pac"), Cases()
    number = next(n for n, (each, *_) in enumerate(standard_toys()) if each.name == "four codes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "RUNS_LARGER", 1)
        patch.setattr(cases, "RUNS_A_CASE", 2500)
        every = [kind.Settings(window=8, K=2, D=2)]
        found.add(number, kind, enumerate_on(number, kind, every))
    (case,) = found.done
    assert case.variation > 0.05
    assert counterexample(kind, case).settings["K"] == 2


def test_a_decoder_without_a_window_is_sampled() -> None:
    class Biased(OneByOne):
        power = 3.0

    sound, biased = verdict_of(OneByOne), judge(Biased)
    assert [sound.outcome, biased.outcome] == [Outcome.OPEN, Outcome.CHANGED]
    assert sound.samples.log10_e < 1
    assert 7 < biased.samples.log10_e < 999
    assert len(biased.samples.models) < len(sound.samples.models), "it ends where it shows"
    assert "no WindowDecoder" in sound.unseen[0]
    assert not sound.cases
    assert sound.total_variation == 0


@pytest.mark.exact
def test_the_product_of_uniforms_of_a_released_rule_is_sampled() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(larger, "PICTURES", 1000)
        found = with_settings(example("vllm_ascend_block"), {})
    assert (found.outcome, found.cases) == (Outcome.CHANGED, ())


def test_global_random_numbers_are_sampled_and_leave_the_verdict_the_same() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(larger, "PICTURES", 2)
        patch.setattr(larger, "FEW", 1)
        found, again = judge(GlobalTorch), judge(GlobalTorch)
    assert (found.outcome, found.cases) == (Outcome.OPEN, ())
    assert found.unseen == ("one seed gives other pictures from run to run",)
    assert found == again


def test_what_is_broken_is_not_judged_further() -> None:
    found = judge(Idle)
    assert found.outcome is Outcome.BROKEN
    assert [check.name for check in found.checks] == ["decodes"]
    assert (found.cases, found.runs, found.samples, found.shift) == ((), 0, None, None)
    assert not found.tokens_a_pass


class Misrecorded(Rule):
    """Records SJD's acceptance probabilities, and accepts by others."""

    def verify(self, state, window, p):
        verification = super().verify(state, window, p)
        verification.acceptance = verification.acceptance * 0.9
        return verification


def test_another_acceptance_than_is_recorded_fails_a_check() -> None:
    settings = {"window": 2, "fresh": "uniform"}
    wrong, right = (with_settings(kind, settings).checks[-1] for kind in (Misrecorded, Rule))
    assert wrong.name == right.name == "records its acceptances"
    assert (wrong.passed, right.passed) == (False, True)
    assert "off by 0." in wrong.words
    assert with_settings(Misrecorded, settings).outcome is Outcome.LOSSLESS


@exact
def test_a_draft_is_accepted_whether_or_not_the_token_behind_it_is_committed() -> None:
    """ASSD's pass over one draft commits no more than that, or what replaces it."""
    model = InfillToy((2, 2), 2)
    model, plan = planned(model, infilling([True, True, True, False], "raster", 2))
    found = enumerated(ASSD(model, ASSD.Settings(k=2), plan=plan))
    assert found.seen["accepted"] > 0
    assert found.misrecorded < CLOSE


# One verdict, again


@pytest.mark.exact
def test_a_verdict_is_the_same_again_on_two_processes_and_from_json() -> None:
    kind = example("wrong_rule")
    first = verdict_of(kind)
    assert judge(kind) == first
    assert judge(kind, processes=2).model_dump_json() == first.model_dump_json()
    assert Verdict.model_validate_json(first.model_dump_json(indent=1)) == first


def test_it_says_where_it_is() -> None:
    said = list[str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "RUNS_SMALL", 1)
        judge(VanillaAR, said.append)
    small = [standard.words for standard, *_ in standard_toys() if standard.suits(VanillaAR)]
    large = [standard.words for standard in FEW_LARGER if standard.suits(VanillaAR)]
    every, drawn = "every outcome", "sampled pictures"
    assert said == [
        *(f"{every}, {n} of {len(small)}: {words}" for n, words in enumerate(small, 1)),
        *(f"{drawn}, {n} of {len(large)}: {words}" for n, words in enumerate(large, 1)),
    ]


@pytest.mark.parametrize(("until", "sampled"), [("every outcome", 0), ("sampled pictures", 1)])
def test_an_interrupt_gives_what_is_known_by_then(until: str, sampled: int) -> None:
    def interrupt(message: str) -> None:
        if message.startswith(f"{until}, 2 of"):
            raise KeyboardInterrupt

    found = judge(example("my_rule"), interrupt)
    assert found.stopped
    assert found.outcome is Outcome.OPEN
    assert {each.model for each in found.cases} >= {"pair"}
    assert len(found.samples.models if found.samples else ()) == sampled
    assert "It was stopped" in in_words(found)


def test_another_distribution_ends_it() -> None:
    """With the model that shows it; no picture is sampled then."""
    found = verdict_of(example("wrong_rule"))
    assert found.samples is found.coverage is None
    assert {each.model for each in found.cases} == {"pair", "row"}


def test_what_no_small_model_reaches_is_sampled() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(larger, "PICTURES", 500)
        found = with_settings(OnlyLong, {"window": 16})
    assert found.outcome is Outcome.CHANGED
    assert found.total_variation == 0
    assert found.samples.models[-1].model == SAMPLED[0].words
    assert "sampled pictures show" in found.sentence


def test_every_value_of_a_knob_is_sampled_on_every_larger_model() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(larger, "FEW", 1)
        found = with_settings(Rule, {"window": 16}, {"window": 64})
    drawn = {(each.settings["window"], each.model) for each in found.samples.models}
    models = [standard.words for standard in FEW_LARGER]
    assert drawn == set(itertools.product((16, 64), models))


@pytest.mark.parametrize(
    ("wrong", "window"), [(OnlyDeep, 96), *further((NarrowAndLong, 3), (OnlyInside, 56))]
)
def test_a_fault_of_other_settings_shows_on_a_larger_model(wrong: type[Rule], window: int) -> None:
    """Though the defaults do not show it there, and no small model does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(larger, "FEW", 100)
        found = with_settings(wrong, {"window": 16}, {"window": window})
    assert window in {each.window for each in settings_to_judge(wrong.Settings)}
    assert found.outcome is Outcome.CHANGED
    assert found.samples.models[-1].settings["window"] == window


@pytest.mark.exact
@pytest.mark.parametrize(("wrong", "window"), [(Bytes, 16), (DeepAndManyCodes, 96)])
def test_a_fault_of_many_codes_shows(wrong: type[Rule], window: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(larger, "PICTURES", 200)
        patch.setattr(larger, "FEW", 100)
        many = [standard for standard in SAMPLED if standard.name == "300 codes"]
        patch.setattr(larger, "SAMPLED", (SAMPLED[0], *many))
        found = with_settings(wrong, {"window": 16}, {"window": window})
    assert found.outcome is Outcome.CHANGED
    assert found.samples.models[-1].model == many[0].words


def test_it_is_open_where_static_shapes_change_something() -> None:
    found = with_settings(DeepAndStatic, {"window": 16}, {"window": 64})
    assert found.outcome is Outcome.OPEN
    assert found.total_variation == 0
    assert "This shows with window = 64." in " ".join(in_words(found).split())


def test_it_is_open_where_e_says_neither() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(larger, "PICTURES", 250)
        patch.setattr(sampling, "AGAIN", 1)
        found = with_settings(ALittle, {"window": 16})
    assert found.outcome is Outcome.OPEN
    first = found.samples.models[0]
    assert 1 < first.log10_e < 7
    words = f"Open: e = 10^{first.log10_e:.1f} after 250 pictures of {first.model}, window = 16"
    assert words in " ".join(in_words(found).split())


def test_coverage() -> None:
    """What was reached, and the lines that no picture ran."""
    found = verdict_of(example("my_rule")).coverage
    assert {"accepted", "resampled", "fresh"} <= {*found.enumerated.statuses}
    assert found.enumerated.committed < found.sampled.committed
    assert found.enumerated.passes < found.sampled.passes
    assert found.idle == ()
    idle = with_settings(Unreached, {"window": 4}).coverage.idle
    text = Path(__file__).read_text("utf-8").splitlines()
    assert [text[line - 1].strip() for line in idle] == ["return self.nothing"]


def test_the_words_say_what_is_known_and_what_was_sampled() -> None:
    found = verdict_of(example("my_rule"))
    words = " ".join(in_words(found).split())
    reached, drawn = found.coverage.enumerated, found.coverage.sampled
    assert f"of up to {reached.passes} passes, of up to {reached.committed} tokens each" in words
    assert f"up to {drawn.passes} passes of up to {drawn.committed} tokens" in words
    assert f"{found.samples.pictures:,} sampled pictures of 3 larger models" in words
    assert "49 statistics are kept of sixteen tokens of eight codes in a row" in words
    assert f"a deviation of {found.samples.deviation:.2f} in an eighth" in words


class Unreached(Rule):
    """A branch of its own is never taken."""

    def verify(self, state, window, p):
        if len(p) > 1000:
            return self.nothing
        return super().verify(state, window, p)


# The counterexample


def case_of(kind: type[WindowDecoder], name: str, **values: Any) -> Case:
    number = next(n for n, (each, *_) in enumerate(standard_toys()) if each.name == name)
    standard, model, plan, expected = standard_toys()[number]
    settings = kind.Settings(**values)
    found = enumerated(kind(model, settings, plan=plan))
    return Case(standard, model, plan, settings, found, found.joint, expected)


def resampled_from_p(first: list[float], second: list[list[float]], q: list[float]) -> dict:
    """By hand, P of the first two tokens of two codes: a draft x ~ q is accepted with
    min(1, p / q), else replaced by a sample of p; behind it the next draft is one of its own p
    given x, tested by p given what was committed."""
    joint: dict[tuple[int, ...], float] = Counter()
    for x in range(2):
        a = min(1, first[x] / q[x])
        for y in range(2):
            joint[x, y] += q[x] * a * second[x][y]  # accepted: a bonus or a test of its own
        for token in range(2):
            rejected = q[x] * (1 - a) * first[token]
            for y in range(2):
                # The next draft z ~ second[x], tested by second[token]
                for z in range(2):
                    b = min(1, second[token][z] / second[x][z])
                    joint[token, y] += rejected * second[x][z] * b * (y == z)
                    joint[token, y] += rejected * second[x][z] * (1 - b) * second[token][y]
    return joint


@pytest.mark.exact
@exact
def test_the_counterexamples_numbers_are_those_of_a_simulation() -> None:
    """By samples that the decoder draws as in a race, within a binomial bound that is passed
    by chance in one of 10^9."""
    kind = example("wrong_rule")
    found = verdict_of(kind).counterexample
    standard, model, plan, _ = next(
        each for each in standard_toys() if each[0].words == found.model
    )
    count = 1000
    decoder = kind(model, kind.Settings(**found.settings), plan=plan)
    seen = Counter(tuple(decoder.generate("", seed)) for seed in range(count))
    here = found.prefix
    reached = sum(n for tokens, n in seen.items() if tokens[: len(here)] == here)
    drawn = sum(n for s, n in seen.items() if s[: len(here) + 1] == (*here, found.token))
    for hits, trials, chance in (
        (drawn, reached, found.found),
        (seen[found.sequence], count, found.sequence_found),
    ):
        # Hoeffding: P(|hits / trials - chance| > e) < 2 exp(-2 trials e^2)
        bound = math.sqrt(math.log(2e9) / (2 * trials))
        assert abs(hits / trials - chance) < bound
    p = model.distribution(here)[found.token]
    assert found.p == pytest.approx(float(p))
    assert standard.name == "row"


@exact
@pytest.mark.parametrize("window", [2, 3])
def test_what_a_wrong_rule_draws_is_what_one_finds_by_hand(window: int) -> None:
    """Two tokens, of which the first has a draft: with a uniform q here."""

    class FromP(Rule):
        verify = example("wrong_rule").verify

    case = case_of(FromP, "row", window=window, fresh="uniform")
    found: dict[tuple[int, ...], float] = Counter()
    for tokens, chance in case.joint.items():
        found[tokens[:1]] += chance
        found[tokens[:2]] += chance
    first = case.model.distribution([]).tolist()
    p = float(first[0])
    # min(p, q)(y) + TV(p, q) p(y)
    expected = min(p, 0.5) + abs(p - 0.5) * p
    assert found[(0,)] == pytest.approx(expected, abs=CLOSE)
    shown = counterexample(FromP, case)
    assert (shown.prefix, shown.p) == ((), pytest.approx(first[shown.token]))
    assert shown.found == pytest.approx(expected if shown.token == 0 else 1 - expected)
    if window == 2:
        second = [case.model.distribution([x]).tolist() for x in range(2)]
        joint = resampled_from_p(first, second, [0.5, 0.5])
        for tokens in itertools.product(range(2), repeat=2):
            assert found[tokens] == pytest.approx(joint[tokens], abs=CLOSE)


def counterexamples() -> list[Counterexample]:
    every = [released(IN_EVERY_RUN), verdict_of(example("wrong_rule"))]
    return [found.counterexample for found in every]


def test_the_ways_lead_to_the_sequence_and_are_all_of_it() -> None:
    for found in counterexamples():
        assert found.sequence[: len(found.prefix) + 1] == (*found.prefix, found.token)
        assert abs(found.found - found.p) > CLOSE
        assert sum(way.chance for way in found.ways) == pytest.approx(found.sequence_found)
        assert len({way.status for way in found.ways}) == len(found.ways)
        for way in found.ways:
            likeliest = math.prod(step.chance for step in way.passes)
            assert 0 < likeliest < way.chance + 1e-9
            committed = [token for step in way.passes for token in step.committed]
            assert tuple(committed) == found.sequence
            statuses = [status for step in way.passes for status in step.statuses]
            assert statuses[len(found.prefix)] == way.status
            n = 0
            for step in way.passes:
                assert step.start == n
                assert len(step.committed) == len(step.statuses) > 0
                n += len(step.committed)
                assert len(step.p) >= len(step.drafts)
                assert len(step.q) == len(step.drafts)
                for row in (*step.p, *step.q):
                    assert sum(row) == pytest.approx(1)
                for number in step.numbers:
                    assert 0 <= number.low < number.high <= 1
                    assert number.position >= step.start
                assert step.numbers or step.chance == 1


@exact
def test_the_first_models_case_with_the_fewest_outcomes_is_the_smallest() -> None:
    kind = example("wrong_rule")
    wide, narrow = (case_of(kind, "row", window=window) for window in (3, 2))
    sound, later = case_of(kind, "pair"), case_of(kind, "four", window=2)
    later.found.runs = 1
    assert wide.found.runs > narrow.found.runs > 1
    assert not sound.differs
    assert Cases([sound, wide, narrow, later]).smallest is narrow
    assert Cases([sound]).smallest is sound


def test_it_is_the_smallest_case() -> None:
    found = verdict_of(example("wrong_rule"))
    worst = [each.model for each in found.cases if each.total_variation > 0]
    words = {standard.name: standard.words for standard, *_ in standard_toys()}
    assert found.counterexample.model == words[worst[0]]
    assert found.counterexample.total_variation in [
        each.total_variation for each in found.cases if each.model == worst[0]
    ]


# The shift


def shift_by_hand(case: Case) -> float:
    """E of the sum over n of TV(P'(. | x_<n), p(. | x_<n)), x from the decoder."""
    total, codes = 0.0, case.model.vocab_size
    for sequence, chance in case.joint.items():
        for n in range(len(sequence)):
            before = {t: c for t, c in case.joint.items() if t[:n] == sequence[:n]}
            p = case.model.distribution(sequence[:n]).tolist()
            for token in range(codes):
                here = sum(c for t, c in before.items() if t[n] == token)
                total += chance * abs(here / sum(before.values()) - p[token]) / 2
    return total


SHIFTED: list[tuple[type[WindowDecoder], dict[str, Any]]] = [
    (GSD, {"window": 3, "G": 4, "d": 10.0, "delta": 1.0, "fresh": "uniform"}),
    (RelaxedSJD, {"window": 3, "k": 2.0, "fresh": "uniform"}),
    (RelaxedSJD, {"window": 3, "relax": "entropy", "fresh": "uniform"}),
    (RelaxedSJD, {"window": 3, "relax": "typical", "fresh": "uniform"}),
]


@exact
@pytest.mark.parametrize(("kind", "values"), [SHIFTED[0], *further(*SHIFTED[1:])], ids=str)
def test_the_true_shift_and_the_recorded_one(
    kind: type[WindowDecoder], values: dict[str, Any]
) -> None:
    case = case_of(kind, "row", **values)
    true = true_shift(case)
    assert true == pytest.approx(shift_by_hand(case))
    assert true > 0.01
    found = with_settings(kind, values)
    shift = found.shift
    assert shift.settings == found.cases[0].settings | values
    assert shift.recorded > shift.true - CLOSE
    assert shift.true > 0
    name = next(each.name for each, *_ in standard_toys() if each.words == shift.model)
    case = case_of(kind, name, **values)
    assert shift.true == pytest.approx(shift_by_hand(case) / case.plan.length)


def test_a_lossless_badge_records_no_shift_whatever_is_true() -> None:
    shift = verdict_of(example("wrong_rule")).shift
    assert shift.recorded == 0
    assert shift.true > 0.01


# Which settings


@exact
def test_settings_that_a_small_picture_does_not_tell_apart_are_enumerated_once() -> None:
    every: list[Settings] = settings_to_judge(SJD.Settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "RUNS_SMALL", 10**6)
        done = [settings for settings, _ in enumerate_on(0, SJD, every)]  # two tokens
    assert done[0] == SJD.Settings()
    kept = {(min(s.window, 3), s.init, s.fresh, s.verification) for s in done}
    assert len(kept) == len(done) < len(every)
    assert kept == {(min(s.window, 3), s.init, s.fresh, s.verification) for s in every}
