"""StepRecorder: fills a lane's step table.

On a CPU the recorder keeps the observations of many steps, and builds the rows of all of them when
one step's rows are asked for. Building a row takes about a hundred small operations. Run step by
step, they would cost a lane of short passes a third of its time.

On a GPU the recorder copies the numbers of every step to the host at once. The GPU's memory is for
the model, and a replayed graph overwrites the numbers of the step before.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.collect import Found, Observation, Packed, Rule, collect
from engine.decoders.decode_state import DecodeState
from engine.models.supply.card import not_numbers
from engine.trace.rows import DTYPES, SHARES, TOP, Source, Status
from engine.trace.seconds import Seconds
from engine.trace.shares import NONE, ONE, quantise, quantise_test
from engine.trace.steps import Step, StepTable, refs, step_row

MOST_BYTES = 8 * 2**20  # of distributions that are kept to be collected together


class _Made(NamedTuple):
    """A step whose rows have not been built yet.

    `seen` is the step's observation, `start` the frontier before the step, and `rows` the number of
    rows of its verification. `step` is its row of the step table, without the fields that are
    computed from the observation.
    """

    seen: Observation | Packed
    start: int
    rows: int
    step: np.ndarray


class StepRecorder:
    """Records the steps of one lane, in order, until it is closed."""

    def __init__(self, rule: Rule, state: DecodeState) -> None:
        self._rule, self._state = rule, state
        self._at_once = state.slot.keeps or state.n.device.type != "cpu"
        # For each position, the likeliest tokens of its latest p, and their shares; 0 at first.
        self._latest = np.zeros((state.plan.length, 2 * TOP), "<u2")
        self._tables: list[StepTable] = []  # of the steps so far
        self._pending: list[_Made] = []  # the steps after those, whose rows are not built yet
        self._bytes = 0
        self._lock = threading.Lock()  # a board may ask for rows while the lane goes on

    def observe(
        self, state: DecodeState, window: Window, verification: Verification
    ) -> Observation | Packed:
        """Return the part of a step that is recorded; a graph may capture this computation."""
        seen = Observation.of(window, verification)
        if not self._at_once:
            return seen
        return Packed.of(collect(self._rule, state, [seen], state.n.view(1)))

    def step(
        self,
        seen: Observation | Packed,
        window_rows: int,
        verification: Verification,
        count: int,
        seconds: Seconds,
    ) -> Step:
        """Return the step that committed the state's last `count` positions.

        Raises ModelError where p or q is NaN at one of the picture's positions.
        """
        state = self._state
        start, micros = state.frontier - count, seconds.micros
        self._check(seen, start)
        row = step_row(state.step, window_rows, 0, count, state.drafter_passes, micros, False)
        with self._lock:
            number = len(self._tables) + len(self._pending)
            self._pending.append(_Made(seen, start, len(verification.tokens), row))
            self._bytes += seen.bytes
            if self._bytes > MOST_BYTES:
                self._put_together()
        after, table = start + count, partial(self._table, number)
        return Step(state.step, start, after, state.drafter_passes, micros, table)

    def close(self) -> None:
        """Build the rows of all steps, and let go of the lane's tensors."""
        with self._lock:
            self._put_together()
        del self._state, self._rule

    def _check(self, seen: Observation | Packed, start: int) -> None:
        """Raise ModelError where p or q is NaN at a position of the picture.

        A row is either all finite or all NaN, so its largest entry or its first one tells.
        """
        if isinstance(seen, Packed):
            found = seen.read()
            position, (p, q) = found.position, found.top_shares[:, :, 0].T
        else:
            v, own = seen.verification, seen.details.q
            p, q = (each.numpy()[:, 0] for each in (v.p, seen.window.q if own is None else own))
            position = np.arange(start, start + len(p)) if v.places is None else v.places.numpy()
        for network, share in (("model", p), ("drafter", q)):
            at = position[: len(share)][np.isnan(share)]
            if len(inside := at[at < self._state.plan.length]):
                raise not_numbers(network, int(inside[0]))

    def _table(self, number: int) -> StepTable:
        with self._lock:
            if number >= len(self._tables):
                self._put_together()
            return self._tables[number]

    @torch.inference_mode()
    def _put_together(self) -> None:
        """Build the rows of the steps that have no rows yet."""
        if not (batch := self._pending):
            return
        numbers = [step.seen.read() for step in batch if isinstance(step.seen, Packed)]
        if seen := [step.seen for step in batch if isinstance(step.seen, Observation)]:
            starts = torch.tensor([step.start for step in batch])
            collected = collect(self._rule, self._state, seen, starts)
            numbers = [Found(*(part.numpy() for part in collected))]
        parts = Found(*map(_joined, zip(*numbers, strict=True)))
        in_order = self._state.in_order
        self._tables += _rows_of(batch, parts, self._latest, in_order=in_order).split()
        self._pending, self._bytes = [], 0


