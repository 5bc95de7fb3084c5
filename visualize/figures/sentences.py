"""Sentences on what to see in each figure, with this race's numbers.

If the race does not show what a figure is about, the sentence says so. The sentences are plain
text of the program's own words and numbers. Each figure has a function here, which takes a list of
pairs: a lane and its measure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from engine.trace import Seconds
from visualize.figures.measures import (
    Acceptance,
    Depths,
    Distances,
    Lengths,
    Progress,
    Rows,
    Runner,
)

HALF = 0.5
FLAT = 0.05  # a distribution whose likeliest token is no likelier than this is flat (GSD Sec. 3.1)
NEAR = 3.0  # up to this many standard deviations from the diagonal are chance
FEWEST = 20  # means over fewer pairs are not put into words


def passes(lanes: Sequence[tuple[Runner, Progress]], length: int) -> str:
    """Return the sentence on committed tokens against forward passes."""
    ran = _finished(lanes)
    if not ran:
        return _unfinished(lanes, length)
    best, other = _winner(ran, lambda curve: curve.passes[-1])
    needed = best[1].passes[-1]
    first = (
        f"{best[0].name} needed {_passes(needed)} for its {length} tokens ({length / needed:.2f}"
        " tokens a pass)"
    )
    return first + (f"; {other[0].name} needed {_passes(other[1].passes[-1])}." if other else ".")


def seconds(lanes: Sequence[tuple[Runner, Progress]], length: int) -> str:
    """Return the sentence on committed tokens against seconds."""
    ran = _finished(lanes)
    if not ran:
        return _unfinished(lanes, length)
    best, other = _winner(ran, lambda curve: curve.seconds[-1])
    mine = best[1].seconds[-1]
    if other is None or mine <= 0:
        return f"{best[0].name} took {mine:.2f} s for its {length} tokens."
    time, work = other[1].seconds[-1] / mine, other[1].passes[-1] / best[1].passes[-1]
    return (
        f"{best[0].name} was first, after {mine:.2f} s. It was {time:.2f} times as fast as"
        f" {other[0].name} by seconds, and {work:.2f} times as fast by passes."
    )


def rows(lanes: Sequence[tuple[Runner, Rows]]) -> str:
    """Return the sentence on the rows that the model read."""
    lane, work = max(lanes, key=lambda entry: entry[1].per_token)
    if work.per_pass <= 1:
        return "Every pass read one row, the last token, and gave the next token."
    return (
        f"Passes are not equal work: {lane.name} read {work.per_pass:.1f} rows a pass on average,"
        f" and {work.per_token:.1f} rows for each committed token. Vanilla AR reads one row a pass."
    )


def lengths(lanes: Sequence[tuple[Runner, Lengths]]) -> str:
    """Return the sentence on acceptance lengths (SJD-PAC Fig. 1a)."""
    singles = sorted(
        ((_single(histogram), lane.name) for lane, histogram in lanes if histogram.lengths[-1] > 1),
        reverse=True,
    )
    if not singles:
        return "Every step committed one token, as in vanilla AR: no lane gained anything."
    most, name = singles[0]
    least, other = singles[-1]
    first = f"{name} committed a single token, which gains nothing, in {most:.0%} of its steps"
    return first + (f"; {other} did so in {least:.0%} of its steps." if len(singles) > 1 else ".")


def gain(lanes: Sequence[tuple[Runner, Lengths]]) -> str:
    """Return the sentence on each length's share of the speed-up (SJD-PAC Fig. 1b)."""
    lane, histogram = max(lanes, key=lambda entry: entry[1].mean)
    if histogram.mean <= 1:
        return "No step committed more than one token, so there is no speed-up."
    longest = np.cumsum(histogram.gain[::-1])[::-1]  # the gain of all steps of at least each length
    start = int(np.flatnonzero(longest >= min(HALF, longest[0]))[-1])
    share = histogram.share[start:].sum()
    return (
        f"{lane.name} owes {longest[start]:.0%} of its speed-up to the {share:.0%} of its steps"
        f" that committed {histogram.lengths[start]} tokens or more."
    )


def top1(lanes: Sequence[tuple[Runner, np.ndarray]]) -> str:
    """Return the sentence on the sorted top-1 probabilities (GSD Fig. 2)."""
    drawn = [(lane, values) for lane, values in lanes if len(values)]
    if not drawn:
        return "No token was sampled yet."
    lane, values = next((entry for entry in drawn if entry[0].decoder == "ar"), drawn[0])
    median, flat = np.median(values), (values < FLAT).mean()
    sentence = f"For half of {lane.name}'s tokens the likeliest code had probability {median:.2f}"
    if median > HALF:
        return f"{sentence} or more: there a single guess is mostly right, so drafts mostly pass."
    sentence += (
        f" or less, and for {flat:.0%} of the lane's tokens it was below {FLAT:.2f}"
        if flat >= 0.01
        else " or less"
    )
    return f"{sentence}. Even the best single guess is mostly wrong there."


