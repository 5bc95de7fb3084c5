"""A verdict in words, for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from engine.decoders.base import Badge
from engine.decoders.verdict import (
    CaseVerdict,
    Counterexample,
    Coverage,
    Outcome,
    Pass,
    Samples,
    Verdict,
    settings_in_words,
)
from tools.judge.larger import undecided_tests

_HEADS = {
    Outcome.IDENTICAL: "identical: vanilla AR's very picture",
    Outcome.LOSSLESS: "lossless: vanilla AR's distribution over pictures",
    Outcome.CHANGED: "changed: another distribution than vanilla AR's",
    Outcome.OPEN: "open: no difference was found, and none is excluded",
    Outcome.BROKEN: "broken: it does not decode as a lane must",
}


def in_words(verdict: Verdict) -> str:
    """Return the whole verdict, in lines of at most 100 characters."""
    return "\n".join(map(_folded, _lines(verdict)))


def _folded(line: str) -> str:
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.fill(
        line.lstrip(),
        100,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _lines(verdict: Verdict) -> Iterator[str]:
    yield f"{verdict.title} ({verdict.decoder}) is {_HEADS[verdict.outcome]}."
    shown = verdict.outcome.badge
    if shown is not Badge.NOT_JUDGED and verdict.claim != shown.value:
        yield f"  Its author's badge says {verdict.claim!r}: the page says {shown.value!r}."
    if verdict.cases:
        yield (
            f"  {len(verdict.cases)} joint distributions over whole pictures, from"
            f" {verdict.runs:,} outcomes of a pass."
        )
        yield f"  Largest difference of a picture's probability: {verdict.difference:.2g}."
    if verdict.counterexample:
        yield f"  Largest total variation: {verdict.total_variation:.4f}."
        yield from _sound_settings(verdict.cases)
    if verdict.left_out:
        yield f"  Too large to enumerate: {len(verdict.left_out)}, such as {verdict.left_out[0]}."
    for why in verdict.unseen:
        yield f"  Not every outcome can be enumerated: {why}."
    if verdict.samples:
        yield from _samples(verdict.samples)
    if verdict.coverage:
        yield from _coverage(verdict.coverage)
    if verdict.stopped:
        yield "  It was stopped: this is what was known by then."
    if verdict.shift:
        recorded = verdict.shift.recorded
        yield (
            "  Shift per token: "
            + ("none" if recorded is None else f"{abs(recorded):.4f}")
            + f" recorded, {verdict.shift.true:.4f} in truth ({verdict.shift.model},"
            f" {settings_in_words(verdict.shift.settings)})."
        )
    if verdict.tokens_a_pass:
        rates = [f"{title} {rate:.3f}" for title, rate in verdict.tokens_a_pass.items()]
        yield f"  Expected tokens a pass, four tokens: {', '.join(rates)}."
    for check in verdict.checks:
        yield f"  {'yes' if check.passed else 'NO '} {check.name}: {check.words}"
    if verdict.counterexample:
        yield ""
        yield from counterexample_lines(verdict.counterexample)


def _samples(samples: Samples) -> Iterator[str]:
    """Yield lines that say what was sampled, and how strong that evidence is."""
    models = list(dict.fromkeys(each.model for each in samples.models))
    settings = {settings_in_words(each.settings) for each in samples.models}
    yield (
        f"  {samples.pictures:,} sampled pictures of {len(models)} larger models, {len(settings)}"
        f" settings, {samples.passes:,} passes: e = 10^{samples.log10_e:.1f} (10^7 and more says"
        " that they are not vanilla AR's)."
    )
    for each in undecided_tests(samples):
        yield (
            f"  Open: e = 10^{each.log10_e:.1f} after {each.pictures:,} pictures of {each.model},"
            f" {settings_in_words(each.settings)}: too large for vanilla AR's, too small for a"
            " fault."
        )
    if samples.statistics:
        yield (
            f"  {samples.statistics} statistics are kept of {models[0]}. With probability 0.99, one"
            f" of a single token shows a deviation of {samples.deviation:.2f} in an eighth of its"
            f" ranks, and one of all tokens shows a deviation of {samples.pooled:.3f}."
        )


def _coverage(coverage: Coverage) -> Iterator[str]:
    """Yield lines on how much of the decoder's behaviour was enumerated, and how much was sampled.

    The first line gives the largest numbers of passes and of tokens in a pass, for enumerated and
    for sampled pictures. The next names statuses that only sampled pictures had, and the last the
    lines of the decoder's file that no sampled picture ran.
    """
    proved, drawn = coverage.enumerated, coverage.sampled
    if proved.passes:
        yield (
            f"  Every outcome is known for pictures of up to {proved.passes} passes, of up to"
            f" {proved.committed} tokens each. Longer pictures are only sampled: up to"
            f" {drawn.passes} passes of up to {drawn.committed} tokens, with drafts that waited for"
            f" up to {coverage.age} passes."
        )
    if alone := sorted(set(drawn.statuses) - set(proved.statuses)):
        yield f"  Only sampled: tokens that were {', '.join(alone)}."
    if coverage.idle:
        lines = ", ".join(map(str, coverage.idle))
        yield f"  No sampled picture ran line {lines} of its file."


def _sound_settings(cases: tuple[CaseVerdict, ...]) -> Iterator[str]:
    """Yield a line on the settings with which no case differs from vanilla AR, if there are any."""
    worst = dict[str, float]()
    for each in cases:
        name = settings_in_words(each.settings)
        worst[name] = max(worst.get(name, 0.0), each.total_variation)
    sound = [name for name, variation in worst.items() if variation == 0]
    if sound:
        yield f"  No difference with {len(sound)} of {len(worst)} settings, such as {sound[0]}."


def counterexample_lines(example: Counterexample) -> Iterator[str]:
    """Yield lines on the smallest case that differs, and on the passes that lead there."""
    yield f"Smallest counterexample: {example.model}; {settings_in_words(example.settings)}."
    after = f"After {list(example.prefix)} the" if example.prefix else "The"
    yield (
        f"  {after} {'next' if example.prefix else 'first'} token is {example.token} with"
        f" probability {_number(example.p)} by vanilla AR,"
        f" {_number(example.found)} by this decoder."
    )
    yield (
        f"  The picture {list(example.sequence)}: {_number(example.sequence_p)} by vanilla AR,"
        f" {_number(example.sequence_found)} by this decoder."
    )
    for way in example.ways:
        yield (
            f"  {_number(way.chance)} of its {_number(example.sequence_found)} with that token"
            f" {way.status}. The likeliest way:"
            if len(example.ways) > 1
            else "  The likeliest way to it:"
        )
        for number, step in enumerate(way.passes, 1):
            yield from _pass(number, step)


def _pass(number: int, step: Pass) -> Iterator[str]:
    yield f"  pass {number}, probability {_number(step.chance)}:"
    for i, p in enumerate(step.p):
        if i > len(step.committed) - 1 and i >= len(step.drafts):
            continue
        line = f"    position {step.start + i}: p {_row(p)}"
        if i < len(step.drafts) and step.drafts[i] >= 0:
            line += f", draft {step.drafts[i]} from q {_row(step.q[i])}"
        if i < len(step.committed):
            line += f" -> {step.committed[i]} {step.statuses[i]}"
        yield line
    for drawn in step.numbers:
        yield (
            f"    u{drawn.index} of {drawn.purpose} at position {drawn.position} in"
            f" ({_number(drawn.low)}, {_number(drawn.high)})"
        )


def _row(values: tuple[float, ...]) -> str:
    return "(" + ", ".join(map(_number, values)) + ")"


def _number(value: float) -> str:
    """Return a number with four decimals, without zeros at the end."""
    return f"{value:.4f}".rstrip("0").rstrip(".")
