"""The parts of a page in Markdown and what a file imports, for tests that hold pages and lists to
the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent


@cache
def page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def sections(text: str) -> dict[str, str]:
    """The text under each heading of level 2 or 3, up to the next one."""
    parts = re.split(r"^##+ (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a text: rows of cells, the heading row first."""
    blocks = re.findall(r"^\|.+\n\| ---.+\n(?:\|.+\n)*", text + "\n", re.MULTILINE)
    found = []
    for block in blocks:
        rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in block.splitlines()]
        found.append([rows[0], *rows[2:]])
    return found


def table(text: str, first: str) -> list[list[str]]:
    """The rows, without the heading row, of the one table whose first column is headed `first`."""
    (found,) = (rows for rows in tables(text) if rows[0][0] == first)
    return found[1:]


def imports(file: Path) -> Iterator[str]:
    """The modules that a file imports, in full; a relative import starts with dots."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")
