"""StepRecorder: what a step did, for its record; read from the device in one copy together with
what the loop itself needs.

The reports are instruments: the time to take them is charged to nobody, since a decoder that nobody
watches needs none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from engine.distributions import gather, total_variation
from engine.records import TOP, Kin, Law, Position, Refusal, Sibling, Status

if TYPE_CHECKING:  # the window loop imports this module
    from engine.decoders.window import DecodeState, Diagnostics, Verification, Window

SUPPORT = 512  # how many tokens of a refusal's two laws are kept


class StepRecorder:
    """Gathers on the device when made; `read` is the copy; then `positions` and `refusal` are plain
    records."""

    def __init__(self, state: DecodeState, window: Window, verification: Verification) -> None:
        self._start, self._standing, self._drafted = (
            state.frontier,
            verification.keeps_drafts,
            len(window.drafts),
        )
        diagnostics = verification.diagnostics()
        q = torch.cat(
            [
                window.q,
                window.q.new_zeros(len(verification.p) - self._drafted, verification.p.shape[1]),
            ]
        )
        self._parts = _rows(state, verification, q) | _kin(diagnostics) | _refusal(verification, q)
        if diagnostics.candidates is not None:
            self._parts["candidates"] = diagnostics.candidates

    def read(self) -> tuple[int, list[int]]:
        """The step's one copy from the device: how many positions are committed, and the window
        rows to keep."""
        # Whole numbers below 2**53 and float32 both fit a float64: one tensor, one copy.
        values = (
            torch.cat([part.double().reshape(-1) for part in self._parts.values()]).cpu().numpy()
        )
        ends = np.cumsum([part.numel() for part in self._parts.values()])
        shapes = [part.shape for part in self._parts.values()]
        self._read = {
            name: array.reshape(shape)
            for name, array, shape in zip(
                self._parts, np.split(values, ends[:-1]), shapes, strict=True
            )
        }
        count = int(self._read["count"])
        return count, self._read["path"][:count].astype(int).tolist()

    def positions(self) -> tuple[Position, ...]:
        """What happened to each position that the step touched."""
        read = self._read
        rows = len(read["path"]) if self._standing else max(int(read["count"]), self._drafted)
        columns = {name: read[name][:rows].tolist() for name in _COLUMNS}
        touched = []
        for i, (draft, token, status, top1, *shares) in enumerate(
            zip(*columns.values(), strict=True)
        ):
            tested = shares[3] == shares[3]
            touched.append(
                Position(
                    self._start + i,
                    None if draft < 0 else int(draft),
                    int(token),
                    Status(int(status)),
                    top1,
                    *(None if value != value else value for value in shares),
                    top=_law(read["top_ids"][i], read["top"][i]),
                    top_draft=_law(read["top_draft_ids"][i], read["top_draft"][i])
                    if draft >= 0
                    else (),
                    kin=self._kin(i) if tested else None,
                    siblings=self._siblings(i) if status != Status.FORCED else (),
                )
            )
        return tuple(touched)

    def refusal(self) -> Refusal | None:
        """The laws behind the first refusal, if a draft was tested, refused and replaced."""
        read = self._read
        last = int(read["count"]) - 1
        draft, uniform = int(read["draft"][last]), float(read["uniform"][last])
        if read["status"][last] != Status.RESAMPLED or draft < 0 or uniform != uniform:
            return None
        tokens, p, q = read["law_ids"], read["law_p"], read["law_q"]
        order = np.argsort(tokens)[(p + q > 0)[np.argsort(tokens)]]
        return Refusal(
            self._start + last,
            draft,
            uniform,
            tokens[order].astype("<u2").tobytes(),
            p[order].astype("<f4").tobytes(),
            q[order].astype("<f4").tobytes(),
        )

    def _kin(self, i: int) -> Kin | None:
        read = self._read
        if "group_count" not in read or not read["group_count"][i] >= 1:
            return None
        tokens = tuple(int(token) for token in read["group_tokens"][i] if token >= 0)
        return Kin(
            int(read["group_count"][i]),
            tokens,
            float(read["group_p"][i]),
            float(read["group_q"][i]),
        )

    def _siblings(self, i: int) -> tuple[Sibling, ...]:
        levels = self._read.get("candidates", ())
        tried = levels[i] if i < len(levels) else ()
        return tuple(
            Sibling(int(token), *rest)
            for token, *rest, was in (row.tolist() for row in tried)
            if was
        )


_COLUMNS = (
    "draft",
    "token",
    "status",
    "top1",
    "top1_draft",
    "tv",
    "acceptance",
    "p",
    "q",
    "uniform",
)


def _rows(state: DecodeState, verification: Verification, q: Tensor) -> dict[str, Tensor]:
    """One entry for each row of the window."""
    rows = len(verification.tokens)
    positions = state.positions(rows)
    judged = verification.drafts >= 0
    drafts = verification.drafts.clamp_min(0)
    top, top_draft = (law.topk(min(TOP, law.shape[-1])) for law in (verification.p, q))

    def known(values: Tensor, where: Tensor) -> Tensor:
        return torch.where(where, values, torch.nan)

    drafted = q.amax(-1) > 0
    return {
        "count": verification.count,
        "path": verification.path
        if verification.path is not None
        else torch.arange(rows, device=positions.device),
        "draft": torch.where(judged, state.ids(verification.drafts, positions), -1),
        "token": state.ids(verification.tokens, positions),
        "status": torch.where(state.forced[positions], int(Status.FORCED), verification.status),
        "top1": verification.p.amax(-1),
        "top1_draft": known(q.amax(-1), drafted),
        "tv": known(total_variation(verification.p, q), drafted),
        "acceptance": verification.acceptance,
        "p": known(gather(verification.p, drafts), judged),
        "q": known(gather(q, drafts), judged),
        "uniform": torch.where(state.forced[positions], torch.nan, verification.uniform),
        "top_ids": top.indices,
        "top": top.values,
        "top_draft_ids": top_draft.indices,
        "top_draft": top_draft.values,
    }


def _kin(diagnostics: Diagnostics) -> dict[str, Tensor]:
    names = ("group_count", "group_p", "group_q", "group_tokens")
    return (
        {}
        if diagnostics.group_count is None
        else {name: getattr(diagnostics, name) for name in names}
    )


def _refusal(verification: Verification, q: Tensor) -> dict[str, Tensor]:
    """Both laws where the step ended, on the tokens that hold most of them, the draft among
    them."""
    last = (verification.count - 1).view(1)
    p, q = verification.p[last][0], q[last][0]
    weight = (p + q).scatter(-1, verification.drafts[last].clamp_min(0), 3.0)
    ids = weight.topk(min(SUPPORT, len(weight))).indices
    return {"law_ids": ids, "law_p": p[ids], "law_q": q[ids]}


def _law(tokens: np.ndarray, shares: np.ndarray) -> Law:
    return tuple(
        (int(token), share)
        for token, share in zip(tokens, shares.tolist(), strict=True)
        if share > 0
    )
