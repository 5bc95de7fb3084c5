"""LlamaGen on small networks in its own layout: files through the real path, against its
architecture written out here."""

from __future__ import annotations

import dataclasses
import functools
import math
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor
from transformers import (
    JanusVQVAEConfig,
    LlamaConfig,
    T5Config,
    T5EncoderModel,
    T5ForConditionalGeneration,
)
from transformers.models.t5.modeling_t5 import T5Stack

from engine.decoders import DECODERS
from engine.models.card import CARDS, ModelCard, ModelError
from engine.models.llamagen import LlamaGenModel
from engine.models.llamagen_weights import (
    GPT_UNUSED,
    VQ_UNUSED,
    LlamaGenNetwork,
    LlamaGenVQ,
    Sizes,
    config,
    gpt_key,
    split_qkv,
)
from engine.models.llamagen_weights import vq_key as vq_key_of
from engine.models.weights import fit
from engine.settings import Sampling
from tests.engine.static_shapes import static_differences

CPU = torch.device("cpu")
SIDE, CODES, HEADS, SLOTS = 4, 40, 2, 7
WORDS = ["<pad>", "</s>", "<unk>", "a", "red", "fox", "on", "snow", "."]
SIZES = Sizes(
    LlamaConfig(
        vocab_size=CODES,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        rms_norm_eps=1e-5,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        caption_slots=SLOTS,
        caption_width=24,
    ),
    JanusVQVAEConfig(
        num_embeddings=CODES,
        latent_channels=32,
        base_channels=32,
        channel_multiplier=(1, 2),
        num_res_blocks=1,
    ),
    T5Config(
        vocab_size=264,
        d_model=24,
        d_kv=8,
        d_ff=40,
        num_layers=2,
        num_heads=3,
        feed_forward_proj="gated-gelu",
        use_cache=False,
    ),
)
CARD = dataclasses.replace(
    CARDS["llamagen-256"], grid=(SIDE, SIDE), codes=CODES, length=SIDE * SIDE
)
GREEDY = Sampling(guidance=3.0, top_k=1)
PROMPT = "A red fox  on Snow"


# The layout of the published files


def gpt_shapes(gpt: LlamaConfig) -> dict[str, tuple[int, ...]]:
    width, inner, codes = gpt.hidden_size, gpt.intermediate_size, gpt.vocab_size
    shapes: dict[str, tuple[int, ...]] = {
        "cls_embedding.uncond_embedding": (gpt.caption_slots, gpt.caption_width),
        "cls_embedding.cap_proj.fc1.weight": (width, gpt.caption_width),
        "cls_embedding.cap_proj.fc2.weight": (width, width),
        "tok_embeddings.weight": (codes, width),
    }
    for i in range(gpt.num_hidden_layers):
        shapes |= {
            f"layers.{i}.attention.wqkv.weight": (3 * width, width),
            f"layers.{i}.attention.wo.weight": (width, width),
            f"layers.{i}.feed_forward.w1.weight": (inner, width),
            f"layers.{i}.feed_forward.w3.weight": (inner, width),
            f"layers.{i}.feed_forward.w2.weight": (width, inner),
            f"layers.{i}.attention_norm.weight": (width,),
            f"layers.{i}.ffn_norm.weight": (width,),
        }
    return shapes | {"norm.weight": (width,), "output.weight": (codes, width)}


