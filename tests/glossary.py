"""The glossary, which the page's help shows, as a page of the docs.

`python -m tests.glossary` writes docs/glossary.md from static/panels/glossary.json."""

from __future__ import annotations

import json

from tests.pages import ROOT

ENTRIES = ROOT / "static" / "panels" / "glossary.json"
PAGE = ROOT / "docs" / "glossary.md"
HEAD = """# Glossary

The words of the page, for whoever meets one for the first time. `?` opens the same list on the
page, and so does every term that is underlined there. `python -m tests.glossary` writes this page
from `static/panels/glossary.json`.

| term | what it means |
| --- | --- |
"""


def glossary() -> str:
    """The text of the page."""
    entries = json.loads(ENTRIES.read_text("utf-8"))
    return HEAD + "".join(f"| {term} | {words} |\n" for term, words in entries.items())


def main() -> None:
    PAGE.write_text(glossary(), "utf-8")


if __name__ == "__main__":
    main()
