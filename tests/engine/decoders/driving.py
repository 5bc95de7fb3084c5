"""What the tests of rules ask of one verification."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.decoders.window import WindowDecoder
from engine.numerics.distributions import one_hot
from tools.judge.one_pass import first_tokens, verify_chain
from tools.judge.toys import Toy

P, Q = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([0.4, 0.3, 0.2, 0.1])
TOY = Toy((2, 3), 4)
ACCEPT, REJECT = 0.0, 1.0  # below every acceptance probability but 0; not below any


def acceptances(decoder: WindowDecoder, p: Tensor, q: Tensor) -> Tensor:
    """[V]: the probability that each token is accepted as a draft from q."""
    return verify_chain(decoder, p, q, list(range(len(p)))).acceptance[:-1]


def replacement_distribution(decoder: WindowDecoder, p: Tensor, q: Tensor, x: int) -> Tensor:
    """[V]: the distribution of the token committed in place of a rejected draft x."""
    replaced, _ = first_tokens(decoder, p, q, x)
    return replaced / replaced.sum()


def point_mass(token: int, codes: int) -> Tensor:
    return one_hot(torch.tensor(token), codes)


def alpha(decoder: WindowDecoder, p: Tensor, q: Tensor) -> float:
    """P(accept) of a draft from q."""
    return float((q * acceptances(decoder, p, q)).sum())


def near(values: Tensor, expected: list[float], within: float = 1e-4) -> None:
    torch.testing.assert_close(
        values.double(), torch.tensor(expected, dtype=torch.float64), atol=within, rtol=0
    )
