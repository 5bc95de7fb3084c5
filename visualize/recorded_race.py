"""RecordedRace: a trace and the pictures that go with it, in one file. With it a race is drawn
again where its model is not.

The file is the trace's JSON object with one key more, "pictures": {"swatches": base64, "lanes":
[base64 or null, ..]}, all WebP. It is read from anyone: see `RecordedRace.loads`.
"""

from __future__ import annotations

import base64
import io
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from engine.models.base import ImageModel
from engine.records import LaneState, Step
from engine.trace import Header, Trace, TraceError
from visualize.picture_rows import canvas, webp
from visualize.swatches import COLUMNS, SIDE, sheet
from visualize.wire import LIMIT, LONGEST, MAX_SIBLINGS

# of a token's side; of a picture's side; of all lanes' pictures
MAX_PATCH, MAX_SIDE, MAX_PIXELS = 32, 4096, 2**23

# What base64 and PIL raise at what they cannot, or will not, read.
_BOMBS = (Image.DecompressionBombError, Image.DecompressionBombWarning)
_UNREADABLE = (ValueError, OSError, SyntaxError, EOFError, MemoryError, *_BOMBS)


@dataclass(frozen=True, slots=True)
class Pictures:
    """`swatches` is the file that visualize.swatches makes; `lanes` each lane's final picture as a
    WebP file without loss, None where nothing was committed. Cells that were not committed hold
    nothing to be shown."""

    swatches: bytes
    lanes: tuple[bytes | None, ...]


@dataclass(frozen=True, slots=True)
class RecordedRace:
    """A trace, with its pictures or without."""

    trace: Trace
    pictures: Pictures | None

    def dumps(self) -> str:
        """The file's text."""
        text = self.trace.dumps()
        if self.pictures is None:
            return text
        lanes = [
            None if lane is None else base64.b64encode(lane).decode()
            for lane in self.pictures.lanes
        ]
        pictures = {"swatches": base64.b64encode(self.pictures.swatches).decode(), "lanes": lanes}
        return json.dumps(json.loads(text) | {"pictures": pictures})

    @staticmethod
    def loads(text: str | bytes) -> RecordedRace:
        """Reads a file from anyone. Raises TraceError with a message that says what is wrong with
        it.

        What is returned can be drawn: every number fits the wire, and every picture is a WebP file
        of a size that fits the grid. Sizes are checked before a pixel is decoded.
        """
        trace = Trace.loads(text)
        _texts(trace)
        for i in range(len(trace.header.lanes)):
            _drawable(trace, i)
        given = json.loads(text).get("pictures")
        return RecordedRace(trace, None if given is None else _pictures(given, trace.header))


def record(trace: Trace, model: ImageModel) -> RecordedRace:
    """Draws the pictures of a trace with the model that raced. Raises TraceError if that was
    another."""
    header = trace.header
    if (header.model, header.grid, header.vocab_size) != (model.name, model.grid, model.vocab_size):
        raise TraceError(
            f"The pictures of this trace can only be drawn by the model {header.model}; here is"
            f" {model.name}."
        )
    tokens = [_committed(trace, i) for i in range(len(header.lanes))]
    drawn = [lane for lane in tokens if lane]
    pictures = iter(
        model.pixels(np.stack([canvas(lane, header.grid) for lane in drawn])) if drawn else ()
    )
    lanes = tuple(webp(next(pictures), None) if lane else None for lane in tokens)
    return RecordedRace(trace, Pictures(sheet(model), lanes))


def pixels(file: bytes) -> np.ndarray:
    """An image file of a recording as uint8 [H, W, 3]."""
    with Image.open(io.BytesIO(file), formats=["WEBP"]) as image:
        return np.asarray(image.convert("RGB"))


def _committed(trace: Trace, lane: int) -> list[int]:
    """The tokens of the grid cells that a lane committed."""
    cells = trace.header.cells
    return [p.token for step in trace.steps(lane) for p in step.committed if cells[p.position] >= 0]


