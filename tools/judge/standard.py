"""The models on which decoders are judged.

Every outcome is enumerated on the models of SMALL and LARGER, smallest first. Pictures are
sampled from the still larger models of SAMPLED.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from engine.core import Plan
from engine.decoders.base import Decoder
from engine.infilling import FORK, MASKED, Infilling
from engine.models.base import planned
from engine.settings import Sampling
from tools.judge.guided import GuidedToy
from tools.judge.toys import InfillToy, Toy


@dataclass(frozen=True, slots=True)
class StandardToy:
    """A model to judge on.

    Attributes:
        name: the model's name.
        words: what the model is, in words.
        make: a function that makes the model.
        infilling: the cells of its picture that are filled in; None if whole pictures are drawn.
        choices: whether the settings that are enumerated on the model vary only knobs that have
            choices, and leave all numbers at their defaults.
    """

    name: str
    words: str
    make: Callable[[], Toy]
    infilling: Infilling | None = None
    choices: bool = False

    def build(self) -> tuple[Toy, Plan]:
        model, plan = planned(self.make(), self.infilling)
        assert isinstance(model, Toy)
        return model, plan

    def suits(self, decoder: type[Decoder]) -> bool:
        """Return whether the decoder can draw the pictures of this model."""
        if self.infilling is None:
            return not decoder.infills
        return not (decoder.whole_only or (decoder.infills and self.infilling.forks))


def in_hundredths(model: Toy, scale: float = 1.0) -> Toy:
    """Round a model's probabilities to hundredths, and return the model.

    Such probabilities are easy to read, and the same on every processor. The logits are first
    multiplied by `scale`; a scale below 1 makes the model's distributions more alike.
    """
    p = torch.softmax(scale * model.logits, -1)
    hundredths = (100 * p).round().clamp_min(1)
    most = hundredths.argmax(-1, keepdim=True)
    rest = 100 - hundredths.sum(-1, keepdim=True)
    model.logits = (hundredths.scatter_add(-1, most, rest) / 100).log()
    return model


def crafted(
    first: Sequence[float], after_zero: Sequence[float], after_others: Sequence[float]
) -> Toy:
    """Return a model of three tokens with the given distributions.

    The first token has the distribution `first`. A later token has `after_zero` if the token before
    it is 0, else `after_others`. A token of probability 0 adds no run to an enumeration.
    """
    codes = len(first)
    model = Toy((1, 3), codes)
    p = torch.tensor(after_others).expand(codes + 1, codes + 1, codes).clone()
    p[:, 0], p[codes, codes] = torch.tensor(after_zero), torch.tensor(first)
    model.logits = p.clamp_min(1e-30).log()
    return model


def certain_first(
    length: int, second: Sequence[float], after_zero: Sequence[float], after_one: Sequence[float]
) -> Toy:
    """Return a model of `length` tokens of two codes; the first token is always 0.

    The second token has the distribution `second`; each later one has `after_zero` or `after_one`,
    by the token before it. Only in a long enough sequence does a decoder keep drafts for several
    passes before it tests them. With a certain first token and two codes, such a sequence is still
    cheap to enumerate.
    """
    model = Toy((1, length), 2)
    p = torch.empty(3, 3, 2)
    p[:, 0], p[:, 1] = torch.tensor(after_zero), torch.tensor(after_one)
    p[2, 2], p[2, 0] = torch.tensor([1.0, 0]), torch.tensor(second)
    model.logits = p.clamp_min(1e-30).log()
    return model


def two_of_three() -> Toy:
    model = in_hundredths(Toy((1, 3), 3))
    model.sampling = Sampling(guidance=1.0, top_k=2)
    return model


def at_temperature(temperature: float) -> Toy:
    model = in_hundredths(Toy((1, 3), 2))
    model.sampling = Sampling(guidance=1.0, top_k=0, temperature=temperature)
    return model


def tied(sampling: Sampling) -> Toy:
    """Return a model of three codes, two of which are equally likely, and with a given sampling."""
    model = crafted([0.4, 0.3, 0.3], [0.2, 0.4, 0.4], [0.3, 0.3, 0.4])
    model.sampling = sampling
    return model


def in_half(model: Toy) -> Toy:
    """Round a model's logits to bfloat16, as a network in bfloat16 does, and return the model."""
    model.dtype = torch.bfloat16
    model.logits = model.logits.to(model.dtype).to(model.logits.dtype)
    return model


