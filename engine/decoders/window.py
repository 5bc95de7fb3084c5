"""The window loop, once for every decoder: propose a window, one forward pass, judge it, keep what
is committed.

Notation (SJD, Sec. 3): the window is [root, d_1 .. d_{L-1}]; output row i is the law p_i of
position n + i, so it judges the draft d_{i+1} that stands there, and the last row's position has no
draft yet. Here drafts are counted from 0 with their positions: `drafts[i]` and `laws[i]` belong to
position n + i.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import torch
from torch import Tensor

from engine.clock import StepClock
from engine.decoders.base import Decoder
from engine.decoders.recorder import StepRecorder
from engine.decoders.run import Run
from engine.decoders.verdict import Verdict, Window
from engine.distributions import logits_to_probs
from engine.trace import Step


class WindowDecoder(Decoder):
    """A decoder that works on a window; subclasses say what to propose and how to judge."""

    @abstractmethod
    def propose(self, run: Run, room: int) -> Window:
        """The next window, of at most `room` drafts (none is allowed): the picture ends behind
        them."""

    @abstractmethod
    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        """The rule. `p` [1 + H + S, V] are the laws after each row of the window."""

    def steps(self, prompt: str, seed: int) -> Iterator[Step]:
        model = self.model
        run, recorder = Run(self, prompt, seed), StepRecorder(model.length)
        try:
            while run.frontier < model.length:
                clock = StepClock(model.device)
                run.drafter_passes = 0
                window = self.propose(run, model.length - run.frontier - 1)
                fed, positions = self._feed(run, window)
                clock.lap("draft" if run.drafter_passes else "verify")
                logits = model.forward(run.ctx, fed, window.parents)
                clock.lap("forward")
                p = logits_to_probs(logits, self.sampling, run.forced[positions])
                verdict = self.judge(run, window, p)
                clock.lap("verify")
                recorder.gather(run, window, verdict)
                clock.skip()
                count, path = recorder.read()
                clock.lap("verify")
                model.keep(run.ctx, path)
                clock.lap("cache")
                before = run.frontier
                run.tokens[before : before + count] = verdict.tokens[:count]
                run.drafts, run.laws, run.path = verdict.tokens[count:], verdict.laws[count:], path
                run.frontier += count
                run.step += 1
                if run.memory is not None:
                    run.memory[run.positions(len(verdict.p), before) % len(run.memory)] = verdict.p
                clock.lap("verify")
                yield recorder.step(run.step, run.drafter_passes, clock.seconds())
        finally:
            run.ctx.close()

    def _feed(self, run: Run, window: Window) -> tuple[Tensor, Tensor]:
        """Token ids of all rows, root first, and the position that each row's law is of."""
        ahead = run.positions(len(window.drafts) + 1)
        before = (ahead - 1).clamp_min(0)
        fed = run.ids(torch.cat([run.tokens[before[:1]], window.drafts]), before)
        if window.side is None:
            return fed, ahead
        after = run.frontier + window.side_depths
        return torch.cat([fed, run.ids(window.side, after - 1)]), torch.cat([ahead, after])
