"""BoardLane: one lane of the board."""

from __future__ import annotations

import base64

import numpy as np

from engine.decoders import DECODERS, VERDICTS, decoder_of, is_claim, lane_badge
from engine.decoders.base import Badge
from engine.decoders.paper_figures import PaperFigure
from engine.infilling import MASKED
from engine.race.request import rule_of
from engine.trace import Frame, Header, LaneState, LaneStats, Step, StepTable
from engine.trace.rows import SENT
from visualize.board.snapshot import (
    CLOCKS,
    LaneFigures,
    LaneSnapshot,
    LaneUpdate,
    MeasuredClock,
    PaperMark,
    Result,
)
from visualize.pictures.patches import LanePatches
from visualize.pictures.picture import final_webp

PROMISES = {
    Badge.IDENTICAL: "Token for token the picture that vanilla AR draws from this seed.",
    Badge.ROUNDED: (
        "The picture that vanilla AR draws from this seed, unless half precision decides a near"
        " tie differently."
    ),
    Badge.SAME_DISTRIBUTION: (
        "A different picture from vanilla AR's for this seed, drawn with exactly the same"
        " probabilities."
    ),
    Badge.CHANGED_DISTRIBUTION: (
        "Drawn with probabilities that differ from the model's own: the price of its speed."
    ),
    Badge.NOT_JUDGED: (
        "This machine has no such decoder, so nothing is known about its distribution."
    ),
}


def promise_of(name: str, badge: Badge) -> str:
    """Return a sentence on how a lane's pictures or their probabilities relate to vanilla AR's.

    `name` is the lane's decoder, and `badge` is the lane's badge.
    """
    if verdict := VERDICTS.get(name):
        rounded = f" {PROMISES[badge]}" if badge is Badge.ROUNDED else ""
        return verdict.sentence + rounded
    if name in DECODERS and badge is Badge.NOT_JUDGED:
        return (
            f"A decoder from outside, not judged. Its author says: {DECODERS[name].badge.value}."
            " Run photo-finish judge FILE, then restart the page."
        )
    return PROMISES[badge]


def marked(figure: PaperFigure) -> PaperMark:
    words = f"{figure.value:g} {figure.measure.removeprefix('tokens ')}"
    return PaperMark(words=words, source=figure.source, paper=figure.paper)


