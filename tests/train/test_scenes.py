"""Scenes are pure functions of (seed, index), hold out what they say, and put things where the
caption says."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from engine.reader.scene import COLOURS, PLACES, SIZES, Layout, Scene
from train.glyphs import PEOPLE, SIDE, glyphs
from train.paint import coloured, takes
from train.scenes import (
    COLOURFUL,
    EQUAL,
    GROUNDS,
    SIZE,
    SIZED,
    held_out,
    random_scene,
    render,
    scene,
    vocabulary,
)
from train.target import GRID, boxes


def test_scene_is_a_function_of_seed_and_index() -> None:
    for index in range(8):
        what, pixels = scene(3, index)
        again, same = scene(3, index)
        assert what == again
        assert np.array_equal(pixels, same)
        assert (pixels.shape, pixels.dtype) == ((SIZE, SIZE, 3), np.uint8)
    assert not np.array_equal(scene(3, 0)[1], scene(4, 0)[1])


@pytest.mark.parametrize("held", [False, True])
def test_scenes_are_held_out_as_asked(held: bool) -> None:
    rng = np.random.default_rng(0)
    assert all(held_out(random_scene(rng, held=held)) == held for _ in range(300))


def test_things_are_drawn_by_their_shares() -> None:
    names, rng = vocabulary()[0], np.random.default_rng(0)
    shares = np.zeros(len(names))
    shares[[3, 5]] = 0.25, 0.75
    scenes = [random_scene(rng, held=False, shares=shares, layout=Layout.ONE) for _ in range(400)]
    drawn = [what.things[0] for what in scenes]
    assert set(drawn) == {names[3], names[5]}
    assert abs(drawn.count(names[5]) / 400 - 0.75) < 0.06


def test_some_scenes_have_equal_things() -> None:
    rng = np.random.default_rng(0)
    for layout in (Layout.PAIR, Layout.FOUR):
        drawn = [random_scene(rng, held=False, layout=layout) for _ in range(400)]
        equal = np.mean([len(set(what.things)) < len(what.things) for what in drawn])
        assert abs(equal - EQUAL) < 0.07


def test_one_caption_in_sixteen_is_held_out() -> None:
    names, grounds, _ = vocabulary()
    triples = itertools.product(names[::7], names[3::7], grounds[::3])
    pairs = [Scene(Layout.PAIR, (one, other), ground) for one, other, ground in triples]
    assert 0.05 < np.mean([held_out(what) for what in pairs]) < 0.075


def test_every_glyph_has_ink_inside_its_square() -> None:
    assert len(glyphs()) >= 360
    assert glyphs().keys() >= PEOPLE
    for glyph in glyphs().values():
        assert glyph.shape == (SIDE, SIDE, 4)
        assert 0 <= glyph.min() <= glyph.max() <= 1
        assert (glyph[..., 3] > 0.5).mean() > 0.03


def test_colours_and_sizes_are_drawn_as_asked() -> None:
    rng = np.random.default_rng(0)

    def drawn(layout: Layout, **wanted: bool) -> list[Scene]:
        return [random_scene(rng, held=False, layout=layout, **wanted) for _ in range(300)]

    some = drawn(Layout.FOUR)
    assert abs(np.mean([any(what.colours) for what in some]) - COLOURFUL) < 0.08
    assert {colour for what in some for colour in what.colours} == {"", *COLOURS}
    assert not any(any(what.colours) for what in drawn(Layout.FOUR, coloured=False))
    for what in drawn(Layout.PAIR, coloured=True):
        for thing, colour in zip(what.things, what.colours, strict=True):
            assert takes(thing, colour) if colour else thing not in coloured()
    alone = drawn(Layout.ONE)
    assert abs(np.mean([what.size != "" for what in alone]) - SIZED) < 0.08
    assert {what.size for what in alone} == SIZES.keys()
    assert {what.size for what in drawn(Layout.ONE, sized=False)} == {""}
    assert {what.size for what in drawn(Layout.ONE, sized=True)} == {"tiny", "huge"}


def test_a_thing_is_drawn_in_its_colour() -> None:
    """Equal things may have each its own."""
    what = Scene(Layout.PAIR, ("cat", "cat"), "grey", colours=("red", "blue"))
    left, right = np.split(render(what, np.random.default_rng(0)).astype(int), 2, 1)
    assert (left[..., 0] - left[..., 2]).max() > 100 > (left[..., 2] - left[..., 0]).max()
    assert (right[..., 2] - right[..., 0]).max() > 100 > (right[..., 0] - right[..., 2]).max()


THINGS = ("dog", "cat", "banana", "rocket")
SEVERAL = [layout for layout in Layout if layout is not Layout.ONE]


@pytest.mark.parametrize(
    "what",
    [
        *(Scene(Layout.ONE, ("dog",), "red", p, size=s) for p in PLACES for s in SIZES),
        *(Scene(layout, THINGS[: len(layout.squares)], "red") for layout in SEVERAL),
    ],
    ids=lambda what: f"{what.layout.value} {what.size} {what.place}",
)
def test_things_stand_in_their_squares(what: Scene) -> None:
    """With another thing in one, the picture changes only inside the square that the training
    weights call that thing's."""
    for square in range(len(what.things)):
        things = (*what.things[:square], "red apple", *what.things[square + 1 :])
        other = replace(what, things=things)
        one, two = (render(some, np.random.default_rng(0)) for some in (what, other))
        changed = (one != two).any(-1).reshape(GRID, 8, GRID, 8).any((1, 3)).flatten()
        assert changed.sum() > what.side**2 / 5
        assert not (changed & ~boxes(what)[square].numpy()).any()


@pytest.mark.parametrize("ground", GROUNDS)
def test_grounds_fill_the_picture(ground: str) -> None:
    picture = GROUNDS[ground](np.random.default_rng(1))
    assert picture.shape == (SIZE, SIZE, 3)
    assert -0.01 <= picture.min() <= picture.max() <= 1.01
