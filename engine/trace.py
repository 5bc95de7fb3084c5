"""Trace: a race as a file, from which the board can be redrawn without the model.

JSON: a header, then for every lane its columns as base64 of little-endian arrays, and the order in which the lanes moved.
A trace is read from anyone: sizes, types and ranges are checked before anything is built, and nothing is unpickled.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.decoders import DECODERS
from engine.machine import machine
from engine.race import MAX_LANES, MAX_PROMPT, MAX_SEED, Lane, Race
from engine.records import Frame, LaneState, Position, Seconds, Status, Step
from engine.settings import Sampling, SettingError

FORMAT, VERSION = "photo-finish-trace", 1
MAX_BYTES = 32 * 2**20
MAX_SIDE, MAX_VOCAB = 256, 2**20

# What a lane's columns hold: one entry a step, or one a touched position, all steps after one another.
_STEP = {"nfe": "<i4", "before": "<i4", "after": "<i4", "touched": "<i4", "drafter_passes": "<i4",
         "forward": "<f8", "verify": "<f8", "cache": "<f8", "draft_seconds": "<f8"}  # fmt: skip
_POSITION = {"position": "<i4", "draft": "<i4", "token": "<i4", "status": "u1",
             "top1": "<f4", "top1_draft": "<f4", "tv": "<f4", "acceptance": "<f4"}  # fmt: skip


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
            race.prompt, race.seed, model.name, model.grid, model.vocab_size, tuple(model.forced_ids.tolist()),
            race.sampling, race.lanes, machine(model.device),
        )  # fmt: skip

    def __post_init__(self) -> None:
        height, width = self.grid
        if not (1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE):
            raise TraceError(f"A grid of {height} x {width} tokens is beyond what a trace may hold.")
        if not (isinstance(self.vocab_size, int) and 2 <= self.vocab_size <= MAX_VOCAB):
            raise TraceError(f"A vocabulary of {self.vocab_size} codes is beyond what a trace may hold.")
        if sum(token < 0 for token in self.forced_ids) != height * width or len(self.forced_ids) > 2 * height * width + 8:
            raise TraceError("The layout does not fit the grid.")
        if not 1 <= len(self.lanes) <= MAX_LANES:
            raise TraceError(f"A trace has 1 to {MAX_LANES} lanes.")
        if not (isinstance(self.prompt, str) and len(self.prompt) <= MAX_PROMPT):
            raise TraceError("The prompt is too long, or is not text.")
        if isinstance(self.seed, bool) or not (isinstance(self.seed, int) and 0 <= self.seed <= MAX_SEED):
            raise TraceError("The seed is out of range.")
        for text in (self.model, self.machine):
            if not (isinstance(text, str) and len(text) <= 200):
                raise TraceError("The model's and the machine's names are texts of at most 200 characters.")


@dataclass(frozen=True, slots=True)
class Trace:
    header: Header
    frames: tuple[Frame, ...]

    def dumps(self) -> str:
        """The file's text."""
        head = dataclasses.asdict(self.header)
        head["lanes"] = [{"decoder": x.decoder, "settings": dataclasses.asdict(x.settings)} for x in self.header.lanes]
        lanes = [_columns([f.step for f in self.frames if f.lane == i and f.step]) for i in range(len(head["lanes"]))]
        order = [[f.lane, f.state.value, f.step is not None, f.error] for f in self.frames]
        return json.dumps({"format": FORMAT, "version": VERSION, "header": head, "order": order, "lanes": lanes})

    @staticmethod
    def loads(text: str | bytes) -> Trace:
        """Reads a file from anyone. Raises TraceError with a message that says what is wrong with it."""
        if len(text) > MAX_BYTES:
            raise TraceError(f"The file has {len(text) / 2**20:.0f} MB; a trace has at most {MAX_BYTES // 2**20}.")
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TraceError("This is not a trace: it is not JSON.") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise TraceError("This is not a trace of Photo Finish.")
        if data.get("version") != VERSION:
            raise TraceError(f"This trace is of version {data.get('version')!r}; this program reads version {VERSION}.")
        try:
            header = _header(data["header"])
            steps = [_steps(columns, header) for columns in data["lanes"]]
            frames = tuple(_frames(data["order"], steps))
        except TraceError:
            raise
        except (KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError, binascii.Error) as error:
            raise TraceError(f"The trace is damaged: {type(error).__name__}: {str(error)[:200]}") from error
        if len(steps) != len(header.lanes):
            raise TraceError("The trace is damaged: it has more or fewer lanes than its header says.")
        return Trace(header, frames)


