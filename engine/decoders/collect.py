"""What is recorded of steps, computed on the device: from verifications to numbers for the host.

Of many steps it takes hardly longer than of one, since most of it is the launching of operations;
StepRecorder says how many are collected together.

Shapes: N steps, R rows of all of them, one step's after another's, V codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.clock import to_host
from engine.core import Diagnostics, Verification, Window
from engine.decoders.decode_state import DecodeState
from engine.models.base import host_rows
from engine.numerics.distributions import gather, total_variation
from engine.trace import Status
from engine.trace.rows import SUPPORT, TOP

TESTS_AT_ONCE = 64  # whose shifts are computed together: more do not fit a processor's cache


class Rule(Protocol):
    """What recording asks of a decoder; `WindowDecoder` says what each method gives."""

    def shift(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor: ...

    def groups(self, p: Tensor, q: Tensor, x: Tensor) -> Tensor | None: ...


@dataclass(frozen=True, slots=True)
class Observation:
    """What a step leaves to be recorded, where that is done later."""

    window: Window
    verification: Verification
    details: Diagnostics

    def to_host(self) -> Observation:
        return self  # it is there

    @staticmethod
    def of(window: Window, verification: Verification) -> Observation:
        """The details are values, and hold on to nothing that the rule walked through."""
        details = verification.diagnostics()
        return Observation(window, replace(verification, diagnostics=Diagnostics), details)

    @property
    def bytes(self) -> int:
        """What its tensors keep in memory."""
        parts = self.window, self.verification, self.details
        held = [getattr(part, each.name) for part in parts for each in fields(part)]
        tensors = [each for each in held if isinstance(each, Tensor)]
        return sum({each.data_ptr(): each.nbytes for each in tensors}.values())


@dataclass(frozen=True, slots=True)
class Found:
    """What is recorded of steps, on the host, float64: count [N]; `whole`: draft or -1, token,
    status [R, 3]; `shares` [R, SHARES]; `top` and `top_shares`, the likeliest tokens of p and of q
    and their shares [R, 2, TOP]; `replaced` [N], whether the last committed token replaced a
    rejected draft, and if so `support` [N, 3, SUPPORT or fewer]: tokens, p and q of that test;
    groups [R, 3 + TOP or fewer] and candidates [levels of all steps, K, 6] as in Diagnostics;
    places [R] of positions that do not follow one another, else [0]."""

    count: np.ndarray
    whole: np.ndarray
    shares: np.ndarray
    top: np.ndarray
    top_shares: np.ndarray
    replaced: np.ndarray
    support: np.ndarray
    groups: np.ndarray
    candidates: np.ndarray
    places: np.ndarray = field(default_factory=partial(np.zeros, 0))

    @staticmethod
    def join(parts: Sequence[Found]) -> Found:
        """Those of steps that follow one another as one."""
        if len(parts) == 1:
            return parts[0]
        return Found(
            *(_joined([getattr(part, each.name) for part in parts]) for each in fields(Found))
        )


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Steps without drafts have no support and no candidates: it is all as wide as the widest."""
    shapes = np.array([part.shape[1:] for part in parts], int)
    joined = np.zeros((sum(map(len, parts)), *shapes.max(0)))
    begin = 0
    for part in parts:
        where = tuple(map(slice, part.shape[1:]))
        joined[begin : begin + len(part)][:, *where] = part
        begin += len(part)
    return joined


@dataclass(frozen=True, slots=True)
class Packed:
    """A Found as one tensor `flat`, for one copy. `shapes` are its parts'; `levels` is how many of
    the candidates' are each step's [N]."""

    shapes: dict[str, torch.Size]
    flat: Tensor
    levels: tuple[int, ...]

    @staticmethod
    def of(parts: dict[str, Tensor], levels: tuple[int, ...]) -> Packed:
        # Whole numbers below 2**53 and float32 both fit a float64.
        flat = torch.cat([part.double().view(-1) for part in parts.values()])
        return Packed({name: part.shape for name, part in parts.items()}, flat, levels)

    @property
    def bytes(self) -> int:
        """What it keeps in memory."""
        return self.flat.nbytes

    def to_host(self) -> Packed:
        """On its way to the host, where it may be read after the next wait."""
        return replace(self, flat=to_host(self.flat))

    def read(self) -> Found:
        pieces = torch.split(self.flat, [shape.numel() for shape in self.shapes.values()])
        return Found(
            **{
                name: piece.numpy().reshape(shape)
                for (name, shape), piece in zip(self.shapes.items(), pieces, strict=True)
            }
        )


