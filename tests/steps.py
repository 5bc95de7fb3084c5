"""Steps built from plain facts, and their rows read back as such: every number of a position by its
name, None where there is none, and q followed to where its source says it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.decoders import WHOLE
from engine.trace import Seconds, Status, Step, StepTable
from engine.trace.rows import DTYPES, TOP, Source
from engine.trace.shares import NONE, ONE
from engine.trace.steps import step_row

# As many decoders as a race has lanes; Relaxed SJD and SJD++ are SJD with other numbers, ZipAR
# vanilla AR in another order, Jacobi the fixed point's loop with fresh numbers.
LEFT_OUT = ("sjd-relaxed", "sjd-plus-plus", "zipar", "auto-correct", "jacobi")
EIGHT = tuple(name for name in WHOLE if name not in LEFT_OUT)
Top = tuple[tuple[int, float], ...]
NO_TIME = Seconds()
SHARES = ("top1", "top1_draft", "tv", "acceptance", "uniform", "p", "q", "shift")


@dataclass(frozen=True)
class Group:
    count: int
    tokens: tuple[int, ...]  # the draft first
    p: float
    q: float


@dataclass(frozen=True)
class Candidate:
    token: int
    p: float
    q: float
    acceptance: float
    uniform: float

    @property
    def accepted(self) -> bool:
        return self.uniform < self.acceptance


@dataclass(frozen=True)
class Rejection:
    uniform: float
    tokens: Sequence[int]
    p: Sequence[float]
    q: Sequence[float]


@dataclass(frozen=True)
class Spot:
    """What a step did at one position."""

    position: int
    draft: int | None
    token: int
    status: Status
    top1: float
    top1_draft: float | None = None
    tv: float | None = None
    acceptance: float | None = None
    p: float | None = None
    q: float | None = None
    uniform: float | None = None
    top: Top = ()
    top_draft: Top = ()
    group: Group | None = None
    candidates: tuple[Candidate, ...] = ()
    shift: float | None = None


def share(value: float | None) -> int:
    return NONE if value is None else int(np.rint(ONE * min(1.0, max(0.0, value))))


def value(stored: int) -> float | None:
    return None if stored == NONE else stored / ONE


def build(
    nfe: int,
    before: int,
    after: int,
    spots: Sequence[Spot],
    seconds: Seconds = NO_TIME,
    drafter_passes: int = 0,
    rejection: Rejection | None = None,
    earlier: Sequence[Step] = (),
) -> Step:
    """A step with these facts. A q that is the p of the position in `earlier` steps is stored as
    that."""
    assert [spot.position for spot in spots] == list(range(before, before + len(spots)))
    rows = np.zeros(len(spots), DTYPES["positions"])
    details: dict[str, list[np.ndarray]] = {
        name: [np.zeros(0, DTYPES[name])] for name in DTYPES if name not in ("steps", "positions")
    }
    for row, spot in zip(rows, spots, strict=True):
        row["draft"] = NONE if spot.draft is None else spot.draft
        row["token"], row["status"] = spot.token, spot.status
        for name in SHARES:
            row[name] = share(getattr(spot, name))
        _fill(row, spot.top)
        own = np.zeros(1, DTYPES["distributions"])
        _fill(own[0], spot.top_draft)
        source = _source(spot, own[0], row, earlier)
        if source is Source.OWN:
            details["distributions"].append(own)
        if spot.group:
            details["groups"].append(_group(spot.group))
        for candidate in spot.candidates:
            shares = [share(x) for x in dataclasses.astuple(candidate)[1:]]
            details["candidates"].append(
                np.array([(candidate.token, *shares, (0, 0))], DTYPES["candidates"])
            )
        row["refs"] = source | 4 * (spot.group is not None) | len(spot.candidates) << 4
    if rejection:
        found = np.zeros(1, DTYPES["rejections"])
        found["uniform"], found["tokens"] = rejection.uniform, NONE
        for name in ("tokens", "p", "q"):
            found[name][0, : len(rejection.tokens)] = getattr(rejection, name)
        details["rejections"].append(found)
    step = step_row(
        nfe,
        len(rows),
        len(rows),
        after - before,
        drafter_passes,
        seconds.micros,
        rejection is not None,
    )
    arrays = {name: np.concatenate(parts) for name, parts in details.items()}
    return Step.of(StepTable(before, step, rows, **arrays))


def retimed(step: Step, seconds: Seconds) -> Step:
    """The same step, with other times."""
    row = step_row(
        step.nfe,
        int(step.rows.steps["rows"][0]),
        len(step.positions),
        step.after - step.before,
        step.drafter_passes,
        seconds.micros,
        bool(step.rows.steps["rejected"][0]),
    )
    return Step.of(dataclasses.replace(step.rows, steps=row))


def spots(steps: Sequence[Step]) -> list[list[Spot]]:
    """What each of a lane's steps did, from its first step on."""
    latest: dict[int, Top] = {}
    return [_spots(step, latest) for step in steps]


