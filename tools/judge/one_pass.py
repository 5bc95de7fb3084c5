"""One verification of chosen drafts, with chosen uniform numbers or with all their outcomes."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.decode_state import DecodeState
from engine.decoders.window import WindowDecoder
from engine.numerics.distributions import gather
from engine.numerics.randomness import Noise, Purpose
from engine.trace import Status
from tools.judge.choices import outcomes
from tools.judge.symbolic import SymbolicNoise, settled


class FixedNoise(Noise):
    """Noise with some given uniform numbers; all other uniform numbers are 0.5.

    A keyword argument has the name of a purpose in lower case: `verify=[[0.3, 0.9]]`. Its value
    has a row [count] for each position, or a single row that all positions share. Gumbel noise is
    0.
    """

    def __init__(self, **rows: list[list[float]]) -> None:
        super().__init__(0, torch.device("cpu"))
        self.rows = {Purpose[name.upper()]: torch.tensor(values) for name, values in rows.items()}

    def uniform(self, purpose: Purpose, start: int, rows: int, draw: int, count: int) -> Tensor:
        u = torch.full((rows, count), 0.5, dtype=torch.float64)
        numbers = self.rows.get(purpose, u[:0])
        numbers = numbers.expand(len(u), -1) if len(numbers) == 1 else numbers[: len(u)]
        u[: len(numbers), : numbers.shape[1]] = numbers[:, :count]
        return u

    def gumbel(self, start: int, count: int, codes: int) -> Tensor:
        return torch.zeros(count, codes)


def verifying(decoder: WindowDecoder) -> DecodeState:
    """Return the state of a new decode, ready to verify drafts.

    The state is at step 1, since ASSD verifies nothing at step 0.
    """
    state = decoder.begin("", 0)
    state.step = 1
    return state


def window_of(drafts: Tensor, q: Tensor) -> Window:
    """Return the window of a chain of drafts [H] that were drawn from q [H, V]."""
    return Window(F.pad(drafts, (0, 1)), F.pad(q, (0, 0, 0, 1)))


def verify_chain(
    decoder: WindowDecoder, p: Tensor, q: Tensor, drafts: list[int], **rows: list[list[float]]
) -> Verification:
    """Return the verification of a chain of drafts [H].

    p is [H + 1, V] and q is [H, V], or each is one row for all positions. `rows` are the keyword
    arguments of FixedNoise.
    """
    state = verifying(decoder)
    state.noise = FixedNoise(**rows)
    state.room.fill_(len(drafts))
    p, q = p.expand(len(drafts) + 1, -1), q.expand(len(drafts), -1)
    window = window_of(torch.tensor(drafts, dtype=torch.long), q)
    return decoder.verify(state, window, p.contiguous())


class TestedNoise(SymbolicNoise):
    """Symbolic noise whose Gumbel noise is 0: testing and replacing a draft needs none of it."""

    def gumbel(self, start: int, count: int, codes: int) -> Tensor:
        return torch.zeros(count, codes)


def first_tokens(decoder: WindowDecoder, p: Tensor, q: Tensor, x: int) -> tuple[Tensor, Tensor]:
    """Return two arrays [V] of probabilities of the first token, whose draft is x.

    x was drawn from q [V]. p [V] is the model's distribution, also after the draft. The first array
    has the probability that the draft is rejected and replaced by each token; it sums to the
    probability of a rejection. The second array has the probability that each token is committed.
    Both cover all outcomes of the random numbers.
    """
    replaced, committed = torch.zeros(2, len(p), dtype=torch.float64)

    def run() -> Verification:
        state = verifying(decoder)
        state.noise = TestedNoise()
        state.room.fill_(1)
        return decoder.verify(state, window_of(torch.tensor([x]), q[None]), p.expand(2, -1))

    for choices, verification in outcomes(run, {}):
        token = int(settled(verification.tokens[:1]))
        rejected = int(settled(verification.status[:1])) == Status.RESAMPLED
        committed[token] += choices.weight
        replaced[token] += choices.weight * rejected
    return replaced, committed


def committed_distribution(decoder: WindowDecoder, p: Tensor, q: Tensor) -> Tensor:
    """Return the distribution [V] of the first token that one verification commits.

    The draft is drawn from q [V]. p [V] is the model's distribution, also after the draft.
    """
    drafts = [x for x in range(len(p)) if q[x] > 0]
    return torch.stack([float(q[x]) * first_tokens(decoder, p, q, x)[1] for x in drafts]).sum(0)


def accepted_drafts(decoder: WindowDecoder, p: Tensor, q: Tensor) -> float:
    """Return the expected number of drafts from q [H, V] that one verification accepts.

    The expectation is over all drafts and all outcomes. p [H + 1, V] does not depend on the
    drafts.
    """
    expected = 0.0
    for drafts in itertools.product(range(p.shape[-1]), repeat=len(q)):
        x = torch.tensor(drafts)

        def run() -> Tensor:
            state = verifying(decoder)
            state.noise = SymbolicNoise()
            state.room.fill_(len(q))
            verification = decoder.verify(state, window_of(x, q), p)  # noqa: B023
            count: Tensor = settled(verification.count.view(1))
            return count

        chance = float(gather(q, x).prod())
        expected += chance * sum(
            each.weight * (int(count) - 1) for each, count in outcomes(run, {})
        )
    return expected
