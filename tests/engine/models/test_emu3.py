"""Emu3 on a tiny model of transformers' own classes, saved and loaded through the real path,
against the library itself."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers.pre_tokenizers import ByteLevel
from torch import Tensor
from transformers import Emu3Config, Emu3ForConditionalGeneration, Emu3Processor, GPT2Tokenizer
from transformers.models.emu3.image_processing_emu3 import Emu3ImageProcessor

from engine.decoders import DECODERS
from engine.models.card import CARDS, ModelError
from engine.models.emu3 import NEGATIVE, POSITIVE, Emu3Model, config
from engine.settings import Sampling
from engine.trace import Status
from tests.engine.static_shapes import static_differences

CODES, HEIGHT, WIDTH = 48, 3, 4
LENGTH = HEIGHT * (WIDTH + 1)
CPU = torch.device("cpu")
GREEDY = Sampling(guidance=3.0, top_k=1)
CARD = dataclasses.replace(CARDS["emu3"], grid=(HEIGHT, WIDTH), codes=CODES, sampling=GREEDY)
NAMES = {
    "image_token": "<image>",
    "boi_token": "<|image start|>",
    "eoi_token": "<|image end|>",
    "image_wrapper_token": "<|image token|>",
    "eof_token": "<|extra_201|>",
}
# rows shorter and longer than the negative prompt
PROMPTS = ["a cat", "", "a long portrait of a young girl, " * 8]


def tiny_tokenizer() -> GPT2Tokenizer:
    """Bytes, then marks, then the visual tokens; these with a gap between them, and not in the
    codes' order."""
    letters = sorted(ByteLevel.alphabet())
    marks = ["<|pad|>", "<|extra_203|>", "<|extra_204|>", *NAMES.values(), "<|extra_200|>"]
    order = np.random.default_rng(0).permutation(CODES).tolist()
    visual = [f"<|visual token {code:06d}|>" for code in order]
    tokenizer = GPT2Tokenizer(
        vocab={letter: i for i, letter in enumerate(letters)},
        merges=[],
        unk_token="a",
        pad_token="<|pad|>",
        bos_token="<|extra_203|>",
        eos_token="<|extra_204|>",
        extra_special_tokens=NAMES,
        padding_side="left",
    )
    tokenizer.add_tokens([*marks, *visual[:20], "<|between|>", *visual[20:]], special_tokens=True)
    return tokenizer


