"""Prompts of any words are read as captions of the names that the embedded model knows."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.card import WEIGHTS
from engine.models.embedded_captions import SYNONYMS, CaptionReader, words

WORLD = json.loads((WEIGHTS / "world.json").read_text("utf-8"))
READER = CaptionReader(WORLD)


def test_a_caption_of_names_is_read_as_it_stands() -> None:
    grounds, places = WORLD["grounds"], WORLD["places"]
    for i, glyph in enumerate(WORLD["glyphs"]):
        ground, place = grounds[i % len(grounds)], places[i % len(places)]
        for caption in (glyph, f"{glyph} on {ground}", f"{glyph} on {ground} at the {place}"):
            assert str(READER.read(caption)) == caption
    for ground, place in itertools.product(grounds, places):
        text = f"  A CAT on the {ground}, in the {place}!"
        assert str(READER.read(text)) == f"cat on {ground} at the {place}"


@pytest.mark.parametrize(
    ("prompt", "caption"),
    [
        ("a cat riding a bicycle", "cat"),
        ("a bicycle, ridden by a cat", "bicycle"),
        ("hot air balloon on sky clouds", "balloon on sky clouds"),
        ("hot dog on white snow", "hot dog on white snow"),
        ("a police dog", "dog"),  # the last of nouns in a row
        ("a fire dragon and a cat dog", "dragon"),
        ("a red cat on green grass", "cat on green grass"),
        ("green grass under a cat", "cat on green grass"),
        ("sunset over the mountains", "snow-capped mountain on sunset gradient"),
        ("a mountain on sunset clouds", "snow-capped mountain on sunset clouds"),
        ("two cars in the snow", "automobile on white snow"),
        ("a cup of tea on the beach", "cup with straw on yellow sand"),
        ("the sun with a smile", "sun"),
        ("t-rex at night", "t-rex on night stars"),
        ("a star", "star"),
        ("🐈 on the 🌊", "cat"),
        ("🍎", "red apple"),
        ("glasses", "sunglasses"),
        ("a bus", "bus"),
        ("center, a cat", "cat at the centre"),
    ],
)
def test_other_words_are_read_as_names(prompt: str, caption: str) -> None:
    found = READER.read(prompt)
    assert found.named
    assert str(found) == caption


def test_every_synonym_is_another_word_for_a_name() -> None:
    names = {
        name for names in (WORLD["glyphs"], WORLD["grounds"], WORLD["places"]) for name in names
    }
    assert set(SYNONYMS) <= names
    given = [word for synonyms in SYNONYMS.values() for word in synonyms.split()]
    assert len(given) == len(set(given))
    for name, synonyms in SYNONYMS.items():
        for word in synonyms.split():
            found = READER.read(f"cat {word}")
            assert name in (found.glyph, found.ground, found.place)


def test_a_prompt_without_a_name_gets_its_own() -> None:
    read = [READER.read(f"xylophone {i}") for i in range(40)]
    assert not any(caption.named for caption in read)
    assert all(caption.glyph in WORLD["glyphs"] for caption in read)
    assert all(caption.ground in WORLD["grounds"] for caption in read)
    assert len({str(caption) for caption in read}) > 30
    assert READER.read(" XYLOPHONE 3 ") == read[3]
    somewhere = READER.read("xylophone on green grass")
    assert (somewhere.named, somewhere.ground) == (False, "green grass")


@given(st.text())
def test_every_text_is_read(text: str) -> None:
    caption = READER.read(text)
    assert caption == READER.read(text)
    assert caption.glyph in WORLD["glyphs"]
    assert caption.ground in ("", *WORLD["grounds"])
    assert caption.place in ("", *WORLD["places"])
    assert READER.read(str(caption)).glyph == caption.glyph


@given(st.lists(st.sampled_from(sorted({w for name in WORLD["glyphs"] for w in words(name)}))))
def test_pieces_of_names_in_any_order_are_read(pieces: list[str]) -> None:
    assert READER.read(" ".join(pieces)).glyph in WORLD["glyphs"]
