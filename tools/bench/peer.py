"""The bench of a peer, `photo-finish bench --peer generate`.

Vanilla AR and transformers' own `generate` take turns in one process, with the same weights,
prompts and sampling. `generate` has the weights in the memory layout in which transformers loads
them, which is how people run it. On a processor a LeanBody uses another layout, in which `generate`
would be a tenth faster. `generate` draws its tokens by torch.multinomial, so its pictures differ
from vanilla AR's, but have the same distribution and as many tokens.

Vanilla AR's seconds are counted in two ways. The seconds *charged* are those of its clock. The
seconds *waited* are all the time from the prompt to the last token, including the time to record
the steps.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from types import SimpleNamespace
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import (
    DynamicCache,
    Emu3ForConditionalGeneration,
    GenerationConfig,
    JanusForConditionalGeneration,
    LlamaForCausalLM,
)
from transformers.modeling_outputs import CausalLMOutputWithPast

from engine.decoders.ar import VanillaAR
from engine.models.base import ImageModel
from engine.models.body import BodyModel
from engine.models.context import Prompt, guide
from engine.models.embedded.model import EmbeddedModel
from engine.models.families.emu3 import NEGATIVE, POSITIVE, Emu3Model
from engine.models.families.janus import JanusModel
from engine.models.supply.card import CARDS, ModelError
from engine.numerics.intervals import mean, mean_text
from engine.settings import Sampling
from engine.trace import LaneStats


class CacheKind(Enum):
    """transformers' kinds of cache, as `cache_implementation` names them."""

    DYNAMIC = "dynamic"
    STATIC = "static"


# Draws a picture of the prompt; returns its tokens [length], forced ones included.
Generate = Callable[[str, CacheKind], Tensor]


@dataclass(frozen=True, slots=True)
class Round:
    """Seconds that vanilla AR and `generate` take for a picture of the same prompt and seed.

    `charged` are vanilla AR's seconds by its own clock. `waited` are all its seconds, including
    those to record the steps. `generate` has the seconds of `generate` with each kind of cache.
    """

    charged: float
    waited: float
    generate: dict[CacheKind, float]


def require_peer(name: str) -> None:
    """Raise ModelError if transformers generates no pictures with this model."""
    card = CARDS[name]
    if card.family not in PEERS:
        titles = ", ".join(card.title for card in CARDS.values() if card.family in PEERS)
        raise ModelError(
            f"transformers' generate draws no pictures with {card.title}, so vanilla AR has no peer"
            f" there. Choose one of {titles}."
        )


def peer_of(model: ImageModel, sampling: Sampling, tokens: int | None = None) -> Generate:
    """Return transformers' own `generate` over a model that `require_peer` accepts.

    The returned function draws `tokens` tokens, by default a whole picture. On a processor, the
    body's weights are copied into the layout that transformers needs, so they take memory twice.
    """
    assert isinstance(model, BodyModel), "every family's model is one"
    _ = model.lean  # lays out the weights for itself when it is first read
    for parameter in model.body.parameters():
        parameter.data = parameter.data.contiguous()  # on a GPU it is contiguous already
    return PEERS[CARDS[model.name].family](model, sampling, tokens or model.plan.length)


def options(tokens: int, sampling: Sampling, cache: CacheKind) -> dict[str, Any]:
    """Return the options of a GenerationConfig for a model's sampling and a number of tokens."""
    return {
        "do_sample": True,
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "max_new_tokens": tokens,
        "cache_implementation": cache.value,
        # A compiler takes minutes, and not every machine has one.
        "disable_compile": True,
    }


