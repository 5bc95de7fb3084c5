"""Decoders whose tokens do not see all that is before them, and what that costs: exactly, once the
picture is there."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState, Verification, Window
from engine.decoders.window import WindowDecoder
from engine.models.likelihood import windows
from engine.numerics.distributions import exact, logits_to_probs, total_variation
from engine.plan import Plan


class Priced(WindowDecoder):
    """Its price at a position is TV(q, p): q is the distribution that the committed token was
    sampled from, p the model's given all tokens before it in the model's own order. Where guidance
    is for the first n tokens alone, these are other cells in the model's order than in this plan's:
    the price counts that too."""

    badge = Badge.CHANGED_DISTRIBUTION

    @property
    def own_order(self) -> tuple[Plan, Tensor]:
        """The plan in whose order the model says how likely a picture is, and the position there of
        each of this plan's [length]."""
        return self.plan, torch.arange(self.plan.length, device=self.model.device)

    def sampled_from(self, window: Window, verification: Verification) -> Tensor:
        """The distributions [rows, V] that tokens were sampled from: p, the row's own."""
        return verification.p

    def commit_order(self, state: DecodeState) -> Tensor:
        """The positions [length] in the order in which they were committed."""
        return torch.arange(self.plan.length, device=self.model.device)

    def observe(
        self, state: DecodeState, window: Window, verification: Verification, count: int
    ) -> None:
        state.sampled.add(self.sampled_from(window, verification)[:count])

    def audit(self, state: DecodeState, stopped: Callable[[], bool]) -> Tensor | None:
        plan, places = self.own_order
        device, committed = places.device, self.commit_order(state)
        every, forced = torch.arange(len(places), device=device), state.forced_ids >= 0
        tokens = torch.empty_like(state.tokens)
        tokens[places] = state.ids(state.tokens, every)
        q, order = state.sampled.all(), places[committed].argsort()
        found = torch.full((len(places),), torch.nan, device=device)
        done = 0
        for logits in windows(self.model, plan, state.prompt, self.sampling, tokens):
            here = order[done : done + len(logits)]
            done += len(logits)
            p = logits_to_probs(logits, self.sampling, None)
            found[committed[here]] = total_variation(q.rows(here, p), p).to(found)
            if stopped():
                return None
        return found.masked_fill(forced, torch.nan)


class Unverified(Priced):
    """Decoders that commit what they sample, tested by nothing."""

    def committed(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        """Every draft is accepted: q."""
        return exact(q)
