from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from app.page.prompt_hints import EXAMPLES, hint, known_words, lists, surprise, vocabulary


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


def test_the_lists_are_those_of_names() -> None:
    names = {"glyphs": ["red apple", "octopus"], "grounds": ["sky clouds"]}
    assert lists(names | {"sampling": {"top_k": 1}, "version": 1}) == names
    assert lists({}) == {}


def test_a_surprise_is_a_prompt_of_words_that_the_model_knows() -> None:
    words = vocabulary("embedded")
    known = known_words(words)
    prompts = {surprise(words, Random(seed)) for seed in range(60)}
    assert len(prompts) > 50
    assert all(hint(prompt, known) == "" for prompt in prompts)
    assert all(prompt.split(" on ")[0] in words["glyphs"] for prompt in prompts)
    assert any(" at the " in prompt for prompt in prompts)
    assert any(" at the " not in prompt for prompt in prompts)


def test_the_embedded_model_knows_the_examples() -> None:
    known = known_words(vocabulary("embedded"))
    assert len(known) > 100
    assert [hint(example, known) for example in EXAMPLES] == [""] * len(EXAMPLES)


def test_the_words_of_other_models_are_not_known() -> None:
    assert vocabulary("emu3") == {}