def every(steps: Sequence[Step]) -> list[Spot]:
    """What a lane's steps did, one position after another."""
    return [spot for step in spots(steps) for spot in step]


def cells(positions: int, forced: Sequence[int] = ()) -> tuple[int, ...]:
    """A header's `cells` in raster order, with these positions forced."""
    free = iter(range(positions))
    return tuple(-1 if at in forced else next(free) for at in range(positions))


def _spots(step: Step, latest: dict[int, Top]) -> list[Spot]:
    out = []
    own, groups = iter(step.rows.distributions), iter(step.rows.groups)
    candidates = iter(step.rows.candidates)
    for at, row in zip(step.rows.position.tolist(), step.positions, strict=True):
        draft = None if row["draft"] == NONE else int(row["draft"])
        source = Source(int(row["refs"]) & 3)
        top_draft: Top = ()
        if source is Source.CERTAIN:
            top_draft = ((draft, 1.0),)
        elif source is Source.BEFORE:
            top_draft = latest[at]
        elif source is Source.OWN:
            top_draft = _top(next(own))
        latest[at] = _top(row)
        group = None
        if row["refs"] & 4:
            found = next(groups)
            others = [int(token) for token in found["neighbours"] if token != NONE]
            group = Group(
                int(found["count"]), (draft, *others), float(found["p"]), float(found["q"])
            )
        tried = [next(candidates) for _ in range(int(row["refs"]) >> 4)]
        out.append(
            Spot(
                at,
                draft,
                int(row["token"]),
                Status(int(row["status"])),
                **{name: value(int(row[name])) for name in SHARES},
                top=_top(row),
                top_draft=top_draft,
                group=group,
                candidates=tuple(
                    Candidate(
                        int(each["token"]),
                        *(value(int(each[name])) for name in ("p", "q", "acceptance", "uniform")),
                    )
                    for each in tried
                ),
            )
        )
    assert [next(rest, None) for rest in (own, groups, candidates)] == [None] * 3, "nothing is left"
    return out


def _fill(row: np.void, top: Top) -> None:
    row["top"] = [*(token for token, _ in top), *[NONE] * (TOP - len(top))]
    row["top_shares"] = [*(share(x) for _, x in top), *[0] * (TOP - len(top))]


def _top(row: np.void) -> Top:
    pairs = zip(row["top"].tolist(), row["top_shares"].tolist(), strict=True)
    return tuple((token, stored / ONE) for token, stored in pairs if token != NONE)


def _group(group: Group) -> np.ndarray:
    others = [*group.tokens[1:], *[NONE] * (TOP - len(group.tokens))]
    return np.array([(group.count, group.p, group.q, others)], DTYPES["groups"])


def _source(spot: Spot, own: np.void, row: np.void, earlier: Sequence[Step]) -> Source:
    if spot.draft is None or not spot.top_draft:
        return Source.NONE
    for step in reversed(earlier):
        if step.before <= spot.position < step.before + len(step.positions):
            latest = step.positions[spot.position - step.before]
            same = (own["top"] == latest["top"]).all()
            if same and (own["top_shares"] == latest["top_shares"]).all():
                return Source.BEFORE
            break
    certain = spot.top_draft == ((spot.draft, 1.0),)
    return Source.CERTAIN if certain else Source.OWN
