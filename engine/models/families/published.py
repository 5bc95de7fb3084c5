"""Numbers that others published for true weights, and how a model's compare with them.

Greedy tokens cannot be asked to be the same on every machine: with guidance 5 the best two codes are
often closer than rounding, and one other token changes all that follow. So a model is fed the
published tokens, each behind those before it, and asked how it ranks them. What was the likeliest
code for its publisher is among the likeliest with the same weights in any dtype; with others, or with
these in wrong places, it is one of 16,384, and in the best hundredth with a chance of 1 in 100. That
all 50 are there by chance has one of 1e-100.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from engine.models.families.janus import IMAGE, JanusModel
from engine.models.likelihood import teacher_forced
from engine.settings import Sampling

BEST = 100  # each published token has to be among the best of so many equal parts of the codes


@dataclass(frozen=True, slots=True)
class Published:
    """The first greedy tokens of a picture. Raises ValueError where there are none."""

    source: str
    dtype: str  # that they were computed in
    template: str  # of the prompt, behind the beginning
    prompt: str
    prompt_tokens: int  # the beginning and the mark of the image among them
    guidance: float
    tokens: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.tokens:
            raise ValueError("no token was published")


@dataclass(frozen=True, slots=True)
class Comparison:
    """`ranks` of the published tokens, each behind those before it: 1 for the likeliest of `codes`
    codes; `prompt_tokens` of the prompt here."""

    published: Published
    ranks: tuple[int, ...]
    codes: int
    prompt_tokens: int

    @property
    def most(self) -> int:
        """The rank that a published token may have."""
        return max(1, self.codes // BEST)

    @property
    def same(self) -> bool:
        prompt = self.prompt_tokens == self.published.prompt_tokens
        return prompt and max(self.ranks) <= self.most

    @property
    def greedy(self) -> int:
        """How many of the tokens greedy decoding gives here before the first other one."""
        return next((i for i, rank in enumerate(self.ranks) if rank > 1), len(self.ranks))


PUBLISHED = {
    "janus-pro-1b": Published(
        source="test_model_generate_images of tests/models/janus/test_modeling_janus.py in"
        " huggingface/transformers 4, the same on CUDA, ROCm 9.5 and XPU",
        dtype="float32",
        template="{}" + IMAGE,
        prompt="A portrait of young girl. masterpiece, film grained, best quality.",
        prompt_tokens=17,
        guidance=5.0,
        # fmt: off
        tokens=(
            4484, 4015, 15750, 506, 3758, 11651, 8597, 5739, 4861, 971, 14985, 14834, 15438, 7548,
            1820, 1465, 13529, 12761, 10503, 12761, 14303, 6155, 4015, 11766, 705, 15736, 14146,
            10417, 1951, 7713, 14305, 15617, 6169, 2706, 8006, 14893, 3855, 10188, 15652, 6297,
            1097, 12108, 15038, 311, 14998, 15165, 897, 4044, 1762, 4676,
        ),
        # fmt: on
    )
}


def compare(model: JanusModel, published: Published) -> Comparison:
    """Feeds the model the published prompt and tokens. Its prompts have the published template from
    then on."""
    model.template = published.template
    tokens = torch.tensor(published.tokens, device=model.device)
    sampling = Sampling(guidance=published.guidance)
    logits = teacher_forced(model, model.plan, published.prompt, sampling, tokens)
    # Of numbers that are none, all count as likelier.
    ranks = (~(logits < logits.gather(1, tokens[:, None]))).sum(1)
    count = len(model.prompt_ids(published.prompt))
    return Comparison(published, tuple(ranks.tolist()), model.vocab_size, count)
