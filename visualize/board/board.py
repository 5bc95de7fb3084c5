"""Board: folds a race's frames into what the page draws, live or from a recording.

A recorded race is sent as one snapshot. A race in progress is sent as a snapshot at its start,
followed by updates. An update has the new rows of step tables, as base64 in the format of
engine/trace/rows.py, and the pictures of new cells. The amount of data therefore depends on the
race's steps, not on how often the page asks for an update.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

import numpy as np

from engine.decoders.paper_figures import paper_figure
from engine.models.supply.card import CARDS
from engine.race import Race
from engine.race.request import lane_names
from engine.trace import Frame, Header, LaneState
from engine.trace.rows import dtypes
from visualize.board.lane import BoardLane
from visualize.board.snapshot import CLOCKS, MeasuredClock, Result, Snapshot, Update
from visualize.pictures.patches import sheet_of
from visualize.pictures.picture import RACING, canvas, webp
from visualize.pictures.recorded_race import RecordedRace, pixels
from visualize.pictures.swatches import sheet

NO_PICTURES = (
    "This file has no pictures of the race. Every other layer shows what happened to each token."
)
# The pictures of cells are sent once at least this many cells have a new picture, because an image
# of one cell has as many bytes as an image of five. Before that the page shows the cells' swatches.
LEAST_PATCHES = 12
Pixels = Callable[[np.ndarray], np.ndarray]

NO_MEMORY = "The device has no memory left to decode pictures, so they wait. The race goes on."


class Board:
    """One race as the page draws it: its lanes with their figures, step tables and pictures.

    `fold` adds a frame. `snapshot` returns everything to draw. `update` returns what is new since
    the last call of `snapshot` or `update`.

    Args:
        header: the header of the race's trace.
        pixels: decodes B grids of tokens, int [B, h, w], to B pictures, uint8 [B, H, W, 3]. It
            draws lanes that are over, and the known cells of lanes that begin. None for a recorded
            race.
        swatches: the image file of visualize.pictures.swatches, which shows each code alone. The
            page draws drafts with it.
        preview: like `pixels`, but draws lanes that race. If None, these lanes show swatches. An
            update calls `pixels` and `preview` at most once each.
    """

    def __init__(
        self,
        header: Header,
        pixels: Pixels | None,
        swatches: bytes | None = None,
        preview: Pixels | None = None,
    ) -> None:
        self.header = header
        self.note = ""
        self._pixels = pixels
        self._preview = preview
        self._seq = 0
        self._swatches = base64.b64encode(swatches or b"").decode()
        self._lanes = [
            BoardLane(
                header,
                i,
                name,
                None
                if header.infilling or changed_sampling(header)
                else paper_figure(header.model, lane.decoder, lane.settings),
            )
            for i, (lane, name) in enumerate(
                zip(header.lanes, lane_names(header.lanes), strict=True)
            )
        ]

    def fold(self, frame: Frame) -> None:
        self._lanes[frame.lane].fold(frame)

    @property
    def has_begun(self) -> bool:
        """True once every lane has made a step or is over."""
        return all(lane.clock("passes") or lane.is_over for lane in self._lanes)

    @property
    def is_over(self) -> bool:
        """True once no lane will make another step."""
        return self._state() in (LaneState.FINISHED, LaneState.STOPPED)

    def show(self, pictures: Sequence[np.ndarray | None]) -> None:
        """Set each lane's final picture, uint8 [H, W, 3]. None keeps a lane's old picture."""
        for lane, picture in zip(self._lanes, pictures, strict=True):
            if picture is not None:
                lane.show(picture)

    def pictures(self) -> list[np.ndarray | None]:
        """Return each lane's final picture, uint8 [H, W, 3], or None if the lane has none yet."""
        return [
            lane.picture if lane.is_over and not lane.needs_picture else None
            for lane in self._lanes
        ]

    def snapshot(self) -> Snapshot:
        """Return everything that the page draws now.

        In each lane of the snapshot, `n` is the number of committed cells, without those known from
        the start. `seconds` is the time on the lane's own clock.
        """
        self._read()
        self._draw_whole()
        header = self.header
        return Snapshot(
            seq=self._next(),
            state=self._state(),
            note=self.note,
            recorded=self._pixels is None,
            apart=False,
            preview=self._preview not in (None, self._pixels),
            prompt=header.prompt,
            seed=header.seed,
            model=header.model,
            sampling=changed_sampling(header),
            machine=header.machine,
            grid=header.grid,
            cells=header.cells,
            infilling=header.infilling,
            dtypes=dtypes(),
            codes=header.vocab_size,
            swatches=self._swatches,
            lanes=tuple(lane.snapshot(self._places(lane)) for lane in self._lanes),
            results=self._results(),
        )

    def update(self) -> Update:
        """Return what has changed since the last snapshot or update."""
        self._read()
        self._draw_whole()
        cells, patches = self._draw_patches()
        lanes = (lane.update(i, self._places(lane), cells[i]) for i, lane in enumerate(self._lanes))
        return Update(
            seq=self._next(),
            state=self._state(),
            note=self.note,
            lanes=tuple(lane for lane in lanes if lane is not None),
            patches=patches,
            results=self._results(),
        )

    def _next(self) -> int:
        self._seq += 1
        return self._seq - 1

    def _read(self) -> None:
        for lane in self._lanes:
            lane.read()

    def _draw_whole(self) -> None:
        """Decode the pictures of lanes that are over, and of lanes that begin with known cells."""
        if self._pixels is None:
            return
        lanes = [lane for lane in self._lanes if lane.needs_picture]
        for lane, picture in zip(lanes, self._decode(self._pixels, lanes), strict=False):
            lane.show(picture)

    def _draw_patches(self) -> tuple[list[tuple[int, ...]], str]:
        """Return each lane's cells with new pictures, and these pictures as one base64 image."""
        cells = [lane.patches.due() if lane.is_racing else () for lane in self._lanes]
        if sum(map(len, cells)) < LEAST_PATCHES:
            return [()] * len(cells), ""
        lanes = [lane for lane, due in zip(self._lanes, cells, strict=True) if due]
        pictures = self._decode(self._preview, lanes) if self._preview else []
        if not pictures:
            return [()] * len(cells), ""
        drawn = [
            lane.patches.take(due, picture)
            for lane, due, picture in zip(lanes, filter(None, cells), pictures, strict=True)
        ]
        return cells, base64.b64encode(webp(sheet_of(np.concatenate(drawn)), RACING)).decode()

    def _decode(self, decode: Pixels, lanes: Sequence[BoardLane]) -> list[np.ndarray]:
        """Decode the pictures of `lanes` with one call of `decode`; [] if memory runs out."""
        if not lanes:
            return []
        try:
            return list(decode(np.stack([canvas(lane.tokens, self.header.grid) for lane in lanes])))
        except MemoryError:  # the race goes on without pictures, and later pictures may fit
            self.note = NO_MEMORY
            return []

    def _state(self) -> LaneState:
        states = {lane.state for lane in self._lanes}
        if states == {LaneState.WAITING}:
            return LaneState.WAITING
        if states & {LaneState.WAITING, LaneState.RACING}:
            return LaneState.RACING
        return LaneState.STOPPED if LaneState.STOPPED in states else LaneState.FINISHED

    def _places(self, lane: BoardLane) -> dict[MeasuredClock, int | None]:
        """Return a lane's rank by each clock, 1 for the lane that needed least.

        A rank is None until the lane has finished and no lane that still races can beat this lane.
        """
        places: dict[MeasuredClock, int | None] = dict.fromkeys(CLOCKS)
        if lane.state is not LaneState.FINISHED:
            return places
        racing = [other for other in self._lanes if other.state is LaneState.RACING]
        finished = [other for other in self._lanes if other.state is LaneState.FINISHED]
        for clock in CLOCKS:
            mine = lane.clock(clock)
            if all(other.clock(clock) >= mine for other in racing):
                places[clock] = 1 + sum(other.clock(clock) < mine for other in finished)
        return places

    def _results(self) -> tuple[Result, ...]:
        """Return one row of results for each finished lane, fastest first; () before the end.

        Speed-ups are relative to this race's vanilla AR lane.
        """
        if not self.is_over:
            return ()
        done = sorted(
            (x for x in self._lanes if x.state is LaneState.FINISHED),
            key=lambda x: x.clock("seconds"),
        )
        ar = next((lane for lane in done if lane.decoder == "ar"), None)
        return tuple(lane.result(self._lanes.index(lane), ar) for lane in done)


