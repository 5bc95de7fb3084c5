"""StepRecorder: fills the step table from one device copy per step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np
import torch
from torch import Tensor

from engine.clock import to_host
from engine.decoders.decode_state import DecodeState, Verification, Window
from engine.failures import Failure
from engine.models.base import host_count
from engine.models.supply.card import ModelError
from engine.numerics.distributions import gather, total_variation
from engine.trace.rows import DTYPES, SHARES, SUPPORT, TOP, Source, Status
from engine.trace.seconds import Seconds
from engine.trace.shares import NONE, ONE, quantise, quantise_test
from engine.trace.steps import Step, StepTable, refs, step_row


@dataclass(frozen=True, slots=True)
class Record:
    """What is recorded of a step, on the device: W rows, the window's and one more. `whole`: draft
    or -1, token, status [3, W]; `shares` [SHARES, W]; `top` and `top_shares`, the likeliest tokens
    of p and of q and their shares [2, W, TOP]; `support` as `_support` makes it; groups and
    candidates as in Diagnostics, where there are any. `flat` is all of it, for one copy."""

    count: Tensor
    whole: Tensor
    shares: Tensor
    top: Tensor
    top_shares: Tensor
    support: Tensor
    groups: Tensor | None
    candidates: Tensor | None
    flat: Tensor = field(init=False)

    def __post_init__(self) -> None:
        # Whole numbers below 2**53 and float32 both fit a float64.
        flat = torch.cat([part.double().view(-1) for part in self.parts().values()])
        object.__setattr__(self, "flat", flat)

    def parts(self) -> dict[str, Tensor]:
        """Those that there are, in their order in `flat`."""
        found = {name: getattr(self, name) for name in (f.name for f in fields(HostRecord))}
        return {name: part for name, part in found.items() if part is not None}


@dataclass(frozen=True, slots=True)
class HostRecord:
    """A Record on the host."""

    count: np.ndarray
    whole: np.ndarray
    shares: np.ndarray
    top: np.ndarray
    top_shares: np.ndarray
    support: np.ndarray
    groups: np.ndarray | None = None
    candidates: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Copied:
    """A step's record on its way to the host, and what the host knew when it set out: the frontier
    before the step, how many rows are before the image's end, how many the window had, and whether
    positions behind the committed ones keep or get a draft."""

    start: int
    rows: int
    window_rows: int
    redraws: bool
    shapes: dict[str, torch.Size]
    flat: Tensor

    def read(self) -> HostRecord:
        """Once the device is done."""
        flat, parts, end = self.flat.numpy(), {}, 0
        for name, shape in self.shapes.items():
            begin, end = end, end + shape.numel()
            parts[name] = flat[begin:end].reshape(shape)
        return HostRecord(**parts)


def copy(record: Record, state: DecodeState, window: Window, verification: Verification) -> Copied:
    """Starts the step's one copy from the device."""
    return Copied(
        state.frontier,
        min(state.plan.length - state.frontier, len(verification.tokens)),
        1 + len(window.drafts if window.nodes is None else window.nodes),
        verification.redraws,
        {name: part.shape for name, part in record.parts().items()},
        to_host(record.flat),
    )


