"""RecordedRace: a trace and its pictures in one file.

With this file a race can be drawn where its model is not available. The file is the trace's JSON
object with one more key, "pictures": {"swatches": base64, "lanes": [base64 or null, ..]}. All
images are WebP. The file may come from anyone: see `RecordedRace.loads`.
"""

from __future__ import annotations

import base64
import io
import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from engine.decoders import DECODERS
from engine.models.base import ImageModel
from engine.settings import SettingError, check_recorded
from engine.trace import Header, LaneState, Trace, TraceError, parse
from visualize.pictures.picture import canvas, webp
from visualize.pictures.swatches import COLUMNS, SIDE, sheet

log = logging.getLogger(__name__)

MAX_PATCH = 32  # side of a token's patch, in pixels
MAX_SIDE = 4096  # side of a picture, in pixels
MAX_PIXELS = 2**23  # pixels of all lanes' pictures together
MAX_CELLS = 2**16 - 1
_PLAIN = re.compile(r"[A-Za-z0-9 ._-]{1,40}")  # a name or setting of a decoder from outside

# Exceptions of base64 and PIL for data that they cannot, or will not, read.
_BOMBS = (Image.DecompressionBombError, Image.DecompressionBombWarning)
_UNREADABLE = (ValueError, OSError, SyntaxError, EOFError, MemoryError, *_BOMBS)


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures of a race.

    `swatches` is the file that visualize.pictures.swatches makes. `lanes` has each lane's final
    picture as a lossless WebP file. A picture is None if the lane committed nothing, or if there
    was no memory to draw it. The pixels of uncommitted cells mean nothing.
    """

    swatches: bytes
    lanes: tuple[bytes | None, ...]


@dataclass(frozen=True, slots=True)
class RecordedRace:
    """A trace, with or without its pictures."""

    trace: Trace
    pictures: Pictures | None

    def dumps(self) -> str:
        """Return the file's text."""
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
    def loads(text: str | bytes, go_on: Callable[[], None] = lambda: None) -> RecordedRace:
        """Read a file from anyone. Raises TraceError, whose message says what is wrong with it.

        The result can be drawn. If a lane's decoder is in DECODERS, the lane's settings are valid.
        The texts of any other decoder (its name, and its settings' names and values) consist of
        letters, digits, blanks, dots, underscores and hyphens. Every picture is a WebP file of a
        size that fits the grid; sizes are checked before a pixel is decoded. `go_on` is called
        between parts of the work, and an exception that it raises ends the work.
        """
        data = parse(text)
        trace = Trace.read(data, go_on)
        _texts(trace)
        for i in range(len(trace.header.lanes)):
            go_on()
            _drawable(trace, i)
        pictures = data.get("pictures")
        return RecordedRace(trace, None if pictures is None else _pictures(pictures, trace.header))


def record(
    trace: Trace, model: ImageModel, drawn: Sequence[np.ndarray | None] | None = None
) -> RecordedRace:
    """Return a trace with its pictures, drawn by the model that raced.

    `drawn` has a picture, uint8 [H, W, 3], for each lane that is drawn already, and None for each
    lane that is still to be drawn (by default all). The lanes still to be drawn are decoded
    together; if memory runs out, none of them has a picture. Raises TraceError if another model
    raced.
    """
    header = trace.header
    if (header.model, header.grid, header.vocab_size) != (model.name, model.grid, model.vocab_size):
        raise TraceError(
            f"Only the model {header.model} can draw the pictures of this trace, and this is"
            f" {model.name}."
        )
    pictures = list(drawn or [None] * len(header.lanes))
    tokens = {i: trace.tokens(i) for i, picture in enumerate(pictures) if picture is None}
    tokens = {i: lane for i, lane in tokens.items() if (lane >= 0).any()}
    if tokens:
        grids = np.stack([canvas(lane, header.grid) for lane in tokens.values()])
        try:
            for i, picture in zip(tokens, model.pixels(grids), strict=True):
                pictures[i] = picture
        except MemoryError:  # keep the race even if there is no memory to draw it
            log.warning("a race is kept without %d pictures: no memory is left", len(tokens))
    lanes = tuple(None if picture is None else webp(picture, None) for picture in pictures)
    return RecordedRace(trace, Pictures(sheet(model), lanes))


