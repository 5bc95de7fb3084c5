"""`judge`: compares a decoder with vanilla AR, and checks what else a lane must do.

It compares joint distributions over whole pictures of small models. These distributions are
computed exactly, for the corners of the decoder's settings.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import cache

from engine.core import Plan
from engine.decoders.ar import VanillaAR
from engine.decoders.base import Decoder
from engine.decoders.scd import SCD
from engine.decoders.sjd import SJD
from engine.decoders.verdict import (
    CaseVerdict,
    Check,
    Outcome,
    Samples,
    Shift,
    Verdict,
    digest_of,
    source_of,
)
from engine.decoders.window import WindowDecoder
from engine.settings import Settings
from engine.version import version
from tools.judge.cases import (
    RUNS_A_CASE,
    Case,
    Cases,
    EnumerationResult,
    enumerate_on,
    standard_toys,
)
from tools.judge.checks import SEEDS, STATIC_SHAPES, check, pictures
from tools.judge.choices import NotEnumerable
from tools.judge.corners import settings_to_judge
from tools.judge.counterexample import counterexample, true_shift
from tools.judge.enumeration import CLOSE, TooManyOutcomes, enumerated, exactly
from tools.judge.larger import Drawn, coverage_of, sample_larger, samples_of, undecided_tests
from tools.judge.sampling import rejects
from tools.judge.shift import recorded_shift
from tools.judge.toys import Toy
from tools.judge.workers import JUDGED, Work, workers

# Known decoders, whose expected tokens per pass are given beside a decoder's own.
BESIDE: dict[str, tuple[type[WindowDecoder], Settings]] = {
    "SJD": (SJD, SJD.Settings(window=4)),
    "SJD fresh=uniform": (SJD, SJD.Settings(window=4, fresh="uniform")),
    "SCD fresh=uniform": (SCD, SCD.Settings(window=4, fresh="uniform", coupling="maximal")),
    "block fresh=uniform": (SJD, SJD.Settings(window=4, fresh="uniform", verification="block")),
}


def judge(
    kind: type[Decoder], progress: Callable[[str], None] = lambda line: None, processes: int = 1
) -> Verdict:
    """Return the verdict on a decoder.

    Cheap tests come first. Once a test shows a distribution other than vanilla AR's, no more tests
    run. An interrupt also ends the tests; the verdict then says what is known so far.

    Args:
        kind: the decoder.
        progress: called with a message from time to time.
        processes: the number of processes that enumerate and sample.
    """
    every = settings_to_judge(kind.Settings)
    checks = check(kind, every)
    cases, sampled, stopped = Cases(), list[Drawn](), False
    example, shift, tokens = None, None, dict[str, float]()
    if checks[0].passed:
        repeats = all(each.passed for each in checks if each.name == "repeats")
        try:
            with exactly(), workers(kind, every, processes) as work:
                _enumerate(cases, kind, repeats, progress, work)
                if not cases.differs:
                    sample_larger(sampled, kind, every, progress, work)
        except KeyboardInterrupt:
            stopped = True
        with exactly():
            if cases.done and issubclass(kind, WindowDecoder):
                smallest = cases.smallest
                example = counterexample(kind, smallest) if smallest.differs else None
                shift = _shift(kind, smallest)
                tokens = _tokens_a_pass(kind, every[0])
                checks.append(_acceptance(cases.done))
    source, samples = source_of(kind), samples_of(sampled)
    return Verdict(
        version=version(),
        decoder=kind.name,
        title=kind.title,
        claim=kind.badge.value,
        digest=digest_of(source) if source else "",
        outcome=_outcome(kind, every, checks, cases, samples, stopped),
        cases=tuple(
            CaseVerdict(
                model=case.standard.name,
                settings=dataclasses.asdict(case.settings),
                total_variation=case.variation,
            )
            for case in cases.done
        ),
        runs=sum(case.found.runs for case in cases.done),
        difference=max((case.difference for case in cases.done), default=0.0),
        left_out=tuple(cases.left_out),
        counterexample=example,
        shift=shift,
        samples=samples,
        coverage=coverage_of(kind, cases, sampled) if sampled else None,
        unseen=tuple(cases.not_enumerable),
        stopped=stopped,
        checks=tuple(checks),
        tokens_a_pass=tokens,
    )


def _enumerate(
    cases: Cases, kind: type[Decoder], repeats: bool, progress: Callable[[str], None], work: Work
) -> None:
    """Enumerate the decoder on the small models, smallest first, until one shows a difference.

    The results are added to `cases`. `repeats` is whether one seed always gives one picture; a
    decoder that does not repeat is not enumerated.
    """
    if not repeats:
        cases.not_enumerable["one seed gives other pictures from run to run"] = None
        return
    if not issubclass(kind, WindowDecoder):
        why = "it is no WindowDecoder, so its passes cannot be taken one by one"
        cases.not_enumerable[why] = None
        return
    numbers = [n for n, (standard, *_) in enumerate(standard_toys()) if standard.suits(kind)]
    for at, (number, results) in enumerate(
        zip(numbers, work(_enumerated, numbers), strict=True), 1
    ):
        progress(f"every outcome, {at} of {len(numbers)}: {standard_toys()[number][0].words}")
        cases.add(number, kind, results)
        if cases.hidden:  # the decoder decodes something else than was enumerated
            cases.done.clear()
            return
        if cases.differs:
            return


def _enumerated(number: int) -> list[tuple[Settings, EnumerationResult]]:
    with exactly():
        return list(enumerate_on(number, *JUDGED[0]))


def _outcome(
    kind: type[Decoder],
    every: Sequence[Settings],
    checks: Sequence[Check],
    cases: Cases,
    samples: Samples | None,
    stopped: bool,
) -> Outcome:
    """Return the outcome of the judgement: from the checks, the cases and the samples.

    A decoder is lossless only if cases were enumerated, none differs, no test rejects or remains
    undecided, static shapes change nothing, and the run was not interrupted.
    """
    if not checks[0].passed:
        return Outcome.BROKEN
    if cases.differs or (samples is not None and rejects(samples.log10_e * math.log(10))):
        return Outcome.CHANGED
    undecided = samples is not None and bool(undecided_tests(samples))
    # Lanes on a GPU have static shapes, and the distribution was found without them.
    static = all(each.passed for each in checks if each.name == STATIC_SHAPES)
    if stopped or not cases.done or undecided or not static:
        return Outcome.OPEN
    return Outcome.IDENTICAL if _identical(kind, every) else Outcome.LOSSLESS


def _identical(kind: type[Decoder], every: Sequence[Settings]) -> bool:
    """Return whether decoder and vanilla AR draw the same pictures from the same seeds.

    The decoder draws with each of the settings `every` from each of SEEDS.
    """
    for model, plan in pictures(kind):
        for seed in SEEDS:
            expected = VanillaAR(model, plan=plan).generate("", seed)
            for settings in every:
                if kind(model, settings, plan=plan).generate("", seed) != expected:
                    return False
    return True


def _shift(kind: type[WindowDecoder], case: Case) -> Shift:
    decoder = kind(case.model, case.settings, plan=case.plan)
    tokens = sum(token < 0 for token in case.plan.forced)
    recorded = recorded_shift(decoder)
    return Shift(
        model=case.standard.words,
        settings=dataclasses.asdict(case.settings),
        recorded=None if recorded is None else recorded / tokens,
        true=true_shift(case) / tokens,
    )


def _acceptance(cases: Sequence[Case]) -> Check:
    worst = max(case.found.misrecorded for case in cases)
    words = "A draft is accepted with the probability that is recorded."
    if worst >= CLOSE:
        words = (
            f"A draft is accepted with another probability than is recorded: off by {worst:.3g}."
        )
    return Check(name="records its acceptances", passed=worst < CLOSE, words=words)


def _tokens_a_pass(kind: type[WindowDecoder], settings: Settings) -> dict[str, float]:
    """Return the expected tokens per pass of the decoder and of the known decoders in BESIDE.

    All these decoders draw pictures of the model "even". If `kind` fills in, they fill in pictures
    of the model "filled in, spread" instead. A decoder that cannot be enumerated there is left out.
    """
    name = "filled in, spread" if kind.infills else "even"
    model, plan = next((m, plan) for each, m, plan, _ in standard_toys() if each.name == name)
    rates = dict[str, float]()
    for title, (decoder, chosen) in {kind.title: (kind, settings), **BESIDE}.items():
        try:
            passes = _passes(decoder, chosen, model, plan)
        except (NotEnumerable, TooManyOutcomes):
            continue
        rates.setdefault(title, plan.length / passes)
    return rates


@cache
def _passes(kind: type[WindowDecoder], settings: Settings, model: Toy, plan: Plan) -> float:
    return enumerated(kind(model, settings, plan=plan), 4 * RUNS_A_CASE).passes
