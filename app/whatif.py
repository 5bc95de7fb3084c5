"""What if: the question put to a finished race, from the fields' values, and the answer in
words."""

from __future__ import annotations

from typing import Any

from app.form import made
from engine.decoders import DECODERS
from engine.settings import SettingError
from engine.trace import Trace
from engine.trace.rejudge import rejudge
from visualize.measures import runners

RULES = {"gsd": ("G", "d", "delta"), "lantern": ("k", "delta")}  # the knobs that decide


def lanes(trace: Trace) -> list[tuple[str, int]]:
    """The lanes that have first refusals on record: (name, number of the lane)."""
    return [
        (runner.name, runner.index) for runner in runners(trace) if len(runner.table.rejections)
    ]


def answer(trace: Trace, lane: Any, rule: Any, turned: list[Any]) -> str:
    """`turned` are the knobs of every rule, in the order of RULES. Raises SettingError for a
    question that cannot be put."""
    choices = {number: title for title, number in lanes(trace)}
    if not choices:
        return "No draft was refused in this race, so there is nothing to judge again."
    if isinstance(lane, bool) or not isinstance(lane, int) or lane not in choices:
        raise SettingError("Choose a lane of this race.")
    if not isinstance(rule, str) or rule not in RULES:
        raise SettingError("Choose a rule.")
    start = sum(len(RULES[name]) for name in list(RULES)[: list(RULES).index(rule)])
    given = dict(zip(RULES[rule], turned[start:], strict=False))
    settings = made(rule, given)
    tally = rejudge(trace, lane, rule, settings)
    if tally.accepted is None:
        return tally.sentence
    knobs = ", ".join(f"{name} = {getattr(settings, name):g}" for name in given)
    share = f"{tally.accepted} ({tally.accepted / tally.rejections:.0%})"
    drafts = "draft" if tally.rejections == 1 else f"{tally.rejections} drafts"
    return (
        f"Of the {drafts} that {choices[lane]} refused first, {DECODERS[rule].title} with {knobs}"
        f" would have accepted {share}. The later steps would then have differed: this counts"
        " single decisions, not a race."
    )
