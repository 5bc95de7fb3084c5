"""The window loop, once for every decoder: propose drafts, one forward pass, verify, commit.

The window is [root, d_1 .. d_{R-1}]; the root is the last committed token. Draft d_{i+1} is for
position n + i, where n is the frontier; in the code it is `drafts[i]`, drawn from `q[i]`. Row i of
the pass reads the root (i = 0) or d_i. It gives the model's distribution p at position n + i, and
so verifies d_{i+1}. The last row's position has no draft yet.

Shapes: R rows, V codes.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from typing import Generic

import torch
from torch import Tensor
from typing_extensions import TypeVar

from engine.clock import to_host
from engine.core import Diagnostics, Groups, Rows, Turn, Verification, Window
from engine.decoders.base import Decoder, never
from engine.decoders.decode_state import DecodeState
from engine.decoders.launcher import Launcher, Run
from engine.decoders.recorder import StepRecorder, priced
from engine.numerics.distributions import exact, logits_to_probs, total_variation
from engine.trace import Step

log = logging.getLogger(__name__)
AnyState = TypeVar("AnyState", bound=DecodeState, default=DecodeState)


class WindowDecoder(Decoder, Generic[AnyState]):
    """A decoder that works on a window; subclasses say how to draft and how to verify."""

    State: type[AnyState] = DecodeState  # type: ignore[assignment]  # the type variable's default

    @property
    def capturable(self) -> bool:
        """True if a step always has the same operations, as a CUDA graph needs."""
        return True

    @property
    def captured(self) -> bool:
        """True if the decoder's steps run as CUDA graphs on this model."""
        captures = self.model.captures
        return captures is not None and self.capturable and self.name not in captures.without

    def begin(self, prompt: str, seed: int) -> AnyState:
        """Return the state of an image before its first token."""
        return self.State(self, prompt, seed)

    @abstractmethod
    def propose(self, state: AnyState) -> Window:
        """Return the next `Window`, which has at most `state.draft_limit` drafts."""

    @abstractmethod
    def verify(self, state: AnyState, window: Window, p: Tensor) -> Verification:
        """Apply the rule to a window.

        `p` [R, V] has the model's distribution after each window row. The rule accepts at most the
        first `state.room` drafts.
        """

    def committed(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        """Return the distribution p' of the token that each of T tests commits, [T, V] in float64.

        Each draft is a sample of its q. A decoder whose badge says that p' differs from p overrides
        this method. The default is NaN: p' is unknown, and no shift is recorded.

        Args:
            p: the model's distributions [T, V].
            q: the distributions of the drafts [T, V].
            i: index of each draft in its window [T].
        """
        return torch.full_like(exact(p), torch.nan)

    def shift(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        """Return TV(p', p) of each test, [T] in float64; 0 if the badge promises that p' is p.

        The arguments are those of `committed`.
        """
        if self.badge.lossless:
            return torch.zeros(len(q), dtype=torch.float64, device=q.device)
        return total_variation(self.committed(p, q, i), exact(p))

    def groups(self, p: Tensor, q: Tensor, x: Tensor) -> Groups | None:
        """Return the groups of drafts x [T] under p and q [T, V]; None for a rule without groups.

        A rule that tests a draft together with other tokens has groups.
        """
        return None

    def observe(
        self, state: AnyState, window: Window, verification: Verification, count: int
    ) -> None:
        """Look at a finished step; called after every step, and not charged to the lane."""

    def audit(self, state: AnyState, stopped: Callable[[], bool]) -> Tensor | None:
        """Return the price of each position [length], or None if the decoder has no prices.

        `Priced` says what a price is. The method is called after the last step, when the lane's
        slot is free, and not charged to the lane. `stopped` is as in `steps`.
        """
        return None

    def take_turn(self, state: AnyState, run: Run) -> Turn:
        """Do one pass; each of its parts is run by `run`.

        `run(part, key, function, *inputs)` returns `function(*inputs)`. It may replay a graph of
        the function, kept under `key`, as `Graphs.run` does.
        """
        state.drafter_passes = 0
        window, rows = run("propose", None, self.propose_rows, state)
        attended, width = state.ctx.attended(len(rows.fed)), len(rows.fed)
        logits = run("forward", attended, self.read_rows, state, window, rows)
        read = state, window, rows, logits
        verification, outcome = run("verify", width, self.verify_logits, *read)
        return Turn(window, rows, verification, outcome)

    def propose_rows(self, state: AnyState) -> tuple[Window, Rows]:
        """Return the next window and the rows of the pass that verifies it."""
        window = self.propose(state)
        return window, state.laid_out(window)

    def read_rows(self, state: AnyState, window: Window, rows: Rows) -> Tensor:
        """Return the target's logits after each row [R, V]."""
        logits = self.model.forward(state.ctx, rows.fed, window.parents, rows.asked)
        return state.fixed("logits", logits)

    def verify_logits(
        self, state: AnyState, window: Window, rows: Rows, logits: Tensor
    ) -> tuple[Verification, Tensor]:
        """Return the verification, and the part of it that the host needs (`Turn.outcome`)."""
        p = logits_to_probs(logits, self.sampling, state.forced(rows.asked))
        verification = self.verify(state, window, p)
        if verification.rank is not None:
            verification = _sorted(verification.rank, window, verification)
        count = verification.count.view(1)
        if verification.path is None:
            return verification, count
        return verification, torch.cat([count, verification.path])

    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        with self.begin(prompt, seed) as state, closing(StepRecorder(self, state)) as recorder:
            launcher = Launcher(self, state)
            clock = launcher.clock
            while state.frontier < self.plan.length:
                # 1. Propose, read and verify: `launcher` charges each part.
                clock.skip()
                turn = self.take_turn(state, launcher.run)
                outcome = to_host(turn.outcome)
                clock.lap("verify")
                # 2. What is recorded comes to the host with what is committed, in one wait.
                width, observed = len(turn.rows.fed), (turn.window, turn.verification)
                seen = launcher.run("record", width, recorder.observe, state, *observed).to_host()
                clock.wait()
                clock.skip()
                # 3. Commit: the cache keeps rows, the state goes on.
                path = state.committed_rows(outcome.tolist())
                state.keep_rows(path)
                clock.lap("cache")
                state.commit(turn.verification, path)
                clock.lap("verify")
                # 4. Yield the step. The last one waits for its prices, when the slot is free.
                seconds = clock.seconds()
                self.observe(state, *observed, len(path))
                step = recorder.step(seen, width, turn.verification, len(path), seconds)
                if state.frontier < self.plan.length:
                    yield step
        yield self._audited(step, state, stopped)

    def _audited(self, step: Step, state: AnyState, stopped: Callable[[], bool]) -> Step:
        """Return the last step, with its prices if the decoder has prices.

        The picture is complete by then, so an error costs the prices alone.
        """
        try:
            prices = self.audit(state, stopped)
        except Exception as error:
            log.warning("%s has no prices: %s: %s", self.title, type(error).__name__, error)
            return step
        return step if prices is None else priced(step, prices)


def _sorted(rank: Tensor, window: Window, v: Verification) -> Verification:
    """Return `v` with its rows sorted by rank; rows of equal rank keep the window's order."""
    order = rank.argsort(stable=True)
    columns = "tokens", "q", "status", "p", "acceptance", "uniform", "drafts", "places"
    rows = {name: getattr(v, name)[order] for name in columns}
    verification = replace(v, **rows, rank=None, path=order)
    verification.diagnostics = lambda: Diagnostics(q=window.q[order])  # not charged
    return verification
