from __future__ import annotations

import emoji
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, features

from tests.variants import further
from visualize.film.typeface import Typeface

FACE = Typeface(20)
# half surrogate pairs, controls and noncharacters included
ANY = st.text(st.characters(), max_size=60)


def drawn(text: str, face: Typeface = FACE) -> np.ndarray:
    image = Image.new("RGB", (600, 60), "white")
    face.draw(image, (10, 40), text, "#000000")
    return np.asarray(image).astype(int)


@pytest.mark.parametrize(
    "text",
    ["abc 019", "Äpfel łódź", "Ελληνικά", "Привет", "× — “…”", "猫", "🐱", "\uffff", "a\u0301"],
)
@pytest.mark.parametrize("face", [FACE, Typeface(15, bold=True)])
def test_every_text_leaves_ink_where_it_says(text, face) -> None:
    dark = (drawn(text, face) < 200).any(-1)
    across = np.flatnonzero(dark.any(0))
    assert len(across) > 0
    assert across[0] >= 8
    assert across[-1] <= 10 + face.length(text) + 3


def test_bold_is_bolder() -> None:
    assert drawn("Photo Finish", Typeface(20, bold=True)).sum() < drawn("Photo Finish").sum()


def test_characters_are_distinct() -> None:
    """A font that lacks them would draw them all alike."""
    pictures = [drawn(char).tobytes() for char in "éèłŁßΔδЖ×·…—“”"]
    assert len(set(pictures)) == len(pictures)


def test_what_no_font_knows_is_a_box() -> None:
    box = (drawn("\uffff") < 200).any(-1)
    assert 8 < box.sum() < 100
    np.testing.assert_array_equal(drawn("\uffff"), drawn("\ufffe"))


@pytest.mark.parametrize("bold", [*further(False), True])
def test_no_word_that_the_embedded_model_reads_has_a_box(bold) -> None:
    """In any of its languages, emoji included."""
    emoji.config.load_language(emoji.LANGUAGES)
    texts = set(emoji.EMOJI_DATA)
    for language in emoji.LANGUAGES:
        texts |= {data.get(language, "") for data in emoji.EMOJI_DATA.values()}
    chars = set("".join(texts))
    face = Typeface(10, bold)

    def glyph(char: str) -> bytes:
        image = Image.new("RGB", (30, 20), "white")
        face.draw(image, (5, 14), char, "#000000")
        return image.tobytes()

    box = glyph("\uffff")
    assert [char for char in sorted(chars) if glyph(char) == box] == []


@pytest.mark.skipif(not features.check("fribidi"), reason="Pillow finds no FriBiDi")
def test_arabic_runs_from_right_to_left_in_joined_letters() -> None:
    def ink(text: str) -> np.ndarray:
        across = (drawn(text) < 200).any(-1).any(0)
        return across[: round(10 + FACE.length(text))]

    first, both = ink("قطة"), ink("قطة وكلب")
    np.testing.assert_array_equal(first[10:], both[-len(first[10:]) :])
    assert FACE.length("كلب") < sum(map(FACE.length, "كلب"))
    assert FACE.length("می\u200cخواهم") != FACE.length("میخواهم")


def test_what_has_no_shape_takes_no_room() -> None:
    assert FACE.length("a\u202e\u200d\x00b") == FACE.length("ab")
    assert FACE.length("a\n\tb") == FACE.length("a  b")


def test_right_end() -> None:
    image = Image.new("RGB", (300, 60), "white")
    FACE.draw(image, (290, 40), "1st", "#000000", right=True)
    across = np.flatnonzero((np.asarray(image) < 128).any(-1).any(0))
    assert 290 - FACE.length("1st") - 1 <= across[0]
    assert 285 <= across[-1] <= 290


@given(ANY, st.integers(1, 400))
def test_what_is_fitted_fits(text, width) -> None:
    fitted = FACE.fit(text, width)
    assert fitted == text or fitted == "…" or FACE.length(fitted) <= width
    if fitted != text:
        assert text.startswith(fitted[:-1])
        assert fitted.endswith("…")
    drawn(fitted)


WORDS = st.text(st.sampled_from("ab W猫é\n\u202e"), max_size=120)


@given(WORDS, st.integers(40, 300), st.integers(1, 3))
def test_lines_hold_the_text_in_order(text, width, count) -> None:
    lines = FACE.wrap(text, width, count)
    assert 1 <= len(lines) <= count
    assert all(FACE.length(line) <= width for line in lines)
    whole, plain = "".join("".join(lines).split()), "".join(text.split())
    assert whole == plain or (whole.endswith("…") and plain.startswith(whole[:-1]))


def test_a_long_word_is_cut() -> None:
    lines = FACE.wrap("a" * 1000, 300, 3)
    assert [line.strip("a…") for line in lines] == ["", "", ""]
    assert lines[2].endswith("…")
    assert len(lines[0]) > 10
