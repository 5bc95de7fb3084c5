"""Scenes of the embedded model: up to four things in one of five layouts on a ground, and the
caption that the model is given for one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

THING = 10  # tokens, the side of a thing's square
SIDE = 20  # tokens, the side of the canvas
PLACES = {  # (top, left) of one thing's square, in tokens
    f"{vertical} {horizontal}".strip() or "centre": (top, left)
    for top, vertical in ((0, "top"), (5, ""), (10, "bottom"))
    for left, horizontal in ((0, "left"), (5, ""), (10, "right"))
}


class Layout(Enum):
    """How many things and where; the value is its word in captions, one token each."""

    ONE = "one"
    PAIR = "pair"  # side by side
    STACK = "stack"  # one above the other
    THREE = "three"  # two above, the third below between them
    FOUR = "four"  # in quadrants, in reading order

    @property
    def squares(self) -> tuple[tuple[int, int], ...]:
        """(top, left) of each thing's square in tokens, in the caption's order; ONE's is that of
        the centre."""
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
    """What a picture shows. `place` is that of a thing alone; others have their layout's squares.

    Raises ValueError where things and layout do not fit."""

    layout: Layout
    things: tuple[str, ...]
    ground: str
    place: str = "centre"

    def __post_init__(self) -> None:
        if len(self.things) != len(self.layout.squares):
            raise ValueError(f"{self.layout.value} has {len(self.layout.squares)} things")
        if self.place != "centre" and self.layout is not Layout.ONE:
            raise ValueError(f"{self.layout.value} things have the places of their layout")

    @property
    def caption(self) -> str:
        """The canonical caption: how many and where, the things in reading order, the ground."""
        where = "" if self.place == "centre" else f" at the {self.place}"
        return f"{self.layout.value}: {', '.join(self.things)} on {self.ground}{where}"

    @property
    def squares(self) -> tuple[tuple[int, int], ...]:
        """(top, left) of each thing's square, in tokens."""
        return (PLACES[self.place],) if self.layout is Layout.ONE else self.layout.squares
