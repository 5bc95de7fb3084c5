"""The state of one decode; the window loop, the rules and the recorder share it.

Shapes: R rows of a pass, V codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import torch
from torch import Tensor

from engine.core import ContractError, Rows, Verification, Window
from engine.decoders.base import Decoder
from engine.models.base import MAX_ROWS, host_count
from engine.numerics.distributions import Sampled
from engine.numerics.randomness import Noise, Purpose


class VerifyNumbers(NamedTuple):
    """Uniform numbers for the tests of the next R positions, each [R].

    A draft is accepted if its acceptance probability exceeds `accept`. `replace` samples the token
    that replaces a rejected draft. `redraw` samples a new draft or the bonus token.
    """

    accept: Tensor
    replace: Tensor
    redraw: Tensor


class DecodeState:
    """One image while it is decoded: the model's context, the frontier, the drafts, the noise.

    `frontier` and `step` are on the host. Decoders use three numbers on the device instead, so that
    none of their operations depends on the host: `n` is the frontier, `room` the largest number of
    drafts that can be accepted before the image's last position, and `count` the number of tokens
    that the last step committed. A `path` has the window row of each position that a turn commits
    (`committed_rows`).
    """

    in_order = True  # whether a step's positions follow one another

    def __init__(self, decoder: Decoder, prompt: str, seed: int) -> None:
        model, device = decoder.model, decoder.model.device
        self.model, self.plan, self.prompt = model, decoder.plan, prompt
        sampling = decoder.sampling
        # With static shapes all that a step works on stays in its place from race to race.
        lane = type(decoder), decoder.settings, sampling, self.plan
        self.slot = model.slots.take(lane if model.static else None)
        try:
            self.ctx = model.start(
                prompt, sampling.guidance, sampling.guided_tokens, self.plan, self.slot
            )
            self._allocate(seed, device)
        except BaseException:
            self.slot.clear()
            model.slots.release(self.slot)
            raise

    def _allocate(self, seed: int, device: torch.device) -> None:
        """Allocate the tensors that a step works on, in the lane's slot."""
        plan = self.plan
        self.noise = Noise(seed, device, stream=plan.stream, gumbel_stream=plan.gumbel_stream)
        self.step = 0
        self.frontier = 0
        zero, place = torch.zeros((), dtype=torch.long, device=device), self.slot.place
        self.n = place("n", zero)
        self.room = place("room", zero + self.plan.length - 1)  # drafts before the image's end
        self.tokens = place("tokens", zero.repeat(self.plan.length))
        self.root = self.tokens[:1]  # the last committed token; means nothing in the first window
        # What the last verification left: tokens [N], their q [N, V], and how many are committed.
        self.drafts = torch.zeros(1, dtype=torch.long, device=device)
        self.q = torch.zeros(1, self.model.vocab_size, device=device)
        self.count = place("count", zero + 1)
        self.forced_ids = place("forced_ids", torch.tensor(self.plan.forced, device=device))
        self.path: list[int] = []  # the window rows that the last step kept
        # Position n's newest p is row n % len(recent_p); None unless an initialisation draws from
        # it.
        self.recent_p: Tensor | None = None
        self.drafter_passes = 0
        self.sampled = Sampled()  # what unverified tokens were drawn from
        # With static shapes: this step's random numbers, by the arguments of `_draw`.
        self._noise: dict[tuple[Purpose, int, int], Tensor] = {}
        self._offsets = place("offsets", torch.arange(self.plan.length + MAX_ROWS, device=device))

    @property
    def draft_limit(self) -> int:
        """The largest number of drafts in a window: one for each remaining position but the last.

        With static shapes the limit is constant, and drafts after the image's end are never
        accepted.
        """
        return host_count(self.model, self.plan.length - self.frontier - 1, MAX_ROWS)

    def offsets(self, count: int) -> Tensor:
        """Return 0 .. count - 1."""
        return self._offsets[:count]

    def positions(self, count: int) -> Tensor:
        """Return the next `count` positions from the frontier, clamped to the last position."""
        return (self._offsets[:count] + self.n).clamp_max(self.plan.length - 1)

    def uniform(self, purpose: Purpose, rows: int, count: int) -> Tensor:
        """Return `count` uniform numbers for each of the next `rows` positions [rows, count]."""
        return self._drawn(purpose, rows, count)

    def verify_numbers(self, rows: int) -> VerifyNumbers:
        """Return the uniform numbers that verify the next `rows` positions."""
        u = self._drawn(Purpose.VERIFY, rows, 3)
        return VerifyNumbers(u[:, 0], u[:, 1], u[:, 2])

    def gumbel(self, rows: int) -> Tensor:
        """Return Gumbel noise for the next `rows` positions, the same in every step [rows, V]."""
        return self._drawn(Purpose.NOISE, rows, self.model.vocab_size)

    def _drawn(self, purpose: Purpose, rows: int, count: int) -> Tensor:
        """Return this step's random numbers; with static shapes their address stays the same."""
        if not self.slot.keeps:
            return self._draw(purpose, rows, count)
        key = purpose, rows, count
        if key not in self._noise:
            self._noise[key] = self.slot.place(key, self._draw(*key))
        return self._noise[key]

    def _draw(self, purpose: Purpose, rows: int, count: int) -> Tensor:
        position = self.plan.before + self.frontier
        if purpose is Purpose.NOISE:
            return self.noise.gumbel(position, rows, count)
        return self.noise.uniform(purpose, position, rows, self.step, count)

    def fixed(self, name: str, values: Tensor) -> Tensor:
        """Return the values; with static shapes, a copy whose address is the same in every step."""
        return self.slot.place(name, values)

    def laid_out(self, window: Window) -> Rows:
        """Return the rows of the pass that verifies a window."""
        if window.rows is not None:
            return window.rows
        if window.nodes is None or window.depths is None:
            tokens, targets = window.drafts[:-1], self.positions(max(1, len(window.drafts)))
        else:
            below = (self.n + window.depths).clamp_max(self.plan.length - 1)
            tokens, targets = window.nodes, torch.cat([self.positions(1), below])
        return Rows(self.ids(torch.cat([self.root, tokens]), targets - 1), targets)

    def forced(self, positions: Tensor) -> Tensor | None:
        """Return which positions are forced (bool), or None if the plan forces no token."""
        if not self.plan.has_forced:
            return None
        return self.forced_ids[positions.clamp_max(self.plan.length - 1)] >= 0

    def ids(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Return the model's ids of tokens at positions; forced positions have their forced id.

        Position -1 belongs to the first window's root.
        """
        if not self.plan.has_forced:
            return tokens
        ids = self.forced_ids[positions.clamp_min(0)]
        return torch.where(ids >= 0, ids, tokens)

    def drafts_left(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return the first `count` drafts that the last step left, as a window's rows.

        Returns the drafts [count + 1], their q [count + 1, V], and which drafts exist (bool
        [count + 1]). The last row has no draft. In each row without a draft, q is 0 and the token
        means nothing.
        """
        rows = self._offsets[: count + 1] + self.count
        last = len(self.drafts) - 1
        there = rows <= last
        there[-1:].zero_()
        rows = rows.clamp_max(last)
        return self.drafts[rows], self.q[rows] * there[:, None], there

    def commit_order(self) -> Tensor:
        """Return a whole picture's positions in the order in which they were committed."""
        return torch.arange(self.plan.length, device=self.n.device)

    def nothing_drafted(self) -> tuple[Tensor, Tensor]:
        """Return empty drafts and an empty q, for a pass that verifies nothing."""
        return self.drafts[:0], self.q[:0]

    def kept(self, path: list[int]) -> Sequence[int]:
        """Return the window rows that stay in the cache: in this class, those on `path`."""
        return path

    def known_until(self, path: Sequence[int]) -> int:
        """Return where the committed prefix ends once the rows on `path` are committed."""
        return self.frontier + len(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Release the slot; empty it first after an exception, because its cache may hold NaNs."""
        if kind is not None and issubclass(kind, Exception):
            self.slot.clear()
        self.close()

    def close(self) -> None:
        """Release the slot; the state is not used again."""
        self.ctx.close()
        self.model.slots.release(self.slot)

    def committed_rows(self, outcome: list[int]) -> list[int]:
        """Return the window row of each position that a turn commits: the row that asked for it.

        `outcome` is `Turn.outcome` on the host. Raises ContractError where the turn commits no
        position, or more positions than the picture has left.
        """
        count, *path = outcome
        n, remaining_positions = self.frontier, self.plan.length - self.frontier
        if count < 1:
            raise ContractError(f"a pass from position {n} on committed nothing")
        if count > remaining_positions:
            raise ContractError(
                f"a pass from position {n} on committed {count} tokens, of a picture of"
                f" {self.plan.length}"
            )
        return path[:count] or list(range(count))

    def keep_rows(self, path: list[int]) -> None:
        """Make the rows on the path permanent in the cache."""
        self.ctx.keep(self.kept(path), self.known_until(path))

    def commit(self, verification: Verification, path: list[int]) -> None:
        """Take over the tokens that a step committed and the drafts that it left."""
        count = len(path)
        self.tokens[self.frontier : self.frontier + count] = verification.tokens[:count]
        if self.recent_p is not None:
            rows = self.positions(len(verification.p)) % len(self.recent_p)
            self.recent_p[rows] = verification.p
        self.drafts = self.fixed("drafts", verification.tokens)
        self.q, self.path = self.fixed("q", verification.q), path
        self.root = self.fixed(
            "root", self.tokens[self.frontier + count - 1 : self.frontier + count]
        )
        self._advance(count)

    def _advance(self, count: int) -> None:
        """Go on to the next step, after a step that committed `count` positions."""
        self.frontier += count
        self.step += 1
        self.count.fill_(count)
        self.n.fill_(self.frontier)
        self.room.fill_(self.plan.length - 1 - self.frontier)
        for key, place in self._noise.items():
            place.copy_(self._draw(*key))