def _texts(trace: Trace) -> None:
    header = trace.header
    for text in (
        header.prompt,
        header.model,
        header.machine,
        *(frame.error or "" for frame in trace.frames),
    ):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TraceError(
                "The trace is damaged: a text in it holds half a character, which cannot be shown."
            ) from error


def _drawable(trace: Trace, lane: int) -> None:
    """Raises TraceError where a lane's steps are none that a decoder makes, or hold numbers beyond
    what the wire takes."""
    header, steps = trace.header, trace.steps(lane)
    if header.grid[0] * header.grid[1] > LIMIT:
        raise TraceError(
            f"A grid of {header.grid[0]} x {header.grid[1]} tokens is too large to be drawn."
        )
    passes = [0, *(step.nfe for step in steps)]
    if any(after <= before for before, after in itertools.pairwise(passes)):
        raise TraceError("The trace is damaged: a lane's forward passes do not count up.")
    states = [frame.state for frame in trace.frames if frame.lane == lane]
    complete = bool(steps) and steps[-1].after == len(header.forced_ids)
    if LaneState.FINISHED in states[:-1] or (LaneState.FINISHED in states and not complete):
        raise TraceError("The trace is damaged: a lane is said to have finished, and has not.")
    for step in steps:
        _step(step, header)


def _step(step: Step, header: Header) -> None:
    if any(p.position != step.before + i for i, p in enumerate(step.positions)):
        raise TraceError("The trace is damaged: a step's positions are not in order.")
    if not (
        0 <= step.drafter_passes <= LIMIT
        and len(step.positions) <= LIMIT
        and step.seconds.total < LONGEST
    ):
        raise TraceError(
            "The trace is damaged: a step's time, passes or positions are beyond what a step can"
            " have."
        )
    for p in step.positions:
        if header.forced_ids[p.position] < 0 and max(p.token, p.draft or 0) >= header.vocab_size:
            raise TraceError("The trace is damaged: a token lies outside the vocabulary.")
        if len(p.siblings) > MAX_SIBLINGS or (p.kin and p.kin.count > header.vocab_size):
            raise TraceError(
                "The trace is damaged: a token has more siblings or kin than there can be."
            )


def _pictures(given: Any, header: Header) -> Pictures:
    if not (isinstance(given, dict) and isinstance(given.get("lanes"), list)):
        raise TraceError("The pictures of this file are damaged.")
    count, (height, width) = len(header.lanes), header.grid
    if len(given["lanes"]) != count:
        raise TraceError("The pictures of this file are damaged: there is not one for each lane.")
    sheet_size = (COLUMNS * SIDE, -(-header.vocab_size // COLUMNS) * SIDE)

    def fits(size: tuple[int, int]) -> bool:
        side = size[0] // width
        return (
            size == (side * width, side * height)
            and 1 <= side <= MAX_PATCH
            and max(size) <= MAX_SIDE
            and size[0] * size[1] * count <= MAX_PIXELS
        )

    swatches = _image(
        given.get("swatches"), "The image of the swatches", lambda size: size == sheet_size
    )
    names = [f"The picture of lane {i + 1}" for i in range(count)]
    lanes = [
        None if file is None else _image(file, name, fits)
        for file, name in zip(given["lanes"], names, strict=True)
    ]
    return Pictures(swatches, tuple(lanes))


def _image(given: Any, what: str, fits: Callable[[tuple[int, int]], bool]) -> bytes:
    """The file that base64 text holds, if it is one still WebP image whose size (width, height)
    `fits`. Opening it reads its header alone: what does not fit is never decoded."""
    if not isinstance(given, str):
        raise TraceError(f"{what} is damaged: it is not text.")
    try:
        data = base64.b64decode(given, validate=True)
        with Image.open(io.BytesIO(data), formats=["WEBP"]) as image:
            if image.n_frames > 1:
                raise TraceError(f"{what} moves; it has to be a still.")
            if not fits(image.size):
                raise TraceError(
                    f"{what} has {image.width} x {image.height} pixels, which does not fit this"
                    " race."
                )
            image.load()
    except TraceError:
        raise
    except _UNREADABLE as error:
        raise TraceError(f"{what} is damaged, or is no WebP image.") from error
    return data
