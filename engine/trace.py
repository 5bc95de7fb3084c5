"""Trace: a race as a file, from which the board can be redrawn without the model.

JSON: a header, then for every lane its columns (compressed little-endian arrays in base64), and the
order in which the lanes moved. A trace is read from anyone: sizes, types and ranges are checked
before anything is built, and nothing is unpickled.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.columns import ColumnError, columns, pack, steps, unpack
from engine.decoders import DECODERS
from engine.hardware import device_name
from engine.race import MAX_LANES, MAX_PROMPT, MAX_SEED, Lane, Race
from engine.records import Frame, LaneState, Step
from engine.settings import Sampling, SettingError

FORMAT, VERSION = "photo-finish-trace", 2
MAX_BYTES = 32 * 2**20
# touched by all steps of all lanes; five lanes over 90 x 90 tokens touch some 170,000
MAX_POSITIONS = 250_000
MAX_SIDE, MAX_VOCAB = 256, 2**16 - 1  # codes fit 16 bits, with one number to spare


class TraceError(ValueError):
    """A file that is no trace, or a damaged one; the message is fit to be shown to a visitor."""


@dataclass(frozen=True, slots=True)
class Header:
    """What was raced, on what. `machine` names the device the seconds were measured on."""

    prompt: str
    seed: int
    model: str
    grid: tuple[int, int]
    vocab_size: int
    forced_ids: tuple[int, ...]
    sampling: Sampling
    lanes: tuple[Lane, ...]
    machine: str

    @staticmethod
    def of(race: Race) -> Header:
        """The header of a race that runs here."""
        model = race.model
        return Header(
            race.prompt,
            race.seed,
            model.name,
            model.grid,
            model.vocab_size,
            tuple(model.forced_ids.tolist()),
            race.sampling,
            race.lanes,
            device_name(model.device),
        )

    @property
    def cells(self) -> list[int]:
        """The grid cell, in raster order, of every sequence position; -1 of a forced one, which has
        none."""
        count = itertools.count()
        return [next(count) if token < 0 else -1 for token in self.forced_ids]

    def __post_init__(self) -> None:
        height, width = self.grid
        if not (1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE):
            raise TraceError(
                f"A grid of {height} x {width} tokens is beyond what a trace may hold."
            )
        if not (isinstance(self.vocab_size, int) and 2 <= self.vocab_size <= MAX_VOCAB):
            raise TraceError(
                f"A vocabulary of {self.vocab_size} codes is beyond what a trace may hold."
            )
        if (
            sum(token < 0 for token in self.forced_ids) != height * width
            or len(self.forced_ids) > 2 * height * width + 8
        ):
            raise TraceError("The layout does not fit the grid.")
        if not 1 <= len(self.lanes) <= MAX_LANES:
            raise TraceError(f"A trace has 1 to {MAX_LANES} lanes.")
        if not (isinstance(self.prompt, str) and len(self.prompt) <= MAX_PROMPT):
            raise TraceError("The prompt is too long, or is not text.")
        if isinstance(self.seed, bool) or not (
            isinstance(self.seed, int) and 0 <= self.seed <= MAX_SEED
        ):
            raise TraceError("The seed is out of range.")
        for text in (self.model, self.machine):
            if not (isinstance(text, str) and len(text) <= 200):
                raise TraceError(
                    "The model's and the machine's names are texts of at most 200 characters."
                )


@dataclass(frozen=True, slots=True)
class Trace:
    """A race's frames in the order in which the lanes moved. `codebook` is the model's, float32 [V,
    D] in little-endian bytes, for rules that ask which codes look alike; empty where it is not
    known."""

    header: Header
    frames: tuple[Frame, ...]
    codebook: bytes = b""

    def __post_init__(self) -> None:
        if len(self.codebook) % (4 * self.header.vocab_size):
            raise TraceError("The codebook does not fit the vocabulary.")
        if not np.isfinite(np.frombuffer(self.codebook, "<f4")).all():
            raise TraceError("The codebook holds what is not a number.")

    @staticmethod
    def of(race: Race, frames: Sequence[Frame]) -> Trace:
        """The trace of a race that ran here."""
        return Trace(
            Header.of(race),
            tuple(frames),
            race.model.codebook.float().cpu().numpy().astype("<f4").tobytes(),
        )

    def steps(self, lane: int) -> list[Step]:
        """A lane's steps, in order."""
        return [frame.step for frame in self.frames if frame.lane == lane and frame.step]

    def dumps(self) -> str:
        """The file's text."""
        head = dataclasses.asdict(self.header)
        head["lanes"] = [
            {"decoder": x.decoder, "settings": dataclasses.asdict(x.settings)}
            for x in self.header.lanes
        ]
        lanes = [columns(self.steps(i)) for i in range(len(head["lanes"]))]
        order = [[f.lane, f.state.value, f.step is not None, f.error] for f in self.frames]
        file = {
            "format": FORMAT,
            "version": VERSION,
            "header": head,
            "order": order,
            "lanes": lanes,
        }
        return json.dumps(file | {"codebook": pack(self.codebook)})

    @staticmethod
    def loads(text: str | bytes) -> Trace:
        """Reads a file from anyone. Raises TraceError with a message that says what is wrong with
        it."""
        if len(text) > MAX_BYTES:
            raise TraceError(
                f"The file has {len(text) / 2**20:.0f} MB; a trace has at most"
                f" {MAX_BYTES // 2**20}."
            )
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TraceError("This is not a trace: it is not JSON.") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise TraceError("This is not a trace of Photo Finish.")
        if data.get("version") != VERSION:
            raise TraceError(
                f"This trace is of version {data.get('version')!r}; this program reads version"
                f" {VERSION}."
            )
        try:
            header = _header(data["header"])
            length, codes = len(header.forced_ids), header.vocab_size
            ids = codes + max(0, max(header.forced_ids)) + 1
            lanes, most = [], MAX_POSITIONS
            for packed in data["lanes"][: MAX_LANES + 1]:
                lanes.append(steps(packed, length, codes, ids, most))
                most -= sum(len(step.positions) for step in lanes[-1])
            trace = Trace(header, tuple(_frames(data["order"], lanes)), unpack(data["codebook"]))
        except TraceError:
            raise
        except ColumnError as error:
            raise TraceError(f"The trace is damaged: {error}.") from error
        except (
            KeyError,
            IndexError,
            TypeError,
            ValueError,
            OverflowError,
            AttributeError,
        ) as error:
            raise TraceError(
                f"The trace is damaged: {type(error).__name__}: {str(error)[:200]}"
            ) from error
        if len(lanes) != len(header.lanes):
            raise TraceError(
                "The trace is damaged: it has more or fewer lanes than its header says."
            )
        return trace