def tiny_config(tokenizer: GPT2Tokenizer) -> Emu3Config:
    names = tokenizer.get_vocab()
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 600,
        "pad_token_id": names["<|pad|>"],
        "bos_token_id": names["<|extra_203|>"],
        "eos_token_id": names["<|extra_204|>"],
    }
    vq = {
        "codebook_size": CODES,
        "base_channels": 64,
        "channel_multiplier": [1, 1, 1, 1],
        "num_res_blocks": 1,
        "hidden_size": 64,
    }
    known = {name: i for name, i in names.items() if name.startswith("<|") or name == "<image>"}
    return Emu3Config(text_config=text, vq_config=vq, vocabulary_map=known)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("emu3")
    tokenizer = tiny_tokenizer()
    torch.manual_seed(0)
    library = Emu3ForConditionalGeneration(tiny_config(tokenizer)).eval()
    with torch.no_grad():
        # large enough that every row of context matters
        for name, parameter in library.named_parameters():
            if "vqmodel" not in name and parameter.dim() > 1:
                parameter.normal_(0, 0.25)
    library.save_pretrained(folder)
    Emu3Processor(Emu3ImageProcessor(), tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def library(folder: Path) -> Emu3ForConditionalGeneration:
    return Emu3ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()


@pytest.fixture(scope="module")
def processor(folder: Path) -> Emu3Processor:
    return Emu3Processor.from_pretrained(folder)


@pytest.fixture(scope="module")
def model(folder: Path) -> Emu3Model:
    return Emu3Model(CARD, {"model": folder}, CPU, torch.float32)


def inputs(processor: Emu3Processor, text: list[str]) -> dict[str, Tensor]:
    return processor(
        text=text,
        return_for_image_generation=True,
        ratio=f"{WIDTH}:{HEIGHT}",
        image_area=64 * HEIGHT * WIDTH,
        padding=True,
        return_tensors="pt",
    )


def allowed(
    library: Emu3ForConditionalGeneration, processor: Emu3Processor
) -> Callable[[int, Tensor], list[int]]:
    """The layout as the library's documentation constrains it."""
    tokenizer, names = processor.tokenizer, library.vocabulary_mapping
    ends = [tokenizer.eof_token_id, tokenizer.eoi_token_id, tokenizer.eos_token_id]

    def choices(row: int, ids: Tensor) -> list[int]:
        offset = len(ids) - int((ids == tokenizer.image_wrapper_token_id).nonzero()[0])
        if offset > LENGTH:
            return [ends[min(offset - LENGTH - 1, 2)]]
        return [names.eol_token_id] if offset % (WIDTH + 1) == 0 else names.image_tokens

    return choices


def generated(
    library: Emu3ForConditionalGeneration, processor: Emu3Processor, prompt: str, guidance: float
) -> Tensor:
    """The library's own greedy tokens [1, LENGTH + 3], end of frame, image and text included."""
    encoded = inputs(processor, [prompt + POSITIVE])
    negative = inputs(processor, [NEGATIVE])
    guide = (
        {"guidance_scale": guidance, "negative_prompt_ids": negative.input_ids}
        if guidance > 1
        else {}
    )
    ids = library.generate(
        input_ids=encoded.input_ids,
        attention_mask=encoded.attention_mask,
        do_sample=False,
        max_new_tokens=LENGTH + 3,
        prefix_allowed_tokens_fn=allowed(library, processor),
        **guide,
    )
    return ids[:, encoded.input_ids.shape[1] :]


def as_codes(library: Emu3ForConditionalGeneration, ids: Tensor) -> list[int]:
    known = library.vocabulary_mapping.bpe2img | {library.vocabulary_mapping.eol_token_id: CODES}
    return [known[token] for token in ids.tolist()]


@pytest.mark.parametrize("guidance", [1.0, 3.0])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_ar_is_the_librarys_own_generate(
    model, library, processor, prompt: str, guidance: float
) -> None:
    ids = generated(library, processor, prompt, guidance)
    ours = DECODERS["ar"](model, sampling=dataclasses.replace(GREEDY, guidance=guidance)).generate(
        prompt, 0
    )
    assert ours == as_codes(library, ids[0, :LENGTH])
    codes = [code for code in ours if code != CODES]
    assert len(set(codes)) > 3, "a model that says the same everywhere proves nothing"


def test_guidance_matters(model) -> None:
    weak, strong = (
        DECODERS["ar"](model, sampling=dataclasses.replace(GREEDY, guidance=guidance)).generate(
            "a cat", 0
        )
        for guidance in (1.0, 3.0)
    )
    assert weak != strong


@pytest.mark.parametrize("name", ["jacobi", "fpi", "sjd", "gsd", "sjd-pac"])
@pytest.mark.parametrize("guidance", [1.0, 3.0])
def test_greedy_windows_and_trees_equal_greedy_ar(model, name: str, guidance: float) -> None:
    sampling = dataclasses.replace(GREEDY, guidance=guidance)
    ar = DECODERS["ar"](model, sampling=sampling).generate("a cat", 1)
    assert DECODERS[name](model, sampling=sampling).generate("a cat", 1) == ar


def test_the_end_of_a_row_is_forced_and_nothing_comes_after_the_last(model) -> None:
    assert model.length == LENGTH
    assert model.stride == WIDTH + 1
    assert model.forced_ids.tolist() == ([-1] * WIDTH + [CODES]) * HEIGHT
    steps = [*DECODERS["sjd-pac"](model, sampling=Sampling(top_k=0)).steps("a cat", 3)]
    committed = [row for step in steps for row in step.committed]
    assert len(committed) == LENGTH
    for at, row in enumerate(committed):
        ends_row = at % (WIDTH + 1) == WIDTH
        assert (row["status"] == Status.FORCED) == ends_row
        assert (row["token"] == CODES) == ends_row


def test_codes_and_ends_of_rows_are_embedded_by_the_models_own_map(model, library) -> None:
    names = library.config.vocabulary_map
    tokens = [0, 1, CODES - 1, CODES]
    ids = [names[f"<|visual token {code:06d}|>"] for code in tokens[:3]] + [names["<|extra_200|>"]]
    assert ids != sorted(ids), "the map of the test is no map if it is in order"
    embedded = model.embed(torch.tensor(tokens), torch.arange(4))
    assert torch.equal(embedded, library.get_input_embeddings().weight[ids])


@pytest.mark.parametrize("guidance", [1.0, 3.0])
@pytest.mark.parametrize("prompt", PROMPTS)
@torch.inference_mode()
def test_windows_equal_the_librarys_one_shot_forward_of_padded_rows(
    model, library, processor, prompt: str, guidance: float
) -> None:
    """Rows of unlike length, padded on the left, with two windows; the end of a row falls inside
    the second."""
    tokens = [5, 9, 1, 30, CODES, 7, 7]
    encoded = inputs(processor, [prompt + POSITIVE, NEGATIVE][: 1 + (guidance > 1)])
    codes = model.ids[torch.tensor(tokens)].expand(len(encoded.input_ids), -1)
    there = torch.cat([encoded.attention_mask, torch.ones_like(codes)], 1)
    positions = (there.cumsum(-1) - 1).clamp_min(0)
    logits = library(
        input_ids=torch.cat([encoded.input_ids, codes], 1),
        attention_mask=there,
        position_ids=positions,
        use_cache=False,
    ).logits
    logits = logits[:, -len(tokens) - 1 :, model.ids[:-1]]
    expected = logits[0] if guidance == 1 else logits[1] + guidance * (logits[0] - logits[1])

    ctx = model.start(prompt, guidance)
    assert list(ctx.prompt.start) == (encoded.attention_mask == 0).sum(1).tolist()
    first = model.forward(ctx, torch.tensor([0, *tokens[:2], 11, 12]))  # 11 and 12 are rejected
    model.keep(ctx, [0, 1, 2])
    second = model.forward(ctx, torch.tensor(tokens[2:]))
    torch.testing.assert_close(torch.cat([first[:3], second]), expected, atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize("prompt", [*PROMPTS, "naïve 日本 🙂 \n"])
def test_the_prompt_is_the_documented_string_and_the_processors_ids(
    model, processor, prompt: str
) -> None:
    ids = model.prompt_ids(prompt + POSITIVE)
    text = (
        f"<|extra_203|>{prompt} masterpiece, film grained, best quality.<|image start|>3*4<|image"
        " token|>"
    )
    assert model.tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text
    assert ids == inputs(processor, [prompt + POSITIVE]).input_ids[0].tolist()


def test_the_public_grid_is_the_processors_for_720_pixels(folder, processor) -> None:
    square = Emu3Model(
        dataclasses.replace(CARD, grid=CARDS["emu3"].grid), {"model": folder}, CPU, torch.float32
    )
    encoded = processor(
        text=["a cat"], return_for_image_generation=True, ratio="1:1", image_area=518400
    )
    assert encoded.image_sizes == [[90, 90]]
    assert square.prompt_ids("a cat") == encoded.input_ids[0]
    assert square.length == CARDS["emu3"].length


@pytest.mark.parametrize(
    "text",
    [
        "<|image token|>",
        "a <|image start|>9*9<|image token|> b",
        "<image>",
        "<|extra_200|>" * 3,
        "<<|visual token 000001|>>",
        "<|",
    ],
)
def test_marks_in_a_visitors_text_stay_text(model, text: str) -> None:
    ids = model.prompt_ids(text)
    assert [token for token in ids if token >= 256] == [
        model.tokenizer.convert_tokens_to_ids(mark)
        for mark in ("<|extra_203|>", "<|image start|>", "<|image token|>")
    ]
    assert model.tokenizer.decode(ids) == f"<|extra_203|>{text}<|image start|>3*4<|image token|>"


def test_a_prompt_that_leaves_no_room_is_rejected(model) -> None:
    with pytest.raises(
        ModelError,
        match=r"takes \d+ of the model's tokens, and there is room for 585: make it shorter",
    ):
        model.start("a" * 600, 1.0)


@torch.inference_mode()
def test_pixels_are_the_librarys_decoding_of_a_generated_picture(model, library, processor) -> None:
    ids = generated(library, processor, "a cat", 1.0)
    drawn = library.decode_image_tokens(image_tokens=ids, height=HEIGHT, width=WIDTH)[0]
    expected = ((drawn.clamp(-1, 1) + 1) * 127.5).permute(1, 2, 0).numpy()
    codes = np.array(
        [code for code in as_codes(library, ids[0, :LENGTH]) if code != CODES]
    ).reshape(HEIGHT, WIDTH)
    picture = model.pixels(codes)
    assert picture.dtype == np.uint8
    assert picture.shape == (8 * HEIGHT, 8 * WIDTH, 3)
    assert np.abs(picture - expected).max() < 0.51
    assert expected.std() > 1, "a flat picture proves nothing"


@pytest.mark.parametrize("grid", [(1, 1), (3, 3), (2, 5)])
def test_pixels_of_any_grid_alone_and_in_batches(model, library, grid: tuple[int, int]) -> None:
    codes = np.random.default_rng(1).integers(0, CODES, (3, *grid))
    batch = model.pixels(codes)
    assert batch.shape == (3, 8 * grid[0], 8 * grid[1], 3)
    with torch.inference_mode():
        drawn = library.model.vqmodel.decode(torch.as_tensor(codes)).clamp(-1, 1)
    expected = ((drawn + 1) * 127.5).permute(0, 2, 3, 1).numpy()
    assert np.abs(batch - expected).max() < 0.51
    assert np.abs(batch[1].astype(int) - model.pixels(codes[1])).max() <= 1


def test_the_codebook_is_the_vqs(model, library) -> None:
    assert torch.equal(model.codebook, library.model.vqmodel.quantize.embedding.weight)


def test_only_what_a_picture_needs_is_kept(model, library) -> None:
    assert model.output.weight.shape == (CODES, 32)
    assert not hasattr(model.vq, "encoder")
    assert not hasattr(model.vq, "quant_conv")
    assert model.drafter is None


def test_float32_files_load_into_half_precision_and_race(folder) -> None:
    half = Emu3Model(CARD, {"model": folder}, CPU, torch.bfloat16)
    assert (
        {p.dtype for p in half.body.parameters()} == {half.output.weight.dtype} == {torch.bfloat16}
    )
    assert {p.dtype for p in half.vq.parameters()} == {torch.float32}
    assert half.body.rotary_emb.inv_freq.dtype == torch.float32
    assert len(DECODERS["jacobi"](half).generate("a cat", 0)) == LENGTH
    assert half.pixels(np.zeros((3, 3), int)).shape == (24, 24, 3)


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def rewrite(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    path = folder / "model.safetensors"
    state = {name: tensor.clone() for name, tensor in load_file(path).items()}
    change(state)
    save_file(state, path, {"format": "pt"})


def load(folder: Path) -> Emu3Model:
    return Emu3Model(CARD, {"model": folder}, CPU, torch.float32)


def test_keys_as_files_and_as_classes_have_them(copy, library, model) -> None:
    """transformers writes the body under text_model.model and its head beside it; in the classes
    they stand elsewhere."""
    assert {name.split(".")[0] for name in load_file(copy / "model.safetensors")} == {
        "text_model",
        "vqmodel",
    }
    save_file(library.state_dict(), copy / "model.safetensors", {"format": "pt"})
    assert {name.split(".")[0] for name in load_file(copy / "model.safetensors")} == {
        "model",
        "lm_head",
    }
    again = load(copy)
    for part in ("body", "output", "vq"):
        ours, theirs = (getattr(m, part).state_dict() for m in (again, model))
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_shards_are_read_together(copy, library, model) -> None:
    (copy / "model.safetensors").unlink()
    library.save_pretrained(copy, max_shard_size="100KB")
    assert len([*copy.glob("model-*.safetensors")]) > 2
    assert torch.equal(load(copy).output.weight, model.output.weight)


BODY = "text_model.model.layers.1.mlp.up_proj.weight"
HEAD = "text_model.lm_head.weight"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.pop(BODY), "body.layers.1.mlp.up_proj.weight' is missing"),
        (lambda state: state.pop(HEAD), "output.weight' is missing"),
        (
            lambda state: state.pop("vqmodel.decoder.conv_out.bias"),
            "vq.decoder.conv_out.bias' is missing",
        ),
        (
            lambda state: state.update({"text_model.model.extra": torch.zeros(1)}),
            "'text_model.model.extra' is unexpected",
        ),
        (lambda state: state.update(vision=torch.zeros(1)), "'vision' is unexpected"),
        (
            lambda state: state.update({BODY: torch.zeros(3, 5)}),
            r"up_proj.weight' has the shape \(3, 5\), not \(48, 32\)",
        ),
        (
            lambda state: state.update({HEAD: torch.zeros(7, 32)}),
            r"'text_model.lm_head.weight' has the shape \(7, 32\), not",
        ),
    ],
)
def test_weights_that_do_not_fit_are_named(copy, change, message: str) -> None:
    rewrite(copy, change)
    with pytest.raises(ModelError, match=message):
        load(copy)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("config.json", "config.json is missing"),
        ("model.safetensors", "model.safetensors is missing"),
        ("tokenizer.json", "tokenizer.json is missing"),
        ("tokenizer_config.json", "The tokenizer in .* has no b"),
    ],
)
def test_files_that_are_missing_are_named(copy, file: str, message: str) -> None:
    for path in copy.glob(file):
        path.unlink()
    with pytest.raises(ModelError, match=message):
        load(copy)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("config.json", "config.json is not the configuration of an Emu3 model"),
        ("model.safetensors", "model.safetensors cannot be read as weights"),
        ("tokenizer.json", "The tokenizer in .* cannot be read"),
    ],
)
@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff\x00{"])
def test_files_that_are_broken_are_named(copy, file: str, message: str, content: bytes) -> None:
    (copy / file).write_bytes(content)
    with pytest.raises(ModelError, match=message):
        load(copy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda c: c.update(vocabulary_map=None),
            "does not name 48 visual tokens and an end of line",
        ),
        (lambda c: c["vocabulary_map"].pop("<|extra_200|>"), "does not name 48 visual tokens"),
        (
            lambda c: c["vocabulary_map"].pop("<|visual token 000007|>"),
            "does not name 48 visual tokens",
        ),
        (
            lambda c: c["vocabulary_map"].update({"<|visual token x|>": 3}),
            "does not name 48 visual tokens",
        ),
        (
            lambda c: c["vocabulary_map"].update({"<|visual token 000007|>": 9999}),
            "ids beyond the model's vocabulary",
        ),
        (
            lambda c: c["text_config"].update(hidden_size="wide"),
            "is not the configuration of an Emu3 model",
        ),
    ],
)
def test_configurations_that_do_not_fit_are_rejected(copy, change, message: str) -> None:
    path = copy / "config.json"
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))
    with pytest.raises(ModelError, match=message):
        load(copy)


