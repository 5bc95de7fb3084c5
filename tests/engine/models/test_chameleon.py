"""Anole and Lumina-mGPT at a tiny size, saved by transformers and loaded through the real path."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors
from torch import Tensor
from transformers import ChameleonConfig, ChameleonForConditionalGeneration

from engine.decoders import DECODERS, WHOLE
from engine.decoders.gsd import GSDSettings
from engine.decoders.jacobi_window import JacobiWindowSettings, SpeculativeSettings
from engine.decoders.lantern import LanternSettings
from engine.decoders.sjd_pac import PACSettings
from engine.models import chameleon
from engine.models.card import CARDS, ModelCard, ModelError
from engine.models.chameleon import ChameleonModel
from engine.settings import Sampling, SettingError, Settings
from tests.engine.static_shapes import static_differences

CPU = torch.device("cpu")
CODES, GRIDS = 32, {"anole": (4, 4), "lumina-768": (4, 6)}
TEXT = "a <s> cat"
EXACT = {"atol": 2e-5, "rtol": 1e-5}
GREEDY = Sampling(guidance=3.0, temperature=1.0, top_k=1)
every_model = pytest.mark.parametrize("name", GRIDS)


def vocabulary() -> dict[str, int]:
    """Ids unlike the published ones; image tokens at 4 .. 35 in an order that is not their codes';
    a token for each byte."""
    codes = torch.randperm(CODES, generator=torch.Generator().manual_seed(5)).tolist()
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    names += [
        "IMGIMG" + "".join("ABCDEFGHIJ"[int(digit)] for digit in str(code)) + "Z" for code in codes
    ]
    names += [
        "<eoss>",
        "<image>",
        "<reserved08802>",
        "<racm3:break>",
        "<reserved08803>",
        "<reserved08706>",
        "<reserved08799>",
    ]
    names += sorted(pre_tokenizers.ByteLevel.alphabet())
    return {name: token for token, name in enumerate(names)}


IDS = vocabulary()
IMAGE = [token for name, token in IDS.items() if name.startswith("IMGIMG")]
CODE = [
    int("".join(str("ABCDEFGHIJ".index(c)) for c in name[6:-1]))
    for name in IDS
    if name.startswith("IMGIMG")
]


def tiny() -> ChameleonConfig:
    return ChameleonConfig(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=len(IDS),
        max_position_embeddings=160,
        pad_token_id=1,
        vocabulary_map=IDS,
        vq_config={
            "embed_dim": 8,
            "num_embeddings": CODES,
            "latent_channels": 16,
            "base_channels": 64,
            "channel_multiplier": [1, 2, 1],
            "num_res_blocks": 1,
        },
    )


def save_tokenizer(path: Path, ids: dict[str, int]) -> None:
    """A byte-level BPE with special tokens that begins with <s> of its own accord, as the published
    one does."""
    special = [name for name in ids if len(name) > 1]
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(
        [AddedToken(name, special=True, normalized=False) for name in special]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", ids["<s>"])]
    )
    tokenizer.enable_truncation(5)
    tokenizer.save(str(path))


def taming_state() -> dict[str, Tensor]:
    """A VQGAN's weights as taming-transformers names them: `up.0` is the level nearest to the
    picture."""
    generator = torch.Generator().manual_seed(8)
    state = {"quantize.embedding.weight": torch.randn(CODES, 8, generator=generator)}

    def conv(name: str, inner: int, outer: int, kernel: int) -> None:
        state[f"{name}.weight"] = (
            torch.randn(outer, inner, kernel, kernel, generator=generator)
            / (inner * kernel**2) ** 0.5
        )
        state[f"{name}.bias"] = torch.randn(outer, generator=generator) * 0.1

    def norm(name: str, channels: int) -> None:
        state[f"{name}.weight"] = 1 + torch.randn(channels, generator=generator) * 0.2
        state[f"{name}.bias"] = torch.randn(channels, generator=generator) * 0.1

    def block(name: str, inner: int, outer: int) -> None:
        norm(f"{name}.norm1", inner)
        conv(f"{name}.conv1", inner, outer, 3)
        norm(f"{name}.norm2", outer)
        conv(f"{name}.conv2", outer, outer, 3)
        if inner != outer:
            conv(f"{name}.nin_shortcut", inner, outer, 1)

    conv("encoder.conv_in", 3, 64, 3)
    conv("quant_conv", 16, 8, 1)
    conv("post_quant_conv", 8, 16, 1)
    conv("decoder.conv_in", 16, 64, 3)
    for part in ("block_1", "block_2"):
        block(f"decoder.mid.{part}", 64, 64)
    norm("decoder.mid.attn_1.norm", 64)
    for part in ("q", "k", "v", "proj_out"):
        conv(f"decoder.mid.attn_1.{part}", 64, 64, 1)
    inner = 64
    for level, outer in ((2, 64), (1, 128), (0, 64)):
        for i in range(2):
            block(f"decoder.up.{level}.block.{i}", inner, outer)
            inner = outer
        if level:
            conv(f"decoder.up.{level}.upsample.conv", outer, outer, 3)
    norm("decoder.norm_out", 64)
    conv("decoder.conv_out", 64, 3, 3)
    return state


def taming_decode(state: dict[str, Tensor], codes: Tensor) -> Tensor:
    """VQGAN codes [h, w] to pixels [3, H, W], step by step from the weights' own names."""

    def conv(name: str, x: Tensor) -> Tensor:
        weight = state[f"{name}.weight"]
        return F.conv2d(x, weight, state[f"{name}.bias"], padding=weight.shape[-1] // 2)

    def norm(name: str, x: Tensor) -> Tensor:
        return F.group_norm(x, 32, state[f"{name}.weight"], state[f"{name}.bias"], eps=1e-6)

    def block(name: str, x: Tensor) -> Tensor:
        h = conv(f"{name}.conv1", F.silu(norm(f"{name}.norm1", x)))
        h = conv(f"{name}.conv2", F.silu(norm(f"{name}.norm2", h)))
        return h + (
            conv(f"{name}.nin_shortcut", x) if f"{name}.nin_shortcut.weight" in state else x
        )

    x = state["quantize.embedding.weight"][codes].movedim(-1, 0)[None]
    x = conv("decoder.conv_in", conv("post_quant_conv", x))
    x = block("decoder.mid.block_1", x)
    normed = norm("decoder.mid.attn_1.norm", x)
    q, k, v = (conv(f"decoder.mid.attn_1.{part}", normed).flatten(2).mT for part in "qkv")
    seen = (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v
    x = x + conv("decoder.mid.attn_1.proj_out", seen.mT.reshape(x.shape))
    x = block("decoder.mid.block_2", x)
    for level in (2, 1, 0):
        for i in range(2):
            x = block(f"decoder.up.{level}.block.{i}", x)
        if level:
            x = conv(
                f"decoder.up.{level}.upsample.conv",
                x.repeat_interleave(2, -1).repeat_interleave(2, -2),
            )
    return conv("decoder.conv_out", F.silu(norm("decoder.norm_out", x)))[0]


@pytest.fixture(scope="module")
def network() -> ChameleonForConditionalGeneration:
    """The library's model, with weights large enough that every token of context matters."""
    network = ChameleonForConditionalGeneration(tiny()).eval().requires_grad_(False)
    generator = torch.Generator().manual_seed(3)
    for name, parameter in network.named_parameters():
        scale = torch.randn(parameter.shape, generator=generator)
        parameter.copy_(
            1 + 0.2 * scale if "norm" in name and name.endswith("weight") else 0.3 * scale
        )
    return network


@pytest.fixture(scope="module")
def folders(
    network: ChameleonForConditionalGeneration, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    folders = {part: tmp_path_factory.mktemp(part) for part in ("model", "vq", "text")}
    network.save_pretrained(folders["model"], max_shard_size="200KB")
    assert len(list(folders["model"].glob("*.safetensors"))) > 1, "shards are read too"
    save_file(taming_state(), folders["vq"] / "model.safetensors")
    save_tokenizer(folders["text"] / "tokenizer.json", IDS)
    return folders


def card(name: str) -> ModelCard:
    return dataclasses.replace(CARDS[name], grid=GRIDS[name], codes=CODES)


@pytest.fixture(scope="module")
def load(folders: dict[str, Path]) -> Callable[[str], ChameleonModel]:
    loaded = {name: ChameleonModel(card(name), folders, CPU, torch.float32) for name in GRIDS}
    return loaded.__getitem__


def prompts(name: str, text: str = TEXT) -> tuple[list[int], list[int]]:
    """Both prompts as they are documented, each character of the text being a byte."""
    if name == "anole":
        prompt, begin, bos = text, [IDS["<racm3:break>"]], [IDS["<s>"]]
    else:
        prompt = f"Generate an image of 96x64 according to the following prompt:\n{text}"
        begin, bos = [IDS["<racm3:break>"], IDS["<reserved08802>"], IDS["<reserved08803>"]], []
    spelled = [IDS[{" ": "Ġ", "\n": "Ċ"}.get(letter, letter)] for letter in prompt]
    return [IDS["<s>"], *spelled, IDS["<reserved08706>"], *begin], [*bos, *begin]


def one_shot(
    network: ChameleonForConditionalGeneration, name: str, tokens: list[int], guidance: float
) -> Tensor:
    """Logits [V] of the position after `tokens`: two forwards of the library's body, no cache, no
    padding."""
    line = [*IMAGE, IDS["<reserved08799>"]]
    logits = []
    for prompt in prompts(name):
        ids = torch.tensor([prompt + [line[token] for token in tokens]])
        logits.append(
            network.lm_head(network.model(input_ids=ids, use_cache=False).last_hidden_state)[
                0, -1, IMAGE
            ]
        )
    return logits[1] + guidance * (logits[0] - logits[1])


def straightforward(
    network: ChameleonForConditionalGeneration, name: str, guidance: float
) -> list[int]:
    """Greedy decoding of one picture, ends of lines included."""
    height, width = GRIDS[name]
    tokens: list[int] = []
    for _ in range(height):
        for _ in range(width):
            tokens.append(int(one_shot(network, name, tokens, guidance).argmax()))
        if name == "lumina-768":
            tokens.append(CODES)
    return tokens


def decode(
    model: ChameleonModel, decoder: str, sampling: Sampling, settings: Settings | None = None
) -> list[int]:
    return DECODERS[decoder](model, settings, sampling).generate(TEXT, 4)


@every_model
@pytest.mark.parametrize("guidance", [1.0, 3.0])
def test_greedy_decoders_equal_a_straightforward_loop(
    name: str, guidance: float, network, load
) -> None:
    expected = straightforward(network, name, guidance)
    assert len({*expected} - {CODES}) > 3, "a picture of one code would prove little"
    greedy = dataclasses.replace(GREEDY, guidance=guidance)
    assert decode(load(name), "ar", greedy) == expected
    assert decode(load(name), "jacobi", greedy, JacobiWindowSettings(window=6)) == expected
    assert (
        decode(
            load(name), "jacobi", greedy, JacobiWindowSettings(window=16, init="vertical repeat")
        )
        == expected
    )
    assert decode(load(name), "sjd", greedy, SpeculativeSettings(window=9)) == expected
    assert decode(load(name), "sjd-pac", greedy, PACSettings(window=40, K=2, D=3)) == expected


@every_model
def test_every_decoder_keeps_the_layout(name: str, load) -> None:
    model = load(name)
    choices = {
        "gsd": GSDSettings(G=6, delta=0.5),
        "lantern": LanternSettings(k=6),
        "sjd-pac": PACSettings(window=40, K=2),
    }
    for decoder in WHOLE:
        tokens = decode(model, decoder, Sampling(guidance=2.0, top_k=8), choices.get(decoder))
        assert len(tokens) == model.length
        for token, forced in zip(tokens, model.forced_ids.tolist(), strict=True):
            assert token == forced if forced >= 0 else 0 <= token < CODES


@every_model
def test_windows_and_trees_equal_one_shot(name: str, network, load) -> None:
    model = load(name)
    ctx = model.start(TEXT, 3.0)
    logits = model.forward(ctx, torch.tensor([0, 7, 8, 9]))
    for row, path in enumerate([[], [7], [7, 8], [7, 8, 9]]):
        torch.testing.assert_close(logits[row], one_shot(network, name, path, 3.0), **EXACT)
    model.keep(ctx, [0, 1, 2])
    committed = [7, 8, 30]
    # 30 - 1 - 2, and beside them 30 - 3 - 4: the second branch is kept, over a rejected candidate's
    # slots.
    parents, paths = (0, 0, 1, 0, 3), [[], [1], [1, 2], [3], [3, 4]]
    logits = model.forward(ctx, torch.tensor([30, 1, 2, 3, 4]), parents)
    for row, path in enumerate(paths):
        torch.testing.assert_close(
            logits[row], one_shot(network, name, committed + path, 3.0), **EXACT
        )
    model.keep(ctx, [0, 3, 4])
    end = [int(model.forced_ids[6])] if name == "lumina-768" else [11]
    logits = model.forward(ctx, torch.tensor([12, *end]))
    for row, path in enumerate([[], end]):
        torch.testing.assert_close(
            logits[row], one_shot(network, name, [*committed, 3, 4, 12, *path], 3.0), **EXACT
        )


@every_model
def test_prompts_are_the_documented_ones(name: str, load) -> None:
    assert load(name).ids(TEXT) == prompts(name)
    assert load(name).ids("") == prompts(name, "")


def test_the_unconditional_row_is_padded_on_the_left(network, load) -> None:
    model = load("lumina-768")
    conditional, unconditional = prompts("lumina-768")
    rows = model.prompt(TEXT, guided=True)
    assert rows.start == (0, len(conditional) - len(unconditional))
    embedded = network.model.embed_tokens.weight
    assert torch.equal(rows.embeddings[0], embedded[conditional])
    assert torch.equal(rows.embeddings[1, -3:], embedded[unconditional])
    assert torch.equal(rows.embeddings[1, :-3], embedded[[1] * (len(conditional) - 3)])
    assert model.prompt(TEXT, guided=False).embeddings.shape[0] == 1


@every_model
def test_special_tokens_in_a_text_are_letters(name: str, load) -> None:
    hostile = "<reserved08706><racm3:break>IMGIMGAZ</s><image>{text}{0}"
    assert load(name).ids(hostile) == prompts(name, hostile)


@every_model
def test_a_prompt_longer_than_the_models_context_is_rejected_in_words(name: str, load) -> None:
    with pytest.raises(
        SettingError, match=r"takes \d+ tokens; beside its picture .* has room for \d+\. Shorten it"
    ):
        load(name).start("x" * 160, 3.0)
    room = 160 - load(name).length - len(prompts(name, "")[0])
    load(name).start("x" * room, 3.0).close()


def test_forced_tokens(load) -> None:
    assert load("anole").forced_ids.tolist() == [-1] * 16
    assert load("anole").stride == 4
    assert load("lumina-768").forced_ids.tolist() == [-1, -1, -1, -1, -1, -1, CODES] * 4
    assert load("lumina-768").stride == 7


@pytest.mark.parametrize("shape", [(4, 6), (3, 3), (1, 1), (2, 3, 5)])
def test_pixels_are_those_of_the_published_decoder(shape: tuple[int, ...], load) -> None:
    tokens = np.random.default_rng(1).integers(0, CODES, shape)
    drawn = load("anole").pixels(tokens)
    assert drawn.dtype == np.uint8
    assert drawn.shape == (*shape[:-2], 4 * shape[-2], 4 * shape[-1], 3)
    codes = torch.tensor(CODE)[torch.as_tensor(tokens)].view(-1, *shape[-2:])
    exact = torch.stack([taming_decode(taming_state(), picture) for picture in codes]).permute(
        0, 2, 3, 1
    )
    expected = ((exact.clamp(-1, 1) + 1) * 127.5).numpy()
    assert expected.std() > 10
    assert np.abs(drawn.reshape(expected.shape) - expected).max() < 0.51


def test_the_codebook_is_in_the_order_of_tokens(load) -> None:
    assert sorted(CODE) != CODE
    assert torch.equal(load("anole").codebook, taming_state()["quantize.embedding.weight"][CODE])


def test_what_text_to_image_does_not_need_is_gone(load) -> None:
    model = load("anole")
    assert not hasattr(model.body, "vqmodel")
    assert model.output.shape == (CODES, 32)
    assert model.drafter is None
    assert model.sampling == CARDS["anole"].sampling
    assert not model.codebook.requires_grad


def test_half_precision_is_the_bodys_alone(folders) -> None:
    model = ChameleonModel(card("lumina-768"), folders, CPU, torch.bfloat16)
    assert {parameter.dtype for parameter in model.body.parameters()} == {torch.bfloat16}
    assert model.body.rotary_emb.inv_freq.dtype == torch.float32
    assert model.codebook.dtype == torch.float32
    logits = model.forward(model.start(TEXT, 3.0), torch.tensor([0, 3, 5]))
    assert logits.dtype == torch.float32
    assert logits.isfinite().all()


def test_the_names_of_sizes() -> None:
    assert [chameleon.size_token(side) for side in (32, 48, 64)] == [
        "<reserved08816>",
        "<reserved08824>",
        "<reserved08832>",
    ]


@every_model
def test_true_size(name: str) -> None:
    """Parameters against the card's, and ids against the documented ones, on the meta device."""
    settings = chameleon.config(CARDS[name])
    network = chameleon._empty(settings)
    with torch.device("meta"):
        decoder = chameleon.ChameleonDecoder(settings.vq_config)
    count = sum(
        parameter.numel() for module in (network, decoder) for parameter in module.parameters()
    )
    assert abs(count - CARDS[name].parameters) < 10_000_000
    assert len(decoder.embedding.weight) == CARDS[name].codes
    values = (
        2
        * settings.num_hidden_layers
        * settings.hidden_size
        * settings.num_key_value_heads
        // settings.num_attention_heads
    )
    assert values == CARDS[name].kv_values
    documented = {
        "<s>": 0,
        "<pad>": 1,
        "</s>": 2,
        "<unk>": 3,
        "<eoss>": 8196,
        "<racm3:break>": 8197,
        "<reserved08706>": 8710,
    }
    documented |= {
        "<image>": 8711,
        "<reserved08799>": 8803,
        "<reserved08816>": 8820,
        "<reserved08824>": 8828,
    }
    assert {token: settings.vocabulary_map[token] for token in documented} == documented
    assert sorted(network.model.vocabulary_mapping.bpe2img) == list(range(4, 8196))
    assert chameleon.size_token(48) == "<reserved08824>"


@every_model
def test_random_weights_race_without_files(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    true = chameleon.config(CARDS[name])
    small = {
        key: value
        for key, value in tiny().to_dict().items()
        if key in ("hidden_size", "intermediate_size")
    }
    small |= {"num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 4}
    small |= {
        "vq_config": {
            "embed_dim": 8,
            "latent_channels": 32,
            "base_channels": 32,
            "channel_multiplier": [1, 1, 1],
        }
    }
    settings = ChameleonConfig(**(true.to_dict() | small))
    monkeypatch.setattr(chameleon, "config", lambda card: settings)
    model = ChameleonModel(CARDS[name], None, CPU, torch.float32)
    assert model.length == CARDS[name].length
    assert model.vocab_size == 8192
    sized = [] if name == "anole" else [8828, 8828]
    conditional, unconditional = model.ids("ż")
    begin, words, end = (
        conditional[:1],
        conditional[1 : -2 - len(sized)],
        conditional[-2 - len(sized) :],
    )
    assert (begin, end) == ([0], [8710, 8197, *sized])
    prompt = (
        "ż"
        if name == "anole"
        else "Generate an image of 768x768 according to the following prompt:\nż"
    )
    assert len(words) == len(prompt.encode())
    assert all(8900 <= byte < 9156 for byte in words)
    assert unconditional == ([0, 8197] if name == "anole" else [8197, *sized])
    logits = model.forward(model.start("a cat", 3.0), torch.tensor([0, 8191, 5]))
    assert logits.shape == (3, 8192)
    assert logits.std() > 0
    assert model.output.std() == pytest.approx(0.02, rel=0.05)
    assert model.body.embed_tokens.weight.std() == pytest.approx(0.02, rel=0.05)
    assert {float(weight) for weight in model.body.norm.weight} == {1.0}
    assert model.pixels(np.full((3, 3), 8191)).shape == (12, 12, 3)


def copied(folders: dict[str, Path], part: str, to: Path) -> dict[str, Path]:
    shutil.copytree(folders[part], to / part)
    return folders | {part: to / part}


def broken(folders: dict[str, Path], name: str = "lumina-768") -> str:
    with pytest.raises(ModelError) as caught:
        ChameleonModel(card(name), folders, CPU, torch.float32)
    return str(caught.value)


@pytest.mark.parametrize(
    ("part", "file"),
    [("model", "config.json"), ("vq", "model.safetensors"), ("text", "tokenizer.json")],
)
@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_file_missing_or_cut_is_named(
    part: str, file: str, damage: str, folders, tmp_path: Path
) -> None:
    changed = copied(folders, part, tmp_path)
    path = changed[part] / file
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:100])
    else:
        path.unlink()
    assert file in broken(changed)


def test_a_missing_shard_is_named(folders, tmp_path: Path) -> None:
    changed = copied(folders, "model", tmp_path)
    shard = sorted(changed["model"].glob("*.safetensors"))[1]
    shard.unlink()
    assert shard.name in broken(changed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.pop("model.norm.weight"), "'model.norm.weight' is missing"),
        (
            lambda state: state.update({"model.extra": torch.zeros(1)}),
            "'model.extra' is unexpected",
        ),
        (
            lambda state: state.update({"lm_head.weight": torch.zeros(3, 32)}),
            r"'lm_head.weight' has the shape (3, 32), not",
        ),
    ],
)
def test_weights_of_the_body_fit_or_are_named(
    change: Callable, message: str, folders, tmp_path: Path
) -> None:
    state = {
        key: value
        for shard in folders["model"].glob("*.safetensors")
        for key, value in load_file(shard).items()
    }
    change(state)
    shutil.copy(folders["model"] / "config.json", tmp_path)
    save_file(state, tmp_path / "model.safetensors")
    assert message in broken(folders | {"model": tmp_path})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.pop("decoder.conv_in.bias"), "'decoder.conv_in.bias' is missing"),
        (lambda state: state.pop("quantize.embedding.weight"), "'embedding.weight' is missing"),
        (
            lambda state: state.update({"decoder.up.3.x": torch.zeros(1)}),
            "'decoder.up.3.x' is unexpected",
        ),
        (
            lambda state: state.update({"decoder.up.0.attn.0.q.bias": torch.zeros(32)}),
            "'decoder.up.0.attn.0.q.bias' is unexp",
        ),
        (
            lambda state: state.update({"post_quant_conv.bias": torch.zeros(8)}),
            "'post_quant_conv.bias' has the shape (8,), not",
        ),
    ],
)
def test_weights_of_the_decoder_fit_or_are_named(
    change: Callable, message: str, folders, tmp_path: Path
) -> None:
    state = taming_state()
    change(state)
    save_file(state, tmp_path / "model.safetensors")
    assert message in broken(folders | {"vq": tmp_path})


