"""The page's sentences are those of tests/prose.txt, which people have read."""

from __future__ import annotations

import re

from tests.prose import FILE, prose


def test_sentences_are_those_that_were_read() -> None:
    """Where they are meant to be others: `python -m tests.prose`, and read the diff."""
    assert prose().splitlines() == FILE.read_text("utf-8").splitlines()


def test_no_sentence_has_a_hole() -> None:
    assert re.findall(r".*(?:undefined|null|NaN|\bnan\b|–).*", prose()) == []