def test_another_models_tokenizer_is_rejected(copy) -> None:
    path = copy / "tokenizer_config.json"
    values = json.loads(path.read_text())
    for name in ("boi_token", "extra_special_tokens"):
        values.pop(name, None)
    path.write_text(json.dumps(values))
    with pytest.raises(ModelError, match="has no boi_token"):
        load(copy)


def test_the_configuration_at_true_size_is_the_public_models() -> None:
    """Its sizes and ids as config.json of BAAI/Emu3-Gen-hf has them; made without memory: they are
    8.76 thousand million."""
    card = CARDS["emu3"]
    true = config(card)
    assert (
        true.text_config.vocab_size,
        true.text_config.hidden_size,
        true.text_config.num_hidden_layers,
    ) == (184622, 4096, 32)
    assert (true.text_config.num_attention_heads, true.text_config.num_key_value_heads) == (32, 8)
    assert true.vocabulary_map["<|visual token 032767|>"] == 184621
    with torch.device("meta"):
        library = Emu3ForConditionalGeneration(true)
    total = sum(p.numel() for p in library.parameters())
    assert round(total / 1e7) == 876


def test_random_weights_race_without_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same path as at true size, with a smaller configuration in its place."""
    small = tiny_config(tiny_tokenizer())
    monkeypatch.setattr("engine.models.emu3.config", lambda card: small)
    model = Emu3Model(CARD, None, CPU, torch.float32)
    assert len(DECODERS["sjd-pac"](model).generate("naïve", 0)) == LENGTH
    picture = model.pixels(np.zeros((3, 3), int))
    assert picture.shape == (24, 24, 3)
    logits = model.forward(model.start("a", 3.0), torch.tensor([0, 1, CODES - 1]))
    assert torch.isfinite(logits).all()
    assert logits.std() > 0


def test_static_shapes_change_nothing(model: Emu3Model) -> None:
    assert not static_differences(model, "a cat")
