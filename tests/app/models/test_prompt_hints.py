from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.models.prompt_hints import (
    CLASSES,
    EXAMPLES,
    LISTED,
    class_groups,
    hint,
    surprise,
    vocabulary,
    word_groups,
)
from engine.models.supply.card import WEIGHTS, Prompts
from engine.reader.classes import class_names
from engine.reader.reader import SceneReader, reader_of
from engine.reader.scene import COLOURS, Layout


@given(st.text())
def test_hint_is_for_every_text(text) -> None:
    assert isinstance(hint(text, Prompts.SCENES), str)
    assert hint(text, Prompts.ANY) == ""


@pytest.mark.parametrize(
    ("prompt", "note"),
    [
        ("a Red Apple on the sky clouds", ""),
        ("an octopus", "This model reads: octopus on green stripes."),  # it stands out from them
        ("on green grass, an owl", ""),
        ("apple on sky", ""),
        ("un chat noir sur la neige", ""),
        ("un chat triste sur la neige", "This model reads: cat on white snow; not drawn: triste."),
        ("a guitarr on red", "This model reads: guitar on red."),
        (
            "an octopus playing the xylophone on green grass",
            "This model reads: octopus on green grass; not drawn: playing, xylophone.",
        ),
        ("two cats on red", ""),
        ("five cats on red", "This model reads: 4 × cat on red; not drawn: 1 × cat."),
        (
            "a happy cat above a dog on red",
            "This model reads: cat above dog on red; not drawn: happy.",
        ),
    ],
)
def test_hint_says_what_is_drawn_where_the_prompt_says_something_else(
    prompt: str, note: str
) -> None:
    assert hint(prompt, Prompts.SCENES) == note


@pytest.mark.parametrize("prompt", ["xylophone", "¿?"])
def test_a_prompt_that_names_nothing_is_said_to(prompt: str) -> None:
    assert "names nothing for this model to draw, so it draws “" in hint(prompt, Prompts.SCENES)


def test_every_name_is_listed_once_with_its_picture_and_what_it_is_called() -> None:
    words = vocabulary(Prompts.SCENES)
    groups = word_groups(words)
    for kind in ("glyphs", "grounds", "places"):
        listed = [name for group in groups if group["kind"] == kind for name, *_ in group["words"]]
        assert sorted(listed) == sorted(words[kind])
    found = {name: (group["title"], *rest) for group in groups for name, *rest in group["words"]}
    title, emoji, called = found["octopus"]
    assert (title, emoji) == ("animals", "🐙")
    assert {"octopus", "pulpo", "осьминог"} <= {*called.split("|")}


def test_a_surprise_is_a_prompt_of_words_that_the_model_knows() -> None:
    prompts = {surprise(Prompts.SCENES, Random(seed)) for seed in range(100)}
    assert len(prompts) > 90
    assert all(hint(prompt, Prompts.SCENES) == "" for prompt in prompts)
    read = [reader_of(WEIGHTS).read(prompt).scene for prompt in prompts]
    assert {scene.layout for scene in read} == set(Layout)
    assert len({scene.place for scene in read}) > 3
    assert any(len(set(scene.things)) < len(scene.things) for scene in read)


def test_a_surprise_has_the_colours_and_sizes_that_the_model_knows(monkeypatch) -> None:
    words = vocabulary(Prompts.SCENES)
    words = words | {"coloured": set(words["glyphs"]) - {"man"}, "sizes": ["tiny", "huge"]}
    monkeypatch.setattr("app.models.prompt_hints.vocabulary", lambda _: words)
    reader = SceneReader(words)
    read = [reader.read(surprise(Prompts.SCENES, Random(seed))) for seed in range(300)]
    assert not any(reading.left_out for reading in read)
    assert {size for reading in read if (size := reading.scene.size)} == {"tiny", "huge"}
    assert {colour for reading in read for colour in reading.scene.colours} == {"", *COLOURS}
    several = [reading.scene for reading in read if len(set(reading.scene.things)) > 1]
    assert any(len(set(scene.colours)) > 2 for scene in several)


def test_the_embedded_model_knows_the_examples() -> None:
    assert [hint(example, Prompts.SCENES) for example in EXAMPLES] == [""] * len(EXAMPLES)


def test_the_words_of_other_models_are_not_known() -> None:
    assert vocabulary(Prompts.ANY) == {}


def test_a_surprise_of_classes_is_one() -> None:
    prompts = {surprise(Prompts.CLASSES, Random(seed)) for seed in range(100)}
    assert len(prompts) > 80
    assert all(hint(prompt, Prompts.CLASSES) == "" for prompt in prompts)


def test_a_prompt_of_a_class_says_how_it_is_read() -> None:
    assert [hint(prompt, Prompts.CLASSES) for prompt in CLASSES] == [""] * len(CLASSES)
    words = "This model reads: golden retriever; not drawn: bicycle."
    assert hint("a golden retriever on a bicycle", Prompts.CLASSES) == words
    said = hint("qwertz", Prompts.CLASSES)
    assert "the prompt names none" in said
    assert LISTED in said, "which the page makes a link of"


def test_every_class_is_listed_once() -> None:
    (group,) = class_groups()
    assert [name for name, *_ in group["words"]] == [each.name for each in class_names()]
    assert "собака" in group["words"][207][2].split("|")
