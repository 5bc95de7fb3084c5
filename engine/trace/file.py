"""Trace: a race as a file, from which the board can be drawn again without the model.

The file is JSON: a header, each lane's step table (compressed rows in base64), and the order in
which the lanes moved. The file may come from anyone: sizes, types and ranges are checked before
anything is built, nothing is unpickled, and neither torch nor a model is needed. RecordedRace
checks later, when it draws the race, that each decoder is known and its settings are valid.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from operator import index
from typing import Any

import numpy as np

from engine.failures import Failure
from engine.infilling import MASKED, Infilling, Parent
from engine.settings import Sampling, SettingError
from engine.trace.packing import Room, pack_table, unpack_table, unpack_table_4
from engine.trace.reduce import DROP, Dropped
from engine.trace.steps import Step, StepTable, steps_of
from engine.trace.streams import PackingError, pack, unpack, unpack_zlib

FORMAT, VERSION = "photo-finish-trace", 5
# By the file's version: the functions that read a lane's table and other bytes.
READERS = {4: (unpack_table_4, unpack_zlib), VERSION: (unpack_table, unpack)}
MAX_BYTES = 32 * 2**20
# touched by all steps of all lanes; seven lanes over 90 x 90 tokens touch some 390,000
MAX_POSITIONS = 800_000
# of all lanes; eight lanes over 90 x 90 tokens, with one token per pass, have 65,520
MAX_STEPS = 100_000
MAX_ROWS = 256 * 2**20  # bytes of all lanes' rows in memory
# lists, objects and commas between values: each value takes memory, however short it is; those
# eight lanes have 410,000
MAX_VALUES = 1_000_000
MAX_SIDE, MAX_VOCAB = 256, 2**16 - 1  # codes fit 16 bits, with one number to spare
MAX_PROMPT = 1000
MAX_SEED = 2**53 - 1  # the largest whole number that JavaScript keeps
MAX_LANES = 8
MAX_EVENTS = 4  # of a lane without a step, such as its start and its end
MAX_ERROR = 500  # characters of a lane's error
MAX_NAME, MAX_SETTINGS = 200, 50


class TraceError(ValueError):
    """The file is not a trace, or it is damaged; the message may be shown to a visitor."""


class LaneState(StrEnum):
    WAITING = "waiting"
    RACING = "racing"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of a race: lane `lane` made `step`, or changed its state.

    `step` is None if only the state changed (started, failed, stopped). `error` says in words what
    went wrong.
    """

    lane: int
    state: LaneState
    step: Step | None = None
    error: str | None = None
    failure: Failure | None = field(default=None, compare=False)  # in live races; not stored

    def __post_init__(self) -> None:
        if (self.state is LaneState.FAILED) != (self.error is not None):
            raise ValueError("a lane has an error exactly if it failed")


@dataclass(frozen=True, slots=True)
class TraceLane:
    """A lane of a trace: its decoder's name and its settings as plain values.

    If the lane draws in an order of its own, its `cells` replace the header's; otherwise `cells` is
    empty.
    """

    decoder: str
    settings: dict[str, bool | int | float | str]
    cells: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        names = [self.decoder, *self.settings]
        texts = names + [value for value in self.settings.values() if isinstance(value, str)]
        if not all(isinstance(text, str) and len(text) <= MAX_NAME for text in texts):
            raise TraceError(f"A lane's names are texts of at most {MAX_NAME} characters.")
        if len(self.settings) > MAX_SETTINGS or not all(map(_is_scalar, self.settings.values())):
            raise TraceError(f"A lane has at most {MAX_SETTINGS} settings, numbers or texts.")


def _is_scalar(value: Any) -> bool:
    return isinstance(value, bool | int | str) or (
        isinstance(value, float) and math.isfinite(value)
    )


