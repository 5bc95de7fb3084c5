"""Sentences: each says one true thing of its race, and another where the race shows it not."""

from __future__ import annotations

import pytest

from engine.trace import LaneState, Seconds, Status, Step
from tests.steps import Spot, build
from tests.visualize.races import step, steps, trace_of
from visualize.figures.figures import figures


def said(
    lanes: dict[str, list[Step]],
    name: str,
    *,
    length: int = 40,
    rows: int = 1,
    state: LaneState = LaneState.FINISHED,
) -> str:
    drawn = figures(trace_of(lanes, length=length, rows=rows, state=state))
    return next(figure.sentence for figure in drawn if figure.name == name)


def timed(*seconds: float) -> list[Step]:
    """A lane whose steps took so long: forward pass, verification, cache, drafter."""
    return steps(1, 1, seconds=Seconds(*seconds))


HALF = {"tv": 0.5, "passed": False}
ONES = steps(1, 1, 1)
SINGLE = "committed a single token and gained nothing"
TOP1 = "tokens were drawn from distributions whose likeliest token had"
WRONG = "even the best single guess is mostly wrong there."
MOVED = "In SJD's lane a rejection moved the distribution of the next position by a TV of 0.60"
FEW = (
    "Too few rejections were followed by another step to say how far they reach: it takes 20 in a"
    " lane."
)
SENTENCES = [
    # Against vanilla AR; where there is none, the last against the first; where it won, it against
    # the last; a lane alone against none.
    (
        "passes",
        {"ar": steps(*[1] * 40), "sjd": steps(17, 2, 1), "gsd": steps(2, 2, 1, 1)},
        "SJD needed 3 passes for its 40 tokens, 13.33 tokens a pass; Vanilla AR needed 40.",
    ),
    (
        "seconds",
        {"ar": steps(*[1] * 6), "sjd": steps(3, 2, 1, seconds=1.5), "gsd": steps(2, 2, 1, 1)},
        "GSD was first, after 4.00 s: 1.50 times as fast as Vanilla AR by the clock, 1.50 times"
        " counted in passes.",
    ),
    (
        "passes",
        {"sjd": steps(1, 1, 1), "gsd": steps(40), "lantern": steps(2, 1)},
        "GSD needed 1 pass for its 40 tokens, 40.00 tokens a pass; SJD needed 3.",
    ),
    (
        "seconds",
        {"ar": steps(1, 1), "sjd": steps(1, 1, seconds=3.0)},
        "Vanilla AR was first, after 2.00 s: 3.00 times as fast as SJD by the clock, 1.00 times"
        " counted in passes.",
    ),
    ("passes", {"sjd": steps(1, 2)}, "SJD needed 2 passes for its 40 tokens, 20.00 tokens a pass."),
    ("seconds", {"sjd": steps(1, 2)}, "SJD took 2.00 s for its 40 tokens."),
    (
        "rows",
        {"ar": steps(1, 1)},
        "Every pass read a single row: the last token, which gives the next.",
    ),
    (
        "rows",
        {"ar": steps(1, 1), "sjd": [step(0, 2, drafts=4), step(2, 4, nfe=2)]},
        "Passes are not equal work: one of SJD read 4.0 rows on average, 2.0 for each token that"
        " was committed; vanilla AR's read one for one.",
    ),
    (
        "lengths",
        {"ar": ONES, "sjd": steps(1, 1, 2, 1), "gsd": steps(1, 2)},
        f"In 75% of its steps SJD {SINGLE}; GSD did so in 50% of its own.",
    ),
    ("lengths", {"sjd": steps(1, 2)}, f"In 50% of its steps SJD {SINGLE}."),
    (
        "lengths",
        {"ar": steps(1, 1)},
        "Every step committed one token, as vanilla AR's do: no lane gained anything.",
    ),
    # One step of 6 brought 5 of the 8 tokens beyond the first of each step.
    (
        "gain",
        {"ar": ONES, "sjd": steps(1, 2, 6, 3, 1)},
        "SJD owes 62% of its speed-up to the 20% of its steps that committed 6 tokens or more.",
    ),
    (
        "gain",
        {"ar": steps(1, 1)},
        "No step committed more than one token, so there is no speed-up to share out.",
    ),
    (
        "top1",
        {"sjd": steps(1, 1, top1=0.6), "ar": steps(1, 1, top1=0.3)},
        f"Half of Vanilla AR's {TOP1} 0.30 or less: {WRONG}",
    ),
    (
        "top1",
        {"sjd": steps(1, 1, top1=0.6), "ar": steps(1, 1, top1=0.04)},
        f"Half of Vanilla AR's {TOP1} 0.04 or less, 100% of all from distributions with less than"
        f" 0.05: {WRONG}",
    ),
    (
        "top1",
        {"sjd": steps(1, 1, top1=0.9)},
        f"Half of SJD's {TOP1} 0.90 or more: there a single guess is mostly right, and drafts have"
        " it easy.",
    ),
    (
        "acceptance",
        {"sjd": steps(*[2] * 20, **HALF), "gsd": steps(*[10] * 4, **HALF)},
        "SJD, lossless, lies on the diagonal: it accepted 50.0% of 40 drafts where 1 − TV says"
        " 50.0%; GSD, relaxed, lies above it: it accepted 90.0% of 40 drafts where 1 − TV says"
        " 50.0%.",
    ),
    (
        "acceptance",
        {"sjd": steps(*[10] * 4, **HALF)},
        "SJD, lossless, lies off the diagonal by more than chance allows: it accepted 90.0% of 40"
        " drafts where 1 − TV says 50.0%.",
    ),
    (
        "acceptance",
        {"gsd": steps(*[2] * 20, **HALF)},
        "GSD, relaxed, lies not clearly above the diagonal: it accepted 50.0% of 40 drafts where"
        " 1 − TV says 50.0%.",
    ),
    (
        "acceptance",
        {"ar": steps(1)},
        "No lane put a draft to the test: vanilla AR has none, and Jacobi and fixed-point"
        " iteration only compare.",
    ),
    (
        "shift",
        {name: steps(1, tv=0.5, shift=x) for name, x in (("sjd", 0), ("gsd", 0.25), ("scd", 0.1))},
        "A test of GSD committed a token from a distribution that was on average 0.25 (TV) away"
        " from the model's, with the same tokens before it; the lane at 0 paid nothing: of one"
        " step, not of whole pictures.",
    ),
    (
        "shift",
        {"sjd": steps(1, tv=0.5, shift=0)},
        "Every test was exact, a shift of 0: all 1 committed a token of the model's own"
        " distribution.",
    ),
    ("shift", {"ar": steps(1)}, "No lane put a draft to the test, so nothing could be shifted."),
    (
        "time",
        {
            "ar": timed(0.009, 0.001),
            "lantern": timed(0.01, 0.002, 0.0, 0.008),
            "sjd": timed(0.016, 0.004),
        },
        "LANTERN spent 50% of a step's 20.0 ms on the model's forward pass and 40% on its"
        " drafter; Vanilla AR spent 90% of its 10.0 ms on that pass.",
    ),
    (
        "time",
        {"ar": timed(0.002)},
        "Vanilla AR spent 100% of a step's 2.0 ms on the model's forward pass.",
    ),
    ("time", {"ar": timed(0.0)}, "No time was measured."),
    ("distance", {"sjd": steps(3, 2, tv=0.1)}, FEW),
]


