"""Samples pictures of the larger models, and sums the samples up for a verdict."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from engine.decoders.base import Decoder
from engine.decoders.verdict import Coverage, Reached, SampledModel, Samples
from engine.settings import Settings
from tools.judge.cases import Cases
from tools.judge.checks import global_numbers
from tools.judge.lines import lines_of, lines_run
from tools.judge.sampling import SampledPictures, least_deviation, rejects, sample
from tools.judge.standard import SAMPLED, StandardToy
from tools.judge.workers import JUDGED, Work

PICTURES = 1000  # of each larger model with the defaults
FEW = 250  # pictures for settings with a value that no enumerated case has
LOOKED_AT = 40  # pictures drawn again to record which lines run: that takes twice the time
MOST_LOG10_E = 999.0  # stands for infinity, the value of an impossible picture


@dataclass(frozen=True, slots=True)
class Drawn:
    """Pictures sampled from a larger model with some settings: one test of the decoder.

    Attributes:
        tests: the number of tests that the whole judgement plans; each e-value is divided by it.
        lines: the lines of the decoder's file that the first LOOKED_AT pictures run.
    """

    standard: StandardToy
    settings: Settings
    tests: int
    found: SampledPictures
    lines: frozenset[int]


Task = tuple[int, int, int, int]  # numbers of the model and the settings; how many pictures, tests


def sample_larger(
    sampled: list[Drawn],
    kind: type[Decoder],
    every: Sequence[Settings],
    cases: Cases,
    progress: Callable[[str], None],
    work: Work,
) -> None:
    """Sample the larger models until a test finds a difference; add the results to `sampled`.

    `every` has all judged settings, the defaults first. Each model is sampled with the defaults.
    The first model is also sampled with settings that have those values of knobs that no enumerated
    case has.
    """
    models = [n for n, standard in enumerate(SAMPLED) if standard.suits(kind)]
    more = [every.index(settings) for settings in cases.uncovered(every)]
    jobs = [(n, 0, PICTURES) for n in models] + [(models[0], at, FEW) for at in more if at]
    tasks: list[Task] = [(*job, len(jobs)) for job in jobs]
    for at, (task, (tally, lines)) in enumerate(zip(tasks, work(_drawn, tasks), strict=True), 1):
        standard, settings = SAMPLED[task[0]], every[task[1]]
        progress(f"sampled pictures, {at} of {len(tasks)}: {standard.words}")
        sampled.append(Drawn(standard, settings, len(tasks), tally, lines))
        if rejects(tally.log_e - math.log(len(tasks))):
            return


def _drawn(task: Task) -> tuple[SampledPictures, frozenset[int]]:
    """Sample a task's pictures in float32, as a race draws them.

    Returns the results, and the lines of the decoder's file that ran.
    """
    (kind, every), (number, at, count, tests) = JUDGED[0], task
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        model, plan = SAMPLED[number].build()
        decoder = kind(model, every[at], plan=plan)
        with global_numbers(0):
            tally = sample(decoder, model, plan, count, tests)
            with lines_run(kind) as lines:
                sample(decoder, model, plan, LOOKED_AT)
        return tally, frozenset(lines)
    finally:
        torch.set_default_dtype(before)


def samples_of(sampled: Sequence[Drawn], every: Sequence[Settings]) -> Samples | None:
    """Sum the sampled pictures up for a verdict; return None if nothing was sampled.

    `every` has all judged settings, the defaults first.
    """
    if not sampled:
        return None
    tests, largest = sampled[0].tests, max(each.found.log_e for each in sampled)
    whole = [
        each.found
        for each in sampled
        if each.settings == every[0] and each.found.pictures == PICTURES
    ]
    counts = whole[0].counts if whole else {}
    statistics = len(counts)
    tokens = [PICTURES, int(counts["all tokens"].sum())] if counts else []
    weakest = [least_deviation(n, statistics, tests) for n in tokens]
    return Samples(
        models=tuple(
            SampledModel(
                model=each.standard.words,
                settings=dataclasses.asdict(each.settings),
                pictures=each.found.pictures,
                passes=each.found.passes,
                log10_e=min(each.found.log_e / math.log(10), MOST_LOG10_E),
            )
            for each in sampled
        ),
        log10_e=min((largest - math.log(tests)) / math.log(10), MOST_LOG10_E),
        statistics=statistics,
        deviation=weakest[0] if weakest else 0.0,
        pooled=weakest[1] if weakest else 0.0,
    )


def coverage_of(kind: type[Decoder], cases: Cases, sampled: Sequence[Drawn]) -> Coverage:
    """Return how much of the decoder's behaviour enumerations and sampled pictures showed."""
    passes = [case.found for case in cases.done]
    drawn = [each.found.coverage for each in sampled]
    run = frozenset().union(*(each.lines for each in sampled))
    return Coverage(
        enumerated=Reached(
            statuses=tuple(sorted(set().union(*(each.statuses for each in passes)))),
            committed=max((each.most_committed for each in passes), default=0),
            passes=max((each.most_passes for each in passes), default=0),
        ),
        sampled=Reached(
            statuses=tuple(sorted(set().union(*(each.statuses for each in drawn)))),
            committed=max(each.committed for each in drawn),
            passes=max(each.passes for each in drawn),
        ),
        age=max(each.age for each in drawn),
        idle=tuple(sorted(lines_of(kind) - run)),
    )
