"""Turns verifications, on the device, into the numbers that the step table records.

Collecting several steps together takes hardly longer than collecting one, because most of the time
goes into launching operations. StepRecorder decides how many steps are collected together.

Shapes: N steps; R rows of all steps together, step by step; V codes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.clock import to_host
from engine.core import Candidates, Diagnostics, Groups, Verification, Window
from engine.decoders.decode_state import DecodeState
from engine.models.base import host_rows
from engine.numerics.distributions import gather, likeliest, total_variation
from engine.trace import Status
from engine.trace.rows import SUPPORT, TOP

TESTS_AT_ONCE = 64  # tests whose shifts are computed together; more do not fit a processor's cache
Numbers = TypeVar("Numbers")


class Rule(Protocol):
    """The methods of a decoder that `collect` calls; `WindowDecoder` documents them."""

    def shift(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor: ...

    def groups(self, p: Tensor, q: Tensor, x: Tensor) -> Groups | None: ...


@dataclass(frozen=True, slots=True)
class Observation:
    """The tensors of a step from which `collect` makes its record, at once or steps later."""

    window: Window
    verification: Verification
    details: Diagnostics

    def to_host(self) -> Observation:
        return self  # already on the host

    @staticmethod
    def of(window: Window, verification: Verification) -> Observation:
        """Return the observation of a step.

        `verification.diagnostics` is called here, so that the observation does not keep the rule's
        objects alive.
        """
        details = verification.diagnostics()
        return Observation(window, replace(verification, diagnostics=Diagnostics), details)

    @property
    def bytes(self) -> int:
        """Memory of the observation's tensors, in bytes."""
        held = [
            getattr(part, each.name)
            for part in (self.window, self.verification, self.details)
            for each in fields(part)
        ]
        named = [part for each in held if isinstance(each, tuple) for part in each]
        tensors = [each for each in [*held, *named] if isinstance(each, Tensor)]
        return sum({each.data_ptr(): each.nbytes for each in tensors}.values())


class Found(NamedTuple, Generic[Numbers]):
    """The numbers recorded for some steps: first tensors on the device, then arrays on the host."""

    kept: Numbers  # bool [R]; a step with m true values records its first m rows
    position: Numbers  # [R]
    whole: Numbers  # draft or -1, token, status [R, 3]
    shares: Numbers  # [R, SHARES]
    top: Numbers  # the likeliest tokens of p and of q [R, 2, TOP]
    top_shares: Numbers  # the probabilities of `top`, 0 for missing tokens [R, 2, TOP]
    replaced: Numbers  # bool [N], whether the last committed token replaced a rejected draft
    support: Numbers  # if `replaced`, tokens of the rejected draft's test [N, SUPPORT or fewer]
    support_shares: Numbers  # p and q of `support` [N, 2, SUPPORT or fewer]
    group_counts: Numbers  # as in Groups [R]; [0] for a rule without groups
    group_masses: Numbers
    group_tokens: Numbers
    candidates: Numbers  # as in Candidates: tokens [R, K] and tests [R, K, 4]
    tests: Numbers


@dataclass(frozen=True, slots=True)
class Packed:
    """A Found on the device, packed into one tensor of bytes so that one copy moves all parts.

    `layout` has the shape and dtype of each part.
    """

    flat: Tensor
    layout: Found[tuple[torch.Size, str]]

    @staticmethod
    def of(columns: Found[Tensor]) -> Packed:
        flat = torch.cat([part.reshape(-1).view(torch.uint8) for part in columns])
        kinds = [(part.shape, str(part.dtype).removeprefix("torch.")) for part in columns]
        return Packed(flat, Found(*kinds))

    @property
    def bytes(self) -> int:
        """Memory of the packed tensor, in bytes."""
        return self.flat.nbytes

    def to_host(self) -> Packed:
        """Return a copy on the host; it is complete after the next `StepClock.wait`."""
        return replace(self, flat=to_host(self.flat))

    def read(self) -> Found[np.ndarray]:
        every, parts, begin = self.flat.numpy(), list[np.ndarray](), 0
        for shape, kind in self.layout:
            end = begin + math.prod(shape) * np.dtype(kind).itemsize
            parts.append(every[begin:end].view(kind).reshape(shape))
            begin = end
        return Found(*parts)