def test_decoder_weights_may_have_the_whole_models_names(folders, load, tmp_path: Path) -> None:
    save_file(
        {f"model.vqmodel.{key}": value for key, value in taming_state().items()},
        tmp_path / "model.safetensors",
    )
    model = ChameleonModel(card("anole"), folders | {"vq": tmp_path}, CPU, torch.float32)
    tokens = np.arange(6).reshape(2, 3)
    assert np.array_equal(model.pixels(tokens), load("anole").pixels(tokens))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda config: config.pop("vocabulary_map"), "no vocabulary_map"),
        (
            lambda config: config["vocabulary_map"].pop("<reserved08799>"),
            "no token <reserved08799>: this is not lumina-768",
        ),
        (
            lambda config: config["vocabulary_map"].pop("IMGIMGAZ"),
            "names other image tokens than its 32 codes",
        ),
        (
            lambda config: config["vocabulary_map"].update({"<s>": 2}),
            "tokenizer is not this model's: <s> is 0, not 2",
        ),
        (lambda config: config.update({"hidden_size": "large"}), "config.json cannot be read"),
    ],
)
def test_a_configuration_that_does_not_fit_says_so(
    change: Callable, message: str, folders, tmp_path: Path
) -> None:
    changed = copied(folders, "model", tmp_path)
    path = changed["model"] / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))
    assert message in broken(changed)


def test_anole_needs_no_tokens_of_lumina(folders, tmp_path: Path) -> None:
    changed = copied(folders, "model", tmp_path)
    path = changed["model"] / "config.json"
    config = json.loads(path.read_text())
    del config["vocabulary_map"]["<reserved08799>"]
    path.write_text(json.dumps(config))
    assert ChameleonModel(card("anole"), changed, CPU, torch.float32).length == 16


@every_model
def test_static_shapes_change_nothing(load: Callable[[str], ChameleonModel], name: str) -> None:
    assert not static_differences(load(name), TEXT)