def live_board(race: Race) -> Board:
    """Return the board of a race that is about to begin.

    If the model decodes pictures slowly and has no preview, lanes that race show swatches.
    """
    model = race.model
    preview = model.preview or (None if model.slow_pixels else model.pixels)
    return Board(race.header, model.pixels, sheet(model), preview)


def replay(recording: RecordedRace) -> Snapshot:
    """Return a whole recorded race as one snapshot. The race's model is not needed."""
    trace, pictures = recording.trace, recording.pictures
    board = Board(trace.header, None, pictures.swatches if pictures else None)
    for frame in trace.frames:
        board.fold(frame)
    if pictures is None:
        board.note = NO_PICTURES
    else:
        board.show([pixels(file) if file else None for file in pictures.lanes])
    return board.snapshot()


def changed_sampling(header: Header) -> str:
    """Return in words the sampling settings that differ from the model's own.

    For example "guidance 3, top-k 100"; "" if none differs or the model's own are not known.
    """
    if (card := CARDS.get(header.model)) is None:
        return ""
    words = {
        "guidance": "guidance",
        "guided_tokens": "guided tokens",
        "temperature": "temperature",
        "top_k": "top-k",
        "top_p": "top-p",
    }
    own, values = card.sampling, header.sampling
    return ", ".join(
        f"{word} {getattr(values, name):g}"
        for name, word in words.items()
        if getattr(values, name) != getattr(own, name)
    )


def token_hash(tokens: Sequence[int]) -> str:
    """Return the 32-bit FNV-1a hash of the tokens. A token is 4 bytes, little-endian.

    The page computes the same hash of the tokens that it has drawn.
    """
    value = 0x811C9DC5
    for token in tokens:
        for byte in int(token).to_bytes(4, "little"):
            value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{value:08x}"