@pytest.mark.parametrize(
    ("name", "lanes", "sentence"), SENTENCES, ids=[name for name, *_ in SENTENCES]
)
def test_a_sentence_of_a_race_that_was_finished(name, lanes, sentence) -> None:
    assert said(lanes, name) == sentence


@pytest.mark.parametrize("state", [LaneState.STOPPED, LaneState.FAILED, LaneState.RACING])
@pytest.mark.parametrize("clock", ["passes", "seconds"])
def test_a_race_that_nobody_finished_says_who_came_furthest(state: LaneState, clock: str) -> None:
    lanes = {"ar": steps(1, 1), "sjd": steps(2, 1, 1)}
    assert (
        said(lanes, clock, length=9, state=state)
        == "No lane reached the finish; SJD came furthest, 4 of 9 tokens in 3 passes and 3.00 s."
    )


def disturbed(tvs: list[float], rejections: int) -> list[Step]:
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


@pytest.mark.parametrize(
    ("tvs", "rows", "rejections", "sentence"),
    [
        ([0.6, 0.4, 0.1, 0.3], 1, 25, f"{MOVED}, and the one 3 behind by 0.10."),
        ([0.6, 0.7], 1, 25, f"{MOVED}, and the distributions behind it no less."),
        (
            [0.6, 0.4, 0.1, 0.5],
            9,
            25,
            f"{MOVED}, and the one 3 behind by 0.10; in the picture's next row, right below the"
            " rejected token, it is 0.50 again.",
        ),
        ([0.6, 0.4, 0.3, 0.2], 9, 25, f"{MOVED}, and the one 3 behind by 0.30."),
        ([0.6, 0.1], 1, 19, FEW),
    ],
)
def test_how_far_a_rejection_reaches(tvs, rows, rejections, sentence) -> None:
    lanes = {"sjd": disturbed(tvs, rejections)}
    assert said(lanes, "distance", length=36, rows=rows) == sentence
