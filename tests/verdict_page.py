"""`python -m tests.verdict_page` judges every decoder here and in examples/decoders, and writes the
tables of docs/verdicts.md. It takes some minutes on two cores."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.decoders import BUILT_IN
from engine.decoders.base import Decoder
from engine.decoders.outside import classes_of
from engine.decoders.verdict import Outcome, Verdict
from engine.settings import Settings, knobs
from tools.judge.judge import judge

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "decoders"
PAGE = ROOT / "docs" / "verdicts.md"

TITLES = (
    *("decoder", "verdict", "joint distributions", "sampled pictures", "smallest counterexample"),
    *("settings", "TV", "p", "found"),
)


def examples() -> list[type[Decoder]]:
    """The decoders of the example files."""
    return [kind for file in sorted(EXAMPLES.glob("*.py")) for kind in classes_of(file)]


def settings_text(kind: type[Settings], values: dict[str, object]) -> str:
    """As `settings_of` reads it."""
    return "; ".join(f"{name} = {values[name]}" for name, _, _ in knobs(kind)) or "none"


def settings_of(kind: type[Settings], text: str) -> Settings:
    values = dict(each.split(" = ") for each in text.split("; ") if " = " in each)
    read = {}
    for name, _, default in knobs(kind):
        text = values[name]
        read[name] = text == "True" if isinstance(default, bool) else type(default)(text)
    return kind(**read)


def cells(kind: type[Decoder], verdict: Verdict) -> list[str]:
    """Of a decoder's row."""
    example, drawn = verdict.counterexample, verdict.samples
    pictures = f"{drawn.pictures:,}" if drawn else "0"
    if drawn and verdict.outcome is Outcome.CHANGED:
        pictures += f", e = 10^{drawn.log10_e:.0f}"
    head = [kind.title, verdict.outcome.value, str(len(verdict.cases)), pictures]
    if example is not None:
        return [
            *head,
            example.model,
            settings_text(kind.Settings, dict(example.settings)),
            f"{example.total_variation:.4f}",
            f"{example.p:.4f}",
            f"{example.found:.4f}",
        ]
    return [*head, *[""] * 5]


def table(kinds: list[type[Decoder]]) -> str:
    rows = [_line(TITLES), _line(["---"] * len(TITLES))]
    for kind in kinds:
        print(kind.name, file=sys.stderr, flush=True)
        rows.append(_line(cells(kind, judge(kind, processes=2))))
    return "\n".join(rows) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Writes the first two tables anew; the words of the page are its own."""
    made = iter([table(list(BUILT_IN.values())), table(examples())])
    text = re.sub(
        r"(?:^\|.+\n)+", lambda _: next(made), PAGE.read_text("utf-8"), count=2, flags=re.MULTILINE
    )
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
