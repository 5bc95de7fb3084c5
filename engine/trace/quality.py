"""The quality file: how good the pictures of several lanes are, for the same captions and seeds.

`train.quality` writes the file and `visualize.figures.quality` draws it. Reading the file needs
neither torch nor a model.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.settings import Sampling


@dataclass(frozen=True, slots=True)
class Picture:
    """One finished picture.

    Attributes:
        shift: the lane's mean shift (`LaneStats.mean_shift`) in this picture; 0 for vanilla AR,
            None if it is unknown.
        log_p: the picture's log-probability in nats under the model, at the race's guidance and
            temperature, before top-k and top-p.
        cut: the number of the picture's tokens that top-k and top-p leave out.
        right: whether every thing of the caption is in its place; None if nothing judged the
            picture.
    """

    passes: int
    shift: float | None
    log_p: float
    cut: int
    right: bool | None


@dataclass(frozen=True, slots=True)
class Point:
    """A lane, as text that `engine.race.request.parse_lane` reads, and the lane's pictures.

    Picture i belongs to caption i and seed i.
    """

    lane: str
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Judge:
    """The test that recognises a drawn thing.

    The drawn thing is compared with `candidates` known things: the right one, and others chosen at
    random. It is taken to be the one that it is most like. `things` counts all known things, and
    each is `side` pixels wide.
    """

    candidates: int
    things: int
    side: int


@dataclass(frozen=True, slots=True)
class Quality:
    """The measured quality of several lanes.

    `weights` identifies the model's weights (`ImageModel.weights`), `tokens` counts the sampled
    tokens of a picture, and `captions` says which captions were used. Raises ValueError if the
    points have different numbers of pictures.
    """

    model: str
    weights: str
    sampling: Sampling
    tokens: int
    captions: str
    judge: Judge | None
    commit: str
    machine: str
    date: str  # on which the measurement began, in UTC
    points: tuple[Point, ...]

    def __post_init__(self) -> None:
        if len({len(point.pictures) for point in self.points}) != 1:
            raise ValueError("every point has a picture of every caption")

    def __len__(self) -> int:
        """Return the number of pictures of each point."""
        return len(self.points[0].pictures)

    def extended(self, pictures: Sequence[Picture]) -> Quality:
        """Return a copy with one more picture for each point."""
        points = (
            Point(point.lane, (*point.pictures, picture))
            for point, picture in zip(self.points, pictures, strict=True)
        )
        return dataclasses.replace(self, points=tuple(points))

    def continues(self, other: Quality) -> bool:
        """Return whether both files measure the same lanes in the same way.

        The measurements may have begun at different times, on different machines: a seed draws the
        same tokens on any machine, up to floating point.
        """
        mine, others = (
            dataclasses.replace(
                one, machine="", date="", points=tuple(Point(p.lane) for p in one.points)
            )
            for one in (self, other)
        )
        return mine == others

    def save(self, file: Path) -> None:
        """Write the measurement to a file, which is replaced atomically."""
        plain = dataclasses.asdict(self)
        for stored, point in zip(plain["points"], self.points, strict=True):
            stored["pictures"] = _columns(point.pictures)
        beside = file.with_name(file.name + ".part")
        beside.write_text(json.dumps(plain, separators=(",", ":")) + "\n", "utf-8")
        os.replace(beside, file)

    @staticmethod
    def load(file: Path) -> Quality:
        """Read a file that `save` wrote."""
        plain: dict[str, Any] = json.loads(file.read_text("utf-8"))
        points = tuple(
            Point(point["lane"], tuple(map(Picture, *point["pictures"].values())))
            for point in plain["points"]
        )
        sampling, judge = Sampling(**plain["sampling"]), plain["judge"]
        read = {"sampling": sampling, "judge": Judge(**judge) if judge else None, "points": points}
        return Quality(**plain | read)


def _columns(pictures: Sequence[Picture]) -> dict[str, list[Any]]:
    """Return the pictures' values by field.

    Written like this, the pictures take a third of the bytes that an object for each would take.
    """
    names = [field.name for field in dataclasses.fields(Picture)]
    return {name: [getattr(picture, name) for picture in pictures] for name in names}
