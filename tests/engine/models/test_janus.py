"""Janus on a tiny model of transformers' own classes, saved and loaded through the real path,
against the library itself."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from transformers import (
    JanusConfig,
    JanusForConditionalGeneration,
    JanusProcessor,
    JanusVisionConfig,
    JanusVQVAEConfig,
    LlamaConfig,
    PreTrainedTokenizerFast,
)
from transformers.models.janus.image_processing_pil_janus import JanusImageProcessorPil

import engine.models.janus as janus
from engine.decoders import DECODERS, WHOLE
from engine.models.card import CARDS, ModelError
from engine.models.janus import BEGIN, IMAGE, MAX_PROMPT_TOKENS, PAD, JanusModel
from engine.settings import Sampling
from tests.engine.static_shapes import static_differences

CODES, SIDE = 40, 4
CPU = torch.device("cpu")
GREEDY = Sampling(guidance=5.0, top_k=1)
FREE = Sampling(guidance=5.0, top_k=0)
CARD = dataclasses.replace(CARDS["janus-pro-1b"], grid=(SIDE, SIDE), codes=CODES, sampling=GREEDY)
PROMPTS = ["a cat", "", "  a lighthouse\nin a storm, Ünïcödé 漢字 🦕 \t"]
MARKS = [
    BEGIN,
    "<｜end▁of▁sentence｜>",
    PAD,
    IMAGE,
    "<end_of_image>",
    "<image_placeholder>",
    "<|User|>",
    "<|Assistant|>",
]
TOLERANCE = {"atol": 1e-4, "rtol": 1e-4}


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """Bytes, a few merges, then the marks; as in Janus' own file, the beginning is put there by a
    template."""
    letters = {letter: i for i, letter in enumerate(sorted(ByteLevel.alphabet()))}
    merges = [("a", "t"), ("Ġ", "a"), ("Ċ", "Ċ")]
    words = Tokenizer(
        BPE(vocab=letters | {a + b: 256 + i for i, (a, b) in enumerate(merges)}, merges=merges)
    )
    words.pre_tokenizer = ByteLevel(add_prefix_space=False)
    words.decoder = ByteLevelDecoder()
    words.add_special_tokens(MARKS)
    words.post_processor = TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, words.token_to_id(BEGIN))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        bos_token=BEGIN,
        eos_token=MARKS[1],
        pad_token=PAD,
        padding_side="left",
        extra_special_tokens={
            "image_token": "<image_placeholder>",
            "boi_token": IMAGE,
            "eoi_token": "<end_of_image>",
        },
    )


def tiny_config(words: int = 267) -> JanusConfig:
    text = LlamaConfig(
        vocab_size=words,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=2000,
    )
    vision = JanusVisionConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=4 * SIDE,
        patch_size=4,
        projection_dim=32,
        num_image_tokens=SIDE * SIDE,
    )
    vq = JanusVQVAEConfig(
        num_embeddings=CODES,
        latent_channels=32,
        base_channels=32,
        channel_multiplier=[1, 2],
        num_res_blocks=1,
        projection_dim=32,
        image_token_embed_dim=32,
    )
    return JanusConfig(text_config=text, vision_config=vision, vq_config=vq)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a repository of the hub holds. Weights are large enough for every token of context to
    matter."""
    folder, tokenizer = tmp_path_factory.mktemp("janus"), tiny_tokenizer()
    network = JanusForConditionalGeneration(tiny_config(len(tokenizer)))
    generator = torch.Generator().manual_seed(0)
    for parameter in network.parameters():
        scale = 0.3 if parameter.dim() > 1 else 0.1
        parameter.data = torch.randn(parameter.shape, generator=generator) * scale + (
            parameter.dim() == 1
        )
    settings, names = network.generation_config, tokenizer.get_vocab()
    settings.bos_token_id, settings.pad_token_id, settings.eos_token_id = (
        names[BEGIN],
        names[PAD],
        names[MARKS[1]],
    )
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def library(folder: Path, processor: JanusProcessor) -> JanusForConditionalGeneration:
    network = JanusForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    # `generate` asks for it; the hub's file holds it, which `save_pretrained` does not write.
    network.generation_config.generation_kwargs = {"boi_token_id": processor.tokenizer.boi_token_id}
    return network


