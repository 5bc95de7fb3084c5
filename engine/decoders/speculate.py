"""Speculative verification of a chain (Leviathan et al. 2023, Alg. 1), for SJD, GSD and LANTERN."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.decode_state import DecodeState
from engine.numerics.distributions import gather, residual, sample
from engine.trace import Status


def acceptance_probability(p: Tensor, q: Tensor) -> Tensor:
    """Return min(1, p / q), elementwise. No draft is drawn with q = 0."""
    return torch.where(p >= q, 1.0, p / q)


def count_leading(accepted: Tensor, room: Tensor) -> Tensor:
    """Return how many of `accepted` (bool [R]) precede the first False, at most `room` (0-dim)."""
    return accepted.int().cumprod(0).sum().minimum(room)


def chain_status(first: Tensor, rows: int, drafts: Tensor) -> Tensor:
    """Return the Status of each row of a chain [rows].

    `drafts` (0-dim) is the number of drafts in the chain. `first` is the index of the first
    rejected draft, or `drafts` if no draft was rejected.
    """
    i = torch.arange(rows, device=first.device)
    end = torch.where(first < drafts, int(Status.RESAMPLED), int(Status.FRESH))
    status = torch.where(i < first, int(Status.ACCEPTED), int(Status.REFINED))
    return torch.where(i == first, end, status)


def lossless(draft: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """Return R(p, q), from which a lossless rule samples a draft's replacement (SJD, Eq. 2)."""
    return residual(p, q)


def speculate(
    state: DecodeState,
    window: Window,
    p: Tensor,
    acceptance: Tensor,
    replacement: Callable[[Tensor, Tensor, Tensor], Tensor] = lossless,
    *,
    samples: Tensor | None = None,
    redraws: bool = True,
    first: Tensor | None = None,
) -> Verification:
    """Accept drafts in order, draft i with probability `acceptance[i]` (SJD, Eq. 1).

    The first rejected draft is resampled. Later drafts are redrawn from p, which becomes their q
    (Eq. 3), or dropped. If no draft is rejected, the row after the drafts gives a bonus token.

    Args:
        state: the state of the decode.
        window: the drafts.
        p: the model's distributions [R, V].
        acceptance: acceptance probability of each draft [R].
        replacement: `replacement(draft, p, q)`, for a draft [1] with its p and q [1, V], returns
            the distribution [1, V] of the token that replaces the draft, not normalised.
        samples: a token [R] sampled from each row's p, for the redrawn drafts and the bonus; fresh
            samples if None.
        redraws: whether later drafts are redrawn; if not, they are dropped.
        first: index of the first rejected draft (0-dim), or the number of drafts if none was
            rejected; None if `acceptance` is still to decide it.
    """
    drafts, rows = window.drafts, len(p)
    room = state.room.clamp_max(rows - 1)
    accept, replace, redraw = state.verify_numbers(rows)
    if first is None:
        first = count_leading(accept < acceptance, room)
    offsets = state.offsets(rows)
    end, rejected = first.view(1), first < room
    if samples is not None:
        tokens = torch.where(offsets < first, drafts, samples)
    elif redraws:
        tokens = torch.where(offsets < first, drafts, sample(p, redraw))
    else:
        tokens = torch.where(offsets == first, sample(p[end], redraw[end]), drafts)
    resampled = sample(replacement(drafts[end], p[end], window.q[end]), replace[end])
    tokens = torch.where((offsets == first) & rejected, resampled, tokens)
    tested = offsets <= first.minimum(room - 1)
    status = chain_status(first, rows, room)
    if not redraws:
        status = torch.where(offsets > first, int(Status.DROPPED), status)
    return Verification(
        first + 1,
        tokens,
        p,
        status,
        p,
        acceptance,
        torch.where(tested, accept, torch.nan),
        redraws=redraws,
    )


def chain_acceptance(window: Window, p: Tensor) -> Tensor:
    """Return the lossless rule's acceptance probabilities [R], min(1, p / q) of each draft.

    p is [R, V]. Source: SJD, Eq. 1.
    """
    return acceptance_probability(gather(p, window.drafts), gather(window.q, window.drafts))


def keep_coupled(
    state: DecodeState, window: Window, p: Tensor, v: Verification, u: Tensor
) -> Verification:
    """Redraw the drafts after the committed positions, coupled with the drafts that they replace.

    The new drafts are written into `v`, which is returned. If the position after the last draft is
    not committed, it gets a new draft, sampled from p.

    The coupling of q and p is maximal (SJD-PAC's adaptive continuation): each draft is kept with
    probability min(1, p / q) and otherwise redrawn from R(p, q). Either way the draft is now a
    sample of p [R, V]. u [R, 2] has, for each draft, a number that decides whether to keep it and a
    number that redraws it. These numbers must not have decided anything yet at these positions.
    """
    keep, redraw = u[:, 0], u[:, 1]
    offsets, room = state.offsets(len(p)), state.room.clamp_max(len(p) - 1).view(1)
    behind, has_draft = offsets >= v.count, offsets < room
    acceptance = chain_acceptance(window, p)
    # Behind the last draft there is none to keep.
    kept = (keep < acceptance) & has_draft
    distribution = residual(p, window.q)
    distribution.index_copy_(0, room, p[room])
    drafts = torch.where(kept, window.drafts, sample(distribution, redraw))
    v.tokens = torch.where(behind, drafts, v.tokens)
    v.status = torch.where(behind & ~kept & has_draft, int(Status.REJECTED), v.status)
    v.acceptance = torch.where(behind, acceptance, v.acceptance)
    v.uniform = torch.where(behind, keep, v.uniform)
    return v
