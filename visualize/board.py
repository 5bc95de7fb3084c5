"""Board: folds a race's frames into the snapshot that the page draws, live or from a recording.

A snapshot is made to travel: what happened stands in step tables that only grow (base64 of the
rows of engine/trace/rows.py), so that two snapshots differ by their tails, and the pictures in one
file a row of tokens, of which few change at a time.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

import numpy as np

from engine.decoders import DECODERS
from engine.decoders.base import Badge
from engine.infilling import MASKED, Infilling
from engine.models.card import CARDS
from engine.race.request import lane_names, rule_of
from engine.trace import Frame, Header, LaneState, LaneStats, Step, TraceLane
from engine.trace.rows import SENT, layout
from visualize.picture_rows import PictureRows, canvas
from visualize.recorded_race import RecordedRace, pixels
from visualize.snapshot import CLOCKS, LaneSnapshot, MeasuredClock, Result, Snapshot

PROMISES = {
    Badge.IDENTICAL: "Token for token the picture that vanilla AR draws from this seed.",
    Badge.SAME_DISTRIBUTION: (
        "Another picture than vanilla AR's from this seed, drawn with exactly the same"
        " probabilities."
    ),
    Badge.CHANGED_DISTRIBUTION: (
        "Drawn with probabilities that differ from the model's own, which is the price of its"
        " speed."
    ),
}
NO_PICTURES = (
    "This file holds a race without its pictures. What happened to each token is there to see, in"
    " every other layer."
)
Pixels = Callable[[np.ndarray], np.ndarray]

NO_MEMORY = "Pictures wait: no memory is left on the device to decode them. The race goes on."


class Board:
    """The state of the board. `fold` takes a frame in; `snapshot` decodes the pictures that
    changed, all in one call of `pixels` (int [B, h, w] to uint8 [B, H, W, 3]; None for a recorded
    race), and says what to draw. `swatches` is the image file of visualize.swatches, for the
    drafts; `live`, whether pictures of lanes that race are decoded too, where otherwise swatches
    stand in for them."""

    def __init__(
        self,
        header: Header,
        pixels: Pixels | None,
        swatches: bytes | None = None,
        live: bool = True,
    ) -> None:
        self.header, self.note, self._live = header, "", live
        self._pixels, self._seq = pixels, 0
        self._swatches = base64.b64encode(swatches or b"").decode()
        self._lanes = [
            _BoardLane(lane, name, header.grid, header.cells_of(i), header.infilling)
            for i, (lane, name) in enumerate(
                zip(header.lanes, lane_names(header.lanes), strict=True)
            )
        ]

    def fold(self, frame: Frame) -> None:
        self._lanes[frame.lane].fold(frame)

    def show(self, pictures: Sequence[np.ndarray | None]) -> None:
        """Takes each lane's final picture, uint8 [H, W, 3] or none, from elsewhere than a model."""
        for lane, picture in zip(self._lanes, pictures, strict=True):
            if picture is not None:
                lane.show(picture, final=True)

    def snapshot(self) -> Snapshot:
        """What the page draws now. Numbers count grid cells; seconds are the lane's own."""
        self._draw()
        header, seq = self.header, self._seq
        self._seq += 1
        return Snapshot(
            seq=seq,
            state=self._state(),
            note=self.note,
            recorded=self._pixels is None,
            apart=False,
            prompt=header.prompt,
            seed=header.seed,
            model=header.model,
            sampling=changed_sampling(header),
            machine=header.machine,
            grid=header.grid,
            cells=header.cells,
            infilling=header.infilling,
            dtypes=layout(),
            codes=header.vocab_size,
            swatches=self._swatches,
            lanes=tuple(lane.snapshot(self._places(lane)) for lane in self._lanes),
            results=self._results(),
        )

    def _state(self) -> LaneState:
        states = {lane.state for lane in self._lanes}
        if states == {LaneState.WAITING}:
            return LaneState.WAITING
        if states & {LaneState.WAITING, LaneState.RACING}:
            return LaneState.RACING
        return LaneState.STOPPED if LaneState.STOPPED in states else LaneState.FINISHED

    def _draw(self) -> None:
        lanes = [
            lane
            for lane in self._lanes
            if lane.changed and (lane.tokens >= 0).any() and (self._live or lane.is_over)
        ]
        if lanes and self._pixels is not None:
            try:
                pictures = self._pixels(
                    np.stack([canvas(lane.tokens, self.header.grid) for lane in lanes])
                )
            except MemoryError:  # the race needs no pictures, and the next ones may fit
                self.note = NO_MEMORY
                return
            for lane, picture in zip(lanes, pictures, strict=True):
                lane.show(picture, final=lane.is_over)

    def _places(self, lane: _BoardLane) -> dict[MeasuredClock, int | None]:
        """A finished lane's place in either clock, or None while a lane that still races could come
        in before it."""
        others = {
            state: [other for other in self._lanes if other.state is state] for state in LaneState
        }
        places: dict[MeasuredClock, int | None] = dict.fromkeys(CLOCKS)
        if lane.state is LaneState.FINISHED:
            for clock in CLOCKS:
                mine = lane.clock(clock)
                if all(other.clock(clock) >= mine for other in others[LaneState.RACING]):
                    places[clock] = 1 + sum(
                        other.clock(clock) < mine for other in others[LaneState.FINISHED]
                    )
        return places

    def _results(self) -> tuple[Result, ...]:
        """The table at the end: finished lanes, fastest first. Speed-ups are over the vanilla AR
        lane of this race."""
        if self._state() not in (LaneState.FINISHED, LaneState.STOPPED):
            return ()
        done = sorted(
            (x for x in self._lanes if x.state is LaneState.FINISHED),
            key=lambda x: x.clock("seconds"),
        )
        ar = next((lane for lane in done if lane.decoder == "ar"), None)
        return tuple(lane.result(self._lanes.index(lane), ar) for lane in done)