@pytest.fixture(scope="module")
def processor(folder: Path) -> JanusProcessor:
    return JanusProcessor(JanusImageProcessorPil(), PreTrainedTokenizerFast.from_pretrained(folder))


@pytest.fixture(scope="module")
def model(folder: Path) -> JanusModel:
    return JanusModel(CARD, {"model": folder}, CPU, torch.float32)


def decode(
    model: JanusModel,
    name: str,
    prompt: str = "a cat",
    sampling: Sampling = GREEDY,
    seed: int = 1,
    **knobs: object,
):
    decoder = DECODERS[name]
    return decoder(model, decoder.Settings(**knobs), sampling).generate(prompt, seed)


def conversation(text: str) -> str:
    return f"<|User|>: {text.strip()}\n\n<|Assistant|>:"


@pytest.mark.parametrize("text", PROMPTS)
def test_the_prompt_is_the_documented_one(
    model: JanusModel, processor: JanusProcessor, text: str
) -> None:
    """The ids that the library's processor makes of the conversation; read back, they are the
    documented string."""
    ids = model.prompt_ids(text)
    assert (
        ids
        == processor(text=conversation(text), generation_mode="image", return_tensors="pt")[
            "input_ids"
        ][0].tolist()
    )
    assert processor.tokenizer.decode(ids) == BEGIN + conversation(text) + IMAGE