@dataclass(frozen=True, slots=True)
class Header:
    """A race's request, and the machine that the race ran on.

    Attributes:
        cells: the grid cell of every sequence position, as the cell's number in raster order; -1
            for a position that the model's layout forces. In an infilling these are only the masked
            cells, in the order in which they were filled in. If `infilling.below` is true, the
            forced positions between those cells are there too.
        machine: the device on which the seconds were measured.
        weights: identifies the model's weights (`ImageModel.weights`); "" if unknown.
        dtype: the type of number in which the model computed; "" if an older file does not say.
        dropped: the kinds of detail that the file of a long race leaves out.
    """

    prompt: str
    seed: int
    model: str
    grid: tuple[int, int]
    vocab_size: int
    cells: tuple[int, ...]
    sampling: Sampling
    lanes: tuple[TraceLane, ...]
    machine: str
    infilling: Infilling | None = None
    weights: str = ""
    dtype: str = ""
    dropped: tuple[Dropped, ...] = ()

    def cells_of(self, lane: int) -> tuple[int, ...]:
        """Return the grid cell of every sequence position of a lane."""
        return self.lanes[lane].cells or self.cells

    @property
    def stride(self) -> int:
        """Number of sequence positions in one row of the grid.

        In an infilling, which has no rows, it is the number of all positions.
        """
        return len(self.cells) if self.infilling else len(self.cells) // self.grid[0]

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
        if self.infilling is None:
            drawn = sorted(cell for cell in self.cells if cell != -1)
            filled = list(range(height * width))
        else:
            try:
                self.infilling.check(self.grid, self.vocab_size)
            except SettingError as error:
                raise TraceError(str(error)) from error
            # If everything below a cell is drawn, the layout's forced positions are drawn too.
            drawn = sorted(cell for cell in self.cells if cell != -1 or not self.infilling.below)
            filled = [i for i, code in enumerate(self.infilling.known) if code == MASKED]
        if len(self.cells) > 2 * height * width + 8 or drawn != filled:
            raise TraceError("The layout does not fit the grid.")
        if not 1 <= len(self.lanes) <= MAX_LANES:
            raise TraceError(f"A trace has 1 to {MAX_LANES} lanes.")
        same = sorted(self.cells)
        if any(lane.cells and sorted(lane.cells) != same for lane in self.lanes):
            raise TraceError("A lane draws other cells than its race has.")
        if not (isinstance(self.prompt, str) and len(self.prompt) <= MAX_PROMPT):
            raise TraceError("The prompt is too long, or is not text.")
        if isinstance(self.seed, bool) or not (
            isinstance(self.seed, int) and 0 <= self.seed <= MAX_SEED
        ):
            raise TraceError("The seed is out of range.")
        for text in (self.model, self.machine, self.weights, self.dtype):
            if not (isinstance(text, str) and len(text) <= MAX_NAME):
                raise TraceError(
                    "The names of the model, its weights, its dtype and the machine are texts of at"
                    f" most {MAX_NAME} characters."
                )


