"""Samples pictures of the larger models, and sums the samples up for a verdict."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from engine.decoders.base import Decoder
from engine.decoders.verdict import Coverage, Reached, SampledModel, Samples
from engine.settings import Settings
from tools.judge.cases import Cases
from tools.judge.checks import global_numbers
from tools.judge.corners import covering
from tools.judge.lines import lines_of, lines_run
from tools.judge.sampling import UNDECIDED, SampledPictures, least_deviation, rejects, sample
from tools.judge.standard import SAMPLED, StandardToy
from tools.judge.workers import JUDGED, Work

PICTURES = 1000  # planned of the first model with the defaults, and half as many of each other
FEW = 100  # planned of each model with each of a few other settings
LOOKED_AT = 20  # pictures drawn again to record which lines run: that takes twice the time
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


class Task(NamedTuple):
    """A test that is planned.

    Attributes:
        model: the model's number among SAMPLED.
        settings: the settings' number among those to judge.
        pictures: how many pictures are planned.
        looked_at: how many of them are drawn again to record which lines run.
        tests: how many tests the whole judgement plans.
    """

    model: int
    settings: int
    pictures: int
    looked_at: int
    tests: int


def sample_larger(
    sampled: list[Drawn],
    kind: type[Decoder],
    every: Sequence[Settings],
    progress: Callable[[str], None],
    work: Work,
) -> None:
    """Sample the larger models until a test finds a difference; add the results to `sampled`.

    `every` has all judged settings, the defaults first. Each model is sampled with the defaults,
    and then with a few settings that have every other judged value of every knob.
    """
    models = [n for n, standard in enumerate(SAMPLED) if standard.suits(kind)]
    more = [every.index(settings) for settings in covering(every)]
    count = len(models) * (1 + len(more))
    tasks = [Task(models[0], 0, PICTURES, LOOKED_AT, count)]
    tasks += [Task(n, 0, PICTURES // 2, LOOKED_AT, count) for n in models[1:]]
    for at in more:
        tasks.append(Task(models[0], at, FEW, LOOKED_AT, count))
        tasks += [Task(n, at, FEW, 0, count) for n in models[1:]]
    for at, (task, (tally, lines)) in enumerate(zip(tasks, work(_drawn, tasks), strict=True), 1):
        standard, settings = SAMPLED[task.model], every[task.settings]
        progress(f"sampled pictures, {at} of {len(tasks)}: {standard.words}")
        sampled.append(Drawn(standard, settings, len(tasks), tally, lines))
        if rejects(tally.log_e - math.log(len(tasks))):
            return


def _drawn(task: Task) -> tuple[SampledPictures, frozenset[int]]:
    """Sample a task's pictures in float32, as a race draws them.

    Returns the results, and the lines of the decoder's file that ran.
    """
    kind, every = JUDGED[0]
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        model, plan = SAMPLED[task.model].build()
        decoder = kind(model, every[task.settings], plan=plan)
        with global_numbers(0):
            tally = sample(decoder, model, plan, task.pictures, task.tests)
            with lines_run(kind) as lines:
                sample(decoder, model, plan, task.looked_at)
        return tally, frozenset(lines)
    finally:
        torch.set_default_dtype(before)


def samples_of(sampled: Sequence[Drawn]) -> Samples | None:
    """Sum the sampled pictures up for a verdict; return None if nothing was sampled."""
    if not sampled:
        return None
    tests, largest = sampled[0].tests, max(each.found.log_e for each in sampled)
    first = sampled[0].found
    counts = first.counts if first.pictures >= PICTURES else {}
    statistics = len(counts)
    tokens = [first.pictures, int(counts["all tokens"].sum())] if counts else []
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


def undecided_tests(samples: Samples) -> list[SampledModel]:
    """Return the tests whose e stayed above 10, though the test does not reject.

    After AGAIN times the planned pictures they neither show vanilla AR's distribution nor another.
    """
    if rejects(samples.log10_e * math.log(10)):
        return []
    return [each for each in samples.models if each.log10_e * math.log(10) > UNDECIDED]


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
