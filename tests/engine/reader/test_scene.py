"""What a scene may be, its caption, and where its things stand."""

from __future__ import annotations

import pytest

from engine.reader.scene import PLACES, SIDE, SIZES, Layout, Scene

CATS = ("cat", "cat")


def test_captions() -> None:
    alone = Scene(Layout.ONE, ("cat",), "blue", "top left", ("red",), "huge")
    assert alone.caption == "one: huge red cat on blue at the top left"
    pair = Scene(Layout.PAIR, ("cat", "dog"), "green grass", colours=("", "blue"))
    assert pair.caption == "pair: cat, blue dog on green grass"
    assert Scene(Layout.PAIR, CATS, "blue") == Scene(Layout.PAIR, CATS, "blue", colours=("", ""))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"things": ("cat",)}, "pair has 2 things, each with its colour"),
        ({"colours": ("red",)}, "pair has 2 things, each with its colour"),
        ({"colours": ("red", "sky blue")}, "no colour of things: sky blue"),
        ({"size": "large"}, "no size of things: large"),
        ({"size": "tiny"}, "pair things have the places of their layout"),
        ({"place": "left"}, "pair things have the places of their layout"),
    ],
)
def test_what_does_not_fit_is_refused(changed: dict, message: str) -> None:
    fields = {"layout": Layout.PAIR, "things": CATS, "ground": "blue"}
    with pytest.raises(ValueError, match=message):
        Scene(**(fields | changed))


def test_a_thing_of_any_size_reaches_the_sides_and_stands_in_the_middle() -> None:
    for size, side in SIZES.items():
        squares = {
            place: Scene(Layout.ONE, ("cat",), "blue", place, size=size).squares[0]
            for place in PLACES
        }
        assert squares["top left"] == (0, 0)
        assert squares["bottom right"] == (SIDE - side, SIDE - side)
        top, left = squares["centre"]
        assert top == left
        assert SIDE - side - 2 * top in (0, 1)
