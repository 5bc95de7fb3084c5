"""The window loop, once for every decoder: propose drafts, one forward pass, verify, commit.

The window is [root, d_1 .. d_{L-1}], the root being the last committed token. Output row i is the
model's distribution p at position n + i, where n is the frontier; it verifies the draft at that
position, and the last row's position has no draft yet. Drafts are counted from 0 with their
positions: `drafts[i]` and `q[i]` belong to position n + i.

Shapes: H drafts, N nodes of a tree, V codes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from engine.clock import StepClock, to_host
from engine.decoders.base import Decoder
from engine.decoders.recorder import StepRecorder, collect
from engine.distributions import exact, logits_to_probs, total_variation
from engine.graphs import Graphs
from engine.models.base import Parents
from engine.randomness import Noise, Purpose
from engine.trace import Step

MAX_ROWS = 96  # of a window


@dataclass(slots=True)
class Window:
    """Drafts [H] for positions n, n + 1, .. and the distributions q [H, V] they were drawn from.

    In a tree they are one of its paths, -1 behind its end, and the rows behind the root are its
    `nodes` [N], tokens at `depths` [N] below the root; `parents` are the rows that its 1 + N rows
    follow. `asks`: in an infilling, rows ask for the position that the loop pairs them with,
    whatever they follow.
    """

    drafts: Tensor
    q: Tensor
    nodes: Tensor | None = None
    depths: Tensor | None = None
    parents: Parents = None
    asks: bool = False


@dataclass(slots=True)
class Diagnostics:
    """What a rule considered beside the drafts, for the records alone.

    groups [H, 3 + up to TOP]: of each draft's group (GSD) or neighbourhood (LANTERN) how many
    tokens, the two masses (under p and q) whose ratio is the acceptance probability, and the
    nearest tokens, the draft first, -1 for none. candidates [levels, K, 6]: token, p, q, acceptance
    probability, uniform, and 1 where it was tried. q [H, V]: what the verified drafts were drawn
    from, where a path of a tree has other drafts than the window. shift [H]: of the tests on that
    path, where `WindowDecoder.shift` is not that of a node with several drafts.
    """

    groups: Tensor | None = None
    candidates: Tensor | None = None
    q: Tensor | None = None
    shift: Tensor | None = None


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
    """One image while it is decoded: the model's context, the frontier, the drafts, the noise.

    `frontier` and `step` are the host's; decoders work with `start`, `room` and `carried`, the same
    facts on the device, so that no operation of theirs depends on a number of the host.
    """

    def __init__(self, decoder: Decoder, prompt: str, seed: int) -> None:
        model, device = decoder.model, decoder.model.device
        self.model = model
        self.ctx = model.start(prompt, decoder.sampling.guidance)
        self.noise = Noise(seed, device)
        self.step = 0
        self.frontier = 0
        self.start = torch.zeros((), dtype=torch.long, device=device)  # the frontier
        self.room = torch.full_like(self.start, model.length - 1)  # drafts before the image's end
        self.tokens = torch.zeros(model.length, dtype=torch.long, device=device)
        # What the last verification left: tokens [N], their q [N, V], and how many are committed.
        self.drafts = torch.zeros(1, dtype=torch.long, device=device)
        self.q = torch.zeros(1, model.vocab_size, device=device)
        self.carried = torch.ones_like(self.start)
        self.forced_ids = model.forced_ids.to(device)
        self.path: list[int] = []  # the window rows that the last step kept
        # Position n's newest p is row n % len(recent_p); None unless an initialisation draws from
        # it.
        self.recent_p: Tensor | None = None
        self.drafter_passes = 0
        self._fixed: dict[str, Tensor] = {}
        self._noise: dict[Hashable, tuple[Tensor, Callable[[], Tensor]]] = {}
        self._offsets = torch.arange(model.length + MAX_ROWS, device=device)

    def offsets(self, count: int) -> Tensor:
        """0 .. count - 1."""
        return self._offsets[:count]

    def positions(self, count: int) -> Tensor:
        """The next `count` positions from the frontier, none behind the image's end."""
        return (self._offsets[:count] + self.start).clamp_max(self.model.length - 1)

    def uniform(self, purpose: Purpose, rows: int, count: int) -> Tensor:
        """[rows, count] uniforms of the next `rows` positions from the frontier."""

        def draw() -> Tensor:
            return self.noise.uniform(purpose, self.frontier, rows, self.step, count)

        return self._drawn((purpose, rows, count), draw)

    def gumbel(self, rows: int) -> Tensor:
        """[rows, V] Gumbel noise of the next `rows` positions, the same in every step."""

        def draw() -> Tensor:
            return self.noise.gumbel(self.frontier, rows, self.model.vocab_size)

        return self._drawn(rows, draw)

    def _drawn(self, key: Hashable, draw: Callable[[], Tensor]) -> Tensor:
        """This step's numbers; with static shapes in the same place in every step."""
        if not self.model.static:
            return draw()
        if key not in self._noise:
            self._noise[key] = draw().clone(), draw
        return self._noise[key][0]

    def fixed(self, name: str, values: Tensor) -> Tensor:
        """The values; with static shapes in the same place in every step."""
        if not self.model.static:
            return values
        place = self._fixed.get(name)
        if place is None or place.shape != values.shape:
            place = self._fixed[name] = torch.empty_like(values)
        return place.copy_(values)

    def forced(self, positions: Tensor) -> Tensor | None:
        """Where the layout forces a token, bool; None where it never does."""
        return self.forced_ids[positions] >= 0 if self.model.has_forced else None

    def ids(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """The model's ids of tokens at positions: forced ids where the layout forces one."""
        if not self.model.has_forced:
            return tokens
        ids = self.forced_ids[positions]
        return torch.where(ids >= 0, ids, tokens)

    def kept_drafts(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """The first `count` drafts that the last step left, [count], their q [count, V], and which
        of them there are: the others mean nothing."""
        rows = self._offsets[:count] + self.carried
        last = len(self.drafts) - 1
        there = rows <= last
        rows = rows.clamp_max(last)
        return self.drafts[rows], self.q[rows], there

    def commit(self, verification: Verification, count: int, path: list[int]) -> None:
        """Takes over what a step committed and left."""
        self.tokens[self.frontier : self.frontier + count] = verification.tokens[:count]
        if self.recent_p is not None:
            rows = self.positions(len(verification.p)) % len(self.recent_p)
            self.recent_p[rows] = verification.p
        self.drafts = self.fixed("drafts", verification.tokens)
        self.q, self.path = self.fixed("q", verification.q), path
        self.frontier += count
        self.step += 1
        self.carried.fill_(count)
        self.start.fill_(self.frontier)
        self.room.fill_(self.model.length - 1 - self.frontier)
        for place, draw in self._noise.values():
            place.copy_(draw())


class WindowDecoder(Decoder):
    """A decoder that works on a window; subclasses say how to draft and how to verify."""

    @property
    def capturable(self) -> bool:
        """Whether the operations of a step are always the same, as a CUDA graph needs."""
        return True

    @abstractmethod
    def propose(self, state: DecodeState, room: int) -> Window:
        """The next window, of at most `room` drafts (none is allowed)."""

    @abstractmethod
    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        """The rule. `p` [rows, V] are the model's distributions after each window row. Drafts
        behind the image's end (from `state.room` on) are never accepted."""

    def committed(self, p: Tensor, q: Tensor) -> Tensor:
        """p' [H, V] in float64: the distribution of the token that a test of the window's drafts
        commits, for p and q [H, V], each draft a sample of its q. Here p: what is committed is a
        sample of it, whatever the draft."""
        return exact(p)

    def shift(self, p: Tensor, q: Tensor) -> Tensor:
        """TV(p', p) [H], float64, 0 to rounding for a lossless rule; p and q [H, V]."""
        return total_variation(self.committed(p, q), exact(p))

    def steps(self, prompt: str, seed: int) -> Generator[Step, None, None]:
        model = self.model
        state, recorder = DecodeState(self, prompt, seed), StepRecorder(model.length)
        clock = StepClock(model.device)
        graphs = Graphs(model.capture, clock) if model.capture and self.capturable else None

        def run(part: str, key: Hashable, function: Callable[..., Any], *inputs: Any) -> Any:
            bound = partial(function, state, *inputs)
            # The first step reads the prompt too: its shapes are its own.
            return graphs.run(part, key, bound) if graphs and state.step else bound()

        try:
            while state.frontier < model.length:
                clock.skip()
                state.drafter_passes = 0
                room = MAX_ROWS if model.static else model.length - state.frontier - 1
                window, fed, positions = run("propose", room, self._propose, room)
                clock.lap("draft" if state.drafter_passes else "verify")
                attended = model.attended(state.ctx, len(fed))
                targets = positions if window.asks else None
                logits = run("forward", attended, self._forward, fed, window.parents, targets)
                clock.lap("forward")
                verification, outcome = run(
                    "verify", len(fed), self._verify, window, logits, positions
                )
                outcome = to_host(outcome)
                clock.lap("verify")
                record = run("record", len(fed), collect, window, verification, self.shift)
                recorder.copy(record, state, window, verification)
                clock.wait()
                clock.skip()
                count, *path = outcome.tolist()
                path = path[:count] or list(range(count))
                model.keep(state.ctx, path)
                clock.lap("cache")
                state.commit(verification, count, path)
                clock.lap("verify")
                yield recorder.step(state.step, state.drafter_passes, clock.seconds())
        finally:
            state.ctx.close()

    def _propose(self, state: DecodeState, room: int) -> tuple[Window, Tensor, Tensor]:
        """The next window; token ids of all its rows, root first, and the position whose
        distribution each row gives."""
        window = self.propose(state, room)
        return window, *self._feed(state, window)

    def _forward(
        self, state: DecodeState, fed: Tensor, parents: Parents, targets: Tensor | None = None
    ) -> Tensor:
        asked = () if targets is None else (targets,)
        return state.fixed("logits", self.model.forward(state.ctx, fed, parents, *asked))

    def _verify(
        self, state: DecodeState, window: Window, logits: Tensor, positions: Tensor
    ) -> tuple[Verification, Tensor]:
        """The verification, and what the loop needs of it: count, then its path if that can leave
        the chain."""
        p = logits_to_probs(logits, self.sampling, state.forced(positions))
        verification = self.verify(state, window, p)
        count = verification.count.view(1)
        if verification.path is None:
            return verification, count
        return verification, torch.cat([count, verification.path])

    def _feed(self, state: DecodeState, window: Window) -> tuple[Tensor, Tensor]:
        """Token ids of all rows, root first, and the position whose distribution each row gives."""
        root = state.tokens[(state.start - 1).clamp_min(0).view(1)]
        if window.nodes is None or window.depths is None:
            positions = state.positions(len(window.drafts) + 1)
            tokens = torch.cat([root, window.drafts])
        else:
            below = (state.start + window.depths).clamp_max(self.model.length - 1)
            positions = torch.cat([state.positions(1), below])
            tokens = torch.cat([root, window.nodes])
        return state.ids(tokens, (positions - 1).clamp_min(0)), positions