class GuidedLlama(LlamaForCausalLM):
    """The embedded model's target, wrapped for `generate`; `forward` applies the guidance.

    `generate` sees one sequence of ids. Each pass runs a batch of a conditional and an
    unconditional row. The ids of the first call are placeholders for the prompt's embeddings; each
    later call has one code.
    """

    prompt: Prompt

    def __init__(self, model: EmbeddedModel, guidance: float) -> None:
        with torch.device("meta"):
            super().__init__(model.target.config)
        self.model, self.lm_head = model.target.model, model.target.lm_head
        self.embed_codes, self.guidance = model.target.embed_codes, guidance

    def forward(
        self,
        input_ids: Tensor,
        position_ids: Tensor,
        attention_mask: Tensor | None = None,
        **options: Any,
    ) -> CausalLMOutputWithPast:
        """Run one pass for ids [1, L] at position ids [1, L]; the logits [1, L, V] are guided."""
        inputs = self.prompt.embeddings
        rows, length = inputs.shape[:2]
        if input_ids.shape[1] == 1:
            inputs = self.embed_codes(input_ids, position_ids - length).expand(rows, -1, -1)
        if attention_mask is not None:
            attention_mask = attention_mask.expand(rows, *attention_mask.shape[1:])
        output = super().forward(
            inputs_embeds=inputs,
            attention_mask=attention_mask,
            position_ids=position_ids,
            **options,
        )
        output.logits = guide(output.logits, self.guidance)[None]
        return output


def _embedded(model: EmbeddedModel, sampling: Sampling, tokens: int) -> Generate:
    network = GuidedLlama(model, sampling.guidance)

    def generate(prompt: str, cache: CacheKind) -> Tensor:
        network.prompt = model.prompt(prompt, sampling.guidance != 1)
        length = network.prompt.embeddings.shape[1]
        ids = torch.zeros(1, length, dtype=torch.long, device=model.device)
        settings = GenerationConfig(**options(tokens, sampling, cache))
        sequences = network.generate(
            ids, attention_mask=torch.ones_like(ids), generation_config=settings
        )
        return sequences[0, length:]

    return generate


def _janus(model: JanusModel, sampling: Sampling, tokens: int) -> Generate:
    """Return JanusForConditionalGeneration's own loop as a `Generate`.

    The loop runs the conditional and the unconditional row in one batch.
    """
    with torch.device("meta"):
        network = JanusForConditionalGeneration(model.network.config)
    del network.lm_head, network.model.vision_model, network.model.aligner, network.model.vqmodel
    for name, part in model.network.model.named_children():
        if name != "vqmodel":
            setattr(network.model, name, part)
    # The loop asks the vision tower only for the number of a picture's tokens.
    tower = SimpleNamespace(config=SimpleNamespace(num_image_tokens=tokens))
    network.model.vision_model = tower

    def generate(prompt: str, cache: CacheKind) -> Tensor:
        ids = torch.tensor([model.prompt_ids(prompt)], device=model.device)
        settings = GenerationConfig(
            **options(tokens, sampling, cache),
            guidance_scale=sampling.guidance,
            bos_token_id=model.begin,
            pad_token_id=model.pad,
            generation_kwargs={"boi_token_id": model.image},
        )
        # Without a cache the loop makes a static one.
        caches = {"past_key_values": DynamicCache()} if cache is CacheKind.DYNAMIC else {}
        codes: Tensor = network.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            generation_mode="image",
            generation_config=settings,
            **caches,
        )
        return codes[0]

    return generate


class CodesHead(nn.Module):
    """Output head that computes the logits of picture codes only.

    It returns logits [.., ids], one for each id of the vocabulary; an id that is no code gets 0.
    It multiplies by fewer rows than a head of the whole vocabulary does.
    """

    def __init__(self, head: nn.Module, codes: Tensor, ids: int) -> None:
        """Wrap `head`, which has one row for each code.

        `codes` [V] has the id of each row, and `ids` is the size of the whole vocabulary.
        """
        super().__init__()
        self.head, self.codes, self.ids = head, codes, ids

    def forward(self, hidden: Tensor) -> Tensor:
        logits = hidden.new_zeros(*hidden.shape[:-1], self.ids)
        logits[..., self.codes] = self.head(hidden)
        return logits


