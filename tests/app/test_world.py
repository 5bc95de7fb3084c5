from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from app.world import EXAMPLES, guide, hint, words

WORLD = Path(__file__).parent.parent.parent / "weights" / "world.json"


@given(st.text())
def test_hint_is_for_every_text(text) -> None:
    assert isinstance(hint(text, words({"glyphs": ["red apple"]})), str)
    assert hint(text, words({})) == ""


def test_hint_names_what_the_model_has_never_seen() -> None:
    known = words({"glyphs": ["red apple", "octopus"], "grounds": ["sky clouds"], "version": 1})
    assert hint("a red Apple on the sky", known) == ""
    assert "“xylophone”" in hint("an octopus with xylophone", known)
    assert "knows no word" in hint("xylophone", known)
    assert "knows no word" in hint("¿?", known)


def test_guide_names_what_can_be_asked_for() -> None:
    text = guide(
        {"glyphs": ["red apple", "octopus"], "grounds": ["sky clouds"], "sampling": {"top_k": 1}}
    )
    assert "**Glyphs:** red apple, octopus" in text
    assert "sampling" not in text.lower()
    assert guide({}) == ""


def test_examples_are_of_the_models_world() -> None:
    known = words(json.loads(WORLD.read_text()))
    assert len(known) > 100
    assert [hint(example, known) for example in EXAMPLES] == [""] * len(EXAMPLES)