def acceptance(lanes: Sequence[tuple[Runner, Acceptance]]) -> str:
    """Return the sentence on measured acceptance against 1 - TV (GSD Proposition 1)."""
    if not lanes:
        return (
            "No lane tested a draft: vanilla AR has no drafts, and Jacobi and fixed-point"
            " iteration only compare a draft with the next draw."
        )
    lossless = [entry for entry in lanes if entry[0].lossless]
    relaxed = [entry for entry in lanes if not entry[0].lossless]
    clauses = []
    if lossless:
        away = [entry for entry in lossless if abs(entry[1].z) > NEAR]
        lane, bins = max(
            away or lossless, key=lambda entry: abs(entry[1].z) if away else entry[1].trials.sum()
        )
        where = "off the diagonal by more than chance allows" if away else "on the diagonal"
        clauses.append(f"{lane.name} ({lane.promise}) is {where}: {_shares(bins)}")
    if relaxed:
        lane, bins = max(relaxed, key=lambda entry: entry[1].rate - entry[1].promised)
        side = "below" if bins.z < -NEAR else "above"
        where = f"{side} the diagonal"
        if abs(bins.z) <= NEAR:
            where = f"not clearly {where}"
        clauses.append(f"{lane.name} ({lane.promise}) is {where}: {_shares(bins)}")
    return ". ".join(clauses) + "."


def depth(lanes: Sequence[tuple[Runner, Depths]]) -> str:
    """Return the sentence on acceptance by the draft's depth (EAGLE's n-alpha)."""
    known = [(lane, bins) for lane, bins in lanes if bins.trials[0] >= FEWEST]
    if not known:
        return f"Too few drafts were tested to compare depths: a lane needs {FEWEST}."
    lane, bins = max(known, key=lambda entry: (entry[1].trials >= FEWEST).sum())
    last = int(np.flatnonzero(bins.trials >= FEWEST)[-1])
    sentence = (
        f"{lane.name} accepted {bins.share[0]:.0%} of the first drafts in its windows (0-α in the"
        " papers)"
    )
    if last == 0:
        return f"{sentence}, and seldom tested a second draft."
    number = bins.depth[last]
    before = "1 accepted draft" if number == 2 else f"{number - 1} accepted drafts"
    return (
        f"{sentence}. At depth {number}, after {before}, it accepted"
        f" {bins.share[last]:.0%} ({number - 1}-α)."
    )


def shift(lanes: Sequence[tuple[Runner, np.ndarray]], claims: Sequence[Runner] = ()) -> str:
    """Return the sentence on the shifts in each lane.

    A shift compares two distributions given the tokens that the same lane committed before. `lanes`
    have measured shifts. `claims` are lanes whose shift of 0 is only the decoder author's claim.
    """
    if not claims:
        return _shifts(lanes)
    names = " and ".join(lane.name for lane in claims)
    claim = f"The shift of {names} is 0 by the author's claim, which is not proved."
    return f"{_shifts(lanes)} {claim}" if lanes else claim


def _shifts(lanes: Sequence[tuple[Runner, np.ndarray]]) -> str:
    if not lanes:
        return "No lane tested a draft, so no distribution shifted."
    exact = sum(not values.any() for _, values in lanes)
    lane, values = max(lanes, key=lambda entry: entry[1].mean())
    if not values.any():
        count = sum(len(values) for _, values in lanes)
        return (
            f"The lanes made {count} test{'' if count == 1 else 's'}, and every test was exact"
            " (shift 0): it committed a token from the model's own distribution."
        )
    priced = len(lane.table.prices) > 0
    what = "tokens" if priced else "tests"
    sentence = f"The {what} of {lane.name} had a mean shift of {distance_in_words(values.mean())}"
    if exact:
        sentence += f"; the {'lane' if exact == 1 else f'{exact} lanes'} with shift 0 paid nothing"
    return f"{sentence}. {meaning_of_shift(priced)} It is per step, not per picture."


def meaning_of_shift(priced: bool) -> str:
    """Return a sentence that defines the shift of a test or, if `priced`, the shift of a token.

    `priced` says that tokens do not see all tokens before them (see engine/decoders/priced.py).
    """
    from_what, condition = "a test commits from", "the same tokens before"
    if priced:
        from_what, condition = "a token was drawn from", "all tokens before it"
    return (
        f"Shift is the TV between the distribution that {from_what} and the model's, given"
        f" {condition}."
    )