class _Rows:
    """The rows of some steps of one lane, [R] one step's after another's. `places` are their
    positions, where these do not follow one another. `q` [R, V] is 0 where nothing was drafted;
    None: no step drafted anything. `i`: a row's number in its step; `inside`: rows before the
    picture's last position, which is never drafted; `judged`: those of them with a draft; `tested`:
    those of which a test committed something."""

    def __init__(
        self, state: DecodeState, observations: Sequence[Observation], starts: Tensor
    ) -> None:
        made = [each.verification for each in observations]
        self.details = [each.details for each in observations]
        qs = [
            each.window.q if detail.q is None else detail.q
            for each, detail in zip(observations, self.details, strict=True)
        ]
        sizes = [len(each.tokens) for each in made]
        self.first = _first(sizes)

        def joined(name: str) -> Tensor:
            return _cat([getattr(verification, name) for verification in made])

        def each_row(numbers: Sequence[Tensor]) -> Tensor:
            """A number of each step [0-dim], for each of its rows."""
            return _cat([number.expand(size) for number, size in zip(numbers, sizes, strict=True)])

        counts = [verification.count for verification in made]
        self.counts, self.p = torch.stack(counts), joined("p")
        self.sizes, self.q = sizes, _given(qs, sizes)
        self.i = _cat([state.offsets(size) for size in sizes])
        own = made[0].places is not None  # of one lane all have them, or none
        places = joined("places") if own else self.i + each_row(starts.unbind())
        self.places = places if own else None
        last = state.plan.length - 1
        self.inside, positions = places < last, places.clamp_max(last)
        forced = state.forced(positions)
        drafts = _cat([_drafts(each) for each in observations])
        self.judged = self.inside & (drafts >= 0)
        free = self.judged if forced is None else self.judged & ~forced
        self.tested = free & (self.i < each_row(counts))
        self.drafts = torch.where(self.judged, drafts, 0)
        self.tokens = state.ids(joined("tokens"), positions)
        self.status = joined("status")
        if forced is not None:
            self.status = torch.where(forced, int(Status.FORCED), self.status)
        self.acceptance = torch.where(self.judged, joined("acceptance"), torch.nan)
        self.uniform = torch.where(free, joined("uniform"), torch.nan)


def collect(
    rule: Rule, state: DecodeState, observations: Sequence[Observation], starts: Tensor
) -> Packed:
    """What is recorded of steps of one lane; `starts` [N] are the frontiers before them. With
    static shapes, of one step: all its rows are computed then, and else those alone that are
    recorded."""
    rows = _Rows(state, observations, starts)
    chosen = partial(host_rows, state.model)
    p, q, most = rows.p, rows.q, min(TOP, rows.p.shape[-1])
    top_p, tokens_p = p.topk(most)
    unknown = torch.full_like(top_p[:, 0], torch.nan)
    top_q, tokens_q, drafted = torch.zeros_like(top_p), torch.zeros_like(tokens_p), [unknown] * 5
    if q is not None:
        top_q, tokens_q = q.topk(most)
        top_q = top_q * rows.inside[:, None]
        has_q = top_q[:, 0] > 0
        drafted = [
            torch.where(has_q, top_q[:, 0], torch.nan),
            torch.where(has_q, total_variation(p, q), torch.nan),
            torch.where(rows.judged, gather(p, rows.drafts), torch.nan),
            torch.where(rows.judged, gather(q, rows.drafts), torch.nan),
            torch.where(rows.tested, _shift(rule, rows, q, chosen(rows.tested)), torch.nan),
        ]
    top1_q, tv, *of_draft = drafted
    shares = [top_p[:, 0], top1_q, tv, rows.acceptance, rows.uniform, *of_draft]
    last = rows.counts - 1 + rows.first
    replaced = (rows.status == int(Status.RESAMPLED)) & rows.judged & ~rows.uniform.isnan()
    replaced = replaced[last]
    if rows.places is not None:  # a step may have a rejection in each row of the picture
        replaced = torch.zeros_like(replaced)
    candidates = [d.candidates for d in rows.details if d.candidates is not None]
    return Packed.of(
        {
            "count": rows.counts,
            "whole": torch.stack(
                [torch.where(rows.judged, rows.drafts, -1), rows.tokens, rows.status], 1
            ),
            "shares": torch.stack(shares, 1),
            "top": _padded(torch.stack([tokens_p, tokens_q], 1)),
            "top_shares": _padded(torch.stack([top_p, top_q], 1)),
            "replaced": replaced,
            "support": _support(rows, last, chosen(replaced)),
            "groups": _groups(rule, rows, chosen(~rows.uniform.isnan())),
            "candidates": _wide(candidates) if candidates else p.new_zeros(0, 0, 6),
        }
        | ({} if rows.places is None else {"places": rows.places}),
        tuple(0 if d.candidates is None else len(d.candidates) for d in rows.details),
    )


