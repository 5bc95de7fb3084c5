"""Run: one picture while it is decoded, as every rule may see it."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.decoders.base import Decoder
from engine.randomness import Noise


class Run:
    """One picture being decoded: the model's context, the frontier, the drafts that stay, and the
    noise."""

    def __init__(self, decoder: Decoder, prompt: str, seed: int) -> None:
        model = decoder.model
        self.model = model
        self.ctx = model.start(prompt, decoder.sampling.guidance)
        self.noise = Noise(seed, model.device)
        self.step = 0
        self.frontier = 0
        self.tokens = torch.zeros(model.length, dtype=torch.long, device=model.device)
        self.drafts = torch.zeros(0, dtype=torch.long, device=model.device)
        self.laws = torch.zeros(0, model.vocab_size, device=model.device)
        self.forced = model.forced_ids.to(model.device) >= 0
        self.path: list[int] = []  # the window rows that the last step kept
        # the latest laws of the last len(memory) positions, for decoders that ask
        self.memory: Tensor | None = None
        self.drafter_passes = 0

    def positions(self, count: int, start: int | None = None) -> Tensor:
        """The next `count` positions from the frontier, or from `start`."""
        start = self.frontier if start is None else start
        return torch.arange(start, start + count, device=self.model.device)

    def ids(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Tokens as the model knows them: forced ids where the layout forces one."""
        ids = self.model.forced_ids.to(self.model.device)[positions]
        return torch.where(ids >= 0, ids, tokens)
