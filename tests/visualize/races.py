"""Races for tests of what draws them: real ones over the toy model, hand-made steps, and long ones
made up at a chosen size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from engine.infilling import Infilling
from engine.race import Lane, Race
from engine.race.request import parse_lane
from engine.settings import Sampling
from engine.trace import Frame, Header, LaneState, Seconds, Status, Step, StepTable, Trace
from engine.trace.shares import NONE
from engine.trace.steps import DTYPES, Source, refs, step_row
from tests.clocks import set_clocks
from tests.infill_toy import NeighbourToy
from tests.steps import Spot, build
from tests.toy import Toy

FIVE = ("ar", "sjd", "gsd", "lantern", "sjd-pac")
# positions touched, at the papers' settings
WINDOWS = {"ar": 1, "sjd": 16, "gsd": 16, "lantern": 6, "sjd-pac": 64}
# tokens committed, much as measured
PER_STEP = {"ar": 1.0, "sjd": 2.5, "gsd": 3.2, "lantern": 2.5, "sjd-pac": 5.5}
CODES = 16384


def toy_race(
    names: Sequence[str] = FIVE, *, side: int = 8, forced: bool = False, seed: int = 7
) -> Race:
    model = Toy((side, side), 16, forced=forced)
    return Race(model, [Lane(name) for name in names], "a prompt", seed, model.sampling)


def run(
    names: Sequence[str] = FIVE, *, side: int = 8, forced: bool = False, seed: int = 7
) -> tuple[Header, list[Frame]]:
    """A whole race on a toy of side x side tokens, by clocks that are set."""
    race = toy_race(names, side=side, forced=forced, seed=seed)
    with set_clocks():
        return race.header, list(race)


def toy_trace(
    names: Sequence[str] = FIVE, *, side: int = 4, forced: bool = False, **milliseconds: float
) -> tuple[Trace, Toy]:
    """A whole race on a toy, by clocks that are set, and the toy."""
    race = toy_race(names, side=side, forced=forced)
    with set_clocks(**milliseconds):
        return race.trace(list(race)), race.model


MASK = tuple(2 <= cell // 6 < 5 and 1 <= cell % 6 < 5 for cell in range(36))  # of 6 x 6 tokens


def filled_trace(names: Sequence[str] = ("ar", "assd"), **milliseconds: float) -> tuple[Trace, Toy]:
    """A race that fills in a part of 6 x 6 tokens, and the toy."""
    infilling = Infilling.of_mask([5 * cell % 16 for cell in range(36)], MASK)
    lanes = [parse_lane(name) for name in names]
    race = Race(NeighbourToy(), lanes, "a prompt", 7, infilling=infilling)
    with set_clocks(**milliseconds):
        return race.trace(list(race)), race.model


def pixels(tokens: np.ndarray) -> np.ndarray:
    """Tokens int [B, h, w] to patches of 8 x 8 pixels, one colour a token, uint8 [B, 8h, 8w, 3]."""
    colours = np.stack([tokens * 37 % 256, tokens * 91 % 256, tokens * 151 % 256], -1).astype(
        np.uint8
    )
    return colours.repeat(8, 1).repeat(8, 2)


def step(
    before: int, after: int, *, drafts: int = 0, nfe: int = 1, seconds: float = 1.0, token: int = 3
) -> Step:
    """A hand-made step: everything committed was accepted, every draft refined."""
    spots = [
        Spot(
            at,
            token,
            token,
            Status.ACCEPTED if at < after else Status.REFINED,
            0.5,
            0.5,
            0.25,
            0.75,
        )
        for at in range(before, after + drafts)
    ]
    return build(nfe, before, after, spots, Seconds(forward=seconds))


def frame(lane: int, step: Step, length: int) -> Frame:
    return Frame(lane, LaneState.FINISHED if step.after == length else LaneState.RACING, step)


def made_up(side: int) -> tuple[Header, list[list[Step]]]:
    """The header and each lane's steps of a race of side x side tokens that no model ran, with
    windows and steps as large as the decoders' and a record of everything at every position."""
    cells = side * side
    header = Header(
        "a prompt",
        1,
        "made up",
        (side, side),
        CODES,
        tuple(range(cells)),
        Sampling(),
        tuple(Lane(name).plain() for name in FIVE),
        "none",
    )
    return header, [list(_made_up(name, cells)) for name in FIVE]


def _made_up(name: str, cells: int) -> Iterator[Step]:
    random, reach, frontier, nfe = np.random.default_rng(len(name)), 0, 0, 0
    while frontier < cells:
        size = min(cells - frontier, WINDOWS[name])
        count = min(size, 1 if name == "ar" else int(random.geometric(1 / PER_STEP[name])))
        rows = _shares(random, np.zeros(size, DTYPES["positions"]))
        rows["token"], rows["status"] = rows["top"][:, 0], Status.REFINED
        rows["draft"], rows["status"][:count] = rows["token"], Status.ACCEPTED
        seen = np.arange(frontier, frontier + size) < reach
        source = np.where(seen, Source.BEFORE, Source.CERTAIN)
        none = StepTable.join([]).arrays()
        details = {"distributions": none["distributions"], "rejections": none["rejections"]}
        if name == "ar":
            rows["draft"], source[:] = NONE, Source.NONE
        if name == "lantern":
            source[:] = Source.OWN
            details["distributions"] = _shares(random, np.zeros(size, DTYPES["distributions"]))
        grouped = np.full(size, name in ("gsd", "lantern"))
        details["groups"] = np.zeros(grouped.sum(), DTYPES["groups"])
        details["groups"]["count"], details["groups"]["p"] = 40, 0.5
        tried = 4 * (np.arange(size) < 3) * (name == "sjd-pac")
        details["candidates"] = _shares(random, np.zeros(tried.sum(), DTYPES["candidates"]))
        rows["refs"] = refs(source, grouped, tried)
        nfe += 1
        times = Seconds(*random.random(4).tolist())
        head = step_row(nfe, size, size, count, 0, times, rejected=False)
        yield Step(StepTable(frontier, head, rows, **details))
        frontier, reach = frontier + count, frontier + size


def _shares(random: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """Fills every field with random codes or shares."""
    for name in rows.dtype.names:
        most = CODES if name in ("top", "token") else NONE
        rows[name] = random.integers(most, size=rows[name].shape)
    return rows


def photograph(side: int, patch: int) -> Callable[[np.ndarray], np.ndarray]:
    """A `pixels` for tokens int [B, side, side] whose pictures compress much as photographs do (1/f
    noise), each patch a little brighter or darker by its token and by its neighbours', as a
    convolutional decoder makes them."""
    random, size = np.random.default_rng(0), side * patch
    frequency = np.hypot(np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)[None])
    frequency[0, 0] = np.inf
    planes = [
        np.fft.irfft2(np.fft.rfft2(random.normal(size=(size, size))) / frequency, (size, size))
        for _ in range(3)
    ]
    noise = np.stack(planes, -1)
    noise = (
        (128 + noise * 45 / noise.std())
        .clip(30, 225)
        .astype(np.uint8)
        .reshape(1, side, patch, side, patch, 3)
    )

    def draw(tokens: np.ndarray) -> np.ndarray:
        shift = tokens % 23 - 11
        shift = shift + (np.roll(shift, 1, -1) + np.roll(shift, -1, -1)) // 4
        # modulo 256: darker comes out right
        light = shift.astype(np.uint8)[:, :, None, :, None, None]
        return (noise + light).reshape(len(tokens), size, size, 3)

    return draw
