"""Decoders whose tokens see only part of the prefix, and the exact price of each position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.window import AnyState, WindowDecoder
from engine.models.likelihood import windows
from engine.numerics.distributions import logits_to_probs, total_variation


class Priced(WindowDecoder[AnyState]):
    """A decoder whose tokens do not see the whole prefix; each position has a price.

    The price of a position is TV(q, p). The committed token was sampled from q. p is the model's
    distribution given all earlier tokens in the model's own order. Prices are computed once the
    picture is complete.
    """

    badge = Badge.CHANGED_DISTRIBUTION

    def sampled_from(self, window: Window, verification: Verification) -> Tensor:
        """Return the distributions [rows, V] that the rows' tokens were sampled from.

        The default is each row's p.
        """
        return verification.p

    def observe(
        self, state: AnyState, window: Window, verification: Verification, count: int
    ) -> None:
        state.sampled.add(self.sampled_from(window, verification)[:count])

    def audit(self, state: AnyState, stopped: Callable[[], bool]) -> Tensor | None:
        plan, device = replace(self.plan, fronts=False), state.tokens.device  # one after another
        tokens = state.ids(state.tokens, torch.arange(plan.length, device=device))
        q, order = state.sampled.all(), state.commit_order().argsort()
        distances = torch.full((plan.length,), torch.nan, device=device)
        done = 0
        for logits in windows(self.model, plan, state.prompt, self.sampling, tokens):
            here = slice(done, done + len(logits))
            done += len(logits)
            p = logits_to_probs(logits, self.sampling, None)
            distances[here] = total_variation(q.rows(order[here], p), p).to(distances)
            if stopped():
                return None
        return distances.masked_fill(state.forced_ids >= 0, torch.nan)
