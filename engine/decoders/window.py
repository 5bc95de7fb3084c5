"""The window loop, once for every decoder: propose drafts, one forward pass, verify, commit.

The window is [root, d_1 .. d_{L-1}], the root being the last committed token. Output row i is the
model's distribution p at position n + i, where n is the frontier; it verifies the draft at that
position, and the last row's position has no draft yet. Drafts are counted from 0 with their
positions: `drafts[i]` and `q[i]` belong to position n + i.

Shapes: R rows, V codes.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import closing
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from engine.clock import StepClock, to_host
from engine.decoders.base import Decoder, never
from engine.decoders.decode_state import DecodeState, Rows, Verification, Window
from engine.decoders.recorder import StepRecorder, priced
from engine.graphs import CaptureError, Graphs
from engine.numerics.distributions import exact, logits_to_probs, total_variation
from engine.trace import Step

log = logging.getLogger(__name__)


class WindowDecoder(Decoder):
    """A decoder that works on a window; subclasses say how to draft and how to verify."""

    State: ClassVar[type[DecodeState]] = DecodeState

    @property
    def capturable(self) -> bool:
        """Whether the operations of a step are always the same, as a CUDA graph needs."""
        return True

    @property
    def captured(self) -> bool:
        model = self.model
        return model.capture is not None and self.capturable and self.name not in model.uncaptured

    def begin(self, prompt: str, seed: int) -> DecodeState:
        """The state of one image, of which nothing is drawn yet."""
        return self.State(self, prompt, seed)

    @abstractmethod
    def propose(self, state: DecodeState) -> Window:
        """The next window, of at most `state.draft_limit` drafts and a row without one."""

    @abstractmethod
    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        """The rule. `p` [R, V] are the model's distributions after each window row. Drafts behind
        the image's end (from `state.room` on) are never accepted."""

    def committed(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        """p' [T, V] in float64: the distribution of the token that each of T tests commits, for p
        and q [T, V], a draft being a sample of its q and number i [T] of its window; p unless the
        badge says that it changes. NaN where nobody has said it: no shift is recorded then."""
        return torch.full_like(exact(p), torch.nan)

    def shift(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        """TV(p', p) [T], float64, of what `committed` takes: 0 where the badge promises it."""
        if self.badge.lossless:
            return torch.zeros(len(q), dtype=torch.float64, device=q.device)
        return total_variation(self.committed(p, q, i), exact(p))

    def groups(self, p: Tensor, q: Tensor, x: Tensor) -> Tensor | None:
        """Of a rule that tests a draft with other tokens: of drafts x [T], under p and q [T, V],
        what `Diagnostics.groups` says."""
        return None

    def kept(self, state: DecodeState, path: list[int]) -> Sequence[int]:
        """The window rows that stay in the cache."""
        return state.kept(path)

    def observe(
        self, state: DecodeState, window: Window, verification: Verification, count: int
    ) -> None:
        """Called after each step, uncharged."""

    def audit(self, state: DecodeState, stopped: Callable[[], bool]) -> Tensor | None:
        """Called after the last step, uncharged, when the lane's slot is free: the prices [length]
        of a decoder that verifies nothing, else None. `stopped` as in `steps`."""
        return None

    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        model = self.model
        graphs: Graphs | None = None

        def run(part: str, key: Hashable, function: Callable[..., Any], *inputs: Any) -> Any:
            nonlocal graphs
            bound = partial(function, state, *inputs)
            # The first step reads the prompt too: its shapes are its own.
            if graphs is None or not state.step:
                return bound()
            try:
                return graphs.run(part, key, bound, clock)
            except CaptureError as error:
                graphs = state.slot.graphs = None
                clock.skip()
                result = bound()  # which raises where the device itself is lost
                log.warning("%s goes on without CUDA graphs: %s", self.title, error)
                # Another race may have the memory that this one lacks.
                if not isinstance(error.__cause__, torch.OutOfMemoryError):
                    model.uncaptured[self.name] = str(error)
                return result

        with self.begin(prompt, seed) as state, closing(StepRecorder(self, state)) as recorder:
            clock = StepClock(model.device)
            if model.capture and self.captured:
                graphs = state.slot.graphs = state.slot.graphs or Graphs(model.capture())
            while state.frontier < self.plan.length:
                clock.skip()
                state.drafter_passes = 0
                window, rows = run("propose", None, self._propose)
                clock.lap("draft" if state.drafter_passes else "verify")
                attended, width = state.ctx.attended(len(rows.fed)), len(rows.fed)
                logits = run("forward", attended, self._forward, window, rows)
                clock.lap("forward")
                verification, outcome = run("verify", width, self._verify, window, rows, logits)
                outcome = to_host(outcome)
                clock.lap("verify")
                seen = run("record", width, recorder.observe, window, verification).to_host()
                clock.wait()
                clock.skip()
                count, *path = outcome.tolist()
                path = path[:count] or list(range(count))
                model.keep(state.ctx, self.kept(state, path), state.known_until(path))
                clock.lap("cache")
                state.commit(verification, count, path)
                clock.lap("verify")
                seconds = clock.seconds()
                self.observe(state, window, verification, count)
                step = recorder.step(seen, width, verification, count, seconds)
                if state.frontier < self.plan.length:
                    yield step
        yield self._audited(step, state, stopped)

    def _audited(self, step: Step, state: DecodeState, stopped: Callable[[], bool]) -> Step:
        """The last step, with prices where the decoder has them. The picture is there: what goes
        wrong now costs the prices alone."""
        try:
            prices = self.audit(state, stopped)
        except Exception as error:
            log.warning("%s has no prices: %s: %s", self.title, type(error).__name__, error)
            return step
        return step if prices is None else priced(step, prices)

    def _propose(self, state: DecodeState) -> tuple[Window, Rows]:
        window = self.propose(state)
        return window, state.laid_out(window)

    def _forward(self, state: DecodeState, window: Window, rows: Rows) -> Tensor:
        logits = self.model.forward(state.ctx, rows.fed, window.parents, rows.asked)
        return state.fixed("logits", logits)

    def _verify(
        self, state: DecodeState, window: Window, rows: Rows, logits: Tensor
    ) -> tuple[Verification, Tensor]:
        """The verification, and what the loop needs of it: count, then its path if that can leave
        the chain."""
        p = logits_to_probs(logits, self.sampling, state.forced(rows.asked))
        verification = self.verify(state, window, p)
        count = verification.count.view(1)
        if verification.path is None:
            return verification, count
        return verification, torch.cat([count, verification.path])
