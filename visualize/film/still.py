"""The whole board of a recording at one instant, as a picture for slides. Needs no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from engine.decoders import is_claim, lane_badge
from engine.decoders.base import Badge
from engine.race.request import lane_names
from engine.trace import Header, LaneState
from visualize.board.board import changed_sampling
from visualize.board.snapshot import CLOCKS
from visualize.film.cells import Cells, atlas
from visualize.film.layers import COUNTED, Instant, LaneReplay, Layer
from visualize.film.legend import Legend
from visualize.film.typeface import Scale
from visualize.look import COLOURS, DARK, LOOK
from visualize.pictures.recorded_race import RecordedRace

BADGES = {badge: LOOK["badges"][badge.value.split()[0]] for badge in Badge}
# Pixels at scale 1.
WIDTH = 1344  # the board's largest width
NARROW = 720  # the board's smallest width
WIDEST = 420  # a lane's largest width
MARGIN = 32  # around the board
GAP = 20  # between lanes
TOP = 116  # height of the board's head
HEAD = 54  # height of a lane's name and badge
BAR = 8  # height of a lane's progress
LINE = 29  # height of each of a lane's figures
FOOT = 76  # height of the legend


@dataclass(frozen=True, slots=True)
class _Spot:
    """A lane's position on the board, and what is needed to draw the lane.

    `xy` is the upper left corner of the lane's cells, in pixels. `places` has the lane's rank by
    each clock.
    """

    lane: int
    xy: tuple[int, int]
    replay: LaneReplay
    cells: Cells
    places: dict[str, int]


class Still:
    """Draws a recording's board at any instant of a clock ("seconds" or "passes").

    The board shows `lanes` (all, if None) in the middle of a 16:9 slide. The board is light
    unless `dark`, and at most 1,344 * `scale` pixels wide.

    Attributes:
        size: the slide's width and height in pixels.
        offset: the board's left and upper edge on the slide, in pixels.
        board: the board's width and height in pixels.
        length: the race's length on each clock, by the clock's name.
        palette: the colours by name.
    """

    def __init__(
        self,
        recording: RecordedRace,
        clock: str,
        layer: Layer,
        scale: float = 1.0,
        lanes: Sequence[int] | None = None,
        *,
        dark: bool = False,
    ) -> None:
        if clock not in CLOCKS:
            raise ValueError(f"The clock is {' or '.join(CLOCKS)}, not {clock!r}.")
        self._header = recording.trace.header
        self._clock = clock
        self._layer = layer
        self._scale = Scale(scale)
        self._px = self._scale.px
        self._face = self._scale.face
        self.palette = DARK if dark else COLOURS
        replays = [LaneReplay(recording.trace, i) for i in range(len(self._header.lanes))]
        shown = list(range(len(replays)) if lanes is None else lanes)
        if not shown:
            raise ValueError("There is no lane to draw.")
        count = len(shown)
        columns = 4 if count > 6 else count
        side = min(WIDEST, (WIDTH - 2 * MARGIN - (columns - 1) * GAP) // columns)
        self._side = self._px(side)
        errors = 44 * any(replays[i].error for i in shown)
        figures = LINE * (4 + (layer is Layer.DIFFERS))
        self._panel = self._px(side + BAR + figures + 14 + errors)
        row = HEAD + side + BAR + figures + 14 + errors + GAP
        across = columns * (side + GAP) - GAP
        width = max(NARROW, across + 2 * MARGIN)
        # Sides are even numbers of pixels, as video needs.
        high = _even(self._px(TOP + -(-count // columns) * row + FOOT))
        self.board = (_even(self._px(width)), high)
        across_slide = max(self.board[0], _even(round(high * 16 / 9)))
        self.size = (across_slide, max(high, _even(round(across_slide * 9 / 16))))
        self.offset = ((self.size[0] - self.board[0]) // 2, (self.size[1] - high) // 2)
        self.length: dict[str, float] = {
            name: max(float(lane.clock(name)[-1]) for lane in replays) for name in CLOCKS
        }
        self._most = max(lane.most(layer) for lane in replays) if layer in COUNTED else 1
        pictures = recording.pictures
        swatches = (
            atlas(pictures.swatches, self._header.vocab_size)
            if pictures and pictures.swatches
            else None
        )
        self._names = lane_names(self._header.lanes)
        self._spots = []
        for place, i in enumerate(shown):
            x = (width - across) // 2 + place % columns * (side + GAP)
            y = TOP + place // columns * row + HEAD
            cells = Cells(
                replays[i],
                self._header.grid,
                self._side,
                layer,
                self._most,
                pictures.lanes[i] if pictures else None,
                swatches,
                self.palette,
            )
            xy = (self._px(x), self._px(y))
            self._spots.append(_Spot(i, xy, replays[i], cells, _places(replays, i)))
        self._base = self._furniture()
        self._drawn: dict[int, tuple[int, Image.Image]] = {}  # by lane: last step, image

    def draw(self, t: float) -> Image.Image:
        """Draw the board at `t` on the still's clock, in RGB.

        A `t` before the start shows the start, and a `t` after the end shows the end.
        """
        t = min(max(t, 0.0), self.length[self._clock])
        image = self._base.copy()
        right = self.board[0] - self._px(MARGIN)
        shown = f"{t:.2f}" if self._clock == "seconds" else str(int(t))
        self._face(46).draw(image, (right, self._px(66)), shown, self.palette["signal"], right=True)
        for spot in self._spots:
            k = spot.replay.step_at(self._clock, t)
            drawn = self._drawn.get(spot.lane)
            if drawn is None or drawn[0] != k:
                drawn = self._drawn[spot.lane] = (k, self._lane(spot, spot.replay.at(k)))
            image.paste(drawn[1], spot.xy)
        slide = Image.new("RGB", self.size, self.palette["card"])
        slide.paste(image, self.offset)
        return slide

    def _furniture(self) -> Image.Image:
        """Draw all parts of the board that do not change with time.

        They are the prompt and facts of the race at the top, the lanes' names and badges, and the
        legend.
        """
        header = self._header
        left, right = self._px(MARGIN), self.board[0] - self._px(MARGIN)
        image = Image.new("RGB", self.board, self.palette["card"])
        pen = ImageDraw.Draw(image)
        room = right - left - self._px(220)
        face = self._face(28, True)
        baselines = [56]
        if face.length(" ".join(header.prompt.split())) > room:
            face = self._face(22, True)
            baselines = [38, 66]
        for text, baseline in zip(face.wrap(header.prompt, room, 2), baselines, strict=False):
            face.draw(image, (left, self._px(baseline)), text, self.palette["ink"])
        grid = " × ".join(map(str, header.grid))
        seed, model = f"seed {header.seed}", f"model {header.model}"
        names = [fork_in_words(header), seed, model, changed_sampling(header)]
        filling = ""
        if header.infilling:
            done = "drawn on" if header.infilling.forks else "filled in"
            filling = f", {header.infilling.masked} {done}"
        facts = " · ".join(filter(None, [*names, header.machine, f"{grid} tokens{filling}"]))
        face = self._face(15)
        facts = face.fit(facts, right - left - self._px(120))
        baseline = self._px(92)
        face.draw(image, (left, baseline), facts, self.palette["soft"])
        face.draw(image, (right, baseline), self._clock, self.palette["soft"], right=True)
        line = self._px(102)
        pen.rectangle((left, line, right, line + self._px(3) - 1), self.palette["ink"])
        for spot in self._spots:
            self._name(image, spot)
        legend = Legend(self._layer, header, self._names, self._most, self._scale, self.palette)
        legend.draw(image, left, right, self.board[1] - self._px(FOOT))
        return image

    def _name(self, image: Image.Image, spot: _Spot) -> None:
        """Draw the number, the name and the badge of a lane."""
        x, y = spot.xy
        pen = ImageDraw.Draw(image)
        top = y - self._px(HEAD - 6)
        side = self._px(22)
        pen.rectangle((x, top, x + side - 1, top + side - 1), self.palette["ink"])
        digit = str(spot.lane + 1)
        face = self._face(14, True)
        middle = x + (side - face.length(digit)) / 2
        face.draw(image, (middle, top + 0.73 * side), digit, self.palette["card"])
        name = self._names[spot.lane]
        room = self._side - self._px(30)
        face = self._face(18, True)
        if face.length(name) > room:
            face = self._face(14, True)
        at = (x + self._px(30), top + 0.78 * side)
        face.draw(image, at, face.fit(name, room), self.palette["ink"])
        worn = self._badge(spot.lane)
        badge = BADGES[worn]
        colour = self.palette[badge["colour"]]
        baseline = y - self._px(9)
        box = self._px(9)
        edge = max(1, self._px(2))
        left, right = x, x + box - 1
        over, under = baseline - box, baseline - 1
        if badge["shape"] == "square":
            pen.rectangle((left, over, right, under), colour)
        elif badge["shape"] == "disc":
            pen.ellipse((left, over, right, under), colour)
        elif badge["shape"] == "ring":
            pen.ellipse((left, over, right, under), None, colour, edge)
        else:
            across, down = (left + right) / 2, (over + under) / 2
            corners = [
                (across, over - edge),
                (right + edge, down),
                (across, under + edge),
                (left - edge, down),
            ]
            pen.polygon(corners, None, colour, edge)
        face = self._face(14)
        words = face.fit(worn.value, self._side - self._px(15))
        face.draw(image, (x + self._px(15), baseline), words, colour)

    def _badge(self, i: int) -> Badge:
        return lane_badge(self._header.lanes[i].decoder, self._header.dtype)

    def _lane(self, spot: _Spot, now: Instant) -> Image.Image:
        """Draw the moving parts of a lane: its cells, its progress and its figures."""
        replay = spot.replay
        side = self._side
        image = Image.new("RGB", (side, self._panel), self.palette["card"])
        pen = ImageDraw.Draw(image)
        pen.rectangle((0, 0, side - 1, side - 1), self.palette["paper"])
        image.paste(spot.cells.draw(now), (0, 0))
        if self._layer is Layer.PICTURE and now.n and spot.cells.blank:
            face = self._face(15)
            words = face.wrap("This recording has no picture of this lane.", side - self._px(32), 4)
            for line, text in enumerate(words):
                baseline = side - self._px(16) - self._px(22) * (len(words) - 1 - line)
                face.draw(image, (self._px(16), baseline), text, self.palette["ink"])
        cells = sum(cell >= 0 for cell in self._header.cells)
        bar = side + self._px(BAR)
        pen.rectangle((0, side, side - 1, bar - 1), self.palette["rule"])
        if done := side * now.n // cells:
            pen.rectangle((0, side, done - 1, bar - 1), self.palette["ink"])
        value = side - self._px(44)
        passes = f"{now.passes} + {now.drafter}" if now.drafter else str(now.passes)
        figures = [
            ("passes", passes),
            ("seconds", f"{now.seconds:.2f}"),
            ("tokens a pass", f"{now.compression:.2f}"),
            ("shift", self._shift(spot, now)),
        ]
        if self._layer is Layer.DIFFERS:
            differs = replay.values(Layer.DIFFERS, now)
            known = differs[~np.isnan(differs)]
            figures.append(("differ", f"{known.sum():.0f} of {len(known)}"))
        for line, (name, text) in enumerate(figures):
            baseline = bar + self._px(25 + LINE * line)
            self._face(14).draw(image, (0, baseline), name, self.palette["soft"])
            self._face(18, True).draw(
                image, (value, baseline), text, self.palette["ink"], right=True
            )
            if name in spot.places and now.state is LaneState.FINISHED:
                place = spot.places[name]
                ink = self.palette["signal"] if place == 1 else self.palette["soft"]
                self._face(17, True).draw(image, (side, baseline), _ordinal(place), ink, right=True)
        if now.state is LaneState.FAILED:
            face = self._face(14)
            top = bar + self._px(25 + LINE * len(figures))
            for line, text in enumerate(face.wrap(f"This lane failed: {replay.error}", side, 2)):
                face.draw(image, (0, top + self._px(19) * line), text, self.palette["signal"])
        return image

    def _shift(self, spot: _Spot, now: Instant) -> str:
        """Return the mean shift of a lane's tests so far, worded as on the lane's card."""
        shift = spot.replay.shift(now)
        badge = self._badge(spot.lane)
        if badge.lossless and not shift:
            return "exactly 0"
        if badge is Badge.NOT_JUDGED and not shift:
            return badge.value
        if is_claim(self._header.lanes[spot.lane].decoder, shift):
            return "0 claimed"
        return "–" if shift is None else f"{shift:.3f}"


def _places(lanes: list[LaneReplay], i: int) -> dict[str, int]:
    """Return lane `i`'s rank by each clock, 1 for the first; {} if the lane has not finished."""
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


def fork_in_words(header: Header) -> str:
    """Return in words where a fork was taken: the parent's seed and lane, the cell and the token.

    Return "" for a race that is no fork, or for a fork whose parent is not known.
    """
    parent = header.infilling.parent if header.infilling else None
    if header.infilling is None or parent is None:
        return ""
    row, column = divmod(parent.cell, header.grid[1])
    place = f"from seed {parent.seed}, {parent.lane}, row {row + 1}, column {column + 1}"
    if parent.instead is None:
        return f"{place}: other noise"
    token = header.infilling.known[parent.cell]
    share = "" if parent.p is None else f", p {parent.p:.2g}"
    if token == parent.instead:
        return f"{place}: token {token}, as it was drawn{share}"
    return f"{place}: token {token} instead of {parent.instead}{share}"
