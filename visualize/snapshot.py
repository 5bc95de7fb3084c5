"""Snapshot: what the page draws of a race at one instant, as it is sent.

`static/trace/snapshot.d.ts` has these types for the board's JavaScript; after a change
`python -m visualize.snapshot_types` writes it anew.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from engine.decoders.base import Badge
from engine.infilling import Infilling
from engine.trace import LaneState
from engine.trace.rows import Layout

MeasuredClock = Literal["seconds", "passes"]
CLOCKS: tuple[MeasuredClock, ...] = get_args(MeasuredClock)


class LaneSnapshot(BaseModel):
    """A lane: its figures so far, its step table and its picture."""

    model_config = ConfigDict(frozen=True)

    decoder: str
    rule: str = Field(
        description='what tests its drafts: "block", "typical", or the decoder\'s own'
    )
    own_cells: tuple[int, ...] = Field(
        description="as the snapshot's `cells`, of a lane with an order of its own; else none"
    )
    title: str
    idea: str
    paper: str
    badge: Badge
    promise: str
    state: LaneState
    error: str
    n: int = Field(description="committed cells")
    passes: int
    drafter: int = Field(description="the drafter's passes")
    seconds: float
    compression: float = Field(description="tokens a pass")
    shift: float | None
    split: tuple[float, float, float, float] = Field(
        description="seconds of forward, verification, cache, drafter"
    )
    table: dict[str, str] = Field(description="base64 of each table's rows, which only grows")
    picture_rows: tuple[str, ...] = Field(
        description='of each row of tokens a WebP file in base64, "" while none is committed'
    )
    places: dict[MeasuredClock, int | None] = Field(description="1 is first; null until known")


class Result(BaseModel):
    """A row of the table at the end."""

    model_config = ConfigDict(frozen=True)

    lane: int
    compression: float
    length: float = Field(description="mean acceptance length")
    passes: int
    drafter: int
    seconds: float
    pass_ms: float = Field(description="all that the lane did, forward passes and all")
    differs: int | None = Field(description="first cell at which a picture is not vanilla AR's")
    faster: dict[MeasuredClock, float | None] = Field(description="than this race's vanilla AR")


class Snapshot(BaseModel):
    """A race at an instant. `id` and `link` are given to it by the page's server; a standalone file
    has none."""

    model_config = ConfigDict(frozen=True)

    seq: int
    state: LaneState
    note: str
    recorded: bool
    elsewhere: bool = Field(False, description="recorded on another machine than the page's")
    apart: bool = Field(description="each lane on a device of its own, all at once")
    prompt: str
    seed: int
    model: str
    sampling: str = Field(description="what of it is not the model's own")
    machine: str
    grid: tuple[int, int] = Field(description="rows and columns of tokens")
    cells: tuple[int, ...] = Field(description="of every position, -1 where one is forced")
    infilling: Infilling | None = Field(description="null for a whole picture")
    dtypes: Layout
    codes: int = Field(description="in the codebook")
    swatches: str = Field(description="base64 of an image")
    lanes: tuple[LaneSnapshot, ...]
    results: tuple[Result, ...]
    id: str = Field("", description="of the race, by which page and server call it")
    link: str = Field("", description="the query with its settings")

    def wire(self) -> dict[str, Any]:
        """The JSON object that is sent."""
        return self.model_dump(mode="json", exclude_unset=True)