def _shift(rule: Rule, rows: _Rows, q: Tensor, chosen: slice | Tensor) -> Tensor:
    """The shift [R] of each draft's test, 0 where it is not computed."""
    given = _given([detail.shift for detail in rows.details], rows.sizes)
    if given is not None:
        return given.to(rows.p.dtype)
    found = rows.p.new_zeros(len(q))
    tests = (torch.split(values[chosen], TESTS_AT_ONCE) for values in (rows.p, q, rows.i))
    if parts := [rule.shift(*test) for test in zip(*tests, strict=True)]:
        found[chosen] = _cat(parts).to(found.dtype)
    return found


def _groups(rule: Rule, rows: _Rows, chosen: slice | Tensor) -> Tensor:
    """Of each row's draft, as `Rule.groups` gives them, with a count of 0 where there is none; of
    no row where the rule has no groups."""
    found = _given([detail.groups for detail in rows.details], rows.sizes)
    if found is not None:
        return found
    q = rows.p if rows.q is None else rows.q  # without a draft no row is looked at
    some = rule.groups(rows.p[chosen], q[chosen], rows.drafts[chosen])
    if some is None:
        return rows.p.new_zeros(0, 0)
    found = some.new_zeros(len(rows.p), some.shape[1])
    found[chosen] = some
    return found


def _drafts(observation: Observation) -> Tensor:
    """What a step verified at each row's position, -1 for nothing."""
    if observation.verification.drafts is not None:
        return observation.verification.drafts
    return F.pad(observation.window.drafts[:-1], (0, 1), value=-1)


def _given(parts: Sequence[Tensor | None], sizes: Sequence[int]) -> Tensor | None:
    """What there is of each step's rows, as one, 0 for steps of which there is nothing; None where
    there is nothing at all."""
    some = next((part for part in parts if part is not None and len(part)), None)
    if some is None:
        return None
    return _cat(
        [
            some.new_zeros(size, *some.shape[1:]) if part is None or not len(part) else part
            for part, size in zip(parts, sizes, strict=True)
        ]
    )


def _support(rows: _Rows, last: Tensor, chosen: slice | Tensor) -> Tensor:
    """Tokens, p and q [N, 3, up to SUPPORT] of each step's last committed row, on the tokens that
    hold most of p and q, the draft among them; of the chosen steps alone, else 0."""
    if rows.q is None:
        return rows.p.new_zeros(len(last), 3, 0)
    at = last[chosen]
    p, q = rows.p[at], rows.q[at]
    weight = (p + q).scatter(-1, rows.drafts[at][:, None], 3.0)
    tokens = weight.topk(min(SUPPORT, p.shape[-1]), sorted=False).indices
    found = p.new_zeros(len(last), 3, tokens.shape[-1])
    found[chosen] = torch.stack([tokens.to(p.dtype), p.gather(-1, tokens), q.gather(-1, tokens)], 1)
    return found


def _padded(values: Tensor) -> Tensor:
    """[.., TOP or fewer] to [.., TOP]."""
    return F.pad(values, (0, TOP - values.shape[-1]))


def _wide(parts: Sequence[Tensor]) -> Tensor:
    """Candidates [levels, K, 6] of steps that try different numbers of them, as one."""
    if len(parts) == 1:
        return parts[0]
    most = max(part.shape[1] for part in parts)
    return torch.cat([F.pad(part, (0, 0, 0, most - part.shape[1])) for part in parts])


def _cat(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


def _first(sizes: Sequence[int]) -> Tensor | int:
    """Where each step's rows begin; with one step it is no copy from the host."""
    return 0 if len(sizes) == 1 else torch.from_numpy(np.cumsum([0, *sizes[:-1]]))