def pixels(file: bytes) -> np.ndarray:
    """Decode an image file of a recording to uint8 [H, W, 3]."""
    with Image.open(io.BytesIO(file), formats=["WEBP"]) as image:
        return np.asarray(image.convert("RGB"))


def _texts(trace: Trace) -> None:
    header = trace.header
    for text in (
        header.prompt,
        header.model,
        header.machine,
        header.weights,
        header.dtype,
        *(frame.error or "" for frame in trace.frames),
    ):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TraceError(
                "The trace is damaged: a text in it holds half a character, which cannot be shown."
            ) from error


def _drawable(trace: Trace, lane: int) -> None:
    """Raise TraceError if lane `lane` cannot have been raced, or cannot be drawn."""
    header, decoder = trace.header, trace.header.lanes[lane].decoder
    if header.grid[0] * header.grid[1] > MAX_CELLS:
        raise TraceError(
            f"A grid of {header.grid[0]} x {header.grid[1]} tokens is too large to draw."
        )
    settings = header.lanes[lane].settings
    if decoder not in DECODERS:  # from outside: its name and its settings are all that is shown
        texts = [decoder, *settings, *(v for v in settings.values() if isinstance(v, str))]
        if not all(map(_PLAIN.fullmatch, texts)):
            raise TraceError(
                f"The trace has a lane of a decoder that is not known here: {decoder[:40]!r}."
            )
    else:
        try:
            check_recorded(DECODERS[decoder].Settings, settings)
        except SettingError as error:
            raise TraceError(
                f"The settings of the lane {decoder} are not valid: {str(error)[:200]}"
            ) from error
    states = [frame.state for frame in trace.frames if frame.lane == lane]
    complete = [step.after for step in trace.steps(lane)[-1:]] == [len(header.cells)]
    if LaneState.FINISHED in states[:-1] or (LaneState.FINISHED in states and not complete):
        raise TraceError("The trace is damaged: a lane is marked as finished but is not complete.")


def _pictures(data: Any, header: Header) -> Pictures:
    if not (isinstance(data, dict) and isinstance(data.get("lanes"), list)):
        raise TraceError("The pictures of this file are damaged.")
    count = len(header.lanes)
    height, width = header.grid
    if len(data["lanes"]) != count:
        raise TraceError("The pictures of this file are damaged: there must be one for each lane.")
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
        data.get("swatches"), "The image of the swatches", lambda size: size == sheet_size
    )
    names = [f"The picture of lane {i + 1}" for i in range(count)]
    lanes = [
        None if file is None else _image(file, name, fits)
        for file, name in zip(data["lanes"], names, strict=True)
    ]
    return Pictures(swatches, tuple(lanes))


def _image(text: Any, what: str, fits: Callable[[tuple[int, int]], bool]) -> bytes:
    """Decode `text` from base64 to the file of a still WebP image whose size `fits` accepts.

    Raises TraceError for any other text; `what` names the image in the message. Opening a file
    reads only its header, so an image that does not fit is never decoded.
    """
    if not isinstance(text, str):
        raise TraceError(f"{what} is damaged: it is not text.")
    try:
        data = base64.b64decode(text, validate=True)
        with Image.open(io.BytesIO(data), formats=["WEBP"]) as image:
            if image.n_frames > 1:  # type: ignore[attr-defined]  # WebP's own, which stubs omit
                raise TraceError(f"{what} moves, but it must be a still image.")
            if not fits(image.size):
                raise TraceError(
                    f"{what} has {image.width} x {image.height} pixels, which does not fit this"
                    " race."
                )
            image.load()
    except TraceError:
        raise
    except _UNREADABLE as error:
        raise TraceError(f"{what} is damaged or is not a WebP image.") from error
    return data
