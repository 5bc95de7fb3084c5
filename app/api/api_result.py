"""The results of the API's calls, with a description of each field.

docs/api.md and the schema for MCP clients show these descriptions.
"""

from __future__ import annotations

import base64
import io
from typing import Any

from PIL import Image
from pydantic import BaseModel, ConfigDict, Field

from visualize.board.snapshot import CLOCKS, Snapshot
from visualize.pictures.recorded_race import RecordedRace, pixels

# fields of a lane, and those of a snapshot's lane that they show
_SHOWN = {name: name for name in ("decoder", "title", "badge", "state", "error")} | {
    "tokens": "n",
    "passes": "passes",
    "drafter_passes": "drafter",
    "seconds": "seconds",
    "tokens_per_pass": "compression",
    "shift": "shift",
}


class LaneResult(BaseModel):
    model_config = ConfigDict(extra="forbid")

    decoder: str = Field(description="its name, as `lanes` has it")
    title: str = Field(description="the decoder's title and the knobs that are not its defaults")
    badge: str = Field(
        description="identical image, identical but for rounding (in half precision), same"
        " distribution, changed distribution or not judged"
    )
    state: str = Field(description="waiting, racing, finished, stopped or failed")
    error: str = Field(description="what went wrong; empty where nothing did")
    tokens: int = Field(description="sequence positions that are committed")
    passes: int = Field(description="forward passes of the model")
    drafter_passes: int = Field(description="forward passes of a drafter; 0 without one")
    seconds: float = Field(description="on the lane's own clock, without drawing and waiting")
    tokens_per_pass: float | None = Field(description="committed tokens divided by passes")
    shift: float | None = Field(
        description="TV (0 to 1) between what one test of a draft commits and the model's own"
        " distribution, on average: 0 for a lossless decoder; null where no draft was tested, or"
        " where a decoder from outside only claims 0"
    )
    place_by_seconds: int | None = Field(description="1 is first; null until it is known")
    place_by_passes: int | None = Field(description="the same by forward passes")
    faster_by_seconds: float | None = Field(
        description="vanilla AR's seconds divided by this lane's; null if no vanilla AR lane has"
        " finished"
    )
    faster_by_passes: float | None = Field(description="the same for forward passes")
    codes: list[int] = Field(
        description="the picture's codes, row by row, -1 where none is committed; empty until the"
        " race is over. `known` of `/fill_in` has the same form"
    )
    picture: str | None = Field(
        description="the picture as a PNG file in base64; null without `pictures`, until the race"
        " is over, and for a lane that committed nothing"
    )


class RaceResult(BaseModel):
    model_config = ConfigDict(extra="forbid")

    state: str = Field(description="waiting, racing, finished or stopped")
    note: str = Field(description="the page's message, such as the race's place in the queue")
    prompt: str = Field(description="as it was sent")
    seed: int = Field(description="as it was sent")
    model: str = Field(description="the name of the model that raced")
    machine: str = Field(description="the device that the seconds were measured on")
    grid: list[int] = Field(description="rows and columns of tokens")
    lanes: list[LaneResult] = Field(description="in the order in which they were sent")
    trace: str | None = Field(
        description="the race as a file's text, which the page opens; null without `trace`, and"
        " until the race is over"
    )


def results_table(board: Snapshot) -> dict[str, Any]:
    """Return a snapshot as a RaceResult, without codes, pictures and trace.

    Places and speed-ups are None until they are known. `with_recording` adds the rest.
    """
    snapshot = board.wire()
    rows = [
        {name: lane[field] for name, field in _SHOWN.items()}
        | {f"place_by_{clock}": lane["places"][clock] for clock in CLOCKS}
        | {f"faster_by_{clock}": None for clock in CLOCKS}
        | {"codes": [], "picture": None}
        for lane in snapshot["lanes"]
    ]
    for result in snapshot["results"]:
        faster = {f"faster_by_{clock}": result["faster"][clock] for clock in CLOCKS}
        rows[result["lane"]] |= faster
    fields = ("state", "note", "prompt", "seed", "model", "machine", "grid")
    return {field: snapshot[field] for field in fields} | {"lanes": rows, "trace": None}


def with_recording(
    result: dict[str, Any], recording: RecordedRace, pictures: bool, trace: bool
) -> dict[str, Any]:
    """Return `result` with the codes, pictures and trace that are known once the race is over."""
    drawn = recording.pictures.lanes if pictures and recording.pictures else ()
    lanes = [
        lane | {"codes": recording.trace.tokens(i).tolist()}
        for i, lane in enumerate(result["lanes"])
    ]
    for lane, file in zip(lanes, drawn, strict=False):
        lane["picture"] = file and _png(file)
    return result | {"lanes": lanes, "trace": recording.dumps() if trace else None}


def _png(file: bytes) -> str:
    written = io.BytesIO()
    Image.fromarray(pixels(file)).save(written, "PNG")
    return base64.b64encode(written.getvalue()).decode()