def test_spaces_stay_where_the_tokenizer_says_it_is_llamas(
    folder: Path, tmp_path: Path, model: JanusModel
) -> None:
    """As the files of Janus do: transformers 5 would then split words as Llama does, and lose every
    space."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "tokenizer_config.json"
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"tokenizer_class": "LlamaTokenizerFast"})
    )
    named = JanusModel(CARD, {"model": tmp_path}, CPU, torch.float32)
    assert named.prompt_ids(PROMPTS[2]) == model.prompt_ids(PROMPTS[2])
    assert (
        named.tokenizer.decode(named.prompt_ids("a red cat"), skip_special_tokens=True)
        == ": a red cat\n\n:"
    )


@torch.inference_mode()
def test_guidance_rows(model: JanusModel, library: JanusForConditionalGeneration) -> None:
    """The unconditional row is padding but for the two marks, and its padding counts as words: it
    starts at 0."""
    ids, pad = model.prompt_ids("a cat"), model.tokenizer.token_to_id(PAD)
    prompt = model.prompt("a cat", True)
    blank = [ids[0], *[pad] * (len(ids) - 2), ids[-1]]
    torch.testing.assert_close(
        prompt.embeddings, library.get_input_embeddings()(torch.tensor([ids, blank]))
    )
    assert prompt.start == (0, 0)
    assert model.prompt("a cat", False).embeddings.equal(prompt.embeddings[:1])


def test_the_contract(model: JanusModel, library: JanusForConditionalGeneration) -> None:
    assert (model.name, model.grid, model.length, model.vocab_size) == (
        CARD.name,
        (SIDE, SIDE),
        SIDE * SIDE,
        CODES,
    )
    assert model.forced(0) is None
    assert (model.forced_ids == -1).all()
    assert (model.sampling, model.drafter) == (GREEDY, None)
    torch.testing.assert_close(
        model.codebook,
        F.normalize(library.model.vqmodel.quantize.embedding.weight.detach(), dim=-1),
    )
    assert not torch.allclose(
        library.model.vqmodel.quantize.embedding.weight.norm(dim=-1), torch.ones(())
    )


@pytest.mark.parametrize("text", PROMPTS)
def test_greedy_ar_is_the_librarys_generate(
    model: JanusModel, library: JanusForConditionalGeneration, processor: JanusProcessor, text: str
) -> None:
    tokens = decode(model, "ar", text)
    assert tokens == generated(library, processor, [text])[0]
    assert len(set(tokens)) > 3


def test_left_padding_of_the_librarys_batch_changes_nothing(
    model: JanusModel, library: JanusForConditionalGeneration, processor: JanusProcessor
) -> None:
    """The library pads prompts of a batch on the left to one length; each picture is the one its
    prompt has alone."""
    assert generated(library, processor, PROMPTS[:2]) == [
        decode(model, "ar", text) for text in PROMPTS[:2]
    ]


def generated(
    library: JanusForConditionalGeneration, processor: JanusProcessor, texts: Sequence[str]
) -> list[list[int]]:
    inputs = processor(
        text=[conversation(text) for text in texts],
        generation_mode="image",
        padding=True,
        return_tensors="pt",
    )
    return library.generate(
        **inputs, generation_mode="image", guidance_scale=5.0, do_sample=False
    ).tolist()


def test_guidance_matters(model: JanusModel) -> None:
    strengths = [
        decode(model, "ar", sampling=dataclasses.replace(GREEDY, guidance=g))
        for g in (1.0, 2.0, 5.0)
    ]
    assert strengths[0] != strengths[2] != strengths[1]


@pytest.mark.parametrize("guidance", [1.0, 5.0])
@pytest.mark.parametrize("window", [2, 5, 16])
def test_greedy_jacobi_is_greedy_ar(model: JanusModel, window: int, guidance: float) -> None:
    sampling = dataclasses.replace(GREEDY, guidance=guidance)
    greedy = decode(model, "ar", sampling=sampling)
    for name in ("jacobi", "sjd"):
        assert decode(model, name, sampling=sampling, window=window) == greedy


def test_fixed_point_is_ar_and_every_lane_finishes(model: JanusModel) -> None:
    assert decode(model, "fpi", sampling=FREE, window=6) == decode(model, "ar", sampling=FREE)
    for name in WHOLE:
        tokens = decode(model, name, sampling=FREE)
        assert len(tokens) == SIDE * SIDE
        assert all(0 <= token < CODES for token in tokens)


def test_greedy_trees_are_greedy_ar(model: JanusModel) -> None:
    assert decode(model, "sjd-pac") == decode(model, "ar")


@torch.inference_mode()
def one_shot(
    library: JanusForConditionalGeneration, model: JanusModel, tokens: list[int], guidance: float
) -> Tensor:
    """Logits [1 + n, V] after the prompt and each token, by the library's body with neither cache
    nor mask."""
    prompt = model.prompt("a cat", True).embeddings
    codes = library.prepare_embeddings_for_image_generation(
        torch.tensor([tokens, tokens], dtype=torch.long)
    )
    hidden = library.model.language_model(
        inputs_embeds=torch.cat([prompt, codes], 1)
    ).last_hidden_state
    cond, uncond = library.model.generation_head(hidden)[:, prompt.shape[1] - 1 :]
    return uncond + guidance * (cond - uncond)


@torch.inference_mode()
def test_windows_are_the_one_shot_forward(
    model: JanusModel, library: JanusForConditionalGeneration
) -> None:
    tokens = torch.randint(0, CODES, (12,), generator=torch.Generator().manual_seed(2))
    whole = one_shot(library, model, tokens.tolist(), 5.0)
    ctx, root = model.start("a cat", 5.0), 0
    for start, end, kept in ((0, 5, 3), (3, 9, 4), (7, 12, 1)):
        rows = model.forward(ctx, torch.cat([torch.tensor([root]), tokens[start:end]]))
        torch.testing.assert_close(rows, whole[start : end + 1], **TOLERANCE)
        model.keep(ctx, list(range(kept)))
        root = int(tokens[start + kept - 1])
    ctx.close()


@torch.inference_mode()
def test_a_trees_rows_are_their_paths(
    model: JanusModel, library: JanusForConditionalGeneration
) -> None:
    ctx = model.start("a cat", 5.0)
    paths = {0: [], 1: [7], 2: [8], 3: [7, 9], 4: [8, 9], 5: [8, 9, 3]}
    rows = model.forward(ctx, torch.tensor([0, 7, 8, 9, 9, 3]), (0, 0, 0, 1, 2, 4))
    for row, path in paths.items():
        torch.testing.assert_close(rows[row], one_shot(library, model, path, 5.0)[-1], **TOLERANCE)
    model.keep(ctx, [0, 2, 4])  # 8, 9 stay; 5 is drawn after them
    rows = model.forward(ctx, torch.tensor([5, 1]))
    torch.testing.assert_close(rows, one_shot(library, model, [8, 9, 5, 1], 5.0)[-2:], **TOLERANCE)
    ctx.close()


def test_pixels_are_the_librarys(model: JanusModel, library: JanusForConditionalGeneration) -> None:
    codes = np.random.default_rng(1).integers(0, CODES, (2, SIDE, SIDE))
    with torch.inference_mode():
        drawn = library.decode_image_tokens(torch.from_numpy(codes).flatten(1))
    assert drawn.std() > 0.05
    assert (drawn.abs() < 1).float().mean() > 0.2  # not all black or white
    pictures = model.pixels(codes)
    assert (pictures.shape, pictures.dtype) == ((2, 2 * SIDE, 2 * SIDE, 3), np.uint8)
    assert np.abs(pictures - ((drawn + 1) * 127.5).clamp(0, 255).numpy()).max() <= 0.51
    assert np.abs(model.pixels(codes[1]).astype(int) - pictures[1]).max() <= 1


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (1, SIDE), (7, 2), (5, 3, 3)])
def test_pixels_of_any_grid(model: JanusModel, shape: tuple[int, ...]) -> None:
    picture = model.pixels(np.random.default_rng(2).integers(0, CODES, shape))
    assert picture.shape == (*shape[:-2], 2 * shape[-2], 2 * shape[-1], 3)
    assert picture.std() > 1


def test_only_what_draws_is_loaded(
    model: JanusModel, library: JanusForConditionalGeneration
) -> None:
    ours, all_of_it = (
        sum(p.numel() for p in network.parameters()) for network in (model.network, library)
    )
    unused = [
        library.lm_head,
        library.model.vision_model,
        library.model.aligner,
        library.model.vqmodel.encoder,
        library.model.vqmodel.quant_conv,
    ]
    tied = library.lm_head.weight is library.model.language_model.embed_tokens.weight
    assert ours == all_of_it - sum(p.numel() for part in unused[tied:] for p in part.parameters())
    tensors = [*model.network.parameters(), *model.network.buffers()]
    assert not any(tensor.is_meta or tensor.requires_grad for tensor in tensors)


def test_the_body_has_the_dtype_and_the_pixels_decoder_float32(
    folder: Path, model: JanusModel
) -> None:
    half = JanusModel(CARD, {"model": folder}, CPU, torch.bfloat16)
    assert {p.dtype for p in half.body.parameters()} == {torch.bfloat16}
    assert {p.dtype for p in half.vq.parameters()} == {half.codebook.dtype} == {torch.float32}
    assert half.body.rotary_emb.inv_freq.equal(model.body.rotary_emb.inv_freq)
    codes = np.arange(9).reshape(3, 3)
    assert np.array_equal(half.pixels(codes), model.pixels(codes))
    with torch.inference_mode():
        rounded, exact = (
            m.forward(m.start("a cat", 5.0), torch.tensor([0, 3, 4])) for m in (half, model)
        )
    assert rounded.dtype == torch.float32
    assert F.cosine_similarity(rounded, exact).min() > 0.99
    assert len(decode(half, "sjd", sampling=FREE)) == SIDE * SIDE


def test_weights_in_shards(
    folder: Path, tmp_path: Path, model: JanusModel, library: JanusForConditionalGeneration
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "model.safetensors").unlink()
    library.save_pretrained(tmp_path, max_shard_size="100KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    assert decode(JanusModel(CARD, {"model": tmp_path}, CPU, torch.float32), "ar") == decode(
        model, "ar"
    )


def change(key: str, new: Callable[[Tensor], Tensor] | None) -> Callable[[Path], None]:
    """Writes the weights again with one of them changed, or left out."""

    def written(folder: Path) -> None:
        state = load_file(folder / "model.safetensors")
        old = state.pop(key, torch.zeros(1))
        save_file(state if new is None else state | {key: new(old)}, folder / "model.safetensors")

    return written


def write(name: str, text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text(text) and None


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def forgets(mark: str) -> Callable[[Path], None]:
    def written(folder: Path) -> None:
        path = folder / "tokenizer.json"
        path.write_text(path.read_text().replace(mark, "<other>"))

    return written


HEAD = "model.generation_head.vision_head.weight"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (without("config.json"), r"config\.json is missing: delete .* downloads it again"),
        (without("tokenizer.json"), r"tokenizer\.json is missing: delete .* downloads it again"),
        (
            without("model.safetensors"),
            r"model\.safetensors is missing: delete .* downloads it again",
        ),
        (write("config.json", "{"), r"config\.json is not a configuration"),
        (write("config.json", "[1]"), r"config\.json is not a configuration"),
        (
            write("config.json", '{"model_type": "janus", "text_config": {"hidden_size": "wide"}}'),
            "is not a configuration",
        ),
        (
            write("config.json", '{"model_type": "llama"}'),
            r"config\.json is of a model of type 'llama', not janus",
        ),
        (write("tokenizer.json", "{}"), r"tokenizer\.json is not a tokenizer"),
        (forgets(IMAGE), r"tokenizer\.json does not know <begin_of_image>"),
        (write("model.safetensors", "no weights"), r"model\.safetensors cannot be read as weights"),
        (change(HEAD, None), f"'{HEAD}' is missing"),
        (
            change(HEAD, lambda w: w[:-1].contiguous()),
            rf"'{HEAD}' has the shape \(39, 32\), not \(40, 32\)",
        ),
        (
            change("model.generation_head.bias", torch.zeros_like),
            "'model.generation_head.bias' is unexpected",
        ),
    ],
)
def test_files_that_do_not_fit(
    folder: Path, tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    spoil(tmp_path)
    with pytest.raises(ModelError, match=message):
        JanusModel(CARD, {"model": tmp_path}, CPU, torch.float32)


def test_weights_that_do_not_draw_may_be_absent(
    folder: Path, tmp_path: Path, model: JanusModel
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    state = load_file(folder / "model.safetensors")
    kept = {key: weight for key, weight in state.items() if not key.startswith(janus.UNUSED)}
    assert len(kept) < len(state) - 20
    save_file(kept, tmp_path / "model.safetensors")
    assert decode(JanusModel(CARD, {"model": tmp_path}, CPU, torch.float32), "ar") == decode(
        model, "ar"
    )


@pytest.mark.parametrize("mark", MARKS)
def test_a_prompt_cannot_hold_the_models_marks(model: JanusModel, mark: str) -> None:
    with pytest.raises(ModelError, match="Janus-Pro keeps for itself: leave it out") as rejected:
        model.start(f"a cat {mark} and more", 5.0)
    assert mark in str(rejected.value)


def test_a_prompt_is_not_longer_than_its_limit(model: JanusModel) -> None:
    limit = MAX_PROMPT_TOKENS
    room = limit - len(model.prompt_ids(""))
    assert len(model.prompt_ids("x" * room)) == limit
    message = f"has {limit + 1} tokens; Janus-Pro takes at most {limit} here"
    with pytest.raises(ModelError, match=message):
        model.start("x" * (room + 1), 5.0)


@pytest.mark.parametrize(
    ("name", "layers", "width"), [("janus-pro-1b", 24, 2048), ("janus-pro-7b", 30, 4096)]
)
def test_true_sizes_are_the_cards(name: str, layers: int, width: int) -> None:
    """On the meta device weights have shapes alone."""
    card = CARDS[name]
    settings = janus.config(card)
    network = janus._empty(settings, torch.device("meta"), torch.bfloat16)
    assert abs(sum(p.numel() for p in network.parameters()) - card.parameters) < 10_000_000
    assert (
        card.kv_values
        == 2 * layers * width
        == 2 * settings.text_config.num_hidden_layers * settings.text_config.hidden_size
    )
    assert settings.vq_config.num_embeddings == card.codes
    assert (settings.vq_config.num_patches,) * 2 == card.grid


def test_random_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on every start; a prompt is its bytes between the two marks."""
    monkeypatch.setattr(janus, "config", lambda card: tiny_config())
    first, second = (JanusModel(CARD, None, CPU, torch.float32) for _ in range(2))
    assert first.prompt_ids("é") == [256, *"é".encode(), 257]
    assert len(set(decode(first, "ar", sampling=FREE))) > 3
    assert decode(first, "ar", sampling=FREE) == decode(second, "ar", sampling=FREE)
    assert decode(first, "ar", "a dog") != decode(first, "ar", "a cat")
    assert all(
        tensor.isfinite().all()
        for tensor in [*first.network.parameters(), *first.network.buffers()]
    )
    assert first.pixels(np.zeros((2, 3), int)).shape == (4, 6, 3)


def test_static_shapes_change_nothing(model: JanusModel) -> None:
    assert not static_differences(model, "a red apple")
