"""The whole board of a recording at one instant, as a picture for slides. Needs no model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from engine.decoders import DECODERS
from engine.decoders.base import Badge, Decoder
from engine.race.request import lane_names
from engine.trace import LaneState, Status
from visualize.cells import INK, PAPER, RULE, SIGNAL, Cells, atlas, mark
from visualize.layers import CLOCKS, COUNTS, MARKS, Instant, LaneReplay, Layer, colours, shares
from visualize.look import COLOURS, LOOK
from visualize.recorded_race import RecordedRace
from visualize.typeface import Typeface

SOFT = COLOURS["soft"]
BADGES = {badge: LOOK["badges"][badge.value.split()[0]] for badge in Badge}
MARGIN, GAP, WIDTH, NARROW = 32, 20, 1344, 720  # pixels at scale 1
WIDEST = 420  # a lane
# the board's head; above, under and between a lane's parts; the legend
TOP, HEAD, BAR, LINE, FOOT = 116, 54, 8, 29, 76


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a lane stands, and what it needs to be drawn."""

    xy: tuple[int, int]
    replay: LaneReplay
    cells: Cells
    places: dict[str, int]


class Still:
    """Draws a recording's board at any instant of a clock ("seconds" or "passes"), light, at
    `scale` times 1,344 pixels or less in width."""

    def __init__(
        self, recording: RecordedRace, clock: str, layer: Layer, scale: float = 1.0
    ) -> None:
        if clock not in CLOCKS:
            raise ValueError(f"The clock is {' or '.join(CLOCKS)}, not {clock!r}.")
        self._header, self._clock, self._layer, self._scale = (
            recording.trace.header,
            clock,
            layer,
            scale,
        )
        count = len(self._header.lanes)
        columns = 4 if count > 6 else count
        side = min(WIDEST, (WIDTH - 2 * MARGIN - (columns - 1) * GAP) // columns)
        self._side = self._px(side)
        lanes = [LaneReplay(recording.trace, i) for i in range(count)]
        errors = 44 * any(lane.error for lane in lanes)
        self._panel = self._px(side + BAR + 3 * LINE + 14 + errors)
        row = HEAD + side + BAR + 3 * LINE + 14 + errors + GAP
        across = columns * (side + GAP) - GAP
        width = max(NARROW, across + 2 * MARGIN)
        # Even sides, as video has them.
        self.size = (
            _even(self._px(width)),
            _even(self._px(TOP + -(-count // columns) * row + FOOT)),
        )
        self.length = {name: max(float(lane.clock(name)[-1]) for lane in lanes) for name in CLOCKS}
        self._most = max(lane.most(layer) for lane in lanes) if layer in COUNTS else 1
        pictures = recording.pictures
        swatches = (
            atlas(pictures.swatches, self._header.vocab_size)
            if pictures and pictures.swatches
            else None
        )
        self._names = lane_names(self._header.lanes)
        self._spots = []
        for i, lane in enumerate(lanes):
            x, y = (
                (width - across) // 2 + i % columns * (side + GAP),
                TOP + i // columns * row + HEAD,
            )
            cells = Cells(
                lane,
                self._header.grid,
                self._side,
                layer,
                self._most,
                pictures.lanes[i] if pictures else None,
                swatches,
            )
            self._spots.append(_Spot((self._px(x), self._px(y)), lane, cells, _places(lanes, i)))
        self._base = self._furniture()
        self._drawn: dict[int, tuple[int, Image.Image]] = {}  # each lane's step that was last drawn

    def draw(self, t: float) -> Image.Image:
        """RGB. `t` is on the still's clock; before the start and after the end the race stands
        still."""
        t = min(max(t, 0.0), self.length[self._clock])
        image = self._base.copy()
        right = self.size[0] - self._px(MARGIN)
        shown = f"{t:.2f}" if self._clock == "seconds" else str(int(t))
        self._face(46).draw(image, (right, self._px(66)), shown, SIGNAL, right=True)
        for i, spot in enumerate(self._spots):
            k = spot.replay.step_at(self._clock, t)
            if i not in self._drawn or self._drawn[i][0] != k:
                self._drawn[i] = (k, self._lane(spot, spot.replay.at(k)))
            image.paste(self._drawn[i][1], spot.xy)
        return image

    def _px(self, length: float) -> int:
        return round(length * self._scale)

    def _face(self, size: int, bold: bool = False) -> Typeface:
        return Typeface(self._px(size), bold)

    def _furniture(self) -> Image.Image:
        """All that does not move: the head, the lanes' names and badges, the legend."""
        header, left, right = self._header, self._px(MARGIN), self.size[0] - self._px(MARGIN)
        image = Image.new("RGB", self.size, "white")
        pen = ImageDraw.Draw(image)
        room = right - left - self._px(220)
        face, baselines = self._face(28, True), [56]
        if face.length(" ".join(header.prompt.split())) > room:
            face, baselines = self._face(22, True), [38, 66]
        for text, baseline in zip(face.wrap(header.prompt, room, 2), baselines, strict=False):
            face.draw(image, (left, self._px(baseline)), text, INK)
        grid = " × ".join(map(str, header.grid))
        facts = f"seed {header.seed} · model {header.model} · {header.machine} · {grid} tokens"
        face = self._face(15)
        face.draw(image, (left, self._px(92)), face.fit(facts, right - left - self._px(120)), SOFT)
        face.draw(image, (right, self._px(92)), self._clock, SOFT, right=True)
        pen.rectangle((left, self._px(102), right, self._px(102) + self._px(3) - 1), INK)
        for i, spot in enumerate(self._spots):
            self._name(image, i, spot)
        self._legend(image)
        return image

    def _name(self, image: Image.Image, i: int, spot: _Spot) -> None:
        decoder, (x, y), side = self._decoder(i), spot.xy, self._px(22)
        top, pen = y - self._px(HEAD - 6), ImageDraw.Draw(image)
        pen.rectangle((x, top, x + side - 1, top + side - 1), INK)
        digit, face = str(i + 1), self._face(14, True)
        face.draw(image, (x + (side - face.length(digit)) / 2, top + 0.73 * side), digit, "white")
        name, room = self._names[i], self._side - self._px(30)
        face = self._face(18, True)
        if face.length(name) > room:
            face = self._face(14, True)
        face.draw(image, (x + self._px(30), top + 0.78 * side), face.fit(name, room), INK)
        badge, box = BADGES[decoder.badge], self._px(9)
        colour = COLOURS[badge["colour"]]
        baseline, edge = y - self._px(9), max(1, self._px(2))
        left, over, right, under = x, baseline - box, x + box - 1, baseline - 1
        if badge["shape"] == "square":
            pen.rectangle((left, over, right, under), colour)
        elif badge["shape"] == "disc":
            pen.ellipse((left, over, right, under), colour)
        else:
            across, down = (left + right) / 2, (over + under) / 2
            pen.polygon(
                [
                    (across, over - edge),
                    (right + edge, down),
                    (across, under + edge),
                    (left - edge, down),
                ],
                None,
                colour,
                edge,
            )
        self._face(14).draw(image, (x + self._px(15), baseline), decoder.badge.value, colour)

    def _decoder(self, i: int) -> type[Decoder]:
        return DECODERS[self._header.lanes[i].decoder]

    def _lane(self, spot: _Spot, now: Instant) -> Image.Image:
        """What moves of a lane: its cells, its progress and its figures."""
        side, replay = self._side, spot.replay
        image = Image.new("RGB", (side, self._panel), "white")
        pen = ImageDraw.Draw(image)
        pen.rectangle((0, 0, side - 1, side - 1), PAPER)
        image.paste(spot.cells.draw(now), (0, 0))
        if self._layer is Layer.PICTURE and now.n and spot.cells.blank:
            face = self._face(15)
            words = face.wrap("This recording has no picture of this lane.", side - self._px(32), 4)
            for line, text in enumerate(words):
                face.draw(
                    image,
                    (self._px(16), side - self._px(16) - self._px(22) * (len(words) - 1 - line)),
                    text,
                    INK,
                )
        cells = self._header.grid[0] * self._header.grid[1]
        bar = side + self._px(BAR)
        pen.rectangle((0, side, side - 1, bar - 1), RULE)
        if done := side * now.n // cells:
            pen.rectangle((0, side, done - 1, bar - 1), INK)
        value = side - self._px(44)
        passes = f"{now.passes} + {now.drafter}" if now.drafter else str(now.passes)
        figures = [
            ("passes", passes),
            ("seconds", f"{now.seconds:.2f}"),
            ("tokens/pass", f"{now.compression:.2f}"),
        ]
        for line, (name, text) in enumerate(figures):
            baseline = bar + self._px(25 + LINE * line)
            self._face(14).draw(image, (0, baseline), name, SOFT)
            self._face(18, True).draw(image, (value, baseline), text, INK, right=True)
            if name in spot.places and now.state is LaneState.FINISHED:
                place = spot.places[name]
                ink = SIGNAL if place == 1 else SOFT
                self._face(17, True).draw(image, (side, baseline), _ordinal(place), ink, right=True)
        if now.state is LaneState.FAILED:
            face, top = self._face(14), bar + self._px(25 + LINE * len(figures))
            for line, text in enumerate(face.wrap(f"This lane failed: {replay.error}", side, 2)):
                face.draw(image, (0, top + self._px(19) * line), text, SIGNAL)
        return image

    def _legend(self, image: Image.Image) -> None:
        left, right, top = (
            self._px(MARGIN),
            self.size[0] - self._px(MARGIN),
            self.size[1] - self._px(FOOT),
        )
        face, low, high = self._face(14), top + self._px(20), top + self._px(46)
        word = self._face(15, True)
        word.draw(image, (right, high), "Photo Finish", INK, right=True)
        width = right - left - word.length("Photo Finish") - self._px(40)
        words = f"{self._layer.look['title']}. {self._layer.look['words']}"
        for line, text in enumerate(face.wrap(words, width, 2)):
            face.draw(image, (left, low + self._px(19) * line), text, SOFT)
        if self._layer is Layer.STATUS:
            self._marks(image, left, high, width)
        elif self._layer is not Layer.PICTURE:
            self._scale_bar(image, left, high)

    def _marks(self, image: Image.Image, x: float, baseline: int, width: float) -> None:
        face, side = self._face(14), self._px(20)
        step = min(self._px(130), width / (len(MARKS) - 1))
        forced = min(self._header.cells) < 0
        for status in (status for status in MARKS if forced or status is not Status.FORCED):
            image.paste(mark(status, side, side), (round(x), baseline - self._px(15)))
            face.draw(
                image,
                (x + side + self._px(6), baseline),
                face.fit(status.name.lower(), step - side - self._px(8)),
                INK,
            )
            x += step

    def _scale_bar(self, image: Image.Image, left: int, baseline: int) -> None:
        """The scale, with its numbers."""
        face, width, height = self._face(14), self._px(300), self._px(12)
        bar = colours(self._layer, np.tile(np.linspace(0, 1, width), (height, 1)))
        image.paste(Image.fromarray(bar), (left, baseline - height))
        low = COUNTS.get(self._layer, 0)
        high = max(low + 1, self._most) if self._layer in COUNTS else 1
        middle = np.unique(np.geomspace(1, 1 + high - low, 5).round()) + low - 1
        ticks = middle if self._layer in COUNTS else np.linspace(0, 1, 5)
        for tick, share in zip(ticks, shares(self._layer, ticks, high), strict=True):
            text = f"{tick:g}"
            face.draw(
                image,
                (left + share * (width - face.length(text)), baseline + self._px(17)),
                text,
                SOFT,
            )


def _places(lanes: list[LaneReplay], i: int) -> dict[str, int]:
    """The place of a lane that finished, by either clock."""
    if lanes[i].state is not LaneState.FINISHED:
        return {}
    done = [lane for lane in lanes if lane.state is LaneState.FINISHED]
    return {
        name: 1 + sum(lane.clock(name)[-1] < lanes[i].clock(name)[-1] for lane in done)
        for name in CLOCKS
    }


def _ordinal(n: int) -> str:
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n, 'th') }"


def _even(length: int) -> int:
    return length + length % 2