def _columns(steps: list[Step]) -> dict[str, str]:
    touched = [p for step in steps for p in step.positions]
    values: dict[str, list[Any]] = {
        "nfe": [s.nfe for s in steps], "before": [s.before for s in steps], "after": [s.after for s in steps],
        "touched": [len(s.positions) for s in steps], "drafter_passes": [s.drafter_passes for s in steps],
        "forward": [s.seconds.forward for s in steps], "verify": [s.seconds.verify for s in steps],
        "cache": [s.seconds.cache for s in steps], "draft_seconds": [s.seconds.draft for s in steps],
        "draft": [-1 if p.draft is None else p.draft for p in touched],
        **{name: [getattr(p, name) for p in touched] for name in ("position", "token", "status", "top1")},
        **{name: [np.nan if (v := getattr(p, name)) is None else v for p in touched]
           for name in ("top1_draft", "tv", "acceptance")},
    }  # fmt: skip
    kinds = {**_STEP, **_POSITION}
    return {name: base64.b64encode(np.asarray(values[name], kinds[name]).tobytes()).decode() for name in kinds}


def _header(head: dict[str, Any]) -> Header:
    lanes = []
    for lane in head["lanes"][: MAX_LANES + 1]:
        if lane["decoder"] not in DECODERS:
            raise TraceError(f"The trace has a lane of a decoder that is not known here: {str(lane['decoder'])[:40]!r}.")
        try:
            lanes.append(Lane(lane["decoder"], DECODERS[lane["decoder"]].Settings(**lane["settings"])))
        except (SettingError, TypeError) as error:
            raise TraceError(f"The settings of the lane {lane['decoder']} cannot be: {str(error)[:200]}") from error
    try:
        sampling = Sampling(**head["sampling"])
    except (SettingError, TypeError) as error:
        raise TraceError(f"The sampling settings cannot be: {str(error)[:200]}") from error
    rest = {f.name: head[f.name] for f in dataclasses.fields(Header)} | {"lanes": tuple(lanes), "sampling": sampling}
    height, width = (int(side) for side in rest["grid"])
    return Header(**rest | {"grid": (height, width), "forced_ids": tuple(int(t) for t in rest["forced_ids"])})


def _array(columns: dict[str, str], name: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(columns[name], validate=True), kind)


def _steps(columns: dict[str, str], header: Header) -> list[Step]:
    step = {name: _array(columns, name, kind) for name, kind in _STEP.items()}
    position = {name: _array(columns, name, kind) for name, kind in _POSITION.items()}
    if len({len(column) for column in step.values()}) != 1 or len({len(column) for column in position.values()}) != 1:
        raise TraceError("The trace is damaged: its columns differ in length.")
    if (step["touched"] < 1).any() or step["touched"].astype(np.int64).sum() != len(position["position"]):
        raise TraceError("The trace is damaged: its steps do not add up to its positions.")
    length, ids = len(header.forced_ids), header.vocab_size + max(0, max(header.forced_ids)) + 1
    if len(step["nfe"]) > length or (len(position["token"]) and (
        position["position"].max() >= length or max(position["token"].max(), position["draft"].max()) >= ids
    )):
        raise TraceError("The trace is damaged: a position or a token lies outside the grid or the vocabulary.")
    if not all(np.isfinite(step[name]).all() for name in ("forward", "verify", "cache", "draft_seconds")):
        raise TraceError("The trace is damaged: a time is not a number.")
    shares = np.concatenate([position[name] for name in ("top1", "top1_draft", "tv", "acceptance")])
    if not np.isfinite(position["top1"]).all() or ((shares < -1e-3) | (shares > 1.001)).any():
        raise TraceError("The trace is damaged: a probability lies outside 0 to 1.")
    touched = [
        Position(at, None if draft < 0 else draft, token, Status(status), top1, *(None if v != v else v for v in rest))
        for at, draft, token, status, top1, *rest in zip(*(column.tolist() for column in position.values()), strict=True)
    ]
    steps, start, frontier = [], 0, 0
    for nfe, before, after, count, drafter, forward, verify, cache, draft in zip(
        *(column.tolist() for column in step.values()), strict=True
    ):
        if before != frontier:
            raise TraceError("The trace is damaged: a step does not begin where the one before it ended.")
        seconds = Seconds(forward, verify, cache, draft)
        steps.append(Step(nfe, before, after, tuple(touched[start : start + count]), seconds, drafter))
        start, frontier = start + count, after
    return steps


def _frames(order: list[Any], steps: list[list[Step]]) -> Iterable[Frame]:
    queues: list[Iterator[Step]] = [iter(lane) for lane in steps]
    for lane, state, has_step, error in order:
        if not 0 <= lane < len(steps):
            raise TraceError("The trace is damaged: an event belongs to no lane.")
        step = next(queues[lane], None) if has_step else None
        if (has_step and step is None) or (error is not None and not isinstance(error, str)):
            raise TraceError("The trace is damaged: its events do not fit its steps.")
        yield Frame(lane, LaneState(state), step, error if error is None else error[:500])
    if any(next(queue, None) is not None for queue in queues):
        raise TraceError("The trace is damaged: it has steps that no event names.")
