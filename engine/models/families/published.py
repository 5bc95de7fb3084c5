"""Compares a model with numbers that others published for its true weights.

Greedy tokens need not be the same on every machine. Where two codes are nearly as likely, rounding
decides, and after one different token all later ones differ. So a model is fed the published
tokens. Each token gets a rank: its place among all codes, by the model's logits after the tokens
before it.

The ranks have to pass two tests (docs/log.md has the figures behind both):

* All ranks are small (`BEST`). With the same weights this holds in any dtype: for an embedded model
  with 1,024 codes, the likeliest code in float32 or bfloat16 was one of the four likeliest in the
  other dtype. Entirely different weights give arbitrary ranks: the probability that 50 tokens are
  among the best hundredth by chance is 1e-100.
* In float32 most ranks are 1 (`LIKELIEST`). This test finds a fault that the first can miss: with
  one wrong matrix in one layer all ranks may stay small, but fewer are 1. Rounding alone hardly
  changes a rank of 1 in float32, because that rounding is 2^16 times as fine as bfloat16's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from engine.models.families.janus import IMAGE, JanusModel
from engine.models.likelihood import teacher_forced
from engine.models.supply.device import DTYPES
from engine.settings import Sampling

BEST = 0.01  # each published token must be in this share of the codes, the likeliest ones
LIKELIEST = 0.9  # in the publisher's dtype, this share of published tokens must have rank 1


@dataclass(frozen=True, slots=True)
class Published:
    """The first greedy tokens of a picture, as others published them.

    Raises ValueError if there are no tokens.
    """

    source: str
    dtype: str  # the dtype in which the tokens were computed
    template: str  # of the prompt, after the beginning token
    prompt: str
    prompt_tokens: int  # length of the prompt, with the beginning and image tokens
    guidance: float
    tokens: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.tokens:
            raise ValueError("no token was published")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The ranks that a model's logits give to published tokens.

    Attributes:
        ranks: rank of each token among `codes` codes, given the published tokens before it. The
            likeliest code has rank 1.
        prompt_tokens: number of tokens that the prompt has here.
        exact: whether the model has the publisher's dtype or a wider one.
    """

    published: Published
    ranks: tuple[int, ...]
    codes: int
    prompt_tokens: int
    exact: bool

    @property
    def most(self) -> int:
        """The largest rank that a published token may have if the weights are the publisher's."""
        return max(1, int(BEST * self.codes))

    @property
    def least(self) -> int:
        """How many published tokens must have rank 1; 0 if the model's dtype is narrower."""
        return math.ceil(LIKELIEST * len(self.ranks)) if self.exact else 0

    @property
    def likeliest(self) -> int:
        return self.ranks.count(1)

    @property
    def same(self) -> bool:
        prompt = self.prompt_tokens == self.published.prompt_tokens
        return prompt and max(self.ranks) <= self.most and self.likeliest >= self.least

    @property
    def greedy(self) -> int:
        """The number of published tokens before the first one whose rank is not 1."""
        return next((i for i, rank in enumerate(self.ranks) if rank > 1), len(self.ranks))


# fmt: off
_JANUS_PRO_1B = (
    4484, 4015, 15750, 506, 3758, 11651, 8597, 5739, 4861, 971, 14985, 14834, 15438, 7548,
    1820, 1465, 13529, 12761, 10503, 12761, 14303, 6155, 4015, 11766, 705, 15736, 14146, 10417,
    1951, 7713, 14305, 15617, 6169, 2706, 8006, 14893, 3855, 10188, 15652, 6297, 1097, 12108,
    15038, 311, 14998, 15165, 897, 4044, 1762, 4676,
)
# fmt: on
PUBLISHED = {
    "janus-pro-1b": Published(
        source="test_model_generate_images of tests/models/janus/test_modeling_janus.py in"
        " huggingface/transformers 4, the same on CUDA, ROCm 9.5 and XPU",
        dtype="float32",
        template="{}" + IMAGE,
        prompt="A portrait of young girl. masterpiece, film grained, best quality.",
        prompt_tokens=17,
        guidance=5.0,
        tokens=_JANUS_PRO_1B,
    )
}


def compare(model: JanusModel, published: Published) -> Comparison:
    """Feed the published prompt and tokens to the model, and rank the tokens.

    Sets `model.template` to the published template, and leaves it so.
    """
    model.template = published.template
    tokens = torch.tensor(published.tokens, device=model.device)
    sampling = Sampling(guidance=published.guidance)
    logits = teacher_forced(model, model.plan, published.prompt, sampling, tokens)
    # If logits are NaN, all codes count as likelier.
    ranks = (~(logits < logits.gather(1, tokens[:, None]))).sum(1)
    count = len(model.prompt_ids(published.prompt))
    exact = model.dtype.itemsize >= DTYPES[published.dtype].itemsize
    return Comparison(published, tuple(ranks.tolist()), model.vocab_size, count, exact)