class StepRecorder:
    """Records one lane of `length` positions, step after step."""

    def __init__(self, length: int) -> None:
        # Of each position the likeliest tokens of its latest p and their shares; 0 at first.
        self._latest = np.zeros((length, 2 * TOP), "<u2")

    def step(self, copied: Copied, nfe: int, drafter_passes: int, seconds: Seconds) -> Step:
        """The step's rows. Raises ModelError where a probability is no number."""
        read, start, size = copied.read(), copied.start, copied.rows
        count = int(read.count)
        if not copied.redraws:
            size = max(count, int((read.whole[0, :size] >= 0).sum()))
        draft, token, status = read.whole[:, :size]
        unknown = np.flatnonzero(np.isnan(read.shares[SHARES.index("top1"), :count]))
        if len(unknown):
            raise ModelError(
                f"The model's probabilities at position {start + unknown[0]} are not numbers:"
                " something in it overflows. Load it in bfloat16 or float32.",
                Failure.OVERFLOW,
            )
        rows = np.zeros(size, DTYPES["positions"])
        draft = np.where(draft < 0, NONE, draft)
        rows["draft"], rows["token"], rows["status"] = draft, token, status
        shares = read.shares[:, :size]
        for name, share in zip(SHARES, quantise(shares), strict=True):
            rows[name] = share
        exact = dict(zip(SHARES, shares, strict=True))
        acceptance, uniform = exact["acceptance"], exact["uniform"]
        rows["acceptance"], rows["uniform"] = quantise_test(acceptance, uniform)
        likeliest = read.top_shares[:, :size]
        tokens = np.where(likeliest > 0, read.top[:, :size], NONE)
        p_top, q_top = np.concatenate([tokens, quantise(likeliest)], -1).astype("<u2")
        rows["top"], rows["top_shares"] = p_top[:, :TOP], p_top[:, TOP:]
        latest = self._latest[start : start + size]
        source = find_sources(draft, q_top, latest)
        own = q_top[source == Source.OWN]
        distributions = np.zeros(len(own), DTYPES["distributions"])
        distributions["top"], distributions["top_shares"] = own[:, :TOP], own[:, TOP:]
        grouped, groups = _groups(read, ~np.isnan(uniform))
        tried, candidates = _candidates(read, rows["status"])
        rows["refs"] = refs(source, grouped, tried)
        rejections = _rejections(read, rows[count - 1], uniform[count - 1])
        step = step_row(
            nfe, copied.window_rows, size, count, drafter_passes, seconds, len(rejections) > 0
        )
        latest[:] = p_top
        details = distributions, groups, candidates, rejections, np.zeros(0, DTYPES["prices"])
        return Step(StepTable(start, step, rows, *details))


def priced(step: Step, prices: Tensor) -> Step:
    """A lane's last step, with the prices [length] of all positions."""
    rows = np.zeros(len(prices), DTYPES["prices"])
    rows["shift"] = quantise(prices.double().cpu().numpy())
    return Step(replace(step.rows, prices=rows))


