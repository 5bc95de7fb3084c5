"""Scenes of the embedded model, and the captions that it is given for them.

A scene has up to four things on a ground, in one of five layouts. Each thing has its own colours,
or one of eleven.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

SIDE = 20  # tokens, the side of the canvas
SIZES = {"tiny": 5, "": 10, "huge": 15}  # side of a thing's square in tokens; "" is the usual size
COLOURS = (  # that a thing may have in place of its own
    *("red", "orange", "yellow", "green", "blue", "purple", "pink"),
    *("brown", "black", "white", "grey"),
)
PLACES = {  # of a single thing: how far down and right, in halves of the room around it
    f"{vertical} {horizontal}".strip() or "centre": (down, right)
    for down, vertical in enumerate(("top", "", "bottom"))
    for right, horizontal in enumerate(("left", "", "right"))
}


class Layout(Enum):
    """The number and the places of a scene's things.

    A layout's value is the word for it in captions; the word is one token.
    """

    ONE = "one"
    PAIR = "pair"  # side by side
    STACK = "stack"  # one above the other
    THREE = "three"  # two above, the third below between them
    FOUR = "four"  # in quadrants, in reading order

    @property
    def squares(self) -> tuple[tuple[int, int], ...]:
        """(top, left) of each thing's square in tokens, in the caption's order.

        ONE's square is in the centre.
        """
        return _SQUARES[self]


_SQUARES = {
    Layout.ONE: ((5, 5),),
    Layout.PAIR: ((5, 0), (5, 10)),
    Layout.STACK: ((0, 5), (10, 5)),
    Layout.THREE: ((0, 0), (0, 10), (10, 5)),
    Layout.FOUR: ((0, 0), (0, 10), (10, 0), (10, 10)),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """The contents of a picture.

    Only a single thing has a `place` and a `size`; several things have their layout's squares.
    `colours` has one of COLOURS for each thing, or "" if the thing has its own; an empty `colours`
    means that all things have their own. Raises ValueError if things and layout do not fit, or if
    there is no such colour or size.
    """

    layout: Layout
    things: tuple[str, ...]
    ground: str
    place: str = "centre"
    colours: tuple[str, ...] = ()
    size: str = ""

    def __post_init__(self) -> None:
        count = len(self.layout.squares)
        if not self.colours:
            object.__setattr__(self, "colours", ("",) * count)
        if not count == len(self.things) == len(self.colours):
            raise ValueError(f"{self.layout.value} has {count} things, each with its colour")
        if strange := set(self.colours) - {"", *COLOURS}:
            raise ValueError(f"no colour of things: {', '.join(sorted(strange))}")
        if self.size not in SIZES:
            raise ValueError(f"no size of things: {self.size}")
        if (self.place, self.size) != ("centre", "") and self.layout is not Layout.ONE:
            raise ValueError(f"{self.layout.value} things have the places of their layout")

    @property
    def named(self) -> tuple[str, ...]:
        """Each thing with its size and colour: "huge red cat"."""
        return tuple(
            " ".join(filter(None, (self.size, colour, thing)))
            for colour, thing in zip(self.colours, self.things, strict=True)
        )

    @property
    def caption(self) -> str:
        """The canonical caption: layout, things in reading order, ground and place."""
        where = "" if self.place == "centre" else f" at the {self.place}"
        return f"{self.layout.value}: {', '.join(self.named)} on {self.ground}{where}"

    @property
    def side(self) -> int:
        """The side of each thing's square, in tokens."""
        return SIZES[self.size]

    @property
    def squares(self) -> tuple[tuple[int, int], ...]:
        """(top, left) of each thing's square, in tokens."""
        if self.layout is not Layout.ONE:
            return self.layout.squares
        down, right = PLACES[self.place]
        room = SIDE - self.side
        return ((down * room // 2, right * room // 2),)