class _BoardLane:
    """One lane: its figures, its step table as text, and its picture. `tokens` [h * w] are those
    known or committed and the standing drafts, -1 elsewhere."""

    def __init__(
        self,
        lane: TraceLane,
        name: str,
        grid: tuple[int, int],
        cells: tuple[int, ...],
        infilling: Infilling | None,
    ) -> None:
        self.decoder, self.rule, self.name = lane.decoder, rule_of(lane), name
        self.state, self.error = LaneState.WAITING, ""
        self.tokens = np.array(infilling.known if infilling else [MASKED] * (grid[0] * grid[1]))
        self.changed = False
        self._committed = self.tokens != MASKED
        self._known = int(self._committed.sum())
        self._cells, self._own = np.array(cells), lane.cells
        self._stats, self._table = LaneStats(), dict.fromkeys(SENT, "")
        self._pending: list[Step] = []  # not in the text yet
        self._picture = PictureRows(grid)

    def fold(self, frame: Frame) -> None:
        self.state, self.error = frame.state, frame.error or ""
        # Where a lane begins, what is known is drawn, if anything is; where it ends, the picture
        # without drafts is decoded and sent once more.
        if self._known or self.is_over:
            self.changed = True
        if frame.state in (LaneState.STOPPED, LaneState.FAILED):
            self.tokens[~self._committed] = -1
        if (step := frame.step) is None:
            return
        self.changed = True
        self._stats.add(step)
        self._pending.append(step)
        cells = self._cells[step.before :][: len(step.positions)]
        free = cells >= 0
        committed = cells[: len(step.committed)]
        self._committed[committed[committed >= 0]] = True
        # Drafts too: a convolutional decoder sees a few tokens around each.
        self.tokens[~self._committed] = -1
        self.tokens[cells[free]] = step.positions["token"][free]

    @property
    def is_over(self) -> bool:
        return self.state not in (LaneState.WAITING, LaneState.RACING)

    def clock(self, name: MeasuredClock) -> float:
        return self._stats.clock if name == "seconds" else self._stats.nfe

    def show(self, picture: np.ndarray, final: bool) -> None:
        self._picture.update(picture, self._committed, final)
        self.changed = False

    def snapshot(self, places: dict[MeasuredClock, int | None]) -> LaneSnapshot:
        decoder, stats = DECODERS[self.decoder], self._stats
        seconds = stats.seconds
        for name in SENT if self._pending else ():
            rows = b"".join(getattr(step.rows, name).tobytes() for step in self._pending)
            self._table[name] += base64.b64encode(rows).decode()
        self._pending.clear()
        return LaneSnapshot(
            decoder=self.decoder,
            rule=self.rule,
            own_cells=self._own,
            title=self.name,
            idea=decoder.idea,
            paper=decoder.paper,
            badge=decoder.badge,
            promise=PROMISES[decoder.badge],
            state=self.state,
            error=self.error,
            n=int(self._committed.sum()) - self._known,
            passes=stats.nfe,
            drafter=stats.drafter_passes,
            seconds=round(stats.clock, 4),
            compression=round(stats.step_compression, 3),
            shift=stats.shift and round(stats.shift, 5),
            split=(
                round(seconds.forward, 4),
                round(seconds.verify, 4),
                round(seconds.cache, 4),
                round(seconds.draft, 4),
            ),
            table=dict(self._table),
            picture_rows=tuple(self._picture.files),
            places=places,
        )

    def result(self, number: int, ar: _BoardLane | None) -> Result:
        """The row of lane `number`; a speed-up is None where no vanilla AR lane has finished.
        `differs` is the first cell at which a picture that promises to be vanilla AR's is not: in
        low precision a near tie can fall the other way."""
        differs: list[int] = []
        if ar is not None and DECODERS[self.decoder].badge is Badge.IDENTICAL:
            differs = np.flatnonzero(self.tokens != ar.tokens).tolist()
        stats, total = self._stats, self._stats.clock
        return Result(
            lane=number,
            compression=round(stats.step_compression, 3),
            length=round(stats.mean_acceptance_length, 3),
            passes=stats.nfe,
            drafter=stats.drafter_passes,
            seconds=round(total, 4),
            pass_ms=round(1000 * total / stats.nfe, 2),
            differs=differs[0] if differs else None,
            faster={
                clock: (
                    ar and round(ar.clock(clock) / self.clock(clock), 3)
                    if self.clock(clock)
                    else None
                )
                for clock in CLOCKS
            },
        )


def replay(recording: RecordedRace) -> Snapshot:
    """A whole recorded race as one snapshot, drawn without its model."""
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
    """What of a race's sampling is not its model's own: "guidance 3, top-k 100"."""
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
    """FNV-1a, 32 bits, over the tokens as 4 bytes each, little-endian: what the page calls the
    picture it has drawn."""
    value = 0x811C9DC5
    for token in tokens:
        for byte in int(token).to_bytes(4, "little"):
            value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{value:08x}"
