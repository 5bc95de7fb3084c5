"""What is LlamaGen's alone; the rest is in `test_families.py` and `test_family_files.py`."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from transformers.models.t5.modeling_t5 import T5Stack

from engine.models.families.llamagen import LlamaGenModel
from engine.models.families.llamagen_weights import (
    GPT_UNUSED,
    VQ_UNUSED,
    LlamaGenNetwork,
    LlamaGenVQ,
    config,
    gpt_key,
    split_qkv,
    vq_key,
)
from engine.models.supply.card import CARDS
from engine.models.supply.weights import fill
from tests.engine.models.families import LLAMAGEN
from tests.engine.models.families.llamagen import SIZES, SLOTS, gpt_shapes, vq_shapes
from tests.engine.models.families.tiny import CPU


def test_with_random_weights_the_prompt_is_its_bytes() -> None:
    model = LlamaGenModel(LLAMAGEN.card, None, CPU, torch.float32, sizes=SIZES)
    assert model.tokens("Fox") == [*b"fox", 1]
    assert len(model.tokens("\ud800" + "ü" * 50)) == SLOTS


def test_the_text_encoder_overflows_in_float16_and_stays_in_float32() -> None:
    half = LLAMAGEN.load(LLAMAGEN.folders, torch.float16)
    assert isinstance(half.text, T5Stack)
    assert half.network.dtype == half.prompt("fox", True).embeddings.dtype == torch.float16
    assert half.text.dtype == torch.float32
    assert LLAMAGEN.load(LLAMAGEN.folders, torch.bfloat16).text.dtype == torch.bfloat16
    logits = half.forward(half.start("fox", 3.0), torch.tensor([0, 3, 39]))
    expected = LLAMAGEN.logits("fox", [3, 39], 3.0)
    assert F.cosine_similarity(logits, expected).min() > 0.98


@pytest.mark.parametrize("name", ["llamagen-256", "llamagen-512"])
def test_the_published_layout_goes_in_whole_at_true_size(name: str) -> None:
    """Strictly, without a byte of memory."""
    card, sizes = CARDS[name], config(CARDS[name])
    with torch.device("meta"):
        network, vq = LlamaGenNetwork(sizes.gpt), LlamaGenVQ(sizes.vq)
        stored = {key: torch.empty(shape) for key, shape in gpt_shapes(sizes.gpt).items()}
        fill(network, split_qkv(stored, sizes.gpt), gpt_key, GPT_UNUSED)
        stored = {key: torch.empty(shape) for key, shape in vq_shapes(sizes.vq).items()}
        fill(vq, stored, vq_key, VQ_UNUSED)
    assert 2 ** (len(sizes.vq.channel_multiplier) - 1) == 16
    assert sizes.gpt.head_dim == 64
    stage = {"llamagen-256": "1_256", "llamagen-512": "2_512"}[name]
    assert card.source_of("gpt").files == (f"t2i_XL_stage{stage}.pt",)
