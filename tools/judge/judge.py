"""`judge`: a decoder's joint distributions over whole pictures of small models, computed exactly
for the corners of its settings, against vanilla AR's; and what else a lane must do."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

import torch

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
from tools.judge.checks import SEEDS, check, global_numbers, pictures
from tools.judge.choices import NotEnumerable
from tools.judge.corners import settings_to_judge
from tools.judge.counterexample import counterexample, true_shift
from tools.judge.enumeration import CLOSE, TooManyOutcomes, enumerated, exactly
from tools.judge.sampling import rejects, sampled_until_caught
from tools.judge.shift import recorded_shift
from tools.judge.standard import four_codes
from tools.judge.toys import Toy

PICTURES = 5000  # sampled at most where the outcomes cannot be enumerated
SAMPLED_SETTINGS = 5
MOST_LOG10_E = 999.0  # that of an impossible picture is infinite
# Decoders whose expected tokens a pass are given beside a decoder's own.
BESIDE: dict[str, tuple[type[WindowDecoder], Settings]] = {
    "SJD": (SJD, SJD.Settings(window=4)),
    "SJD fresh=uniform": (SJD, SJD.Settings(window=4, fresh="uniform")),
    "SCD fresh=uniform": (SCD, SCD.Settings(window=4, fresh="uniform", coupling="maximal")),
    "block fresh=uniform": (SJD, SJD.Settings(window=4, fresh="uniform", verification="block")),
}


def judge(
    kind: type[Decoder], progress: Callable[[str], None] = lambda line: None, processes: int = 1
) -> Verdict:
    """The verdict. `progress(message)` is called from time to time."""
    every = settings_to_judge(kind.Settings)
    checks = check(kind, every[0])
    cases, samples = Cases(), None
    example, shift, tokens = None, None, dict[str, float]()
    if checks[0].passed:
        if not all(each.passed for each in checks if each.name == "repeats"):
            cases.not_enumerable["it draws from a global generator"] = None
        elif issubclass(kind, WindowDecoder):
            with exactly():
                _enumerate(cases, kind, every, progress, processes)
                if cases.hidden:  # what was enumerated is not what it decodes
                    cases = Cases(not_enumerable=cases.not_enumerable)
                if cases.done:
                    smallest = cases.smallest
                    example = counterexample(kind, smallest) if smallest.differs else None
                    shift = _shift(kind, smallest)
                    tokens = _tokens_a_pass(kind, every[0])
                    checks.append(_acceptance(cases.done))
        else:
            cases.not_enumerable["it is no WindowDecoder, whose passes can be taken one by one"] = (
                None
            )
        if cases.not_enumerable:
            progress("sampled pictures")
            samples = _sampled(kind, every, cases)
    source = source_of(kind)
    return Verdict(
        version=version(),
        decoder=kind.name,
        title=kind.title,
        claim=kind.badge.value,
        digest=digest_of(source) if source else "",
        outcome=_outcome(kind, every, checks, cases, samples),
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
        checks=tuple(checks),
        tokens_a_pass=tokens,
    )


def _enumerate(
    cases: Cases,
    kind: type[WindowDecoder],
    every: Sequence[Settings],
    progress: Callable[[str], None],
    processes: int,
) -> None:
    numbers = [n for n, (standard, *_) in enumerate(standard_toys()) if standard.suits(kind)]
    if processes > 1:
        # Forked, for a class that only this process has loaded.
        with ProcessPoolExecutor(processes, get_context("fork"), _begin, (kind, every)) as pool:
            results = pool.map(_enumerated, numbers)
            for number, found in zip(numbers, results, strict=True):
                progress(standard_toys()[number][0].words)
                cases.add(number, kind, found)
        return
    for number in numbers:
        progress(standard_toys()[number][0].words)
        cases.add(number, kind, enumerate_on(number, kind, every))


_JUDGED: list[tuple[type[WindowDecoder], Sequence[Settings]]] = []  # of a forked process


def _begin(kind: type[WindowDecoder], every: Sequence[Settings]) -> None:
    torch.set_num_threads(1)  # threads of before the fork are not there
    _JUDGED[:] = [(kind, every)]


def _enumerated(number: int) -> list[tuple[Settings, EnumerationResult]]:
    with exactly():
        return list(enumerate_on(number, *_JUDGED[0]))


def _outcome(
    kind: type[Decoder],
    every: Sequence[Settings],
    checks: Sequence[Check],
    cases: Cases,
    samples: Samples | None,
) -> Outcome:
    if not checks[0].passed:
        return Outcome.BROKEN
    if any(case.differs for case in cases.done):
        return Outcome.CHANGED
    if samples is not None and rejects(samples.log10_e * math.log(10)):
        return Outcome.CHANGED
    if not cases.done:
        return Outcome.OPEN
    return Outcome.IDENTICAL if _identical(kind, every) else Outcome.LOSSLESS


def _identical(kind: type[Decoder], every: Sequence[Settings]) -> bool:
    """Whether it draws vanilla AR's very pictures, of real random numbers."""
    for model, plan in pictures(kind):
        for seed in SEEDS:
            expected = VanillaAR(model, plan=plan).generate("", seed)
            for settings in every:
                if kind(model, settings, plan=plan).generate("", seed) != expected:
                    return False
    return True


def _sampled(kind: type[Decoder], every: Sequence[Settings], cases: Cases) -> Samples:
    """Of four codes with the defaults; where nothing could be enumerated, of a square of two codes
    with other settings too, until the test rejects. e is at most the mean of theirs, which is one.
    """
    noise, square = four_codes(), Toy((2, 2), 2)
    drawn = [(noise, noise.plan, every[0])]
    if kind.infills:
        drawn = [(model, plan, every[0]) for model, plan in pictures(kind)]
    elif not cases.done:
        drawn += [(square, square.plan, settings) for settings in every[:SAMPLED_SETTINGS]]
    count, log_e, models = 0, -math.inf, len(drawn)
    for model, plan, settings in drawn:
        decoder = kind(model, settings, plan=plan)
        place = [plan.slots.index(slot) for slot in decoder.plan.slots]
        joint = {
            tuple(tokens[at] for at in place): chance
            for tokens, chance in model.joint_distribution(plan).items()
        }
        with global_numbers(0):
            more, found = sampled_until_caught(decoder, joint, PICTURES // models, tests=models)
        count, log_e = count + more, max(log_e, found - math.log(models))
        if rejects(log_e):
            break
    why = "; ".join(cases.not_enumerable)
    return Samples(why=why, pictures=count, log10_e=min(log_e / math.log(10), MOST_LOG10_E))


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
    """Expected, on the model whose distributions differ little (or of those that are filled in),
    beside decoders that are known."""
    name = "filled in, spread" if kind.infills else "even"
    model, plan = next((m, plan) for each, m, plan, _ in standard_toys() if each.name == name)
    found = dict[str, float]()
    for title, (decoder, chosen) in {kind.title: (kind, settings), **BESIDE}.items():
        try:
            passes = _passes(decoder, chosen, model, plan)
        except (NotEnumerable, TooManyOutcomes):
            continue
        found.setdefault(title, plan.length / passes)
    return found


@cache
def _passes(kind: type[WindowDecoder], settings: Settings, model: Toy, plan: Plan) -> float:
    return enumerated(kind(model, settings, plan=plan), 4 * RUNS_A_CASE).passes
