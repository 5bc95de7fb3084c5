"""The window loop, once for every decoder: propose a window, one forward pass, judge it, keep what is committed.

Notation (SJD, Sec. 3): the window is [root, d_1 .. d_{L-1}]; output row i is the law p_i of position n + i, so it judges the
draft d_{i+1} that stands there, and the last row's position has no draft yet. Here drafts are counted from 0 with their
positions: `drafts[i]` and `laws[i]` belong to position n + i.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.clock import StepClock
from engine.decoders.base import Decoder
from engine.laws import process, total_variation
from engine.randomness import Noise
from engine.records import Position, Status, Step


@dataclass(slots=True)
class Window:
    """What one forward pass is fed: drafts [H] for positions n, n + 1, .., with the laws [H, V] they were drawn from.

    A tree adds `side` nodes behind them: their tokens, and for all 1 + H + S rows the row each follows.
    """

    drafts: Tensor
    laws: Tensor
    side: Tensor | None = None
    side_depths: Tensor | None = None
    parents: tuple[int, ...] | None = None


@dataclass(slots=True)
class Verdict:
    """What a decoder's rule made of a window; all on the device, row i for position n + i, H + 1 rows.

    count: how many positions are committed (0-dim); tokens: their tokens, then the drafts that stay; laws [H + 1, V]: what
    each remaining draft is now a sample of; status: a Status each; drafts: what was judged, -1 for nothing; p: the law at
    each position; acceptance: the probability with which the rule accepts that draft, NaN where none is judged; path: the
    window rows that lead to the committed positions (None: row i leads to position n + i); standing: whether the drafts that
    are not committed stay for the next window.
    """

    count: Tensor
    tokens: Tensor
    laws: Tensor
    status: Tensor
    drafts: Tensor
    p: Tensor
    acceptance: Tensor
    path: Tensor | None = None
    standing: bool = True


class Run:
    """One picture being decoded: the model's context, the frontier, the drafts that stay, and the noise."""

    def __init__(self, decoder: WindowDecoder, prompt: str, seed: int) -> None:
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
        self.memory: Tensor | None = None  # the latest laws of the last len(memory) positions, for decoders that ask
        self.drafter_passes = 0

    def positions(self, count: int, start: int | None = None) -> Tensor:
        """The next `count` positions from the frontier, or from `start`."""
        start = self.frontier if start is None else start
        return torch.arange(start, start + count, device=self.model.device)

    def ids(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Tokens as the model knows them: forced ids where the layout forces one."""
        ids = self.model.forced_ids.to(self.model.device)[positions]
        return torch.where(ids >= 0, ids, tokens)


class WindowDecoder(Decoder):
    """A decoder that works on a window; subclasses say what to propose and how to judge."""

    @abstractmethod
    def propose(self, run: Run, room: int) -> Window:
        """The next window, of at most `room` drafts (none is allowed): the picture ends behind them."""

    @abstractmethod
    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        """The rule. `p` [1 + H + S, V] are the laws after each row of the window."""

    def steps(self, prompt: str, seed: int) -> Iterator[Step]:
        model = self.model
        run = Run(self, prompt, seed)
        try:
            while run.frontier < model.length:
                clock = StepClock(model.device)
                run.drafter_passes = 0
                window = self.propose(run, model.length - run.frontier - 1)
                fed, positions = self._feed(run, window)
                clock.lap("draft" if run.drafter_passes else "verify")
                logits = model.forward(run.ctx, fed, window.parents)
                clock.lap("forward")
                p = process(logits, self.sampling, run.forced[positions])
                verdict = self.judge(run, window, p)
                count, path, touched = self._read(run, window, verdict)
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
                yield Step(run.step, before, run.frontier, touched, clock.seconds(), run.drafter_passes)
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

    def _read(self, run: Run, window: Window, verdict: Verdict) -> tuple[int, list[int], tuple[Position, ...]]:
        """The step's one copy from the device: the count, the path to keep, and what happened to each position."""
        rows = len(verdict.tokens)
        positions = run.positions(rows)
        drafted = torch.arange(rows, device=positions.device) < len(window.drafts)
        q = torch.cat([window.laws, window.laws.new_zeros(rows - len(window.laws), window.laws.shape[1])])
        status = torch.where(run.forced[positions], int(Status.FORCED), verdict.status)
        path = verdict.path if verdict.path is not None else torch.arange(rows, device=positions.device)
        drafts = torch.where(verdict.drafts >= 0, run.ids(verdict.drafts, positions), -1)
        whole = torch.stack([path, drafts, run.ids(verdict.tokens, positions), status, verdict.count.expand(rows)])
        parts = torch.stack(
            [
                verdict.p.amax(-1),
                torch.where(drafted, q.amax(-1), torch.nan),
                torch.where(drafted, total_variation(verdict.p, q), torch.nan),
                verdict.acceptance,
            ]
        )
        # Whole numbers below 2**53 and float32 both fit a float64: one tensor, one copy.
        columns = torch.cat([whole.double(), parts.double()]).cpu().tolist()
        count = int(columns[4][0])
        if not verdict.standing:
            columns = [column[: max(count, len(window.drafts))] for column in columns]
        touched = tuple(
            Position(run.frontier + i, None if draft < 0 else int(draft), int(token), Status(int(state)), top1,
                     *(None if value != value else value for value in rest))
            for i, (draft, token, state, top1, *rest) in enumerate(zip(*columns[1:4], *columns[5:], strict=True))
        )  # fmt: skip
        return count, [int(row) for row in columns[0][:count]], touched