def priced(step: Step, prices: Tensor) -> Step:
    """Return a lane's last step with the prices of all positions [length]."""
    rows = np.zeros(len(prices), DTYPES["prices"])
    rows["shift"] = quantise(prices.double().cpu().numpy())
    return replace(step, table=lambda: replace(step.rows, prices=rows))


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate one field of the Founds of successive steps, padded to the widest array.

    The widths differ because steps without drafts have no support and no candidates. The padding
    is -1 for whole numbers, such as tokens, and 0 for all others.
    """
    if len(parts) == 1:
        return parts[0]
    widths = [max(width) for width in zip(*(part.shape[1:] for part in parts), strict=True)]
    none = -1 if parts[0].dtype.kind == "i" else 0
    joined, begin = np.full((sum(map(len, parts)), *widths), none, parts[0].dtype), 0
    for part in parts:
        joined[begin : begin + len(part), *map(slice, part.shape[1:])] = part
        begin += len(part)
    return joined


def _rows_of(
    batch: Sequence[_Made], numbers: Found[np.ndarray], latest: np.ndarray, *, in_order: bool
) -> StepTable:
    """Return the step table of successive steps, and update `latest` (`StepRecorder._latest`).

    `in_order` says whether the positions of a step are consecutive.
    """
    sizes = np.array([each.rows for each in batch])
    first = np.cumsum(sizes) - sizes
    steps = np.concatenate([each.step for each in batch])
    steps["positions"] = np.add.reduceat(numbers.kept, first, dtype=int)
    keep = np.arange(sizes.sum()) < (first + steps["positions"]).repeat(sizes)
    steps["rejected"] = numbers.replaced
    position = numbers.position[keep]
    places = np.zeros(0 if in_order else len(position), DTYPES["places"])
    if not in_order:
        places["position"] = position
    draft, token, status = numbers.whole[keep].T
    rows = np.zeros(len(draft), DTYPES["positions"])
    draft = np.where(draft < 0, NONE, draft)
    rows["draft"], rows["token"], rows["status"] = draft, token, status
    shares = numbers.shares[keep].T.astype(float)
    for name, share in zip(SHARES, quantise(shares), strict=True):
        rows[name] = share
    acceptance, uniform = (shares[SHARES.index(name)] for name in ("acceptance", "uniform"))
    rows["acceptance"], rows["uniform"] = quantise_test(acceptance, uniform)
    likeliest = numbers.top_shares[keep].astype(float)
    tokens = np.where(likeliest > 0, numbers.top[keep], NONE)
    tops = np.concatenate([tokens, quantise(likeliest)], -1).astype("<u2")
    p_top, q_top = tops.swapaxes(0, 1)
    rows["top"], rows["top_shares"] = p_top[:, :TOP], p_top[:, TOP:]
    source = find_sources(draft, q_top, _before(position, p_top, latest))
    own = q_top[source == Source.OWN]
    distributions = np.zeros(len(own), DTYPES["distributions"])
    distributions["top"], distributions["top_shares"] = own[:, :TOP], own[:, TOP:]
    grouped, groups = _groups(numbers, keep, ~np.isnan(uniform))
    tried, candidates = _candidates(numbers, keep)
    rows["refs"] = refs(source, grouped, tried)
    last = first + steps["committed"] - 1
    rejections = _rejections(numbers, numbers.shares[last, SHARES.index("uniform")])
    none = np.zeros(0, DTYPES["prices"])
    details = distributions, groups, candidates, rejections, none, places
    return StepTable(batch[0].start, steps, rows, *details)


def _before(position: np.ndarray, top: np.ndarray, latest: np.ndarray) -> np.ndarray:
    """Return, for each row, `top` of the previous row with the same position [R, 2 TOP].

    `top` [R, 2 TOP] has the likeliest tokens of each row's p and their shares. The first row of a
    position gets that position's entry in `latest`. The entry is then replaced by `top` of the
    position's last row.
    """
    order = position.argsort(kind="stable")
    same = position[order[1:]] == position[order[:-1]]
    before: np.ndarray = latest[position]
    before[order[1:][same]] = top[order[:-1][same]]
    latest[position] = top  # of rows of one position the last one stays
    return before


def _groups(
    numbers: Found[np.ndarray], keep: np.ndarray, tested: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which of the recorded rows have a group, and the groups of these rows."""
    if not len(numbers.group_counts):
        return np.zeros(len(tested), bool), np.zeros(0, DTYPES["groups"])
    counts = numbers.group_counts[keep]
    has = tested & (counts >= 1)
    groups = np.zeros(has.sum(), DTYPES["groups"])
    groups["count"], groups["neighbours"] = counts[has], NONE
    groups["p"], groups["q"] = numbers.group_masses[keep][has].T
    others = numbers.group_tokens[keep][has][:, 1:]  # behind the draft
    groups["neighbours"][:, : others.shape[1]] = np.where(others < 0, NONE, others)
    return has, groups


