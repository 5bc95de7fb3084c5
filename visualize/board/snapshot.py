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
        description='what tests its drafts: "block", "typical", or the decoder\'s own; "outside" of'
        " a decoder from outside"
    )
    own_cells: tuple[int, ...] = Field(
        description="as the snapshot's `cells`, of a lane with an order of its own; else none"
    )
    title: str
    idea: str
    paper: str
    badge: Badge
    promise: str
    published: PaperMark | None = Field(
        None, description="of whole pictures with their model's own sampling, where a paper has it"
    )
    table: dict[str, str] = Field(description="base64 of each table's rows, which only grows")
    picture: str = Field(description='base64 of an image of the whole grid, "" while there is none')


class LaneUpdate(LaneFigures):
    """The changes in a lane since the last message."""

    lane: int
    table: dict[str, str] = Field(description="base64 of each table's new rows, where it has any")
    cells: tuple[int, ...] = Field(
        description="those of which the update's `patches` show new pictures, in their order"
    )
    picture: str = Field(description="as in a snapshot, where it is another one")


class Result(BaseModel):
    """A lane's row in the table of results."""

    model_config = ConfigDict(frozen=True)

    lane: int
    compression: float
    length: float = Field(description="mean acceptance length")
    passes: int
    drafter: int
    seconds: float
    pass_ms: float = Field(description="all that the lane did, forward passes and all")
    equal: int | None = Field(
        description="tokens that are vanilla AR's, of a lane that promises its very picture"
    )
    differs: int | None = Field(
        description="first cell at which such a picture is not vanilla AR's"
    )
    faster: dict[MeasuredClock, float | None] = Field(description="than this race's vanilla AR")


class Snapshot(BaseModel):
    """A race at an instant.

    The page's server adds `id` and `link`; a standalone file has neither.
    """

    model_config = ConfigDict(frozen=True)

    seq: int
    state: LaneState
    note: str
    recorded: bool
    elsewhere: bool = Field(False, description="recorded on another machine than the page's")
    apart: bool = Field(description="each lane on a device of its own, all at once")
    preview: bool = Field(
        description="whether the pictures of lanes that race are a smaller decoder's"
    )
    prompt: str
    seed: int
    model: str
    sampling: str = Field(description="what of it is not the model's own")
    machine: str
    grid: tuple[int, int] = Field(description="rows and columns of tokens")
    cells: tuple[int, ...] = Field(description="of every position, -1 where one is forced")
    infilling: Infilling | None = Field(description="null for a whole picture")
    dtypes: Dtypes
    codes: int = Field(description="in the codebook")
    swatches: str = Field(description="base64 of an image")
    lanes: tuple[LaneSnapshot, ...]
    results: tuple[Result, ...]
    id: str = Field("", description="of the race, by which page and server call it")
    link: str = Field("", description="the query with its settings")
    bets: tuple[int, ...] = Field(
        (), description="on each lane, of those who watch; none where nobody bets"
    )

    def wire(self) -> dict[str, Any]:
        """Return the JSON object to send."""
        return self.model_dump(mode="json", exclude_unset=True)

    def after(self, update: Update) -> Snapshot:
        """Return this race with an update applied.

        The update's patches are left out: they replace a lane's picture only until the lane ends.
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
    lanes: tuple[LaneUpdate, ...] = Field(description="those in which anything happened")
    patches: str = Field(
        description="base64 of an image of single cells, those of the first lane first, in rows as"
        " long as the swatches'; empty where there is none"
    )
    results: tuple[Result, ...]
    bets: tuple[int, ...] = Field((), description="as in a snapshot")
