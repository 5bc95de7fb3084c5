"""Counts words that make a reader go back: `python -m tests.words`.

Prints a table by folder: docstrings that begin with "Of", "What" or "Whether", "behind" in the
place of "after", "that is none" and its like, sentences of over 30 words in the docs, and tooltips
of over 20 words on the page. No test asserts a number.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

from tests.pages import ROOT

BEGINNING = re.compile(r"(Of|What|Whether)\b")
BEHIND = re.compile(r"\bbehind\b")
NONE = re.compile(r"\b(that is|that are|which is|which are|it is|is) none\b|\bso many\b")
JSDOC = re.compile(r"/\*\*(.*?)\*/", re.DOTALL)
STARS = re.compile(r"^\s*\* ?", re.M)
TITLE = re.compile(r"""\btitle(?:=|: |", ")\s*["'`]([^"'`]+)["'`]""")
SENTENCE = re.compile(r"(?<=[.!?:])\s+")
LONG_SENTENCE, LONG_TITLE = 30, 20  # words
COLUMNS = ("of / what / whether", "behind", "none", "long sentences", "long tooltips")


def docstrings(text: str) -> list[str]:
    """Return the docstrings of a Python module."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, documented))
    return [text for node in nodes if (text := ast.get_docstring(node))]


def sentences(page: str) -> list[str]:
    """Return the sentences of a Markdown page, without code, tables and headings."""
    prose = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    blocks = re.split(r"\n\s*\n|\n(?=[*#|>-] ?)", prose)
    plain = [block for block in blocks if not re.match(r"\s*[#|<]", block)]
    return [sentence for block in plain for sentence in SENTENCE.split(" ".join(block.split()))]


def count(path: Path) -> Counter[str]:
    """Count what a file has of each of COLUMNS."""
    text, found = path.read_text("utf-8"), Counter[str]()
    match path.suffix:
        case ".py":
            words = docstrings(text)
        case ".js":
            words = [STARS.sub("", each).strip() for each in JSDOC.findall(text)]
        case _:
            words = [text]
            found["long sentences"] = sum(
                len(sentence.split()) > LONG_SENTENCE for sentence in sentences(text)
            )
    if path.suffix != ".md":
        found["of / what / whether"] = sum(bool(BEGINNING.match(each)) for each in words)
        titles = TITLE.findall(text)
        found["long tooltips"] = sum(len(title.split()) > LONG_TITLE for title in titles)
    found["behind"] = sum(len(BEHIND.findall(each)) for each in words)
    found["none"] = sum(len(NONE.findall(each)) for each in words)
    return found


def main() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    folders: dict[str, Counter[str]] = {}
    for name in listed.stdout.splitlines():
        path = Path(name)
        if path.suffix in (".py", ".js", ".md") and "vendor" not in path.parts:
            folder = path.parts[0] if len(path.parts) > 1 else "."
            folders.setdefault(folder, Counter()).update(count(ROOT / path))
    print(f"| folder | {' | '.join(COLUMNS)} |\n| --- |{' --- |' * len(COLUMNS)}")
    for folder, found in sorted(folders.items()):
        print(f"| {folder} | {' | '.join(str(found[column]) for column in COLUMNS)} |")


if __name__ == "__main__":
    main()
