"""Parallel rows and ZipAR on every model that reads tokens alone, against one pass of transformers'
own layers over all that any pass has read: what that is, and who sees what, is written out from the
trace alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.core import Verification
from engine.decoders.front_state import FrontState
from engine.decoders.rows import ParallelRows, RowsAtOnce
from engine.decoders.zipar import ZipAR
from engine.models.context import guide
from engine.settings import Sampling
from engine.trace import Step
from tests.engine.decoders import planted_rows
from tests.engine.models.families import RASTER, Tiny
from tests.floats import EXACT
from tests.steps import Spot, spots
from tests.variants import further

KNOBS = [
    {"c": 1, "window": 3},
    {"c": 2, "window": 4, "draws": "fresh"},
    {"c": 1, "window": 2, "lower_rows": "postponed"},
    {"c": 9, "window": 3},
    {"s": 2},
]
# With each: whether there is guidance, and for how many tokens alone.
CASES = [(KNOBS[0], True, 7), (KNOBS[2], False, 0), (KNOBS[3], True, 0), (KNOBS[4], True, 7)]
MORE_CASES = [(KNOBS[0], False, 0), (KNOBS[1], True, 7)]
BUGS = (planted_rows.OthersDraftsVisible, planted_rows.BorrowedKept, planted_rows.EndNotRead)


@dataclass
class Reader:
    """All tokens that any pass reads, in the order in which it does: the place in the picture of
    each, its id, and which of those before it it sees. `kept` are those that stay, `drawn` the
    picture so far."""

    stride: int
    forced: list[int]
    places: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    sees: list[list[int]] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    drawn: dict[int, int] = field(default_factory=dict)

    def add(self, place: int, token: int) -> int:
        self.places.append(place)
        self.ids.append(self.forced[place] if self.forced[place] >= 0 else token)
        self.sees.append([])
        return len(self.ids) - 1

    def root(self, first: int) -> int | None:
        """What stands before a row's first spot; None for the prompt's last token."""
        if first == 0:
            return None
        newest = max(at for at in self.drawn if at // self.stride == (first - 1) // self.stride)
        return self.add(first - 1, self.drawn[newest])

    def read(self, found: list[Spot], committed: int) -> list[tuple[Spot, int | None]]:
        """Takes a pass in. Which token each spot's distribution comes from, None for the prompt's
        last."""
        rows: dict[int, list[Spot]] = {}
        for spot in sorted(found, key=lambda spot: spot.position):
            rows.setdefault(spot.position // self.stride, []).append(spot)
        windows, roots, stay = [], list[int](), list[int]()
        last = min(rows) - 1  # of a row that has ended, the last token, which no pass has kept
        end = last * self.stride + self.stride - 1
        begun = min(rows) * self.stride in self.drawn
        if begun and last >= 0 and end not in {self.places[n] for n in self.kept}:
            roots.append(self.add(end, self.drawn[end]))
            stay.append(roots[0])
        done = {spot.position for spot in found[:committed]}
        for row in rows.values():
            first = row[0].position
            borrowed = first and first - 1 not in self.drawn
            window = [self.root(first)]
            window += [self.add(spot.position, spot.draft) for spot in row[:-1]]
            windows.append((row, window))
            roots += [n for n in window[:1] if n is not None]
            count = sum(spot.position in done for spot in row)
            stay += [n for n in window[borrowed:count] if n is not None]
        for n in roots:
            self.sees[n] = [*self.kept, *roots]
        for _, window in windows:
            for i, n in enumerate(window[1:], 1):
                self.sees[n] = [*self.kept, *roots, *window[1 : i + 1]]
        self.kept += stay
        self.drawn |= {spot.position: spot.token for spot in found[:committed]}
        return [pair for row, window in windows for pair in zip(row, window, strict=True)]

    @property
    def mask(self) -> Tensor:
        """Bool [n, n]: of what each sees, those that stand no later in the picture."""
        seen = torch.eye(len(self.ids), dtype=torch.bool)
        for n, others in enumerate(self.sees):
            seen[n, [other for other in others if self.places[other] <= self.places[n]]] = True
        return seen


def library_logits(tiny: Tiny, prompt: str, guided: bool, reader: Reader) -> Tensor:
    """Logits [R, 1 + n, V] behind the prompt's last token and behind all that was read."""
    model = tiny.model
    begin, start = tiny.rows(prompt, guided)
    count, before = begin.shape[:2]
    places = torch.tensor(reader.places)
    read = model.embed(torch.tensor(reader.ids), places).expand(count, -1, -1)
    whole = torch.ones(before + len(places), before + len(places), dtype=torch.bool).tril()
    whole[before:, before:] = reader.mask
    padding = torch.arange(len(whole)) < torch.tensor(start)[:, None, None]
    seen = (whole & ~padding) | torch.eye(len(whole), dtype=torch.bool)
    least = torch.finfo(torch.float64).min
    mask = torch.zeros(seen.shape, dtype=torch.float64).masked_fill_(~seen, least)
    slots = torch.cat([torch.arange(before), before + places]).expand(count, -1)
    if tiny.card.family != "llamagen":  # whose padding has places
        slots = (slots - torch.tensor(start)[:, None]).clamp_min(0)
    states = model.body(
        inputs_embeds=torch.cat([begin, read], 1),
        attention_mask=mask[:, None],
        position_ids=slots,
        use_cache=False,
    ).last_hidden_state
    return model.head(states[:, before - 1 :])


