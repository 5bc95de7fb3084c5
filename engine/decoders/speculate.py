"""Speculative verification of a chain (Leviathan et al. 2023, Alg. 1), as SJD, GSD and LANTERN use
it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.decoders.decode_state import DecodeState, Verification, Window
from engine.numerics.distributions import gather, residual, sample
from engine.trace import Status


def acceptance_probability(p: Tensor, q: Tensor) -> Tensor:
    """min(1, p / q), elementwise. No draft is drawn with q = 0."""
    return torch.where(p >= q, 1.0, p / q)


def count_leading(accepted: Tensor, room: Tensor) -> Tensor:
    """How many of bool [H] are true before the first that is not, at most `room` (0-dim)."""
    return accepted.int().cumprod(0).sum().minimum(room)


def pad_end(values: Tensor, fill: float) -> Tensor:
    """[H] to [H + 1]: the last row of a window has no draft."""
    return torch.cat([values, values.new_full((1,), fill)])


def chain_status(first: Tensor, rows: int, drafts: Tensor) -> Tensor:
    """Status [rows] of a chain of `drafts` (0-dim) drafts of which number `first` is the first to
    be rejected; `first` is `drafts` where none is."""
    i = torch.arange(rows, device=first.device)
    end = torch.where(first < drafts, int(Status.RESAMPLED), int(Status.FRESH))
    status = torch.where(i < first, int(Status.ACCEPTED), int(Status.REFINED))
    return torch.where(i == first, end, status)


def lossless(draft: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """What replaces a rejected draft so that p is kept (SJD, Eq. 2)."""
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
    """Accepts drafts in order, draft i with probability `acceptance[i]` (SJD, Eq. 1); or as many
    as `first` (0-dim) says.

    The first rejected one is resampled from `replacement(draft, p, q)`, of shapes [1], [1, V],
    [1, V] to [1, V], not normalised; if none is, the row behind them gives a bonus token.
    Drafts behind are redrawn from p, which becomes their q (Eq. 3), or dropped. `samples` of p
    [H + 1] are what they are redrawn as, and the bonus; fresh ones by default.
    """
    drafts, rows = window.drafts, len(p)
    room = state.room.clamp_max(len(drafts))
    accept, replace, redraw = state.verify_numbers(rows)
    if first is None:
        first = count_leading(accept[:-1] < acceptance, room)
    offsets = state.offsets(rows)
    end, rejected = first.view(1), first < room
    tokens = pad_end(drafts, 0)
    if samples is not None:
        tokens = torch.where(offsets < first, tokens, samples)
    elif redraws:
        tokens = torch.where(offsets < first, tokens, sample(p, redraw))
    else:
        tokens = torch.where(offsets == first, sample(p[end], redraw[end]), tokens)
    if len(drafts):
        at = end.clamp_max(len(drafts) - 1)
        resampled = sample(replacement(drafts[at], p[at], window.q[at]), replace[at])
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
        pad_end(drafts, -1),
        p,
        pad_end(acceptance, torch.nan),
        torch.where(tested, accept, torch.nan),
        redraws=redraws,
    )


def chain_acceptance(window: Window, p: Tensor) -> Tensor:
    """The lossless rule's acceptance probabilities [H], min(1, p / q) of each draft (SJD, Eq. 1); p
    [at least H, V]."""
    drafts = window.drafts
    return acceptance_probability(gather(p[: len(drafts)], drafts), gather(window.q, drafts))


def keep_coupled(
    state: DecodeState, window: Window, p: Tensor, v: Verification, u: Tensor
) -> Verification:
    """Couples the drafts behind the committed positions with those before them, by the maximal
    coupling of q and p (SJD-PAC's adaptive continuation): keeps each with probability
    min(1, p / q), else redraws it from R(p, q). Its q is now p either way.

    p [H + 1, V]; u [H + 1, 2], numbers that keep and that redraw, and decided nothing yet at these
    positions.
    """
    keep, redraw = u[:, 0], u[:, 1]
    offsets, room = state.offsets(len(p)), state.room.clamp_max(len(window.drafts)).view(1)
    behind, drafted = offsets >= v.count, offsets < room
    acceptance = chain_acceptance(window, p)
    # Behind the last draft there is none to keep.
    kept = pad_end(keep[:-1] < acceptance, False) & drafted
    left = torch.cat([residual(p[:-1], window.q), p[-1:]])
    left.index_copy_(0, room, p[room])
    drafts = torch.where(kept, pad_end(window.drafts, 0), sample(left, redraw))
    v.tokens = torch.where(behind, drafts, v.tokens)
    v.status = torch.where(behind & ~kept & drafted, int(Status.REJECTED), v.status)
    v.acceptance = torch.where(behind, pad_end(acceptance, torch.nan), v.acceptance)
    v.uniform = torch.where(behind, pad_end(keep[:-1], torch.nan), v.uniform)
    return v