def vq_shapes(vq: JanusVQVAEConfig) -> dict[str, tuple[int, ...]]:
    """The decoder's side whole; of what is not loaded, a tensor of each kind."""
    shapes: dict[str, tuple[int, ...]] = {}

    def convolution(key: str, inputs: int, outputs: int, kernel: int) -> None:
        shapes.update(
            {f"{key}.weight": (outputs, inputs, kernel, kernel), f"{key}.bias": (outputs,)}
        )

    def norm(key: str, channels: int) -> None:
        shapes.update({f"{key}.weight": (channels,), f"{key}.bias": (channels,)})

    def residual(key: str, inputs: int, outputs: int) -> None:
        norm(f"{key}.norm1", inputs)
        convolution(f"{key}.conv1", inputs, outputs, 3)
        norm(f"{key}.norm2", outputs)
        convolution(f"{key}.conv2", outputs, outputs, 3)
        if inputs != outputs:
            convolution(f"{key}.nin_shortcut", inputs, outputs, 1)

    def attention(key: str, channels: int) -> None:
        norm(f"{key}.norm", channels)
        for name in ("q", "k", "v", "proj_out"):
            convolution(f"{key}.{name}", channels, channels, 1)

    channels = [vq.base_channels * multiple for multiple in vq.channel_multiplier][::-1]
    convolution("encoder.conv_in", 3, vq.base_channels, 3)
    residual("encoder.conv_blocks.0.res.0", channels[-1], channels[-1])
    convolution("quant_conv", vq.latent_channels, vq.embed_dim, 1)
    shapes["quantize.embedding.weight"] = (vq.num_embeddings, vq.embed_dim)
    shapes["quantize.codebook_used"] = (65536,)
    convolution("post_quant_conv", vq.embed_dim, vq.latent_channels, 1)
    convolution("decoder.conv_in", vq.latent_channels, channels[0], 3)
    residual("decoder.mid.0", channels[0], channels[0])
    attention("decoder.mid.1", channels[0])
    residual("decoder.mid.2", channels[0], channels[0])
    inputs = channels[0]
    for level, outputs in enumerate(channels):
        for block in range(vq.num_res_blocks + 1):
            residual(f"decoder.conv_blocks.{level}.res.{block}", inputs, outputs)
            if level == 0:
                attention(f"decoder.conv_blocks.{level}.attn.{block}", outputs)
            inputs = outputs
        if level < len(channels) - 1:
            convolution(f"decoder.conv_blocks.{level}.upsample.conv", inputs, inputs, 3)
    norm("decoder.norm_out", inputs)
    convolution("decoder.conv_out", inputs, 3, 3)
    return shapes


def drawn(shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, Tensor]:
    """Weights large enough that every slot of context matters; scales of norms are around 1."""
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for key, shape in shapes.items():
        spread = (
            1 if "embed" in key else 1.5 * math.prod(shape[1:]) ** -0.5 if len(shape) > 1 else 0.2
        )
        state[key] = spread * torch.randn(shape, generator=generator) + (
            len(shape) == 1 and key.endswith("weight")
        )
    return state


GPT, VQ = drawn(gpt_shapes(SIZES.gpt), 1), drawn(vq_shapes(SIZES.vq), 2)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("llamagen")
    places = {part: root / part for part in ("gpt", "vq", "text")}
    for place in places.values():
        place.mkdir()
    torch.save(
        {"model": GPT | {"freqs_cis": torch.zeros(3)}, "steps": 7},
        places["gpt"] / "t2i_XL_stage1_256.pt",
    )
    torch.save({"model": VQ}, places["vq"] / "vq_ds16_t2i.pt")
    torch.manual_seed(3)
    text = T5ForConditionalGeneration(copied(SIZES.text))
    for parameter in text.parameters():
        parameter.data.mul_(1.5)
    text.save_pretrained(places["text"])
    tokenizer = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer.save(str(places["text"] / "tokenizer.json"))
    return places


def copied(text: T5Config) -> T5Config:
    """A copy of its own: T5's classes write into their configuration."""
    return T5Config.from_dict(text.to_dict())


@pytest.fixture(scope="module")
def model(folders: dict[str, Path]) -> LlamaGenModel:
    return LlamaGenModel(CARD, folders, CPU, torch.float32, sizes=SIZES)


# The architecture, written out: everything padded and masked, no cache, rope by complex numbers


@functools.cache
def encoder(folder: Path) -> T5EncoderModel:
    return T5EncoderModel.from_pretrained(folder)