def _emu3(model: Emu3Model, sampling: Sampling, tokens: int) -> Generate:
    """Return a `Generate` that calls Emu3ForConditionalGeneration as its documentation does.

    UnbatchedClassifierFreeGuidanceLogitsProcessor does the guidance: it runs the unconditional
    row in another pass with its own dynamic cache. `prefix_allowed_tokens_fn` forces the tokens
    of the layout.
    """
    with torch.device("meta"):
        network = Emu3ForConditionalGeneration(model.config)
    words = model.config.text_config.vocab_size
    del network.model.vqmodel
    network.model.text_model = model.body
    network.lm_head = CodesHead(model.output, model.ids[:-1], words)
    forced = model.forced_ids.tolist()
    codes = torch.zeros(words, dtype=torch.long, device=model.device)
    codes[model.ids] = torch.arange(len(model.ids), device=model.device)

    def generate(prompt: str, cache: CacheKind) -> Tensor:
        ids, negative = (
            torch.tensor([model.prompt_ids(text)], device=model.device)
            for text in (prompt + POSITIVE, NEGATIVE)
        )

        def allowed(row: int, sequence: Tensor) -> Tensor:
            end = forced[len(sequence) - ids.shape[1]]
            return model.ids[:-1] if end < 0 else model.ids[end : end + 1]

        settings = GenerationConfig(
            **options(tokens, sampling, cache), guidance_scale=sampling.guidance
        )
        sequences = network.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            generation_config=settings,
            prefix_allowed_tokens_fn=allowed,
            negative_prompt_ids=negative,
            negative_prompt_attention_mask=torch.ones_like(negative),
        )
        return codes[sequences[0, ids.shape[1] :]]

    return generate


PEERS: dict[str, Callable[[Any, Sampling, int], Generate]] = {
    "embedded": _embedded,
    "janus": _janus,
    "emu3": _emu3,
}


@torch.inference_mode()
def run_round(
    model: ImageModel, generate: Generate, prompt: str, seed: int, tokens: int | None = None
) -> Round:
    """Draw a picture by vanilla AR, then by `generate` with each cache; return the seconds.

    Vanilla AR draws only the first `tokens` tokens, by default the whole picture. `generate` must
    come from `peer_of` with the same `tokens`.
    """
    stats, begin = LaneStats(), time.perf_counter()
    steps = VanillaAR(model).steps(prompt, seed)
    for step in itertools.islice(steps, tokens):
        stats.add(step)
    steps.close()
    stats.mean_shift()  # makes the rows of all steps
    waited = time.perf_counter() - begin
    seconds = {}
    for cache in CacheKind:
        torch.manual_seed(seed)
        begin = time.perf_counter()
        generate(prompt, cache).tolist()  # waits for the device
        seconds[cache] = time.perf_counter() - begin
    return Round(stats.seconds.total, waited, seconds)


def figures(rounds: Sequence[Round]) -> dict[str, Any]:
    """Return the mean seconds, and the mean ratios of `generate`'s seconds to vanilla AR's.

    Each kind of cache has two ratios: to the charged and to the waited seconds.
    """
    return {
        "transformers": transformers.__version__,
        "seconds": {
            "charged": mean([each.charged for each in rounds]),
            "waited": mean([each.waited for each in rounds]),
            **{cache.value: mean([each.generate[cache] for each in rounds]) for cache in CacheKind},
        },
        "ratios": {
            cache.value: {
                "charged": mean([each.generate[cache] / each.charged for each in rounds]),
                "waited": mean([each.generate[cache] / each.waited for each in rounds]),
            }
            for cache in CacheKind
        },
    }


def card(heading: str, result: dict[str, Any]) -> str:
    """Return the figures as a table in Markdown."""
    seconds, ratios = result["seconds"], result["ratios"]
    rows = [
        heading,
        "",
        f"| transformers {result['transformers']} | seconds | over vanilla AR as charged | as"
        " waited for |",
        "| --- | --- | --- | --- |",
        f"| Vanilla AR, as charged | {seconds['charged']['mean']:.2f} | | |",
        f"| Vanilla AR, as waited for | {seconds['waited']['mean']:.2f} | | |",
    ]
    rows += [
        f"| `generate`, {cache} cache | {seconds[cache]['mean']:.2f} |"
        f" {mean_text(ratio['charged'])} | {mean_text(ratio['waited'])} |"
        for cache, ratio in ratios.items()
    ]
    return "\n".join(rows)
