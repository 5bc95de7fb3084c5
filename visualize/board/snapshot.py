"""The messages that the page receives about a race: a Snapshot, and Updates while it runs.

A Snapshot is the race at one instant. An Update has what happened since the previous message.
`static/trace/snapshot.d.ts` has these types for the board's JavaScript. After a change, write it
again with `python -m visualize.board.snapshot_types`.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from engine.decoders.base import Badge
from engine.infilling import Infilling
from engine.trace import LaneState
from engine.trace.rows import Dtypes

MeasuredClock = Literal["seconds", "passes"]
CLOCKS: tuple[MeasuredClock, ...] = get_args(MeasuredClock)


class LaneFigures(BaseModel):
    """A lane's state and figures: all that changes except its step table and its picture."""

    model_config = ConfigDict(frozen=True)

    state: LaneState
    error: str
    n: int = Field(description="committed cells")
    passes: int
    drafter: int = Field(description="the drafter's passes")
    seconds: float
    compression: float = Field(description="tokens a pass")
    shift: float | None
    places: dict[MeasuredClock, int | None] = Field(description="1 is first; null until known")


class PaperMark(BaseModel):
    """A figure that a paper reports for a lane like this one."""

    model_config = ConfigDict(frozen=True)

    words: str = Field(description='the figure: "701.35 passes", or tokens "4.51 a pass"')
    source: str
    paper: str = Field(description="its number on arXiv")


class LaneSnapshot(LaneFigures):
    """A lane: its figures so far, its step table and its picture."""

    decoder: str
    rule: str = Field(
        description='the rule that tests the drafts: "block", "traversal", "typical", "runs" or the'
        ' decoder\'s name; "outside" for a decoder from outside'
    )
    own_cells: tuple[int, ...] = Field(
        description="like the snapshot's `cells`, for a lane with its own order; else empty"
    )
    title: str
    idea: str
    paper: str
    badge: Badge
    promise: str
    published: PaperMark | None = Field(
        None,
        description="a paper's figure for whole pictures with the model's own sampling; else null",
    )
    table: dict[str, str] = Field(description="base64 of each table's rows, which only grows")
    picture: str = Field(description='base64 of an image of the whole grid, "" while there is none')


class LaneUpdate(LaneFigures):
    """A lane's new rows since the last message, and its figures so far."""

    lane: int
    table: dict[str, str] = Field(description="base64 of the new rows of each table that has any")
    cells: tuple[int, ...] = Field(
        description="cells with new pictures in the update's `patches`, in the same order"
    )
    picture: str = Field(description="as in a snapshot; empty if it has not changed")


class Result(BaseModel):
    """A lane's row in the table of results."""

    model_config = ConfigDict(frozen=True)

    lane: int
    compression: float
    length: float = Field(description="mean acceptance length")
    passes: int
    drafter: int
    seconds: float
    pass_ms: float = Field(description="mean of all work of the lane, per forward pass")
    equal: int | None = Field(
        description="number of tokens equal to vanilla AR's, if the lane promises its picture"
    )
    differs: int | None = Field(
        description="first cell whose token differs from vanilla AR's, for the same lanes"
    )
    faster: dict[MeasuredClock, float | None] = Field(
        description="speed-up over this race's vanilla AR lane"
    )


class Snapshot(BaseModel):
    """A race at an instant.

    The page's server adds `id` and `link`; a standalone file has neither.
    """

    model_config = ConfigDict(frozen=True)

    seq: int
    state: LaneState
    note: str
    recorded: bool
    elsewhere: bool = Field(False, description="whether the race was recorded on another machine")
    apart: bool = Field(description="whether lanes run at once, each on its own device")
    preview: bool = Field(
        description="whether the pictures of lanes that race are a smaller decoder's"
    )
    prompt: str
    seed: int
    model: str
    sampling: str = Field(description="the settings that are not the model's own")
    machine: str
    grid: tuple[int, int] = Field(description="rows and columns of tokens")
    cells: tuple[int, ...] = Field(description="the cell of every position, -1 for a forced one")
    infilling: Infilling | None = Field(description="null for a whole picture")
    dtypes: Dtypes
    codes: int = Field(description="number of codes in the codebook")
    swatches: str = Field(description="base64 of an image")
    lanes: tuple[LaneSnapshot, ...]
    results: tuple[Result, ...]
    id: str = Field("", description="name of the race for page and server")
    link: str = Field("", description="query of a link to the page with the race's settings")
    bets: tuple[int, ...] = Field(
        (), description="number of viewers' bets on each lane; empty if there are none"
    )

    def wire(self) -> dict[str, Any]:
        """Return the JSON object to send."""
        return self.model_dump(mode="json", exclude_unset=True)

    def after(self, update: Update) -> Snapshot:
        """Return this race with an update applied, except for the update's patches.

        Patches are pictures of single cells of a lane that races. They are not needed later: when
        the lane ends, an update has the lane's whole picture.
        """
        lanes = list(self.lanes)
        for new in update.lanes:
            old = lanes[new.lane]
            table = {name: text + new.table.get(name, "") for name, text in old.table.items()}
            figures = {name: getattr(new, name) for name in LaneFigures.model_fields}
            picture = new.picture or old.picture
            lanes[new.lane] = old.model_copy(update=figures | {"table": table, "picture": picture})
        same = {name: getattr(update, name) for name in ("seq", "state", "note", "results", "bets")}
        return self.model_copy(update=same | {"lanes": tuple(lanes)})


class Update(BaseModel):
    """The changes in a race since the last message, which was a snapshot or an update."""

    model_config = ConfigDict(frozen=True)

    seq: int
    state: LaneState
    note: str
    lanes: tuple[LaneUpdate, ...] = Field(description="lanes in which anything happened")
    patches: str = Field(
        description="base64 of an image of single cells, the first lane's cells first, with as many"
        " cells a row as the image of the swatches; empty if there are none"
    )
    results: tuple[Result, ...]
    bets: tuple[int, ...] = Field((), description="as in a snapshot")
