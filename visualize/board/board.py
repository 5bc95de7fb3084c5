"""Board: folds a race's frames into what the page draws, live or from a recording.

A recorded race is one snapshot. A race in progress is a snapshot at its start, and then updates
with what happened since: new rows of step tables (base64 of the rows of engine/trace/rows.py), and
pictures of new cells. What a race sends therefore depends on its steps, not on how often it is
looked at.
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
# Cells that are drawn at once, at least: an image of one costs as many bytes as one of five. Until
# then their swatches stand in.
LEAST_PATCHES = 12
Pixels = Callable[[np.ndarray], np.ndarray]

NO_MEMORY = "The device has no memory left to decode pictures, so they wait. The race goes on."


class Board:
    """The state of the board.

    `fold` takes a frame in. `snapshot` returns everything to draw, and `update` what is new since
    the last call of either.

    Attributes:
        pixels: decodes the picture of a lane that is over, and the known part of one that begins:
            int [B, h, w] to uint8 [B, H, W, 3]. None for a recorded race.
        preview: decodes lanes that race, with the same shapes. Without it swatches replace their
            pictures. All that an update shows is decoded in one call of either.
        swatches: the image file of visualize.pictures.swatches, with which drafts are drawn too.
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
        """True once every lane has made a step, or has failed."""
        return all(lane.clock("passes") or lane.is_over for lane in self._lanes)

    @property
    def is_over(self) -> bool:
        """True once no lane makes another step."""
        return self._state() in (LaneState.FINISHED, LaneState.STOPPED)

    def show(self, pictures: Sequence[np.ndarray | None]) -> None:
        """Take each lane's final picture, uint8 [H, W, 3] or None, from elsewhere than a model."""
        for lane, picture in zip(self._lanes, pictures, strict=True):
            if picture is not None:
                lane.show(picture)

    def pictures(self) -> list[np.ndarray | None]:
        """Return each lane's final picture, uint8 [H, W, 3]; None where there is none yet."""
        return [
            lane.picture if lane.is_over and not lane.needs_picture else None
            for lane in self._lanes
        ]

    def snapshot(self) -> Snapshot:
        """Return what the page draws now. Numbers count grid cells; seconds are the lane's own."""
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
        """Return what the page draws in addition to what it has."""
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
        """Decode the pictures of lanes that are over or begin with known cells."""
        if self._pixels is None:
            return
        lanes = [lane for lane in self._lanes if lane.needs_picture]
        for lane, picture in zip(lanes, self._decode(self._pixels, lanes), strict=False):
            lane.show(picture)

    def _draw_patches(self) -> tuple[list[tuple[int, ...]], str]:
        """Return the cells of each lane whose pictures are new, and these as an update's file."""
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
        """Return the pictures of lanes, all in one call; none where there is no memory for them."""
        if not lanes:
            return []
        try:
            return list(decode(np.stack([canvas(lane.tokens, self.header.grid) for lane in lanes])))
        except MemoryError:  # the race needs no pictures, and the next ones may fit
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
        """Return a finished lane's place by either clock.

        It is None while a lane that still races could finish before it.
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
        """Return the table at the end: finished lanes, fastest first.

        Speed-ups are relative to the vanilla AR lane of this race.
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

    Where decoding a picture takes seconds, swatches replace the pictures of lanes that race.
    """
    model = race.model
    preview = model.preview or (None if model.slow_pixels else model.pixels)
    return Board(race.header, model.pixels, sheet(model), preview)


def replay(recording: RecordedRace) -> Snapshot:
    """Return a whole recorded race as one snapshot, drawn without its model."""
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
    """Return the part of a race's sampling that is not its model's own: "guidance 3, top-k 100"."""
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
    """Return FNV-1a, 32 bits, over the tokens as 4 bytes each, little-endian.

    The page names the picture that it has drawn by it.
    """
    value = 0x811C9DC5
    for token in tokens:
        for byte in int(token).to_bytes(4, "little"):
            value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{value:08x}"