def guided(length: int, guided_tokens: int) -> Toy:
    model = GuidedToy((1, length), 2)
    model.sampling = Sampling(guidance=2.0, guided_tokens=guided_tokens, top_k=0)
    return model


def of_nine() -> Toy:
    """Return a model of three tokens of nine codes, whose first and last tokens are certain.

    The first token is 0, and after it the second may be any of the nine. A draft of the first token
    may be another code. After such a draft the second token is nearly always 0. So a draft of the
    second token may come from a distribution that differs much from p.
    """
    model = Toy((1, 3), 9)
    p = torch.eye(9)[0].repeat(10, 10, 1)
    p[9, 1:9] = 0.91 * p[0, 0] + 0.01
    p[9, 0] = torch.tensor([0.23, 0.19, 0.15, 0.12, 0.10, 0.08, 0.06, 0.04, 0.03])
    model.logits = p.clamp_min(1e-30).log()
    return model


def of_top_p() -> Toy:
    model = crafted([0.5, 0.3, 0.2], [0.45, 0.4, 0.15], [0.2, 0.5, 0.3])
    model.sampling = Sampling(guidance=1.0, top_k=0, top_p=0.75)
    return model


def sure() -> Toy:
    """Return a model in which some unlikely tokens have probabilities below 1e-30.

    Logits with gaps of 7.6 give such probabilities at temperature 0.1.
    """
    model = crafted([0.02, 0.98, 0], [1, 0, 0], [0.02, 0.9, 0.08])
    model.logits[:, 0] = torch.tensor([1.0, 2e-36, 1e-33]).log()
    return model


def lively(grid: tuple[int, int], codes: int, sampling: Sampling, *, forced: bool = False) -> Toy:
    """Return a model on which about half of the drafts pass, and sometimes many in a row."""
    model = Toy(grid, codes, forced=forced)
    model.logits *= 0.7
    model.sampling = sampling
    return model


def half_filled(order: str) -> tuple[Callable[[], Toy], Infilling]:
    mask = (True, False, True, True, False, True)
    known = (0, 1, 0, 0, 1, 0)
    return lambda: InfillToy((2, 3), 2, seed=3), Infilling.of_mask(known, mask, order)


