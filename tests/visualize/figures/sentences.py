"""The sentences of figures, of races whose steps are made by hand: sections for tests/prose.txt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from engine.trace import LaneState, Seconds, Status, Step
from engine.trace.rows import DTYPES
from engine.trace.shares import quantise
from tests.steps import Spot, build
from tests.visualize.races import step, steps, trace_of
from visualize.figures.figures import figures

Lanes = Mapping[str, Sequence[Step]]


def said(
    name: str,
    lanes: Lanes,
    *,
    length: int = 40,
    rows: int = 1,
    state: LaneState = LaneState.FINISHED,
) -> str:
    """The sentence of one figure."""
    drawn = figures(trace_of(lanes, length=length, rows=rows, state=state))
    return next(figure.sentence for figure in drawn if figure.name == name)


def timed(*seconds: float) -> list[Step]:
    """A lane whose steps took so long: forward pass, verification, cache, drafter."""
    return steps(1, 1, seconds=Seconds(*seconds))


def disturbed(tvs: Sequence[float], rejections: int) -> list[Step]:
    """Steps that each reject and leave drafts, with these TVs in the next step at distances 1, 2,
    .."""
    made: list[Step] = []
    for at in range(rejections + 1):
        spots = [
            Spot(at + i, 1, 1, status, 0.5, tv=tv, uniform=0.5, top=top, top_draft=top)
            for i, tv in enumerate(tvs)
            for status, top in [(Status.REFINED if i else Status.RESAMPLED, ((at + i, 0.5),))]
        ]
        end = at + len(tvs)
        spots.append(Spot(end, 1, 1, Status.REFINED, 0.5, top=((end, 0.5),)))
        made.append(build(at + 1, at, at + 1, spots, Seconds(1.0), earlier=made))
    return made


def priced(*shifts: float) -> list[Step]:
    """A lane of so many tokens, with these prices."""
    *before, last = steps(*[1] * len(shifts))
    prices = np.zeros(len(shifts), DTYPES["prices"])
    prices["shift"] = quantise(np.array(shifts))
    return [*before, Step.of(replace(last.rows, prices=prices))]


HALF = {"tv": 0.5, "passed": False}
ONES = steps(1, 1, 1)
# Of each figure the races whose sentence is another one.
CASES: dict[str, list[Lanes]] = {
    # Against vanilla AR; where there is none, the last against the first; a lane alone.
    "passes": [
        {"ar": steps(*[1] * 40), "sjd": steps(17, 2, 1), "gsd": steps(2, 2, 1, 1)},
        {"sjd": steps(1, 1, 1), "gsd": steps(40), "lantern": steps(2, 1)},
        {"sjd": steps(1, 2)},
    ],
    # The winner against vanilla AR; where that won, it against the last; a lane alone.
    "seconds": [
        {"ar": steps(*[1] * 6), "sjd": steps(3, 2, 1, seconds=1.5), "gsd": steps(2, 2, 1, 1)},
        {"ar": steps(1, 1), "sjd": steps(1, 1, seconds=3.0)},
        {"sjd": steps(1, 2)},
    ],
    "rows": [
        {"ar": steps(1, 1)},
        {"ar": steps(1, 1), "sjd": [step(0, 2, drafts=4), step(2, 4, nfe=2)]},
    ],
    "lengths": [
        {"ar": ONES, "sjd": steps(1, 1, 2, 1), "gsd": steps(1, 2)},
        {"sjd": steps(1, 2)},
        {"ar": steps(1, 1)},
    ],
    # One step of 5 brought 5 of the 8 tokens beyond the first of each step.
    "gain": [{"ar": ONES, "sjd": steps(1, 2, 6, 3, 1)}, {"ar": steps(1, 1)}],
    "top1": [
        {"sjd": steps(1, 1, top1=0.6), "ar": steps(1, 1, top1=0.3)},
        {"sjd": steps(1, 1, top1=0.6), "ar": steps(1, 1, top1=0.04)},
        {"sjd": steps(1, 1, top1=0.9)},
    ],
    "acceptance": [
        {"sjd": steps(*[2] * 20, **HALF), "gsd": steps(*[10] * 4, **HALF)},
        {"sjd": steps(*[10] * 4, **HALF)},
        {"gsd": steps(*[2] * 20, **HALF)},
        {"gsd": steps(*[1] * 40, tv=0.25, passed=False)},
        {"ar": steps(1)},
    ],
    "shift": [
        {name: steps(1, tv=0.5, shift=x) for name, x in (("sjd", 0), ("gsd", 0.25), ("scd", 0.1))},
        {"sjd": steps(1, tv=0.5, shift=0)},
        {"sjd": steps(1, tv=0.5, shift=0), "zipar": priced(0.5, 0.25)},
        {"ar": steps(1)},
    ],
    "time": [
        {
            "ar": timed(0.009, 0.001),
            "lantern": timed(0.01, 0.002, 0.0, 0.008),
            "sjd": timed(0.016, 0.004),
        },
        {"ar": timed(0.002)},
        {"ar": timed(0.0)},
    ],
    "distance": [{"sjd": steps(3, 2, tv=0.1)}],
}
# TVs behind a rejection, rows of the picture, and how many rejections there were.
REACHES = [
    ([0.6, 0.4, 0.1, 0.3], 1, 25),
    ([0.6, 0.7], 1, 25),
    ([0.6, 0.4, 0.1, 0.5], 9, 25),
    ([0.6, 0.4, 0.3, 0.2], 9, 25),
    ([0.6, 0.1], 1, 19),
]
UNFINISHED: Lanes = {"ar": steps(1, 1), "sjd": steps(2, 1, 1)}


def prose() -> dict[str, list[str]]:
    """Each section's lines."""
    sections = {
        f"Figure: {name}": [said(name, lanes) for lanes in cases] for name, cases in CASES.items()
    }
    sections["Figure: how far a rejection reaches"] = [
        said("distance", {"sjd": disturbed(tvs, rejections)}, length=36, rows=rows)
        for tvs, rows, rejections in REACHES
    ]
    sections["Figures of a race that nobody finished"] = [
        said(name, UNFINISHED, length=9, state=state)
        for state in (LaneState.STOPPED, LaneState.FAILED, LaneState.RACING)
        for name in ("passes", "seconds")
    ]
    return sections
