"""Draws one lane's cells without a model: the lane's picture so far, or any other layer."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping

import numpy as np
from PIL import Image, ImageDraw

from engine.trace import LaneState, Status
from visualize.film.layers import MARKS, Instant, LaneReplay, Layer, colours, shares
from visualize.look import COLOURS, LOOK
from visualize.pictures.recorded_race import pixels
from visualize.pictures.swatches import COLUMNS
from visualize.pictures.swatches import SIDE as SWATCH

INK = COLOURS["ink"]
DRAFT = LOOK["draft"]
UNDER = LOOK["under"]
FRONTIER = LOOK["frontier"]
NOTCH = LOOK["notch"]
NO_VALUE = LOOK["noValue"]
TO_FILL = LOOK["toFill"]
SHAPES = LOOK["marks"]["shapes"]


def atlas(swatches: bytes, codes: int) -> np.ndarray:
    """Split the image file of all swatches into one image a code: uint8 [codes, side, side, 3].

    `swatches` is the file that visualize.pictures.swatches makes. It shows each code alone.
    """
    rows = pixels(swatches).reshape(-1, SWATCH, COLUMNS, SWATCH, 3)
    return rows.swapaxes(1, 2).reshape(-1, SWATCH, SWATCH, 3)[:codes]


class Cells:
    """Draws one lane's grid, fitted into `side` x `side` pixels.

    `picture` is the lane's final picture as an image file, and `swatches` is what `atlas` returns.
    Either is None if the recording does not have it. `most` is the number at the end of the layer's
    scale. `palette` has the page's colours by name.
    """

    def __init__(
        self,
        replay: LaneReplay,
        grid: tuple[int, int],
        side: int,
        layer: Layer,
        most: int,
        picture: bytes | None,
        swatches: np.ndarray | None,
        palette: Mapping[str, str] = COLOURS,
    ) -> None:
        self._palette = palette
        self._replay = replay
        self._layer = layer
        self._most = most
        self._swatches = swatches
        self._grid = grid
        self._kept = np.flatnonzero(replay.known >= 0)  # cells that were known from the start
        # The pixels where rows and columns begin and end. If the grid is very long, a cell may be
        # narrower than a pixel, but the whole grid is at least one pixel wide.
        self._rows, self._columns = (
            np.round(np.linspace(0, max(1, round(side * count / max(grid))), count + 1)).astype(int)
            for count in grid
        )
        self.size = (int(self._columns[-1]), int(self._rows[-1]))
        self._side = max(self.size) / max(grid)  # side of a cell, in pixels
        self._picture = None
        if picture is not None:
            whole = Image.fromarray(pixels(picture))
            # BICUBIC, as in browsers: on sharp edges LANCZOS differs visibly
            self._picture = np.asarray(whole.resize(self.size, Image.Resampling.BICUBIC))

    def draw(self, instant: Instant) -> Image.Image:
        if self._layer is Layer.PICTURE:
            image = self._pictured(instant)
        elif self._layer is Layer.STATUS:
            image = self._over(self._marked(instant), instant)
        else:
            image = self._over(self._coloured(instant), instant)
        known = self._replay.known
        if len(known):
            self._hatch(image, np.setdiff1d(np.flatnonzero(known < 0), instant.cells))
            if self._layer is not Layer.PICTURE or instant.state is not LaneState.FINISHED:
                self._outline(image)
        if self._replay.fork is not None:
            self._frame(image, self._replay.fork)
        if instant.state is not LaneState.FINISHED and instant.n:
            drafts = instant.cells[instant.n :]
            gaps = 1 + np.flatnonzero(np.diff(drafts) != 1)
            for run in filter(len, np.split(drafts, gaps)):
                self._frames(image, range(int(run[0]), int(run[-1]) + 1))
            if not len(known):  # an infilling has no frontier
                self._edge(image, instant.cells[: instant.n])
        return image

    @property
    def blank(self) -> bool:
        """True if there is neither a picture nor swatches to draw the picture with."""
        return self._picture is None and self._swatches is None

    def _pictured(self, instant: Instant) -> Image.Image:
        """Draw committed and known cells solid, drafts as pale swatches, and others as paper.

        Without a picture, solid cells are swatches too. Without swatches, grey replaces them.
        """
        out = self._flat(self._palette["paper"])
        stage = np.zeros(int(np.prod(self._grid)), int)
        stage[instant.cells] = 1
        stage[instant.cells[: instant.n]] = 2
        stage[self._kept] = 2
        tiled = self._tiled(instant) if stage.any() else out
        solid = tiled if self._picture is None else self._picture
        pale = (DRAFT["opacity"] * tiled + (1 - DRAFT["opacity"]) * out).astype(np.uint8)
        out = np.where(self._spread(stage > 0)[..., None], pale, out)
        return Image.fromarray(np.where(self._spread(stage > 1)[..., None], solid, out))

    def _tiled(self, instant: Instant) -> np.ndarray:
        """Draw known, committed and drafted cells as swatches of their tokens: uint8 [H, W, 3].

        Everything is grey if there are no swatches, or none for one of the tokens.
        """
        reached = self._replay.table.positions["token"][instant.rows]
        tokens = np.concatenate([self._replay.known[self._kept], reached])
        if self._swatches is None or tokens.max() >= len(self._swatches):
            return self._flat(self._palette["rule"])
        height, width = self._grid
        tiles = np.zeros((height * width, SWATCH, SWATCH, 3), np.uint8)
        tiles[np.concatenate([self._kept, instant.cells])] = self._swatches[tokens]
        whole = (
            tiles.reshape(height, width, SWATCH, SWATCH, 3)
            .swapaxes(1, 2)
            .reshape(height * SWATCH, width * SWATCH, 3)
        )
        return np.asarray(Image.fromarray(whole).resize(self.size, Image.Resampling.BOX))

    def _coloured(self, instant: Instant) -> Image.Image:
        """Fill each committed or drafted cell with the colour of its value on the layer's scale.

        Only the middle of a draft's cell is filled. A cell without a value gets a grey stroke.
        """
        values = self._replay.values(self._layer, instant)
        known = ~np.isnan(values)
        painted = np.tile(
            np.array(Image.new("RGB", (1, 1), self._palette["paper"]))[0, 0],
            (int(np.prod(self._grid)), 1),
        )
        inner = colours(self._layer, shares(self._layer, values, self._most))
        fixed = np.flatnonzero(known[: instant.n])
        painted[instant.cells[fixed]] = inner[fixed]
        image = Image.fromarray(self._spread(painted))
        pen = ImageDraw.Draw(image)
        for i in range(instant.n, len(values)):
            left, top, right, bottom = self._box(instant.cells[i])
            if known[i] and left < right and top < bottom:
                x = round(DRAFT["inset"] * (right - left))
                y = round(DRAFT["inset"] * (bottom - top))
                pen.rectangle(
                    (left + x, top + y, right - 1 - x, bottom - 1 - y), tuple(inner[i].tolist())
                )
        for cell in instant.cells[~known]:
            left, top, right, bottom = self._box(cell)
            sprite = stroke(max(1, right - left), max(1, bottom - top), self._palette["paper"])
            image.paste(sprite, (left, top))
        if self._layer is Layer.RUNS:
            self._notches(image, instant)
        return image

    def _over(self, image: Image.Image, instant: Instant) -> Image.Image:
        """Draw the picture faintly over the committed cells and the known cells of `image`.

        Then one can see which part of the picture a cell belongs to.
        """
        if self._picture is None:
            return image
        committed = np.zeros(int(np.prod(self._grid)), bool)
        committed[instant.cells[: instant.n]] = True
        committed[self._kept] = True
        blended = Image.blend(image, Image.fromarray(self._picture), UNDER["opacity"])
        mask = Image.fromarray(self._spread(committed))
        return Image.composite(blended, image, mask)

    def _notches(self, image: Image.Image, instant: Instant) -> None:
        """Draw a pale notch where each run begins, because neighbouring runs may look alike.

        A run is the cells that one step committed (see `LaneReplay.run_starts`).
        """
        width = max(1, round(NOTCH["width"] * self._side))
        for cell in self._replay.run_starts(instant):
            left, top, right, bottom = self._box(int(cell))
            box = (left, top, min(right, left + width), bottom)
            if left < right and top < bottom:
                patch = image.crop(box)
                pale = Image.new("RGB", patch.size, self._palette["card"])
                image.paste(Image.blend(patch, pale, NOTCH["opacity"]), box)

    def _marked(self, instant: Instant) -> Image.Image:
        """Draw the latest status of each committed or drafted cell, as a shape on a colour."""
        image = Image.fromarray(self._flat(self._palette["paper"]))
        statuses = self._replay.table.positions["status"][instant.rows]
        for i, (cell, status) in enumerate(zip(instant.cells, statuses, strict=True)):
            left, top, right, bottom = self._box(cell)
            inset = round(DRAFT["inset"] / 2 * self._side) if i >= instant.n else 0
            sprite = mark(
                Status(int(status)),
                max(1, right - left - 2 * inset),
                max(1, bottom - top - 2 * inset),
            )
            image.paste(sprite, (left + inset, top + inset))
        return image

    def _hatch(self, image: Image.Image, cells: np.ndarray) -> None:
        """Hatch `cells`: cells that an infilling has to fill in, still without token or draft."""
        for cell in cells:
            left, top, right, bottom = self._box(cell)
            sprite = hatched(max(1, right - left), max(1, bottom - top), self._palette["paper"])
            image.paste(sprite, (left, top))

    def _outline(self, image: Image.Image) -> None:
        """Draw the line between the known cells and the cells to fill in."""
        masked = (self._replay.known < 0).reshape(self._grid)
        pen = ImageDraw.Draw(image)
        edge = max(1, round(TO_FILL["edge"] * self._side))
        for name, width in (("card", 2 * edge), ("ink", edge)):
            low = -(width // 2)
            high = low + width - 1
            for row, column in np.argwhere(masked[:, 1:] != masked[:, :-1]).tolist():
                x = self._columns[column + 1]
                top, bottom = self._rows[row : row + 2]
                box = (x + low, top + low, x + high, bottom + high)
                pen.rectangle(box, self._palette[name])
            for row, column in np.argwhere(masked[1:] != masked[:-1]).tolist():
                y = self._rows[row + 1]
                left, right = self._columns[column : column + 2]
                box = (left + low, y + low, right + high, y + high)
                pen.rectangle(box, self._palette[name])

    def _flat(self, colour: str) -> np.ndarray:
        return np.array(Image.new("RGB", self.size, colour))

    def _spread(self, cells: np.ndarray) -> np.ndarray:
        """Expand one value a cell [h * w, ...] to one value a pixel [H, W, ...]."""
        grid = cells.reshape(*self._grid, *cells.shape[1:])
        return grid.repeat(np.diff(self._rows), 0).repeat(np.diff(self._columns), 1)

    def _box(self, cell: int) -> tuple[int, int, int, int]:
        row, column = divmod(cell, self._grid[1])
        left, right = self._columns[column : column + 2].tolist()
        top, bottom = self._rows[row : row + 2].tolist()
        return left, top, right, bottom

    def _frames(self, image: Image.Image, cells: range) -> None:
        """Draw dashed frames around `cells`, a run of drafts in raster order.

        A run needs up to three frames: around the end of a row, around whole rows, and around the
        beginning of a row.
        """
        pen = ImageDraw.Draw(image)
        columns = self._grid[1]
        dash = max(1.0, DRAFT["dash"] * self._side)
        width = max(1, round(DRAFT["frame"] * self._side))
        rows = np.clip(
            [-(-cells.start // columns) * columns, cells.stop // columns * columns],
            cells.start,
            cells.stop,
        )
        for first, end in itertools.pairwise(sorted({cells.start, *map(int, rows), cells.stop})):
            left, top, _, _ = self._box(first)
            _, _, right, bottom = self._box(end - 1)
            for at in np.arange(left, right, 2 * dash):
                for y in (top, bottom):
                    pen.line((at, y, min(right, at + dash), y), self._palette["ink"], width)
            for at in np.arange(top, bottom, 2 * dash):
                for x in (left, right):
                    pen.line((x, at, x, min(bottom, at + dash)), self._palette["ink"], width)

    def _frame(self, image: Image.Image, cell: int) -> None:
        """Draw a frame around `cell`, where a fork leaves the picture of its parent's lane.

        The fork has that lane's tokens in all cells before `cell`, and its own from `cell` on.
        """
        left, top, right, bottom = self._box(cell)
        width = max(2, round(FRONTIER["width"] * self._side))
        box = (left, top, right - 1, bottom - 1)
        ImageDraw.Draw(image).rectangle(box, outline=self._palette["signal"], width=width)

    def _edge(self, image: Image.Image, cells: np.ndarray) -> None:
        """Draw the frontier: the line that separates `cells`, the committed ones, from the rest."""
        reach = np.bincount(cells // self._grid[1], minlength=self._grid[0])
        first = int(np.argmax(reach < self._grid[1]))
        path = [(self.size[0] - 1, int(self._rows[first]))]
        for row in range(first, self._grid[0]):
            x = int(self._columns[reach[row]])
            path.append((x, int(self._rows[row])))
            if not reach[row]:
                break
            path.append((x, int(self._rows[row + 1])))
        else:
            path.append((0, int(self._rows[-1])))
        ImageDraw.Draw(image).line(
            path, self._palette["signal"], max(2, round(FRONTIER["width"] * self._side))
        )


@functools.lru_cache(64)
def stroke(width: int, height: int, paper: str) -> Image.Image:
    """Return the image of a cell without a value: a grey stroke on the colour `paper`."""
    fine = 8  # drawn 8 times larger: Pillow's lines lie half a fine pixel off the page's
    image = Image.new("RGB", (width * fine, height * fine), paper)
    ends = [(fine * width * x, fine * height * y) for x, y in (NO_VALUE["from"], NO_VALUE["to"])]
    ImageDraw.Draw(image).line(
        ends, NO_VALUE["colour"], round(fine * max(1, NO_VALUE["width"] * min(width, height)))
    )
    return image.resize((width, height), Image.Resampling.BOX)


@functools.lru_cache(64)
def hatched(width: int, height: int, paper: str) -> Image.Image:
    """Return the image of a cell to fill in: grey lines that run on from cell to cell."""
    fine = 4  # drawn 4 times larger and then reduced, for smooth edges
    image = Image.new("RGB", (width * fine, height * fine), paper)
    pen = ImageDraw.Draw(image)
    line = round(fine * max(1, TO_FILL["width"] * min(width, height)))
    for at in (-0.5, 0, 0.5, 1, 1.5):
        ends = ((at - 0.5) * image.width, image.height, (at + 0.5) * image.width, 0)
        pen.line(ends, TO_FILL["colour"], line)
    return image.resize((width, height), Image.Resampling.BOX)


@functools.lru_cache(256)
def mark(status: Status, width: int, height: int) -> Image.Image:
    """Return the mark of a status: a dark shape on a colour, either of which identifies it."""
    name, colour = MARKS[status]
    shape = SHAPES[name]
    fine = 4  # drawn 4 times larger and then reduced, for smooth edges
    image = Image.new("RGB", (width * fine, height * fine), colour)
    pen = ImageDraw.Draw(image)
    x, y = width * fine / 2, height * fine / 2
    unit = fine * min(width, height) / 2
    line = max(1, round(LOOK["marks"]["line"] * unit))

    def around(x: float, y: float, reach: float) -> tuple[float, float, float, float]:
        return (x - reach, y - reach, x + reach, y + reach)

    if "circle" in shape and shape["fill"]:
        pen.ellipse(around(x, y, shape["circle"] * unit), INK)
    elif "circle" in shape:
        pen.ellipse(around(x, y, shape["circle"] * unit + line / 2), None, INK, line)
    for points in shape.get("lines", ()):
        path = [(x + unit * across, y + unit * down) for across, down in points]
        if shape["fill"]:
            pen.polygon(path, INK)
        else:
            pen.line(path, INK, line)
            for end in path:  # round ends, as on the page
                pen.ellipse(around(*end, line / 2), INK)
    return image.resize((width, height), Image.Resampling.BOX)