def collect(
    rule: Rule, state: DecodeState, observations: Sequence[Observation], starts: Tensor
) -> Found[Tensor]:
    """Return the numbers to record for steps of one lane.

    `starts` [N] has the frontier before each step. Shifts and groups are computed only for the rows
    that record them, and supports (`_support`) only for the steps that record them. With static
    shapes N is 1, and all three are computed everywhere.
    """
    verifications = [each.verification for each in observations]
    details = [each.details for each in observations]
    sizes, chosen = [len(each.tokens) for each in verifications], partial(host_rows, state.model)

    def joined(name: str) -> Tensor:
        return _cat([getattr(verification, name) for verification in verifications])

    def each_row(numbers: Sequence[Tensor]) -> Tensor:
        """Repeat each step's number (0-dim) for every row of that step."""
        return _cat([number.expand(size) for number, size in zip(numbers, sizes, strict=True)])

    counts, p = [verification.count for verification in verifications], joined("p")
    windows = zip(observations, details, strict=True)
    q = _given([each.window.q if detail.q is None else detail.q for each, detail in windows], sizes)
    # Each row's number in its step, and its position. Positions before the last may have a draft.
    i, last = _cat([state.offsets(size) for size in sizes]), state.plan.length - 1
    position = i + each_row(starts.unbind()) if state.in_order else joined("places")
    inside, targets = position < last, position.clamp_max(last)
    drafts, forced = _cat([_drafts(each) for each in observations]), state.forced(targets)
    judged = inside & (drafts >= 0)
    free = judged if forced is None else judged & ~forced
    committed = i < each_row(counts)
    drafts = torch.where(judged, drafts, 0)
    status, tokens = joined("status"), state.ids(joined("tokens"), targets)
    if forced is not None:
        status = torch.where(forced, int(Status.FORCED), status)
    acceptance = torch.where(judged, joined("acceptance"), torch.nan)
    uniform = torch.where(free, joined("uniform"), torch.nan)

    most = min(TOP, p.shape[-1])
    top_p, tokens_p = likeliest(p, most)
    top_q, tokens_q = torch.zeros_like(top_p), torch.zeros_like(tokens_p)
    draft_numbers = [torch.full_like(top_p[:, 0], torch.nan)] * 5
    if q is not None:
        top_q, tokens_q = likeliest(q, most)
        top_q = top_q * inside[:, None]
        tested, has_q = free & committed, top_q[:, 0] > 0
        shift = _given([detail.shift for detail in details], sizes)
        if shift is None:
            shift = _shift(rule, p, q, i, chosen(tested))
        draft_numbers = [
            torch.where(has_q, top_q[:, 0], torch.nan),
            torch.where(has_q, total_variation(p, q), torch.nan),
            torch.where(judged, gather(p, drafts), torch.nan),
            torch.where(judged, gather(q, drafts), torch.nan),
            torch.where(tested, shift.to(p.dtype), torch.nan),
        ]
    top1_q, tv, *of_draft = draft_numbers

    at = torch.stack(counts) - 1 + _first(sizes)
    replaced = (status == int(Status.RESAMPLED)) & judged & ~uniform.isnan()
    # A step of several fronts may have a rejection in each front.
    replaced = replaced[at] if state.in_order else torch.zeros_like(at, dtype=torch.bool)
    kept, redraws = position <= last, [verification.redraws for verification in verifications]
    if not all(redraws):
        stays = committed | judged
        if any(redraws):  # of several steps, on the host
            stays = stays | each_row(torch.tensor(redraws).unbind())
        kept = kept & stays
    return Found(
        kept,
        position,
        torch.stack([torch.where(judged, drafts, -1), tokens, status], 1),
        torch.stack([top_p[:, 0], top1_q, tv, acceptance, uniform, *of_draft], 1),
        _padded(torch.stack([tokens_p, tokens_q], 1)),
        _padded(torch.stack([top_p, top_q], 1)),
        replaced,
        *_support(p, q, drafts, at, chosen(replaced)),
        *_groups(rule, p, q, drafts, chosen(~uniform.isnan()), details, sizes),
        *_candidates(p, details, sizes),
    )


def _shift(rule: Rule, p: Tensor, q: Tensor, i: Tensor, chosen: slice | Tensor) -> Tensor:
    """Return the shift of each draft's test [R]; 0 for rows that are not chosen."""
    parts = zip(*(torch.split(values[chosen], TESTS_AT_ONCE) for values in (p, q, i)), strict=True)
    return _spread(_cat([rule.shift(*test) for test in parts]).to(p.dtype), chosen, len(q))


