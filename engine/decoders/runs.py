"""Acceptance by runs (SJD-SV, ICML 2026, arXiv 2609.13245): a run of drafts is tested at once.

Shapes: R rows of a window, V codes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.decode_state import DecodeState
from engine.decoders.speculate import count_leading, speculate
from engine.numerics.distributions import gather

SHARE = 0.8  # the tested part of a run has at least this share of the run's mass


def verify_runs(state: DecodeState, window: Window, p: Tensor) -> Verification:
    """Accept drafts run by run: a run is a stretch of drafts over which p_i(x_i) does not fall.

    Draft x_i was drawn from q_i. Only the last part g .. e of a run b .. e is tested. g is the
    largest number with sum_{g..e} p_i(x_i) >= 0.8 sum_{b..e} p_i(x_i). The whole run is accepted
    with probability h_e = min(1, prod_{g..e} p_i(x_i) / q_i(x_i)). If it fails, the run without its
    last draft is tested in the same way, with a number of its own. The first draft that no test
    accepted is replaced by a sample of its residual R(p_i, q_i).

    The rule changes the distribution for two reasons. A shorter run is a second chance for the same
    drafts. And the drafts before g are not tested, so a draft with p = 0 may be committed.

    `p` is [R, V]. The acceptance probability recorded for draft e is h_e.
    """
    rows, drafts = len(p), window.drafts
    offsets, room = state.offsets(rows), state.room.clamp_max(rows - 1)
    there = offsets < room
    mass = gather(p, drafts).double()
    log_ratio = torch.where(there, (mass / gather(window.q, drafts)).log(), 0)
    run = torch.cat([there.new_zeros(1), mass.diff() < 0]).cumsum(0)
    # In the square matrices a row is a run's end e, and a column is a draft i of that run.
    inside = (run[:, None] == run) & (offsets[:, None] >= offsets)
    masses = torch.where(inside, mass, 0)
    behind = masses.flip(1).cumsum(1).flip(1) - masses
    needed = SHARE * masses.sum(1, keepdim=True)
    tested = inside & ((behind < needed) | (offsets[:, None] == offsets))
    h = torch.where(tested, log_ratio, 0).sum(1).exp().clamp_max(1)
    passed = there & (state.verify_numbers(rows).accept < h)
    accepted = (inside & passed[:, None]).any(0)
    first = count_leading(accepted, room)
    return speculate(state, window, p, h, first=first)
