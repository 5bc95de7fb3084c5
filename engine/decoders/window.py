"""The window loop, once for every decoder: propose drafts, one forward pass, verify, commit.

The window is [root, d_1 .. d_{L-1}], the root being the last committed token. Output row i is the
model's distribution p at position n + i, where n is the frontier; it verifies the draft at that
position, and the last row's position has no draft yet. Drafts are counted from 0 with their
positions: `drafts[i]` and `q[i]` belong to position n + i.

Shapes: H drafts, S side nodes of a tree, V codes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.clock import StepClock
from engine.decoders.base import Decoder
from engine.decoders.recorder import StepRecorder
from engine.distributions import logits_to_probs
from engine.randomness import Noise
from engine.trace import Step


@dataclass(slots=True)
class Window:
    """Drafts [H] for positions n, n + 1, .. and the distributions q [H, V] they were drawn from.

    A tree adds side nodes: tokens `side` [S] at `side_depths` [S] below the root, and for all
    1 + H + S rows the row that each follows in `parents`.
    """

    drafts: Tensor
    q: Tensor
    side: Tensor | None = None
    side_depths: Tensor | None = None
    parents: tuple[int, ...] | None = None


@dataclass(slots=True)
class Diagnostics:
    """What a rule considered beside the drafts, for the records alone.

    groups [H, 3 + up to TOP]: of each draft's group (GSD) or neighbourhood (LANTERN) how many
    tokens, the two masses (under p and q) whose ratio is the acceptance probability, and the
    nearest tokens, the draft first, -1 for none. candidates [levels, K, 6]: token, p, q, acceptance
    probability, uniform, and 1 where it was tried.
    """

    groups: Tensor | None = None
    candidates: Tensor | None = None


@dataclass(slots=True)
class Verification:
    """What a decoder's rule made of a window; on the device, row i for position n + i, H + 1 rows.

    `tokens` are the committed ones, then the drafts of the next window, each of which is now a
    sample of its row of `q` [H + 1, V]. `path` are the window rows that lead to the committed
    positions; None: row i leads to position n + i.
    """

    count: Tensor  # committed positions, 0-dim
    tokens: Tensor
    q: Tensor
    status: Tensor  # a Status each
    drafts: Tensor  # what was verified, -1 for nothing
    p: Tensor  # the model's distribution at each position [H + 1, V]
    acceptance: Tensor  # probability that the rule accepts this very draft; NaN: not verified
    uniform: Tensor  # the number drawn against it; NaN: the rule did not come to it
    path: Tensor | None = None
    keeps_drafts: bool = True  # whether uncommitted drafts stay for the next window
    diagnostics: Callable[[], Diagnostics] = Diagnostics  # called while no lane is charged


class DecodeState:
    """One image while it is decoded: the model's context, the frontier, the drafts, the noise."""

    def __init__(self, decoder: Decoder, prompt: str, seed: int) -> None:
        model = decoder.model
        self.model = model
        self.ctx = model.start(prompt, decoder.sampling.guidance)
        self.noise = Noise(seed, model.device)
        self.step = 0
        self.frontier = 0
        self.tokens = torch.zeros(model.length, dtype=torch.long, device=model.device)
        self.drafts = torch.zeros(0, dtype=torch.long, device=model.device)  # for the next window
        self.q = torch.zeros(0, model.vocab_size, device=model.device)  # what they were drawn from
        self.forced = model.forced_ids.to(model.device) >= 0
        self.path: list[int] = []  # the window rows that the last step kept
        # Position n's newest p is row n % len(recent_p); None unless an initialisation draws from
        # it.
        self.recent_p: Tensor | None = None
        self.drafter_passes = 0

    def positions(self, count: int, start: int | None = None) -> Tensor:
        """The next `count` positions from the frontier, or from `start`."""
        start = self.frontier if start is None else start
        return torch.arange(start, start + count, device=self.model.device)

    def ids(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """The model's ids of tokens at positions: forced ids where the layout forces one."""
        ids = self.model.forced_ids.to(self.model.device)[positions]
        return torch.where(ids >= 0, ids, tokens)


class WindowDecoder(Decoder):
    """A decoder that works on a window; subclasses say how to draft and how to verify."""

    @abstractmethod
    def propose(self, state: DecodeState, room: int) -> Window:
        """The next window, of at most `room` drafts (none is allowed): the image ends behind
        them."""

    @abstractmethod
    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        """The rule. `p` [1 + H + S, V] are the model's distributions after each window row."""

    def steps(self, prompt: str, seed: int) -> Generator[Step, None, None]:
        model = self.model
        state, recorder = DecodeState(self, prompt, seed), StepRecorder(model.length)
        try:
            while state.frontier < model.length:
                clock = StepClock(model.device)
                state.drafter_passes = 0
                window = self.propose(state, model.length - state.frontier - 1)
                fed, positions = self._feed(state, window)
                clock.lap("draft" if state.drafter_passes else "verify")
                logits = model.forward(state.ctx, fed, window.parents)
                clock.lap("forward")
                p = logits_to_probs(logits, self.sampling, state.forced[positions])
                verification = self.verify(state, window, p)
                clock.lap("verify")
                recorder.gather(state, window, verification)
                clock.skip()
                count, path = recorder.read()
                clock.lap("verify")
                model.keep(state.ctx, path)
                clock.lap("cache")
                before = state.frontier
                state.tokens[before : before + count] = verification.tokens[:count]
                state.drafts, state.q = verification.tokens[count:], verification.q[count:]
                state.path = path
                state.frontier += count
                state.step += 1
                if state.recent_p is not None:
                    rows = state.positions(len(verification.p), before) % len(state.recent_p)
                    state.recent_p[rows] = verification.p
                clock.lap("verify")
                yield recorder.step(state.step, state.drafter_passes, clock.seconds())
        finally:
            state.ctx.close()

    def _feed(self, state: DecodeState, window: Window) -> tuple[Tensor, Tensor]:
        """Token ids of all rows, root first, and the position whose distribution each row gives."""
        ahead = state.positions(len(window.drafts) + 1)
        before = (ahead - 1).clamp_min(0)
        fed = state.ids(torch.cat([state.tokens[before[:1]], window.drafts]), before)
        if window.side is None or window.side_depths is None:
            return fed, ahead
        after = state.frontier + window.side_depths
        return torch.cat([fed, state.ids(window.side, after - 1)]), torch.cat([ahead, after])