def _groups(
    rule: Rule,
    p: Tensor,
    q: Tensor | None,
    drafts: Tensor,
    chosen: slice | Tensor,
    details: Sequence[Diagnostics],
    sizes: Sequence[int],
) -> Groups:
    """Return the group of each row's draft.

    A row without a group has a count of 0. If the rule has no groups, the result has no rows.
    """
    parts = [detail.groups or (None, None, None) for detail in details]
    counts, masses, tokens = (_given(part, sizes) for part in zip(*parts, strict=True))
    if counts is not None and masses is not None and tokens is not None:
        return Groups(counts, masses, tokens)
    q = p if q is None else q  # without a draft no row is looked at
    some = rule.groups(p[chosen], q[chosen], drafts[chosen])
    if some is None:
        none = drafts[:0]
        return Groups(none, none, none)
    return Groups(*(_spread(part, chosen, len(p)) for part in some))


def _candidates(p: Tensor, details: Sequence[Diagnostics], sizes: Sequence[int]) -> Candidates:
    """Return each row's candidates, padded to the row that has most; width 0 if no row has any."""
    pairs = [detail.candidates or (None, None) for detail in details]
    tokens, tests = zip(*pairs, strict=True)
    candidate_tokens, numbers = _given(tokens, sizes), _given(tests, sizes)
    if candidate_tokens is None or numbers is None:
        return Candidates(p.new_zeros(len(p), 0, dtype=torch.long), p.new_zeros(len(p), 0, 4))
    return Candidates(candidate_tokens, numbers)


def _support(
    p: Tensor, q: Tensor | None, drafts: Tensor, at: Tensor, chosen: slice | Tensor
) -> tuple[Tensor, Tensor]:
    """Return the likeliest tokens at each step's last committed row, and their p and q.

    `at` [N] has the index of that row for each step. The tokens [N, up to SUPPORT] are the row's
    draft and the other tokens with the largest p + q. Their p and q are [N, 2, up to SUPPORT]. For
    steps that are not `chosen` all numbers are 0.
    """
    if q is None:
        return drafts.new_zeros(len(at), 0), p.new_zeros(len(at), 2, 0)
    at_p, at_q = p[at[chosen]], q[at[chosen]]
    weight = (at_p + at_q).scatter(-1, drafts[at[chosen]][:, None], 3.0)
    tokens = weight.topk(min(SUPPORT, p.shape[-1]), sorted=False).indices
    shares = torch.stack([at_p.gather(-1, tokens), at_q.gather(-1, tokens)], 1)
    return _spread(tokens, chosen, len(at)), _spread(shares, chosen, len(at))


def _spread(part: Tensor, chosen: slice | Tensor, size: int) -> Tensor:
    """Place the numbers of the chosen rows among all `size` rows; other rows are 0."""
    if isinstance(chosen, slice):
        return part
    whole = part.new_zeros(size, *part.shape[1:])
    whole[chosen] = part
    return whole


def _drafts(observation: Observation) -> Tensor:
    """Return the draft that a step verified at each row's position; -1 for none."""
    if observation.verification.drafts is not None:
        return observation.verification.drafts
    return F.pad(observation.window.drafts[:-1], (0, 1), value=-1)


def _given(parts: Sequence[Tensor | None], sizes: Sequence[int]) -> Tensor | None:
    """Concatenate the steps' tensors, padded to the widest; return None if no step has a tensor.

    `sizes` has the number of rows that each step gets. A step without a tensor, or with fewer rows,
    gets rows of padding. The padding is -1 for whole numbers, such as tokens, and 0 for others.
    """
    some = [part for part in parts if part is not None and len(part)]
    if not some:
        return None
    widths = [max(width) for width in zip(*(part.shape[1:] for part in some), strict=True)]
    if [len(part) for part in some] == list(sizes) and len({part.shape[1:] for part in some}) == 1:
        return _cat(some)
    none = 0 if some[0].is_floating_point() else -1
    whole, begin = some[0].new_full((sum(sizes), *widths), none), 0
    for part, size in zip(parts, sizes, strict=True):
        if part is not None and len(part):
            whole[begin : begin + len(part), *map(slice, part.shape[1:])] = part
        begin += size
    return whole


def _padded(values: Tensor) -> Tensor:
    """Pad values [.., TOP or fewer] with zeros to [.., TOP]."""
    return F.pad(values, (0, TOP - values.shape[-1]))


def _cat(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


def _first(sizes: Sequence[int]) -> Tensor | int:
    """Return the index of each step's first row; for one step an int, which needs no copy."""
    return 0 if len(sizes) == 1 else torch.from_numpy(np.cumsum([0, *sizes[:-1]]))