class BoardLane:
    """Lane `number` of a race: its figures, its step table as base64, and its picture.

    The attribute `tokens`, int [h * w], has each grid cell's token, if it is known or committed,
    or its draft of the latest step. It is -1 in all other cells. `figure` is the result that a
    paper reports for a lane with this decoder and these settings.
    """

    def __init__(
        self, header: Header, number: int, name: str, figure: PaperFigure | None = None
    ) -> None:
        lane, grid, infilling = header.lanes[number], header.grid, header.infilling
        self.decoder = lane.decoder
        self.badge = lane_badge(lane.decoder, header.dtype)
        self.rule = rule_of(lane)
        self.name = name
        self._published = marked(figure) if figure else None
        self.state = LaneState.WAITING
        self.error = ""
        self.tokens = np.array(infilling.known if infilling else [MASKED] * (grid[0] * grid[1]))
        self.needs_picture = False
        self._committed = self.tokens != MASKED
        self._known = int(self._committed.sum())
        self.patches = LanePatches(self._committed, grid)
        self._cells = np.array(header.cells_of(number))
        self._own_cells = lane.cells
        self._stats = LaneStats()
        self._table = dict.fromkeys(SENT, "")
        self._pending: list[Step] = []  # steps whose rows are not read yet
        self._new = dict.fromkeys(SENT, b"")  # rows that are read, but not in the table's text yet
        self.picture: np.ndarray | None = None
        self._file = ""  # the picture as base64
        self._sent: LaneFigures | None = None
        self._sent_file = ""

    def fold(self, frame: Frame) -> None:
        # A lane that begins shows its known cells, if it has any. A lane that ends shows its
        # picture without drafts.
        self.needs_picture |= frame.state is not self.state and bool(self._known)
        self.state, self.error = frame.state, frame.error or ""
        if (step := frame.step) is not None:
            self._stats.add(step)
            self._pending.append(step)
        self.needs_picture |= self.is_over and bool(self._known or self._stats.frontier)

    def read(self) -> None:
        """Read the rows of the steps that were folded since the last call.

        Reading many steps at once takes less time than reading them one by one.
        """
        if self._pending:
            self._take(StepTable.join([step.rows for step in self._pending]))
            self._pending.clear()
        if self.state in (LaneState.STOPPED, LaneState.FAILED):
            self.tokens[~self._committed] = -1

    def _take(self, table: StepTable) -> None:
        for name in SENT:
            self._new[name] += getattr(table, name).tobytes()
        cells, tokens = self._cells[table.position], table.positions["token"]
        committed = table.committed & (cells >= 0)
        self._committed[cells[committed]] = True
        self.tokens[cells[committed]] = tokens[committed]
        # The newest drafts are kept too, since a convolutional decoder sees a few tokens around
        # each cell.
        self.tokens[~self._committed] = -1
        standing = (cells >= 0) & ~table.committed & (table.step == len(table) - 1)
        self.tokens[cells[standing]] = tokens[standing]

    @property
    def is_racing(self) -> bool:
        return self.state is LaneState.RACING

    @property
    def is_over(self) -> bool:
        return self.state not in (LaneState.WAITING, LaneState.RACING)

    def clock(self, name: MeasuredClock) -> float:
        return self._stats.clock if name == "seconds" else self._stats.nfe

    def show(self, picture: np.ndarray) -> None:
        self.picture = picture
        self._file = base64.b64encode(final_webp(picture)).decode()
        self.needs_picture = False

    def snapshot(self, places: dict[MeasuredClock, int | None]) -> LaneSnapshot:
        decoder = decoder_of(self.decoder)
        self._new_rows()
        self._sent, self._sent_file = self._figures(places), self._file
        return LaneSnapshot(
            **dict(self._sent),
            decoder=self.decoder,
            rule=self.rule,
            own_cells=self._own_cells,
            title=self.name,
            idea=decoder.idea,
            paper=decoder.paper,
            badge=self.badge,
            promise=promise_of(self.decoder, self.badge),
            published=self._published,
            table=dict(self._table),
            picture=self._file,
        )

    def update(
        self, number: int, places: dict[MeasuredClock, int | None], cells: tuple[int, ...]
    ) -> LaneUpdate | None:
        """Return the update of this lane, which is lane `number`; None if nothing is new.

        `cells` are the cells with new pictures.
        """
        rows, figures = self._new_rows(), self._figures(places)
        picture = "" if self._file == self._sent_file else self._file
        if not (rows or cells or picture or figures != self._sent):
            return None
        self._sent, self._sent_file = figures, self._file
        return LaneUpdate(**dict(figures), lane=number, table=rows, cells=cells, picture=picture)

    def _new_rows(self) -> dict[str, str]:
        """Return the rows that were read since the last call, as base64 by the name of their table.

        Tables without new rows are left out. The base64 is also added to the end of each table's
        text in `_table`, which every snapshot has in full.
        """
        rows = {}
        for name, new in self._new.items():
            if new:
                rows[name] = base64.b64encode(new).decode()
                self._table[name] += rows[name]
                self._new[name] = b""
        return rows

    def _figures(self, places: dict[MeasuredClock, int | None]) -> LaneFigures:
        stats = self._stats
        if is_claim(self.decoder, shift := stats.mean_shift()):
            shift = None
        return LaneFigures(
            state=self.state,
            error=self.error,
            n=int(self._committed.sum()) - self._known,
            passes=stats.nfe,
            drafter=stats.drafter_passes,
            seconds=round(stats.clock, 6),  # whole microseconds
            compression=round(stats.step_compression, 3),
            shift=shift and round(shift, 5),
            places=places,
        )

    def result(self, number: int, ar: BoardLane | None) -> Result:
        """Return the row of this lane, which is lane `number`, in the table of results.

        Speed-ups are relative to the lane `ar`, and None if `ar` is None. If this lane promises
        vanilla AR's picture, `equal` counts the drawn tokens that equal those of `ar`, and
        `differs` is the first cell whose token does not. Tokens can differ in low precision, where
        rounding decides between two codes that are almost equally likely.
        """
        equal = differs = None
        identical = self.badge in (Badge.IDENTICAL, Badge.ROUNDED)
        if ar is not None and self.decoder != ar.decoder and identical:
            same = self.tokens == ar.tokens
            equal = int(same.sum()) - self._known
            differs = None if same.all() else int(same.argmin())
        stats = self._stats
        return Result(
            lane=number,
            compression=round(stats.step_compression, 3),
            length=round(stats.mean_acceptance_length, 3),
            passes=stats.nfe,
            drafter=stats.drafter_passes,
            seconds=round(stats.clock, 6),
            pass_ms=round(1000 * stats.clock / stats.nfe, 2),
            equal=equal,
            differs=differs,
            faster={clock: self._faster(clock, ar) for clock in CLOCKS},
        )

    def _faster(self, clock: MeasuredClock, ar: BoardLane | None) -> float | None:
        if ar is None or not self.clock(clock):
            return None
        return round(ar.clock(clock) / self.clock(clock), 3)
