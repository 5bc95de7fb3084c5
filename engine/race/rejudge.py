"""Verifies a lane's rejected drafts again by a relaxed rule.

The rule gets the distributions and the uniform numbers with which the drafts were rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from engine.decoders.gsd import GSDSettings, group_acceptance, spread_of
from engine.decoders.lantern import LanternSettings, neighbourhood_acceptance
from engine.models.neighbours import nearest_codes
from engine.settings import SettingError, Settings
from engine.trace.file import Trace
from engine.trace.rejections import as_stored
from engine.trace.shares import NONE

BLOCK = 2**22  # entries of distributions [N, V] that are verified at once
# Entries of all distributions together. No picture has more, and they would take minutes.
MAX_ENTRIES = 2**26
MAX_DIMENSIONS = 512  # of a code's vector; no model has more
ROUNDING = 1e-3  # less than this missing from a distribution is rounding


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of a lane's rejected drafts, and how many of them the rule would have accepted.

    `accepted` is None if the trace does not contain the codebook. `positions` are the sequence
    positions of the accepted drafts.
    """

    rejections: int
    accepted: int | None
    positions: tuple[int, ...] = field(default=(), compare=False)


def rejudge(trace: Trace, lane: int, rule: str, settings: Settings) -> Tally:
    """Verify the first rejection of every step of a lane by `rule`, "gsd" or "lantern".

    No forward pass is needed. p and q are the recorded distributions, rounded as a trace's file
    stores them, so that a race and its file give the same answers. At most 512 tokens are recorded;
    if these do not have all of p's or q's probability, the rest of that probability is spread
    evenly over the other tokens. A draft passes if its uniform number is below the rule's
    acceptance probability, which the decoders' own functions compute.

    Raises SettingError for an unknown rule, settings of another rule, a missing lane, or a trace
    that is too large.
    """
    if rule not in _RULES or not isinstance(settings, _RULES[rule][0]):
        raise SettingError(
            f"{rule!r:.40} is no rule to verify by, or these are not its settings:"
            f" {settings!r:.200}"
        )
    if not 0 <= lane < len(trace.header.lanes):
        raise SettingError(
            f"There is no lane {lane!r:.20}; the race has {len(trace.header.lanes)}."
        )
    table = trace.table(lane)
    if not len(table.rejections) or not trace.codebook:
        return Tally(len(table.rejections), None if len(table.rejections) else 0)
    codes = trace.header.vocab_size
    codebook = torch.from_numpy(np.frombuffer(trace.codebook, "<f4").reshape(codes, -1).copy())
    if len(table.rejections) * codes > MAX_ENTRIES or codebook.shape[1] > MAX_DIMENSIONS:
        raise SettingError("This trace is too large for its rejections to be judged again.")
    rows, rejections = table.rejecting, as_stored(table)
    drafts = torch.from_numpy(table.positions["draft"][rows].astype(np.int64))
    uniforms = torch.from_numpy(rejections["uniform"].copy())
    size, passes = max(1, BLOCK // codes), np.zeros(len(rejections), bool)
    for i in range(0, len(rejections), size):
        p, q = (_dense(rejections[i : i + size], name, codes) for name in ("p", "q"))
        acceptance = _RULES[rule][1](p, q, drafts[i : i + size], codebook, settings)
        passes[i : i + size] = (uniforms[i : i + size] < acceptance).numpy()
    positions = tuple(table.position[rows[passes]].tolist())
    return Tally(len(rejections), len(positions), positions)


def _dense(rejections: np.ndarray, name: str, codes: int) -> Tensor:
    """Return each rejection's distribution over all tokens [N, V]: p or q, as `name` says."""
    known = rejections["tokens"] != NONE
    values = np.where(known, rejections[name], 0)
    missing, others = 1 - values.sum(-1), codes - known.sum(-1)
    spread = np.where((missing > ROUNDING) & (others > 0), missing / np.maximum(others, 1), 0)
    dense = np.repeat(spread.astype(np.float32)[:, None], codes, 1)
    dense[np.nonzero(known)[0], rejections["tokens"][known]] = values[known]
    return torch.from_numpy(dense)


def _gsd(p: Tensor, q: Tensor, x: Tensor, codebook: Tensor, settings: GSDSettings) -> Tensor:
    return group_acceptance(p, q, x, codebook, settings, spread_of(codebook))


def _lantern(
    p: Tensor, q: Tensor, x: Tensor, codebook: Tensor, settings: LanternSettings
) -> Tensor:
    nearest = nearest_codes(codebook, x, settings.neighbours(len(codebook)))
    return neighbourhood_acceptance(p, q, x, nearest, settings)


_RULES: dict[str, tuple[type[Settings], Callable[..., Tensor]]] = {
    "gsd": (GSDSettings, _gsd),
    "lantern": (LanternSettings, _lantern),
}