def _header(head: dict[str, Any]) -> Header:
    lanes = []
    for lane in head["lanes"][: MAX_LANES + 1]:
        if lane["decoder"] not in DECODERS:
            raise TraceError(
                "The trace has a lane of a decoder that is not known here:"
                f" {str(lane['decoder'])[:40]!r}."
            )
        try:
            lanes.append(
                Lane(lane["decoder"], DECODERS[lane["decoder"]].Settings(**lane["settings"]))
            )
        except (SettingError, TypeError) as error:
            raise TraceError(
                f"The settings of the lane {lane['decoder']} cannot be: {str(error)[:200]}"
            ) from error
    try:
        sampling = Sampling(**head["sampling"])
    except (SettingError, TypeError) as error:
        raise TraceError(f"The sampling settings cannot be: {str(error)[:200]}") from error
    rest = {f.name: head[f.name] for f in dataclasses.fields(Header)} | {
        "lanes": tuple(lanes),
        "sampling": sampling,
    }
    height, width = (int(side) for side in rest["grid"])
    return Header(
        **rest | {"grid": (height, width), "forced_ids": tuple(int(t) for t in rest["forced_ids"])}
    )


def _frames(order: list[Any], lanes: list[list[Step]]) -> Iterable[Frame]:
    queues: list[Iterator[Step]] = [iter(lane) for lane in lanes]
    for lane, state, has_step, error in order:
        if not 0 <= lane < len(lanes):
            raise TraceError("The trace is damaged: an event belongs to no lane.")
        step = next(queues[lane], None) if has_step else None
        if (has_step and step is None) or (error is not None and not isinstance(error, str)):
            raise TraceError("The trace is damaged: its events do not fit its steps.")
        yield Frame(lane, LaneState(state), step, error if error is None else error[:500])
    if any(next(queue, None) is not None for queue in queues):
        raise TraceError("The trace is damaged: it has steps that no event names.")
