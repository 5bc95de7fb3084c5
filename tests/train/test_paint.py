"""Things in other colours: what is turned, what stays, and that people would name the colour."""

from __future__ import annotations

import numpy as np
import pytest

from engine.reader.colours import oklab
from engine.reader.scene import COLOURS, SIZES
from train.glyphs import PEOPLE, glyphs, names
from train.paint import MAIN, RGB, coloured, painted, parts, takes, to_rgb

FAINT = 0.19  # of a thing at least are its main colours


def test_the_lists_name_things_and_colours() -> None:
    assert set(COLOURS) <= RGB.keys()
    assert set(coloured()) <= names().keys() - PEOPLE
    assert len(coloured()) > 300
    assert MAIN.keys() <= set(coloured())
    assert set(MAIN.values()) <= {"light", "dark", "all", *RGB}


def test_no_colour_gives_a_thing_the_name_of_another() -> None:
    assert takes("red apple", "blue")
    refused = [("red apple", "red"), ("red apple", "green"), ("red heart", "green")]
    refused += [("red paper lantern", "red"), ("woman", "blue")]
    assert not any(takes(*pair) for pair in refused)


def test_oklab_there_and_back() -> None:
    rgb = np.random.default_rng(0).random((50, 3))
    np.testing.assert_allclose(to_rgb(oklab(255 * rgb)), rgb, atol=1e-6)


@pytest.mark.parametrize("name", coloured())
def test_the_main_part_has_the_colour_that_is_asked(name: str) -> None:
    """It is not faint, its mean is nearest of the eleven to that colour, and nothing else of the
    thing changes, its outline least of all."""
    opaque, main = glyphs()[name][..., 3], parts(name).main
    assert (main * opaque).sum() / opaque.sum() > (0.1 if name == "necktie" else FAINT)
    inside, outside = (main > 0.9) & (opaque > 0.99), (main == 0) & (opaque > 0.99)
    for colour in COLOURS:
        glyph = painted(name, colour)
        assert np.array_equal(glyph[..., 3], opaque)
        mean = oklab(255 * glyph[inside][:, :3]).mean(0)
        far = {each: np.linalg.norm(mean - oklab(RGB[each])) for each in COLOURS}
        assert min(far, key=lambda each: far[each]) == colour
        own = np.minimum(glyphs()[name], opaque[..., None])  # scaling rounds some above
        np.testing.assert_allclose(glyph[outside], own[outside], atol=2e-3)


def test_shading_is_kept() -> None:
    """What was lighter in a thing's main colours is lighter still."""
    for name in ("cat", "dragon", "elephant", "gorilla", "strawberry"):
        some = parts(name)
        inside = (some.main > 0.99) & (glyphs()[name][..., 3] > 0.99)
        before = some.lab[..., 0][inside]
        for colour in COLOURS:
            after = oklab(255 * painted(name, colour)[inside][:, :3])[:, 0]
            assert np.corrcoef(before, after)[0, 1] > 0.75, (name, colour)


def test_sizes() -> None:
    for size, side in SIZES.items():
        assert painted("cat", "blue", size).shape == (8 * side, 8 * side, 4)
    assert np.array_equal(painted("cat"), glyphs()["cat"])