def distance_in_words(tv: float) -> str:
    """Return a TV distance above 0 in words: "0.05, as if 5 in 100 tokens were not the model's"."""
    number = f"{tv:.2f}" if tv >= 0.01 else f"{tv:.1g}"
    return f"{number}, as if {100 * float(number):g} in 100 tokens were not the model's"


def time(lanes: Sequence[tuple[Runner, Seconds]]) -> str:
    """Return the sentence on where a step's time went."""
    shares = [
        (times.forward / times.total, lane, times) for lane, times in lanes if times.total > 0
    ]
    if not shares:
        return "No time was measured."
    share, lane, times = min(shares, key=lambda entry: entry[0])
    beside, most = max(
        (times.verify, "verification"), (times.cache, "the cache"), (times.draft, "its drafter")
    )
    own = (
        f"A step of {lane.name} took {_milliseconds(times.total)} on average: {share:.0%} was the"
        " model's forward pass"
    )
    own += f" and {beside / times.total:.0%} was {most}" if beside > 0 else ""
    if len(shares) == 1:
        return own + "."
    share, lane, times = max(shares, key=lambda entry: entry[0])
    return (
        f"{own}. A step of {lane.name} took {_milliseconds(times.total)}: {share:.0%} was the"
        " forward pass."
    )


def distance(lanes: Sequence[tuple[Runner, Distances]], stride: int) -> str:
    """Return the sentence on how far a rejection moves later positions' p (SJD-PAC Fig. 4).

    It is about the lane with the most measurements. If no lane has enough, the sentence says so.
    `stride` is the number of positions in one row of the grid.
    """
    known = [
        (lane, curve)
        for lane, curve in lanes
        if len(curve.pairs) and curve.pairs[0] >= FEWEST and curve.distance[0] == 1
    ]
    if not known:
        return (
            "Too few rejections were followed by another step to say how far a rejection reaches:"
            f" a lane needs {FEWEST} of them."
        )
    lane, curve = max(known, key=lambda entry: entry[1].pairs.sum())
    enough = curve.pairs >= FEWEST
    tv = dict(zip(curve.distance[enough].tolist(), curve.tv[enough].tolist(), strict=True))
    row = {j: value for j, value in tv.items() if j < stride} or tv
    least = min(row, key=row.__getitem__)
    first = (
        f"A rejection in {lane.name}'s lane moved the next position's distribution by a TV of"
        f" {tv[1]:.2f}"
    )
    if least == 1:
        return f"{first}, and the distributions of later positions by no less."
    said = f"{first}, and the distribution {least} positions later by {row[least]:.2f}."
    if tv.get(stride, 0) > row[least] and stride > least:
        return (
            f"{said} Right below the rejected token, in the next row, it moved the distribution by"
            f" {tv[stride]:.2f} again."
        )
    return said


def _finished(lanes: Sequence[tuple[Runner, Progress]]) -> list[tuple[Runner, Progress]]:
    return [entry for entry in lanes if entry[0].finished]


def _winner(
    lanes: Sequence[tuple[Runner, Progress]], clock: Callable[[Progress], float]
) -> tuple[tuple[Runner, Progress], tuple[Runner, Progress] | None]:
    """Return the winner of `lanes` by `clock`, and the lane to compare the winner with.

    The second is vanilla AR's lane. If vanilla AR won or is not one of `lanes`, the second is the
    slowest lane; it is None if there is no other lane.
    """
    ranked = sorted(lanes, key=lambda entry: clock(entry[1]))
    others = [entry for entry in ranked[1:] if entry[0].decoder == "ar"] or ranked[1:]
    return ranked[0], others[-1] if others else None


def _unfinished(lanes: Sequence[tuple[Runner, Progress]], length: int) -> str:
    lane, curve = max(lanes, key=lambda entry: entry[1].tokens[-1])
    return (
        f"No lane finished. {lane.name} came furthest: {curve.tokens[-1]} of {length}"
        f" tokens in {_passes(curve.passes[-1])} and {curve.seconds[-1]:.2f} s."
    )


def _passes(number: int) -> str:
    return f"{number} pass{'' if number == 1 else 'es'}"


def _single(measure: Lengths) -> float:
    return float(measure.share[measure.lengths == 1].sum())


def _shares(measure: Acceptance) -> str:
    return (
        f"it accepted {measure.rate:.1%} of {measure.trials.sum()} drafts, and 1 − TV predicts"
        f" {measure.promised:.1%}"
    )


def _milliseconds(duration: float) -> str:
    return f"{1000 * duration:.1f} ms"