@dataclass(frozen=True, slots=True)
class Trace:
    """A race's frames in the order in which the lanes moved.

    `codebook` has a vector of D numbers for each of the V codes, as little-endian float32 [V, D].
    Rules that ask which codes look alike need it. It is empty if the codebook is unknown.
    """

    header: Header
    frames: tuple[Frame, ...]
    codebook: bytes = b""

    def __post_init__(self) -> None:
        if len(self.codebook) % (4 * self.header.vocab_size):
            raise TraceError("The codebook does not fit the vocabulary.")
        if not np.isfinite(np.frombuffer(self.codebook, "<f4")).all():
            raise TraceError("The codebook holds what is not a number.")

    def steps(self, lane: int) -> list[Step]:
        """Return a lane's steps, in order."""
        return [frame.step for frame in self.frames if frame.lane == lane and frame.step]

    def table(self, lane: int) -> StepTable:
        """Return a lane's steps as one table."""
        return StepTable.join([step.rows for step in self.steps(lane)])

    def tokens(self, lane: int) -> np.ndarray:
        """Return the tokens of a lane's picture by grid cell [h * w].

        An infilling's known cells are included. A cell without a committed token has -1.
        """
        header, table = self.header, self.table(lane)
        cells, size = np.array(header.cells_of(lane)), header.grid[0] * header.grid[1]
        tokens = np.array(header.infilling.known) if header.infilling else np.full(size, -1)
        is_committed = table.committed & (cells[table.position] >= 0)
        tokens[cells[table.position[is_committed]]] = table.positions["token"][is_committed]
        return tokens

    def dumps(self) -> str:
        """Return the text of the trace's file.

        `loads` can read this text, however long the race was: if all details would make it too
        long, some are left out and listed in `header.dropped`.
        """
        tables = [self.table(i) for i in range(len(self.header.lanes))]
        dropped: tuple[Dropped, ...] = ()
        for further in DROP:
            few = sum(len(table.positions) for table in tables) <= MAX_POSITIONS
            if few and len(text := self._dumps(tables, dropped)) <= MAX_BYTES:
                return text
            tables, dropped = [DROP[further](table) for table in tables], (*dropped, further)
        return self._dumps(tables, dropped)

    def _dumps(self, tables: Sequence[StepTable], dropped: tuple[Dropped, ...]) -> str:
        header = dataclasses.asdict(self.header)
        del header["dropped"]
        if dropped := tuple(dict.fromkeys((*self.header.dropped, *dropped))):
            header["dropped"] = [detail.value for detail in dropped]
        file = {
            "format": FORMAT,
            "version": VERSION,
            "header": header,
            "order": [[f.lane, f.state.value, f.step is not None, f.error] for f in self.frames],
            "lanes": [pack_table(table) for table in tables],
        }
        return json.dumps(file | {"codebook": pack(self.codebook)})

    @staticmethod
    def loads(text: str | bytes) -> Trace:
        """Read a file that anyone may have written. Raises TraceError, which says what is wrong."""
        return Trace.read(parse(text))

    @staticmethod
    def read(data: dict[str, Any], go_on: Callable[[], None] = lambda: None) -> Trace:
        """Return the trace of `data`, which `parse` returned. Raises TraceError, as `loads` does.

        Calls `go_on` from time to time; an error that `go_on` raises ends the reading.
        """
        read_table, read = READERS[data["version"]]
        try:
            header = _header(data["header"])
            lanes, room = [], Room(MAX_STEPS, MAX_POSITIONS, MAX_ROWS)
            for i, packed in enumerate(data["lanes"][: len(header.lanes) + 1]):
                go_on()
                cells = np.array(header.cells_of(min(i, len(header.lanes) - 1)))
                table = read_table(packed, cells, header.vocab_size, room)
                lanes.append(table)
                room = room.beside(table)
            frames = tuple(_frames(data["order"], lanes, go_on))
            trace = Trace(header, frames, read(data["codebook"]))
        except TraceError:
            raise
        except PackingError as error:
            raise TraceError(f"The trace is damaged: {error}.") from error
        except KeyError as error:
            raise TraceError(f"The trace is damaged: it has no {str(error)[:100]}.") from error
        except (IndexError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise TraceError("The trace is damaged: a value is not what it should be.") from error
        if len(lanes) != len(header.lanes):
            raise TraceError(
                "The trace is damaged: it has more or fewer lanes than its header says."
            )
        return trace


def parse(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object of a file from anyone, if it is a trace of a supported version.

    Raises TraceError for any other file.
    """
    if len(text) > MAX_BYTES:
        raise TraceError(
            f"The file has {len(text) / 2**20:.0f} MB; a trace has at most {MAX_BYTES // 2**20}."
        )
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if sum(map(raw.count, (b"[", b"{", b","))) > MAX_VALUES:
        raise TraceError("The file holds more values than a trace has.")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError("This is not a trace: it is not JSON.") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TraceError("This is not a trace of Photo Finish.")
    if data.get("version") not in [*READERS]:
        raise TraceError(
            f"This trace is of version {data.get('version')!r:.20}; this program reads versions"
            f" {' and '.join(map(str, READERS))}."
        )
    return data


def _header(head: dict[str, Any]) -> Header:
    lanes = tuple(
        TraceLane(lane["decoder"], dict(lane["settings"]), tuple(map(index, lane.get("cells", ()))))
        for lane in head["lanes"][: MAX_LANES + 1]
    )
    try:
        sampling = Sampling(**head["sampling"])
    except SettingError as error:
        raise TraceError(f"The sampling settings cannot be: {str(error)[:200]}") from error
    infilling = head.get("infilling")  # older traces do not have all of these
    if infilling is not None:
        try:
            known = tuple(infilling["known"][: MAX_SIDE**2 + 1])
            parent = Parent.read(infilling.get("parent"))
            infilling = Infilling(known, infilling["order"], parent)
        except SettingError as error:
            raise TraceError(f"The infilling cannot be: {str(error)[:200]}") from error
    optional = ("infilling", "weights", "dtype", "dropped")
    names = [f.name for f in dataclasses.fields(Header) if f.name not in optional]
    rest = {name: head[name] for name in names}
    height, width = map(index, rest["grid"])
    cells = tuple(map(index, rest["cells"]))
    return Header(
        **rest
        | {
            "grid": (height, width),
            "cells": cells,
            "lanes": lanes,
            "sampling": sampling,
            "infilling": infilling,
            "weights": head.get("weights", ""),
            "dtype": head.get("dtype", ""),
            "dropped": tuple(map(Dropped, head.get("dropped", ())[: len(Dropped)])),
        }
    )


def _frames(order: list[Any], lanes: list[StepTable], go_on: Callable[[], None]) -> Iterator[Frame]:
    if len(order) > sum(map(len, lanes)) + MAX_EVENTS * len(lanes):
        raise TraceError("The trace is damaged: it has more events than its lanes can have.")
    queues = [steps_of(table) for table in lanes]
    for i, (lane, state, has_step, error) in enumerate(order):
        if i % 1000 == 0:
            go_on()
        if not 0 <= index(lane) < len(lanes):
            raise TraceError("The trace is damaged: an event belongs to no lane.")
        step = next(queues[lane], None) if has_step else None
        fits = isinstance(has_step, bool) and isinstance(error, str | None)
        if not fits or (has_step and step is None):
            raise TraceError("The trace is damaged: its events do not fit its steps.")
        yield Frame(lane, LaneState(state), step, error if error is None else error[:MAX_ERROR])
    if any(next(queue, None) is not None for queue in queues):
        raise TraceError("The trace is damaged: it has steps that no event names.")