def _groups(read: HostRecord, tested: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which positions have a group, and their rows."""
    found = (np.zeros((0, 3)) if read.groups is None else read.groups)[: len(tested)]
    has = np.zeros(len(tested), bool)
    has[: len(found)] = tested[: len(found)] & (found[:, 0] >= 1)
    found = found[has[: len(found)]]
    groups = np.zeros(len(found), DTYPES["groups"])
    groups["count"], groups["p"], groups["q"] = found[:, :3].T
    others = found[:, 4:]  # behind the draft
    groups["neighbours"] = NONE
    groups["neighbours"][:, : others.shape[1]] = np.where(others < 0, NONE, others)
    return has, groups


def _candidates(read: HostRecord, status: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many candidates were tried for each position, and their rows."""
    levels = (np.zeros((0, 0, 6)) if read.candidates is None else read.candidates)[: len(status)]
    tried = (levels[..., 5] > 0) & (status[: len(levels)] != Status.FORCED)[:, None]
    counts = np.zeros(len(status), int)
    counts[: len(levels)] = tried.sum(-1)
    token, p, q, acceptance, uniform, _ = levels[tried].T
    candidates = np.zeros(len(token), DTYPES["candidates"])
    candidates["token"], candidates["p"], candidates["q"] = token, quantise(p), quantise(q)
    candidates["acceptance"], candidates["uniform"] = quantise_test(acceptance, uniform)
    return counts, candidates


def _rejections(read: HostRecord, row: np.void, uniform: float) -> np.ndarray:
    """The distributions behind the step's last committed position, if its draft was tested,
    rejected and replaced."""
    if row["status"] != Status.RESAMPLED or row["draft"] == NONE or np.isnan(uniform):
        return np.zeros(0, DTYPES["rejections"])
    tokens, p, q = read.support
    order = np.argsort(tokens)
    order = order[(p + q > 0)[order]]
    found = np.zeros(1, DTYPES["rejections"])
    found["uniform"], found["tokens"] = uniform, NONE
    for name, values in (("tokens", tokens), ("p", p), ("q", q)):
        found[name][0, : len(order)] = values[order]
    return found


def find_sources(draft: np.ndarray, top: np.ndarray, latest: np.ndarray) -> np.ndarray:
    """The Source of each q. Its likeliest tokens and their shares [N, 2 TOP] are compared with
    those of the latest p at its position: distributions that differ in other tokens alone look the
    same."""
    before = (top == latest).all(-1)
    certain = (top[:, 0] == draft) & (top[:, 1] == NONE) & (top[:, TOP] == ONE)
    source = np.where(before, Source.BEFORE, np.where(certain, Source.CERTAIN, Source.OWN))
    return np.where((draft == NONE) | (top[:, 0] == NONE), Source.NONE, source)


def collect(
    state: DecodeState,
    window: Window,
    verification: Verification,
    shift_of: Callable[[Tensor, Tensor], Tensor],
) -> Record:
    """What is recorded of a step. `shift_of(p, q)` is the rule's shift [H] where the diagnostics
    have none."""
    diagnostics = verification.diagnostics()
    p, q = verification.p, window.q if diagnostics.q is None else diagnostics.q
    # The shift is of use up to the last test, and would cost most of the time behind it; static
    # shapes cannot depend on where that is.
    priced = min(len(q), host_count(state.model, verification.count, len(q)))
    shift = diagnostics.shift
    if shift is None:
        shift = shift_of(p[:priced], q[:priced])
    q = torch.cat([q, q.new_zeros(len(p) - len(q), p.shape[1])])
    rows = len(verification.tokens)
    positions = state.positions(rows)
    forced = state.forced(positions)
    if forced is None:
        forced = torch.zeros_like(positions, dtype=torch.bool)
    inside = state.offsets(rows) < state.room  # a padded window has drafts behind the image's end
    judged = inside & (verification.drafts >= 0)
    drafts = torch.where(judged, verification.drafts, 0)
    tops = [distribution.topk(min(TOP, p.shape[-1])) for distribution in (p, q * inside[:, None])]
    drafted = tops[1].values[:, 0] > 0

    def known(values: Tensor, where: Tensor) -> Tensor:
        return torch.where(where, values, torch.nan)

    status = torch.where(forced, int(Status.FORCED), verification.status)
    tested = judged & ~forced & (state.offsets(rows) < verification.count)
    shift = torch.cat([shift.to(p.dtype), shift.new_zeros(rows - len(shift), dtype=p.dtype)])
    shares = {
        "top1": tops[0].values[:, 0],
        "top1_draft": known(tops[1].values[:, 0], drafted),
        "tv": known(total_variation(p, q), drafted),
        "acceptance": known(verification.acceptance, inside),
        "uniform": known(verification.uniform, inside & ~forced),
        "p": known(gather(p, drafts), judged),
        "q": known(gather(q, drafts), judged),
        "shift": known(shift, tested),
    }
    last = (verification.count - 1).view(1)
    return Record(
        verification.count,
        torch.stack(
            [torch.where(judged, drafts, -1), state.ids(verification.tokens, positions), status]
        ),
        torch.stack([shares[name] for name in SHARES]),
        _padded(torch.stack([top.indices for top in tops])),
        _padded(torch.stack([top.values for top in tops])),
        _support(p[last][0], q[last][0], verification.drafts[last]),
        diagnostics.groups,
        diagnostics.candidates,
    )


def _padded(values: Tensor) -> Tensor:
    """[.., TOP or fewer] to [.., TOP]."""
    return torch.nn.functional.pad(values, (0, TOP - values.shape[-1]))


def _support(p: Tensor, q: Tensor, draft: Tensor) -> Tensor:
    """Tokens, p and q [3, up to SUPPORT] on the tokens that hold most of p and q [V], the draft [1]
    among them."""
    weight = (p + q).scatter(-1, draft.clamp_min(0), 3.0)
    tokens = weight.topk(min(SUPPORT, len(weight))).indices
    return torch.stack([tokens.to(p.dtype), p[tokens], q[tokens]])