def watched(kind: type[RowsAtOnce]) -> type[RowsAtOnce]:
    """One that keeps the distributions of its passes, in the order of a step's rows, and how many
    rows of the batch gave them."""

    class Watched(kind):
        def verify_logits(self, state: FrontState, *read: Any) -> tuple[Verification, Tensor]:
            verification, outcome = super().verify_logits(state, *read)
            self.found = [*getattr(self, "found", []), verification.p]
            self.batch = [*getattr(self, "batch", []), state.ctx.batch]
            return verification, outcome

    return Watched


def compared(
    tiny: Tiny, kind: type[RowsAtOnce], knobs: dict[str, Any], sampling: Sampling, prompt: str
) -> Iterator[tuple[Step, list[tuple[Spot, Tensor, Tensor]]]]:
    """Every step with, of each position that it touched and nothing forces, the p that was found
    and the one that transformers' layers give."""
    model = tiny.model
    decoder = watched(kind)(model, kind.Settings(**knobs), sampling)
    steps = list(decoder.steps(prompt, 3))
    reader = Reader(model.plan.stride, tiny.forced_ids)
    guided = 0 if sampling.guidance == 1 else sampling.guided_tokens or model.plan.length
    passes = []
    for step, found, batch in zip(steps, spots(steps), decoder.batch, strict=True):
        missing = min({*range(model.plan.length)} - reader.drawn.keys())
        assert batch == 1 + (missing < guided)
        passes.append((step, dict(reader.read(found, step.after - step.before)), found))
    logits = library_logits(tiny, prompt, sampling.guidance != 1, reader)
    mixed, alone = guide(logits, sampling.guidance), logits[0]
    for (step, sources, found), p in zip(passes, decoder.found, strict=True):
        rows = []
        for n, spot in enumerate(found):
            source = sources[spot]
            expected = mixed if spot.position < guided else alone
            if tiny.forced_ids[spot.position] < 0:
                own = expected[0 if source is None else 1 + source]
                rows.append((spot, p[n], torch.softmax(own, -1)))
        yield step, rows


@pytest.fixture(params=RASTER)
def tiny(request: pytest.FixtureRequest) -> Tiny:
    return RASTER[request.param]


@pytest.mark.parametrize(
    ("knobs", "guided", "guided_tokens"), [*CASES, *further(*MORE_CASES)], ids=str
)
@torch.inference_mode()
def test_a_row_attends_to_what_is_there_before_it_in_raster_order_and_to_its_own_drafts(
    tiny: Tiny, knobs: dict[str, Any], guided: bool, guided_tokens: int
) -> None:
    sampling = Sampling(tiny.guidance if guided else 1.0, guided_tokens, top_k=0)
    kind, lag = (ZipAR, knobs["s"]) if "s" in knobs else (ParallelRows, knobs["c"])
    for prompt in tiny.prompts[:2]:
        tokens, at_once = dict[int, int](), 0
        for step, rows in compared(tiny, kind, knobs, sampling, prompt):
            for spot, found, expected in rows:
                torch.testing.assert_close(found, expected, **EXACT, msg=str(spot))
            table = step.rows
            at_once = max(at_once, len({*(table.position // tiny.model.plan.stride)}))
            committed = table.position[table.committed].tolist()
            tokens |= zip(committed, step.committed["token"].tolist(), strict=True)
        assert (at_once > 1) == (lag < tiny.card.grid[1])
        for at, forced in enumerate(tiny.forced_ids):
            assert tokens[at] == forced if forced >= 0 else 0 <= tokens[at] < tiny.card.codes


@pytest.mark.parametrize("bug", BUGS)
@torch.inference_mode()
def test_a_row_that_attends_to_something_else_is_found(bug: type[ParallelRows]) -> None:
    sampling = Sampling(1.0, 0, top_k=0)
    passes = compared(RASTER["embedded"], bug, KNOBS[0], sampling, "cat on red")
    off = [(p - expected).abs().max() for _, rows in passes for _, p, expected in rows]
    assert max(off) > 1e-3