def _candidates(numbers: Found[np.ndarray], keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of candidates tried in each recorded row, and all these candidates."""
    free = keep & (numbers.whole[:, 2] != Status.FORCED)
    tried = (numbers.candidates >= 0) & free[:, None]
    p, q, acceptance, uniform = numbers.tests[tried].T.astype(float)
    candidates = np.zeros(len(p), DTYPES["candidates"])
    candidates["token"] = numbers.candidates[tried]
    candidates["p"], candidates["q"] = quantise(p), quantise(q)
    candidates["acceptance"], candidates["uniform"] = quantise_test(acceptance, uniform)
    return tried.sum(-1)[keep], candidates


def _rejections(numbers: Found[np.ndarray], uniform: np.ndarray) -> np.ndarray:
    """Return a row of DTYPES["rejections"] for each step that replaced a rejected draft.

    The draft stood at the step's last committed position. The row has the uniform number of the
    draft's test, and p and q of the likeliest tokens (`Found.support`). `uniform` [N] has the
    uniform number of each step's last committed position.
    """
    replaced = numbers.replaced
    p, q = numbers.support_shares[replaced].swapaxes(0, 1)
    tokens, held = numbers.support[replaced], p + q > 0
    order = np.where(held, tokens, NONE).argsort(-1, kind="stable")
    tokens, p, q, held = (np.take_along_axis(values, order, -1) for values in (tokens, p, q, held))
    rejections = np.zeros(len(tokens), DTYPES["rejections"])
    rejections["uniform"], rejections["tokens"] = uniform[replaced], NONE
    for name, values in (("tokens", tokens), ("p", p), ("q", q)):
        rejections[name][:, : held.shape[1]][held] = values[held]
    return rejections


def find_sources(draft: np.ndarray, top: np.ndarray, latest: np.ndarray) -> np.ndarray:
    """Return where the likeliest tokens of each draft's q are stored, a `Source` [N].

    `draft` [N] is NONE where there is no draft. `top` [N, 2 TOP] has the likeliest tokens of each q
    and their shares. `latest` [N, 2 TOP] has those of the latest p at the same position. Without a
    draft, or if `top` has no token, there is no source (NONE). If `top` and `latest` are equal, the
    source is that p (BEFORE). q and that p may differ on other tokens, but those are never stored.
    Otherwise the source is the draft itself if q is one-hot (CERTAIN), else a record of `top`
    (OWN).
    """
    before = (top == latest).all(-1)
    certain = (top[:, 0] == draft) & (top[:, 1] == NONE) & (top[:, TOP] == ONE)
    source = np.where(before, Source.BEFORE, np.where(certain, Source.CERTAIN, Source.OWN))
    return np.where((draft == NONE) | (top[:, 0] == NONE), Source.NONE, source)