SMALL = (  # all settings are judged on these
    StandardToy("pair", "two tokens of two codes", lambda: in_hundredths(Toy((1, 2), 2))),
    StandardToy("row", "three tokens of two codes in a row", lambda: in_hundredths(Toy((1, 3), 2))),
    StandardToy(
        "first of three",
        "three tokens in a row, the first of three codes, the others of two",
        lambda: crafted([0.2, 0.3, 0.5], [0.6, 0.4, 0], [0.6, 0.4, 0]),
    ),
    StandardToy(
        "first of two",
        "three tokens in a row, the first of two codes, those behind a 0 of three",
        lambda: crafted([0.4, 0.6, 0], [0.5, 0.3, 0.2], [0.6, 0.4, 0]),
    ),
    StandardToy(
        "four",
        "four tokens of two codes in a row, the first certain",
        lambda: certain_first(4, [0.4, 0.6], [0.2, 0.8], [0.7, 0.3]),
    ),
    StandardToy("sure", "three tokens in a row, some nearly certain", sure),
)
LARGER = (
    StandardToy(
        "column", "three tokens of two codes in a column", lambda: in_hundredths(Toy((3, 1), 2))
    ),
    StandardToy(
        "lines",
        "two lines of two tokens of two codes, each with a forced end",
        lambda: in_hundredths(Toy((2, 2), 2, forced=True)),
    ),
    StandardToy(
        "square", "a square of four tokens of two codes", lambda: in_hundredths(Toy((2, 2), 2))
    ),
    StandardToy(
        "even",
        "four tokens of two codes in a row, whose distributions differ little",
        lambda: in_hundredths(Toy((1, 4), 2), 0.25),
    ),
    StandardToy(
        "pair of three", "two tokens of three codes", lambda: in_hundredths(Toy((1, 2), 3))
    ),
    StandardToy(
        "three", "three tokens of three codes in a row", lambda: in_hundredths(Toy((1, 3), 3))
    ),
    StandardToy("top-k", "three tokens of three codes in a row, top-k 2", two_of_three),
    StandardToy("top-p", "three tokens of three codes in a row, top-p 0.75", of_top_p),
    StandardToy(
        "warm", "three tokens of two codes in a row, temperature 1.5", lambda: at_temperature(1.5)
    ),
    StandardToy(
        "cool", "three tokens of two codes in a row, temperature 0.6", lambda: at_temperature(0.6)
    ),
    StandardToy(
        "ties of top-k",
        "three tokens of three codes in a row, two equally likely, top-k 2",
        lambda: tied(Sampling(guidance=1.0, top_k=2)),
    ),
    StandardToy(
        "ties of top-p",
        "three tokens of three codes in a row, two equally likely, top-p 0.6",
        lambda: tied(Sampling(guidance=1.0, top_k=0, top_p=0.6)),
    ),
    StandardToy(
        "half precision",
        "three tokens of two codes in a row, logits in bfloat16",
        lambda: in_half(in_hundredths(Toy((1, 3), 2))),
    ),
    StandardToy(
        "guided", "four tokens of two codes in a row, the first two guided", lambda: guided(4, 2)
    ),
    StandardToy(
        "fork",
        "a fork of five tokens of two codes in a row, behind the second; the first three guided",
        lambda: guided(5, 3),
        Infilling((0, 1, MASKED, MASKED, MASKED), FORK),
    ),
    StandardToy("nine codes", "three tokens of nine codes in a row, the first certain", of_nine),
    StandardToy(
        "six",
        "six tokens of two codes in a row, the first two certain",
        lambda: certain_first(6, [1.0, 0.0], [0.3, 0.7], [1.0, 0.0]),
        choices=True,
    ),
    StandardToy(
        "four codes",
        "three tokens of four codes in a row, the first certain",
        lambda: crafted([1.0, 0, 0, 0], [0.5, 0, 0, 0.5], [0.26, 0.37, 0.37, 0]),
    ),
    *(
        StandardToy(
            f"filled in, {order}",
            f"four cells of six filled in, in {order} order",
            *half_filled(order),
        )
        for order in ("raster", "spread")
    ),
)


SAMPLED = (
    StandardToy(
        "sixteen",
        "sixteen tokens of eight codes in a row",
        lambda: lively((1, 16), 8, Sampling(guidance=2.0, top_k=0)),
    ),
    StandardToy(
        "64 codes",
        "twelve tokens of 64 codes in a row, top-k 24, top-p 0.95, temperature 0.8",
        lambda: lively((1, 12), 64, Sampling(guidance=1.0, top_k=24, top_p=0.95, temperature=0.8)),
    ),
    StandardToy(
        "three lines",
        "three lines of four tokens of five codes, each with a forced end, top-p 0.8, temperature"
        " 1.3",
        lambda: lively(
            (3, 4), 5, Sampling(guidance=1.0, top_k=0, top_p=0.8, temperature=1.3), forced=True
        ),
    ),
    StandardToy(
        "300 codes",
        "eight tokens of 300 codes in a row, logits in bfloat16, temperature 0.7",
        lambda: in_half(lively((1, 8), 300, Sampling(guidance=1.0, top_k=0, temperature=0.7))),
    ),
    # Sampled because the outcomes of four codes' Gumbel noise are no intervals.
    StandardToy(
        "four of Gumbel",
        "three tokens of four codes in a row, few of them possible",
        lambda: crafted([1.0, 0, 0, 0], [0, 0.75, 0, 0.25], [0.5, 0.5, 0, 0]),
    ),
    *(
        StandardToy(
            f"six filled in, {order}",
            f"six cells of eight, of three codes, filled in, in {order} order",
            lambda: InfillToy((2, 4), 3, seed=3),
            Infilling.of_mask([0] * 8, [cell not in (2, 5) for cell in range(8)], order),
        )
        for order in ("raster", "spread")
    ),
)
