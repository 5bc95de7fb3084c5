"""All that the page says in sentences of races that are made by hand, in one file that people read:
tests/prose.txt. `python -m tests.prose` writes it again, and the difference is read in the diff."""

from __future__ import annotations

from pathlib import Path

from tests.static.node import report
from tests.visualize.figures import sentences

FILE = Path(__file__).parent / "prose.txt"


def prose() -> str:
    """The sentences of figures, and of the board's modules."""
    sections = [*sentences.prose().items(), *report("prose", None)]
    return "\n".join("\n".join([f"# {title}", *lines, ""]) for title, lines in sections)


if __name__ == "__main__":
    FILE.write_text(prose(), "utf-8")
