"""Scenes are pure functions of (seed, index), hold out what they say, and put the glyph where the
caption says."""

import itertools

import numpy as np
import pytest

from train.glyphs import SIDE, glyphs
from train.scenes import GROUNDS, PLACES, SIZE, Words, render, scene, vocabulary, words
from train.target import GRID, box


def test_scene_is_a_function_of_seed_and_index() -> None:
    for index in range(8):
        what, pixels = scene(3, index)
        again, same = scene(3, index)
        assert what == again
        assert np.array_equal(pixels, same)
        assert pixels.shape == (SIZE, SIZE, 3)
        assert pixels.dtype == np.uint8
    assert not np.array_equal(scene(3, 0)[1], scene(4, 0)[1])


@pytest.mark.parametrize("held_out", [False, True])
def test_words_are_held_out_as_asked(held_out: bool) -> None:
    rng = np.random.default_rng(0)
    assert all(words(rng, held_out=held_out).held_out == held_out for _ in range(300))


def test_glyphs_are_drawn_by_their_shares() -> None:
    names = vocabulary()[0]
    shares = np.zeros(len(names))
    shares[[3, 5]] = 0.25, 0.75
    drawn = [scene(0, index, shares=shares)[0].glyph for index in range(400)]
    assert set(drawn) == {names[3], names[5]}
    assert abs(drawn.count(names[5]) / 400 - 0.75) < 0.06


def test_one_triple_in_sixteen_is_held_out() -> None:
    names, grounds, places = vocabulary()
    triples = [Words(*triple) for triple in itertools.product(names[::7], grounds, places)]
    assert 0.05 < np.mean([triple.held_out for triple in triples]) < 0.075


def test_every_glyph_has_ink_inside_its_square() -> None:
    assert len(glyphs()) >= 300
    for glyph in glyphs().values():
        assert glyph.shape == (SIDE, SIDE, 4)
        assert glyph.min() >= 0
        assert glyph.max() <= 1
        assert (glyph[..., 3] > 0.5).mean() > 0.03


@pytest.mark.parametrize("place", PLACES)
def test_glyph_stands_at_its_place(place: str) -> None:
    """Two glyphs on one ground differ only inside the square that the training weights call the
    glyph's."""
    one, other = (
        render(Words(glyph, "red", place), np.random.default_rng(0))
        for glyph in ("red apple", "dog")
    )
    changed = (one != other).any(-1).reshape(GRID, 8, GRID, 8).any((1, 3)).flatten()
    assert changed.any()
    assert not (changed & ~box(place).numpy()).any()


@pytest.mark.parametrize("ground", GROUNDS)
def test_grounds_fill_the_picture(ground: str) -> None:
    picture = GROUNDS[ground](np.random.default_rng(1))
    assert picture.shape == (SIZE, SIZE, 3)
    assert picture.min() >= -0.01
    assert picture.max() <= 1.01
