"""Draws the smallest counterexample that a verdict (engine/decoders/verdict.py) has.

A counterexample is a picture that the decoder draws too often or too seldom. The drawing shows the
passes that lead to this picture. Beside the passes are the probabilities of the picture and of one
of its tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from engine.decoders.verdict import Counterexample, Pass, Verdict, settings_in_words
from visualize.look import COLOURS, DARK

CELL, HEIGHT, LEFT, TOP = 150, 132, 24, 92  # pixels: a position's width, a pass's height, margins
HEAD = 22  # height of the line of words above the passes
SIDE = 300  # width of the column beside the passes
BARS = 44  # height of a bar of probability 1
_STATUS = {"accepted": "same", "resampled": "changed", "fresh": "identical", "forced": "soft"}


def counterexample_svg(verdict: Verdict) -> str:
    """Return the drawing as an SVG file for light and dark pages.

    Raises ValueError if `verdict` has no counterexample.
    """
    example = verdict.counterexample
    if example is None:
        raise ValueError(f"the verdict on {verdict.decoder} has no counterexample")
    columns = max(len(example.sequence), 3)
    width = LEFT + columns * CELL + SIDE + 2 * LEFT
    rows = sum(len(way.passes) for way in example.ways)
    height = TOP + max(rows * HEIGHT + len(example.ways) * HEAD, 2 * HEIGHT) + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{escape(_sentence(verdict.title, example))}</title>",
        f"<style>{_style()}</style>",
        f'<rect width="{width}" height="{height}" class="card"/>',
        _text(LEFT, 32, f"{verdict.title}: smallest counterexample", "ink head"),
        _text(LEFT, 54, f"{example.model}; {settings_in_words(example.settings)}", "soft"),
        *_ways(example),
        *_beside(example, LEFT + columns * CELL + LEFT),
        *_legend(height - 34),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _sentence(title: str, example: Counterexample) -> str:
    return (
        f"After {list(example.prefix)} token {example.token} has probability {example.p:.4g} with"
        f" vanilla AR and {example.found:.4g} with {title}."
    )


def _style() -> str:
    def rules(colours: dict[str, str]) -> str:
        names = ("ink", "soft", "same", "changed", "identical", "signal", "card", "rule")
        return " ".join(f".{name} {{ fill: {colours[name]} }}" for name in names) + (
            f" .frame {{ stroke: {colours['ink']} }} .grid {{ stroke: {colours['rule']} }}"
        )

    return (
        f"{rules(COLOURS)} .head {{ font-size: 17px; font-weight: 600 }}"
        " .frame, .grid { fill: none; stroke-width: 1 } .big { font-size: 22px; font-weight: 600 }"
        " .dash { stroke-dasharray: 3 3 } .middle { text-anchor: middle }"
        f" @media (prefers-color-scheme: dark) {{ {rules(DARK)} }}"
    )


def _text(x: float, y: float, words: str, classes: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{classes}">{escape(words)}</text>'


def _ways(example: Counterexample) -> Iterator[str]:
    top = TOP
    for way in example.ways:
        share = f"{way.chance:.4f} of its {example.sequence_found:.4f}"
        words = f"{share} comes with that token {way.status}. The likeliest way:"
        yield _text(LEFT, top, words, "ink")
        top += HEAD
        for number, step in enumerate(way.passes, 1):
            yield _text(LEFT, top, f"pass {number}, probability {step.chance:.4g}", "soft")
            yield from _pass(example, step, top + 8)
            top += HEIGHT


def _pass(example: Counterexample, step: Pass, top: int) -> Iterator[str]:
    for position, token in enumerate(example.sequence):
        x = LEFT + position * CELL
        yield f'<rect x="{x}" y="{top}" width="{CELL - 10}" height="100" class="grid"/>'
        row = position - step.start
        if row < 0:
            yield _text(x + (CELL - 10) / 2, top + 58, str(token), _BEFORE)
        elif row < len(step.p):
            yield from _position(step, row, x, top)


_BEFORE = "soft big middle"


def _position(step: Pass, row: int, x: float, y: float) -> Iterator[str]:
    """Yield the SVG elements of one position of a pass: its p, its q and its outcome.

    `row` is the position's row in the pass's window. `x` and `y` are the upper left corner of the
    position's box.
    """
    has_draft = row < len(step.drafts) and step.drafts[row] >= 0
    committed = row < len(step.committed)
    codes, base = len(step.p[row]), y + 18 + BARS
    each = (CELL - 26) / codes
    kept = step.committed[row] if committed else None
    for code in range(codes):
        left = x + 8 + code * each
        tall = BARS * step.p[row][code]
        status = _STATUS.get(step.statuses[row], "ink") if code == kept else "rule"
        yield (
            f'<rect x="{left:.1f}" y="{base - tall:.1f}" width="{each - 4:.1f}"'
            f' height="{tall:.1f}" class="{status}"/>'
        )
        if has_draft:
            tall = BARS * step.q[row][code]
            dash = "" if code == step.drafts[row] else " dash"
            yield (
                f'<rect x="{left:.1f}" y="{base - tall:.1f}" width="{each - 4:.1f}"'
                f' height="{tall:.1f}" class="frame{dash}"/>'
            )
        yield _text(left + each / 2 - 2, base + 14, str(code), "soft middle")
    words = f"draft {step.drafts[row]}" if has_draft else "no draft"
    if committed:
        words += f": {kept} {step.statuses[row]}"
    yield _text(x + (CELL - 10) / 2, y + 94, words, "ink middle")


def _beside(example: Counterexample, x: float) -> Iterator[str]:
    """Yield the SVG elements of the column of probabilities beside the passes.

    The probabilities are those of the token and of the picture, by vanilla AR and this decoder.
    """
    place = f"after {', '.join(map(str, example.prefix))}" if example.prefix else "at first"
    for number, (words, p, decoder_p) in enumerate(
        (
            (f"token {example.token} {place}", example.p, example.found),
            (
                f"the picture {' '.join(map(str, example.sequence))}",
                example.sequence_p,
                example.sequence_found,
            ),
        )
    ):
        top = TOP + number * 128
        longest = max(p, decoder_p)
        yield _text(x, top, words, "ink")
        for line, (who, value, colour) in enumerate(
            (("vanilla AR", p, "soft"), ("this decoder", decoder_p, "signal"))
        ):
            y = top + 14 + 44 * line
            size = (SIDE - 40) * value / longest
            yield f'<rect x="{x}" y="{y}" width="{size:.1f}" height="16" class="{colour}"/>'
            yield _text(x, y + 31, f"{value:.4f} {who}", "ink")


def _legend(y: float) -> Iterator[str]:
    yield _text(
        LEFT, y, "Bars are p. Green: accepted draft; orange: resampled; blue: drawn from p.", "soft"
    )
    yield _text(LEFT, y + 18, "Frames are q; the solid frame is the draft.", "soft")
