"""The expected shift that a decoder records, over all sequences that it may decode."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import torch

from engine.core import Verification
from engine.decoders.base import never
from engine.decoders.collect import Observation, collect
from engine.decoders.window import WindowDecoder
from engine.trace.rows import SHARES
from tools.judge.choices import recording
from tools.judge.enumeration import Node, StepOutcome, Walk, walked
from tools.judge.symbolic import settled


def recorded_shift(decoder: WindowDecoder) -> float | None:
    """Return the expected sum of the shifts that the decoder records for a picture's tokens.

    The prices that the decoder's audit gives after the last pass count as shifts too. Returns None
    if the shift of the rule's tests is unknown. Must be called within `exactly`.
    """
    even = torch.full((1, decoder.model.vocab_size), 1 / decoder.model.vocab_size)
    if decoder.shift(even, even, torch.zeros(1, dtype=torch.long)).isnan().any():
        return None
    walk = _Recording(decoder)
    walked(walk)
    return walk.shift


class _Recording(Walk):
    shift = 0.0

    def begin(self) -> Node:
        self.shift = 0.0
        return super().begin()

    def history(self, outcome: StepOutcome) -> None:
        before, after = outcome.before.state, outcome.after
        count, v = after.frontier - before.frontier, outcome.verification
        self.decoder.observe(after, outcome.window, v, count)
        with recording():
            values = {each.name: settled(getattr(v, each.name)) for each in fields(v)}
            seen = Observation.of(outcome.window, Verification(**values))
            numbers = collect(self.decoder, before, [seen], before.n.view(1))
        shares = numbers.shares[:count, SHARES.index("shift")].double().numpy()
        self.shift += outcome.before.chance * outcome.chance * float(np.nansum(shares))

    def end(self, node: Node) -> None:
        super().end(node)
        prices = self.decoder.audit(node.state, never)
        if prices is not None:
            self.shift += node.chance * float(prices.nansum())