def caption(folders: dict[str, Path], ids: list[int]) -> tuple[Tensor, Tensor]:
    """T5 over ids padded on the right, rolled to the right: states [P, C], zero where `valid` [P]
    is false."""
    padded = torch.tensor([ids + [0] * (SLOTS - len(ids))])
    attended = torch.arange(SLOTS)[None] < len(ids)
    with torch.no_grad():
        states = encoder(folders["text"])(padded, attention_mask=attended.long()).last_hidden_state[
            0
        ]
    states = torch.cat([states[len(ids) :], states[: len(ids)]])
    valid = attended[0].flip(0)
    return states * valid[:, None], valid


def gpt(states: Tensor, valid: Tensor, codes: list[int], side: int = SIDE) -> Tensor:
    """Logits [P + n, V] of all slots, of one row."""
    w, width = GPT, GPT["norm.weight"].shape[0]

    def norm(x: Tensor, key: str) -> Tensor:
        return x / (x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * w[key]

    x = (
        F.gelu(states @ w["cls_embedding.cap_proj.fc1.weight"].T, approximate="tanh")
        @ w["cls_embedding.cap_proj.fc2.weight"].T
    )
    x = torch.cat([x, w["tok_embeddings.weight"][torch.tensor(codes, dtype=torch.long)]])
    length, dim = len(x), width // HEADS
    turns = torch.zeros(length, dim // 2, dtype=torch.complex64)
    for i in range(len(codes)):
        for pair in range(dim // 4):
            speed = 10000.0 ** (-2 * pair / (dim // 2))
            turns[SLOTS + i, pair] = complex(
                math.cos(i // side * speed), math.sin(i // side * speed)
            )
            turns[SLOTS + i, dim // 4 + pair] = complex(
                math.cos(i % side * speed), math.sin(i % side * speed)
            )
    seen = torch.ones(length, length, dtype=torch.bool).tril()
    seen[:, :SLOTS] &= valid
    seen |= torch.eye(length, dtype=torch.bool)

    def rotated(x: Tensor) -> Tensor:
        pairs = torch.view_as_complex(x.reshape(length, HEADS, dim // 2, 2).contiguous())
        return torch.view_as_real(pairs * turns[:, None]).flatten(2)

    for i in range(SIZES.gpt.num_hidden_layers):
        qkv = (
            norm(x, f"layers.{i}.attention_norm.weight") @ w[f"layers.{i}.attention.wqkv.weight"].T
        )
        q, k, v = qkv.split(width, -1)
        scores = torch.einsum("qhd,khd->hqk", rotated(q), rotated(k)) / dim**0.5
        mixed = torch.einsum(
            "hqk,khd->qhd",
            scores.masked_fill(~seen, -torch.inf).softmax(-1),
            v.view(length, HEADS, dim),
        )
        x = x + mixed.reshape(length, width) @ w[f"layers.{i}.attention.wo.weight"].T
        y = norm(x, f"layers.{i}.ffn_norm.weight")
        y = F.silu(y @ w[f"layers.{i}.feed_forward.w1.weight"].T) * (
            y @ w[f"layers.{i}.feed_forward.w3.weight"].T
        )
        x = x + y @ w[f"layers.{i}.feed_forward.w2.weight"].T
    return norm(x, "norm.weight") @ w["output.weight"].T


def reference(
    folders: dict[str, Path], ids: list[int], codes: list[int], guidance: float
) -> Tensor:
    """Guided logits [n + 1, V]: the last caption slot's, then those of each code."""
    states, valid = caption(folders, ids)
    with_caption = gpt(states, valid, codes)[SLOTS - 1 :]
    if guidance == 1:
        return with_caption
    without = gpt(GPT["cls_embedding.uncond_embedding"], valid, codes)[SLOTS - 1 :]
    return without + guidance * (with_caption - without)


def picture(codes: Tensor) -> Tensor:
    """The VQ decoder: codes [h, w] to pixels [3, 2h, 2w] in about -1..1."""
    w = VQ

    def convolution(x: Tensor, key: str) -> Tensor:
        return F.conv2d(
            x, w[f"{key}.weight"], w[f"{key}.bias"], padding=w[f"{key}.weight"].shape[-1] // 2
        )

    def norm(x: Tensor, key: str) -> Tensor:
        groups = x.reshape(1, 32, -1)
        groups = (groups - groups.mean(-1, keepdim=True)) / (
            groups.var(-1, keepdim=True, unbiased=False) + 1e-6
        ).sqrt()
        return (
            groups.reshape(x.shape) * w[f"{key}.weight"][:, None, None]
            + w[f"{key}.bias"][:, None, None]
        )

    def residual(x: Tensor, key: str) -> Tensor:
        y = convolution(F.silu(norm(x, f"{key}.norm1")), f"{key}.conv1")
        y = convolution(F.silu(norm(y, f"{key}.norm2")), f"{key}.conv2")
        return y + (
            convolution(x, f"{key}.nin_shortcut") if f"{key}.nin_shortcut.weight" in w else x
        )

    def attention(x: Tensor, key: str) -> Tensor:
        q, k, v = (
            convolution(norm(x, f"{key}.norm"), f"{key}.{name}")[0].flatten(1).T for name in "qkv"
        )
        mixed = (q @ k.T / q.shape[1] ** 0.5).softmax(-1) @ v
        return x + convolution(mixed.T.reshape(x.shape), f"{key}.proj_out")

    book = w["quantize.embedding.weight"]
    x = (book / book.norm(dim=-1, keepdim=True))[codes].permute(2, 0, 1)[None]
    x = convolution(convolution(x, "post_quant_conv"), "decoder.conv_in")
    x = residual(attention(residual(x, "decoder.mid.0"), "decoder.mid.1"), "decoder.mid.2")
    for block in (0, 1):
        x = attention(
            residual(x, f"decoder.conv_blocks.0.res.{block}"), f"decoder.conv_blocks.0.attn.{block}"
        )
    x = convolution(
        x.repeat_interleave(2, 2).repeat_interleave(2, 3), "decoder.conv_blocks.0.upsample.conv"
    )
    for block in (0, 1):
        x = residual(x, f"decoder.conv_blocks.1.res.{block}")
    return convolution(F.silu(norm(x, "decoder.norm_out")), "decoder.conv_out")[0]


# The GPT


@pytest.mark.parametrize(
    "prompt",
    [PROMPT, "", "fox fox fox fox fox fox fox fox fox"],
    ids=["short", "empty", "too long"],
)
@pytest.mark.parametrize("guidance", [1.0, 3.0])
def test_a_window_equals_the_architecture(
    model: LlamaGenModel, folders: dict[str, Path], prompt: str, guidance: float
) -> None:
    """Whatever room the padding takes: none, a little, nearly all."""
    codes = [3, 39, 0, 7, 7, 21, 14, 30, 2, 11, 5, 8, 13, 1, 6]
    logits = model.forward(model.start(prompt, guidance), torch.tensor([0, *codes]))
    assert logits.shape == (SIDE * SIDE, CODES)
    expected = reference(folders, model.tokens(prompt), codes, guidance)
    torch.testing.assert_close(logits, expected, atol=2e-4, rtol=1e-4)
    assert expected.std() > 0.3  # and there is something to compare


def test_windows_and_trees_equal_one_shot(model: LlamaGenModel, folders: dict[str, Path]) -> None:
    ids, ctx = model.tokens(PROMPT), model.start(PROMPT, 2.0)
    model.forward(ctx, torch.tensor([0, 5, 9, 9]))
    model.keep(ctx, [0, 1])  # committed: 5, then 17 as the next root
    # 0 - 1 - 2, and beside them 0 - 3 - 4
    logits = model.forward(ctx, torch.tensor([17, 1, 2, 8, 4]), (0, 0, 1, 0, 3))
    for row, path in ((0, []), (1, [1]), (2, [1, 2]), (3, [8]), (4, [8, 4])):
        expected = reference(folders, ids, [5, 17, *path], 2.0)[-1]
        torch.testing.assert_close(logits[row], expected, atol=2e-4, rtol=1e-4)
    model.keep(ctx, [0, 3, 4])
    logits = model.forward(ctx, torch.tensor([30, 6]))
    torch.testing.assert_close(
        logits, reference(folders, ids, [5, 17, 8, 4, 30, 6], 2.0)[-2:], atol=2e-4, rtol=1e-4
    )


@pytest.fixture(scope="module")
def greedy(model: LlamaGenModel, folders: dict[str, Path]) -> list[int]:
    """The loop of `generate.py` at top-k 1: one code after another, from the architecture as it is
    written out here."""
    codes: list[int] = []
    for _ in range(model.length):
        codes.append(
            int(reference(folders, model.tokens(PROMPT), codes, GREEDY.guidance)[-1].argmax())
        )
    assert len(set(codes)) > 3
    return codes


@pytest.mark.parametrize("decoder", ["ar", "jacobi", "fpi", "sjd", "sjd-pac"])
def test_greedy_decoders_equal_the_loop(
    model: LlamaGenModel, greedy: list[int], decoder: str
) -> None:
    assert DECODERS[decoder](model, sampling=GREEDY).generate(PROMPT, 1) == greedy


def test_guidance_and_caption_matter(model: LlamaGenModel, greedy: list[int]) -> None:
    ar = DECODERS["ar"]
    assert ar(model, sampling=Sampling(guidance=1.0, top_k=1)).generate(PROMPT, 1) != greedy
    assert ar(model, sampling=GREEDY).generate("snow", 1) != greedy


def test_sampling_stays_within_the_codes(model: LlamaGenModel) -> None:
    for decoder in ("sjd", "gsd", "sjd-pac"):
        tokens = DECODERS[decoder](model, sampling=Sampling(guidance=2.0, top_k=0)).generate(
            PROMPT, 5
        )
        assert len(tokens) == SIDE * SIDE
        assert set(tokens) <= set(range(CODES))


# The caption


def test_the_prompt_is_its_words_and_an_end(model: LlamaGenModel) -> None:
    assert model.tokens(PROMPT) == [3, 4, 5, 6, 7, 1]
    assert model.tokens("  A\tRED\n fox ") == [3, 4, 5, 1]
    assert model.tokens("") == [1]
    assert model.tokens("fox " * 50) == [5] * (SLOTS - 1) + [1]
    assert model.tokens("łoś 🦌") == [2, 2, 1]


def test_rows_are_padded_on_the_left_alike(model: LlamaGenModel, folders: dict[str, Path]) -> None:
    prompt = model.prompt(PROMPT, True)
    assert prompt.embeddings.shape == (2, SLOTS, SIZES.gpt.hidden_size)
    assert prompt.start == (1, 1)
    assert model.prompt("fox", False).start == (SLOTS - 2,)
    states, valid = caption(folders, model.tokens(PROMPT))
    fc1, fc2 = GPT["cls_embedding.cap_proj.fc1.weight"], GPT["cls_embedding.cap_proj.fc2.weight"]
    expected = F.gelu(states @ fc1.T, approximate="tanh") @ fc2.T
    torch.testing.assert_close(prompt.embeddings[0], expected, atol=1e-5, rtol=1e-5)
    assert (expected[~valid] == 0).all()


# Pixels


@pytest.mark.parametrize("shape", [(SIDE, SIDE), (3, 3), (1, 1), (2, 5)])
def test_pixels_equal_the_architecture(model: LlamaGenModel, shape: tuple[int, int]) -> None:
    codes = torch.randint(CODES, shape, generator=torch.Generator().manual_seed(4))
    seen = model.pixels(codes.numpy())
    assert seen.dtype == np.uint8
    assert seen.shape == (2 * shape[0], 2 * shape[1], 3)
    expected = ((picture(codes).permute(1, 2, 0) + 1) * 127.5).clamp(0, 255)
    assert np.abs(seen - expected.numpy()).max() < 0.51  # rounded to whole numbers
    assert seen.std() > 5


def test_pixels_of_a_batch(model: LlamaGenModel) -> None:
    codes = np.arange(18).reshape(2, 3, 3)
    seen = model.pixels(codes)
    assert seen.shape == (2, 6, 6, 3)
    assert np.abs(seen[1].astype(int) - model.pixels(codes[1])).max() <= 1


def test_the_codebook_is_what_the_decoder_sees(model: LlamaGenModel) -> None:
    book = VQ["quantize.embedding.weight"]
    torch.testing.assert_close(model.codebook, book / book.norm(dim=-1, keepdim=True))


# What is loaded


def test_what_is_not_needed_is_not_loaded(model: LlamaGenModel) -> None:
    assert not hasattr(model.vq, "encoder")
    assert not hasattr(model.vq, "quant_conv")
    assert isinstance(model.text, T5Stack)
    assert not any(
        p.requires_grad for part in (model.network, model.vq, model.text) for p in part.parameters()
    )


def test_what_the_decoders_read_of_a_model(model: LlamaGenModel) -> None:
    assert (model.name, model.grid, model.vocab_size, model.length, model.stride) == (
        "llamagen-256",
        (4, 4),
        CODES,
        16,
        4,
    )
    assert model.forced(0) is None
    assert model.drafter is None
    assert model.sampling == Sampling(guidance=7.5, temperature=1.0, top_k=1000, top_p=1.0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_types(folders: dict[str, Path], dtype: torch.dtype) -> None:
    """The text encoder overflows in float16, so it stays in float32 there; the pixels' decoder
    always does."""
    half = LlamaGenModel(CARD, folders, CPU, dtype, sizes=SIZES)
    assert half.network.dtype == half.prompt(PROMPT, True).embeddings.dtype == dtype
    assert half.text.dtype == (torch.bfloat16 if dtype == torch.bfloat16 else torch.float32)
    assert half.vq.dtype == torch.float32
    codes = [3, 39, 0, 7, 7]
    logits = half.forward(half.start(PROMPT, 3.0), torch.tensor([0, *codes]))
    expected = reference(folders, half.tokens(PROMPT), codes, 3.0)
    assert logits.dtype == torch.float32
    assert F.cosine_similarity(logits, expected).min() > 0.98


@pytest.mark.parametrize("name", ["llamagen-256", "llamagen-512"])
def test_the_true_size(name: str) -> None:
    """The published layouts at their true sizes go in whole, strictly, without a byte of memory;
    the card's numbers fit."""
    card = CARDS[name]
    sizes = config(card)
    with torch.device("meta"):
        network, vq, text = LlamaGenNetwork(sizes.gpt), LlamaGenVQ(sizes.vq), T5Stack(sizes.text)
        stored = {key: torch.empty(shape) for key, shape in gpt_shapes(sizes.gpt).items()}
        fit(network, split_qkv(stored, sizes.gpt), gpt_key, GPT_UNUSED)
        fit(
            vq,
            {key: torch.empty(shape) for key, shape in vq_shapes(sizes.vq).items()},
            vq_key_of,
            VQ_UNUSED,
        )
    count = sum(p.numel() for part in (network, vq, text) for p in part.parameters())
    assert round(count, -7) == card.parameters
    gpt_config = sizes.gpt
    assert card.kv_values == 2 * gpt_config.num_hidden_layers * gpt_config.hidden_size
    assert 2 ** (len(sizes.vq.channel_multiplier) - 1) == 16
    assert gpt_config.head_dim == 64
    assert card.source_of("gpt").files == (
        f"t2i_XL_stage{'1_256' if name == 'llamagen-256' else '2_512'}.pt",
    )


def test_random_weights_need_no_file() -> None:
    model = LlamaGenModel(CARD, None, CPU, torch.float32, sizes=SIZES)
    assert model.tokens("Fox") == [*b"fox", 1]
    assert len(model.tokens("\ud800" + "ü" * 50)) == SLOTS
    tokens = DECODERS["sjd"](model, sampling=Sampling(guidance=2.0, top_k=0)).generate("fox", 3)
    assert model.pixels(np.reshape(tokens, (SIDE, SIDE))).shape == (8, 8, 3)


# Files that do not fit


def spoiled(
    folders: dict[str, Path], tmp_path: Path, part: str, content: object
) -> dict[str, Path]:
    """The same folders, with another file in one part."""
    torch.save(content, tmp_path / CARD.source_of(part).files[0])
    return folders | {part: tmp_path}


def load(folders: dict[str, Path], card: ModelCard = CARD) -> LlamaGenModel:
    return LlamaGenModel(card, folders, CPU, torch.float32, sizes=SIZES)


@pytest.mark.parametrize(
    ("part", "key", "message"),
    [
        (
            "gpt",
            "layers.1.feed_forward.w2.weight",
            r"'model\.layers\.1\.mlp\.down_proj\.weight' is missing",
        ),
        (
            "gpt",
            "layers.0.attention.wqkv.weight",
            r"'model\.layers\.0\.self_attn\.q_proj\.weight' is missing",
        ),
        ("gpt", "cls_embedding.uncond_embedding", "'unconditional' is missing"),
        ("vq", "decoder.mid.1.k.bias", r"'decoder\.mid\.attn_1\.k\.bias' is missing"),
        ("vq", "quantize.embedding.weight", r"'quantize\.embedding\.weight' is missing"),
    ],
)
def test_a_missing_key(
    folders: dict[str, Path], tmp_path: Path, part: str, key: str, message: str
) -> None:
    state = {"gpt": GPT, "vq": VQ}[part]
    with pytest.raises(ModelError, match=message):
        load(
            spoiled(
                folders, tmp_path, part, {"model": {k: v for k, v in state.items() if k != key}}
            )
        )


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("gpt", "layers.2.ffn_norm.weight"),
        ("gpt", "cls_embedding.embedding_table.weight"),
        ("vq", "decoder.mid.3.norm.weight"),
    ],
)
def test_an_unexpected_key(folders: dict[str, Path], tmp_path: Path, part: str, key: str) -> None:
    state = {"gpt": GPT, "vq": VQ}[part] | {key: torch.zeros(3)}
    with pytest.raises(ModelError, match=f"{key!r} is unexpected"):
        load(spoiled(folders, tmp_path, part, state))


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("gpt", "layers.1.attention.wqkv.weight"),
        ("gpt", "output.weight"),
        ("gpt", "tok_embeddings.weight"),
        ("vq", "post_quant_conv.weight"),
    ],
)
def test_a_wrong_shape(folders: dict[str, Path], tmp_path: Path, part: str, key: str) -> None:
    state = {"gpt": GPT, "vq": VQ}[part]
    with pytest.raises(ModelError, match=rf"{key!r} has the shape \(\d+.*, not \("):
        load(spoiled(folders, tmp_path, part, {"module": state | {key: state[key][:-1]}}))


@pytest.mark.parametrize("part", ["gpt", "vq", "text"])
def test_a_missing_file(folders: dict[str, Path], tmp_path: Path, part: str) -> None:
    with pytest.raises(ModelError, match=r"(\.pt|tokenizer\.json) is missing"):
        load(folders | {part: tmp_path})


def test_missing_weights_of_the_text_encoder(folders: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes((folders["text"] / "tokenizer.json").read_bytes())
    with pytest.raises(ModelError, match=r"model\.safetensors is missing"):
        load(folders | {"text": tmp_path})


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe"])
def test_a_broken_tokenizer(folders: dict[str, Path], tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(ModelError, match=r"tokenizer\.json is not a tokenizer"):
        load(folders | {"text": tmp_path})


def test_another_text_encoder(folders: dict[str, Path]) -> None:
    wider = copied(SIZES.text)
    wider.d_ff = 48
    with pytest.raises(
        ModelError,
        match=r"'encoder\.block\.0\.layer\.1\.\S+' has the shape \(40, 24\), not \(48, 24\)",
    ):
        LlamaGenModel(
            CARD, folders, CPU, torch.float32, sizes=dataclasses.replace(SIZES, text=wider)
        )


def test_static_shapes_change_nothing(model: LlamaGenModel) -> None:
    assert not static_differences(model, "a red apple")
