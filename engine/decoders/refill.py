"""Refilled windows: drafts that were not committed stay, and fresh tokens are appended behind them
(SJD, Sec. 3.2).

Every scheme stores a one-hot law with the fresh token: it is certain to be what it is, so a fresh
token that is reached is accepted with probability p(x), and the point mass is taken from the
residual. That keeps lossless rules lossless.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.decoders.run import Run
from engine.decoders.verdict import Window
from engine.decoders.window import WindowDecoder
from engine.distributions import one_hot, sample
from engine.randomness import Purpose
from engine.settings import Settings, knob

SCHEMES = ("random", "horizontal repeat", "horizontal sample", "vertical repeat", "vertical sample")


@dataclass(frozen=True, slots=True)
class RefillSettings(Settings):
    """L = 16 stands in all of SJD's published test scripts; `random` is what they use for
    Lumina-mGPT."""

    window: int = knob(
        16,
        "Rows of one forward pass: the last committed token and the drafts after it.",
        low=2,
        high=96,
    )
    init: str = knob(
        "random",
        "What a new draft starts from: chance, or the token to its left or above.",
        choices=SCHEMES,
    )


class RefillDecoder(WindowDecoder):
    """A decoder whose window is refilled after each step."""

    Settings = RefillSettings

    def propose(self, run: Run, room: int) -> Window:
        count = min(self.settings.window - 1, room)
        if self.settings.init.endswith("sample") and run.memory is None:
            size = self.model.stride + self.settings.window
            run.memory = torch.ones(size, self.model.vocab_size, device=self.model.device)
        drafts = run.drafts[:count]
        new = fresh(run, drafts, count - len(drafts), self.settings.init)
        laws = torch.cat([run.laws[: len(drafts)], one_hot(new, self.model.vocab_size)])
        return Window(torch.cat([drafts, new]), laws)


def fresh(run: Run, kept: Tensor, count: int, scheme: str) -> Tensor:
    """`count` fresh tokens for the positions after the kept drafts.

    Horizontal: from the left neighbour; in a run of fresh tokens that is the last token known, for
    all of them. Vertical: from the token above, or the nearest known one above that. Positions
    without such a neighbour start from chance. `repeat` copies the token, `sample` draws from the
    neighbour's latest law.
    """
    known = run.frontier + len(kept)
    positions = run.positions(count, known)
    u = run.noise.uniform(Purpose.FRESH, positions, run.step, 1)[:, 0]
    codes, stride = run.model.vocab_size, run.model.stride
    tokens = (u * codes).long()
    if scheme != "random":
        if scheme.startswith("horizontal"):
            source = torch.where(positions % stride == 0, -1, known - 1)
        else:
            source = positions - stride * ((positions - known) // stride + 1)
        there = (source >= 0) & ~run.forced[source.clamp_min(0)]
        source = source.clamp_min(0)
        if scheme.endswith("repeat"):
            copied = torch.cat([run.tokens[: run.frontier], kept, kept.new_zeros(1)])[
                source.clamp_max(known)
            ]
        else:
            copied = sample(run.memory[source % len(run.memory)], u)
        tokens = torch.where(there, copied, tokens)
    return torch.where(run.forced[positions], 0, tokens)
