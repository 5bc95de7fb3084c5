from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.page.prompt_hints import EXAMPLES, guide, hint, known_words, vocabulary


@given(st.text())
def test_hint_is_for_every_text(text) -> None:
    assert isinstance(hint(text, known_words({"glyphs": ["red apple"]})), str)
    assert hint(text, known_words({})) == ""


def test_hint_names_what_the_model_has_never_seen() -> None:
    known = known_words(
        {"glyphs": ["red apple", "octopus"], "grounds": ["sky clouds"], "version": 1}
    )
    assert hint("a red Apple on the sky", known) == ""
    assert "“xylophone”" in hint("an octopus with xylophone", known)
    assert "knows no word" in hint("xylophone", known)
    assert "knows no word" in hint("¿?", known)


def test_guide_lists_the_vocabulary() -> None:
    text = guide(
        {"glyphs": ["red apple", "octopus"], "grounds": ["sky clouds"], "sampling": {"top_k": 1}}
    )
    assert "**Glyphs:** red apple, octopus" in text
    assert "sampling" not in text.lower()
    assert guide({}) == ""


def test_the_embedded_model_knows_the_examples() -> None:
    known = known_words(vocabulary("embedded"))
    assert len(known) > 100
    assert [hint(example, known) for example in EXAMPLES] == [""] * len(EXAMPLES)


def test_the_words_of_other_models_are_not_known() -> None:
    assert vocabulary("emu3") == {}
