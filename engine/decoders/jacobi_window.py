"""Jacobi windows: uncommitted drafts stay for the next step, and initialised tokens follow them
(SJD, App. H).

Every initialisation stores a one-hot q with its token, so that a lossless rule stays lossless: the
token is accepted with probability p(x), and on rejection x is excluded from the residual.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.decoders.window import DecodeState, Window, WindowDecoder
from engine.distributions import one_hot, sample
from engine.randomness import Purpose
from engine.settings import Settings, knob

INIT_SCHEMES = (
    "random",
    "horizontal repeat",
    "horizontal sample",
    "vertical repeat",
    "vertical sample",
)


@dataclass(frozen=True, slots=True)
class JacobiWindowSettings(Settings):
    """L = 16 in all of SJD's published test scripts; `random` is their choice for Lumina-mGPT."""

    window: int = knob(
        16,
        "Rows of one forward pass: the last committed token and the drafts after it.",
        low=2,
        high=96,
    )
    init: str = knob(
        "random",
        "What a new draft starts from: chance, or the token to its left or above.",
        choices=INIT_SCHEMES,
    )


class JacobiWindowDecoder(WindowDecoder):
    """A decoder whose window is filled up with initialised tokens at each step."""

    Settings = JacobiWindowSettings
    settings: JacobiWindowSettings

    def propose(self, state: DecodeState, room: int) -> Window:
        count = min(self.settings.window - 1, room)
        if self.settings.init.endswith("sample") and state.recent_p is None:
            size = self.model.stride + self.settings.window
            state.recent_p = torch.ones(size, self.model.vocab_size, device=self.model.device)
        drafts = state.drafts[:count]
        new = initial_tokens(state, drafts, count - len(drafts), self.settings.init)
        q = torch.cat([state.q[: len(drafts)], one_hot(new, self.model.vocab_size)])
        return Window(torch.cat([drafts, new]), q)


def initial_tokens(state: DecodeState, kept: Tensor, count: int, scheme: str) -> Tensor:
    """`count` tokens for the positions after the kept drafts.

    Horizontal: from the left neighbour, which in a run of new tokens is the last known token for
    all of them. Vertical: from the token above, or the nearest known one above that. Positions
    without such a neighbour are random. `repeat` copies the token, `sample` draws from the newest p
    of the neighbour's position.
    """
    known = state.frontier + len(kept)
    positions = state.positions(count, known)
    u = state.noise.uniform(Purpose.FRESH, positions, state.step, 1)[:, 0]
    codes, stride = state.model.vocab_size, state.model.stride
    tokens = (u * codes).long()
    if scheme != "random":
        if scheme.startswith("horizontal"):
            source = torch.where(positions % stride == 0, -1, known - 1)
        else:
            source = positions - stride * ((positions - known) // stride + 1)
        exists = (source >= 0) & ~state.forced[source.clamp_min(0)]
        source = source.clamp_min(0)
        if scheme.endswith("repeat"):
            sequence = torch.cat([state.tokens[: state.frontier], kept, kept.new_zeros(1)])
            copied = sequence[source.clamp_max(known)]
        else:
            assert state.recent_p is not None, "`propose` allocates it"
            copied = sample(state.recent_p[source % len(state.recent_p)], u)
        tokens = torch.where(exists, copied, tokens)
    return torch.where(state.forced[positions], 0, tokens)
