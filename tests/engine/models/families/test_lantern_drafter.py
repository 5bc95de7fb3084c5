"""LANTERN's published drafters on small ones of the same shape: files through the real path, their
passes against a whole recomputation that is written out here."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor
from transformers.models.chameleon.modeling_chameleon import ChameleonDecoderLayer

from engine.models.body import BodyModel
from engine.models.eagle import EagleDrafter
from engine.models.families.chameleon import ChameleonModel
from engine.models.families.lantern_drafter import chameleon_drafter, llamagen_drafter
from engine.models.families.llamagen import LlamaGenModel
from engine.models.supply.card import CARDS, ModelError
from tests.engine.models.families import ANOLE, LLAMAGEN, LUMINA, chameleon, llamagen
from tests.engine.models.families.tiny import drawn, narrowed
from tests.floats import EXACT, widen

CODES = [3, 39, 0, 7, 7, 21, 14, 30, 2, 11]
CHAMELEONS = {"anole": ANOLE, "lumina-768": LUMINA}
SIZES = {"llamagen-256": llamagen.SIZES.gpt} | dict.fromkeys(CHAMELEONS, chameleon.config())
OWN_EPS = 1e-2  # unlike the target's, and large enough to matter


def shapes(name: str) -> dict[str, tuple[int, ...]]:
    """The keys of a published file."""
    config = SIZES[name]
    width, inner = config.hidden_size, config.intermediate_size
    dim = width // config.num_attention_heads
    keys = config.num_key_value_heads * dim
    layer = {
        **{f"self_attn.{part}_proj.weight": (width, width) for part in "qo"},
        **{f"self_attn.{part}_proj.weight": (keys, width) for part in "kv"},
        **{f"mlp.{part}_proj.weight": (inner, width) for part in ("gate", "up")},
        "mlp.down_proj.weight": (width, inner),
        "post_attention_layernorm.weight": (width,),
    }
    if name in CHAMELEONS:
        layer["input_layernorm.weight"] = (width,)
        for part, heads in (("q", config.num_attention_heads), ("k", config.num_key_value_heads)):
            layer |= {f"self_attn.{part}_norm.{of}": (heads, dim) for of in ("weight", "bias")}
    joint = {"embed_tokens.weight": (config.vocab_size, width), "fc.bias": (width,)}
    joint["fc.weight"] = (width, 2 * width)
    return joint | {f"layers.0.{key}": shape for key, shape in layer.items()}


STATES = {name: drawn(shapes(name), 4) for name in SIZES}


def save(
    folder: Path, name: str, state: dict[str, Tensor] | None = None, **changes: object
) -> Path:
    """A drafter as it is published; `changes` of its configuration."""
    config = SIZES[name]
    sizes = ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads")
    stored = {each: getattr(config, each) for each in sizes} | {"rms_norm_eps": OWN_EPS}
    stored |= {"num_hidden_layers": 1, "vocab_size": config.vocab_size} | changes
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(stored))
    torch.save(narrowed(STATES[name] if state is None else state), folder / "pytorch_model.bin")
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BodyModel]:
    return {
        name: tiny.load(tiny.folders | {"drafter": save(tmp_path_factory.mktemp(name), name)})
        for name, tiny in {"llamagen-256": LLAMAGEN, **CHAMELEONS}.items()
    }


# The drafters, written out: one guidance row at a time, no cache


def rms(x: Tensor, scale: Tensor) -> Tensor:
    return x * (x.square().mean(-1, keepdim=True) + OWN_EPS).rsqrt() * scale


def llamagen_row(model: LlamaGenModel, hidden: Tensor, codes: list[int]) -> Tensor:
    """The predicted state [D] behind the last of `codes`; `hidden` [P + n - 1, D] are the states
    of all slots but the last."""
    w, slots = STATES["llamagen-256"], model.caption_slots
    table = w["embed_tokens.weight"]
    embedded = torch.cat([table[:1].expand(slots - 1, -1), table[torch.tensor(codes)]])
    x = torch.cat([embedded, hidden], -1) @ w["fc.weight"].T + w["fc.bias"]
    q, k, v = (x @ w[f"layers.0.self_attn.{part}_proj.weight"].T for part in "qkv")
    seen = torch.ones(len(x), len(x), dtype=torch.bool).tril()
    cells = [None] * (slots - 1) + list(range(len(codes)))
    mixed = llamagen.attention(q, k, v, seen, cells)
    x = x + mixed @ w["layers.0.self_attn.o_proj.weight"].T
    y = rms(x, w["layers.0.post_attention_layernorm.weight"])
    y = F.silu(y @ w["layers.0.mlp.gate_proj.weight"].T) * (y @ w["layers.0.mlp.up_proj.weight"].T)
    return (x + y @ w["layers.0.mlp.down_proj.weight"].T)[-1]


def chameleon_row(model: ChameleonModel, hidden: Tensor, ids: list[int]) -> Tensor:
    """The same of Anole and Lumina-mGPT, without padding: `hidden` [n - 1, D], `ids` [n] with the
    prompt's."""
    config = chameleon.config()
    config.rms_norm_eps = OWN_EPS
    config._attn_implementation = "sdpa"  # "eager" rounds its weights to float32
    layer = widen(ChameleonDecoderLayer(config, 0))
    prefix, w = "layers.0.", STATES[model.name]
    layer.load_state_dict({k.removeprefix(prefix): w[k] for k in w if k.startswith(prefix)})
    embedded = model.body.embed_tokens(torch.tensor(ids[1:]))
    x = (torch.cat([embedded, hidden], -1) @ w["fc.weight"].T + w["fc.bias"])[None]
    places = model.body.rotary_emb(x, torch.arange(x.shape[1])[None])
    later = torch.full((x.shape[1], x.shape[1]), -torch.inf, dtype=x.dtype).triu(1)[None, None]
    return layer(x, attention_mask=later, position_embeddings=places)[0][0, -1]


def recomputed(
    model: BodyModel, text: str, committed: list[int], drafts: list[int], guided_tokens: int = 0
) -> Tensor:
    """Logits [V] of the position behind `drafts`, with guidance 2 where it is for that one, from
    the target's states before the drafts and the drafter's own behind."""
    prompt = model.prompt(text, guided=True)
    rows = []
    for row in (0, 1):
        tokens = torch.tensor(committed)
        ctx = model.start(text, 2.0)
        model.forward(ctx, torch.cat([torch.zeros(1, dtype=torch.long), tokens]))
        padding = 0 if model.name == "llamagen-256" else prompt.start[row]
        # all but that of the last committed token's slot
        hidden = torch.cat([ctx.prompt_hidden, ctx.hidden], 1)[row, padding:-1]
        known = list(committed)
        for draft in [*drafts, None]:
            if model.name == "llamagen-256":
                predicted = llamagen_row(model, hidden, known)
            else:
                line = [*chameleon.IMAGE, chameleon.IDS[chameleon.END_OF_LINE]]
                ids = CHAMELEONS[model.name].ids(text)[row] + [line[token] for token in known]
                predicted = chameleon_row(model, hidden, ids)
            hidden = torch.cat([hidden, predicted[None]])
            known.append(draft)
        rows.append(predicted)
    logits = model.head(torch.stack(rows)[:, None])
    if 0 < guided_tokens <= len(committed) + len(drafts):
        return logits[0, 0]
    return (logits[1] + 2.0 * (logits[0] - logits[1]))[0]


@pytest.mark.parametrize("guided_tokens", [0, 1, 4])
@pytest.mark.parametrize("name", SIZES)
@torch.inference_mode()
def test_drafting_ahead_equals_a_whole_recomputation(
    models: dict[str, BodyModel], name: str, guided_tokens: int
) -> None:
    model, text = models[name], "a cat"
    forced = model.forced_ids[: len(CODES)].tolist()  # Lumina-mGPT's first line ends among them
    codes = [code % model.vocab_size for code in CODES]
    codes = [code if end < 0 else end for code, end in zip(codes, forced, strict=True)]
    assert isinstance(model.drafter, EagleDrafter)
    ctx, committed = model.start(text, 2.0, guided_tokens), []
    for count, ahead in ((1, 3), (2, 1), (1, 2), (3, 3)):  # committed each time, then drafted
        root = torch.tensor([committed[-1] if committed else 0])
        taken = codes[len(committed) : len(committed) + count]
        model.forward(ctx, torch.cat([root, torch.tensor(taken)]))
        ctx.keep(range(count))
        committed += taken
        drafts: list[int] = []
        logits = model.drafter.extend(ctx, range(count), torch.tensor(taken))
        for i in range(ahead):
            expected = recomputed(model, text, committed, drafts, guided_tokens)
            torch.testing.assert_close(logits, expected, **EXACT)
            assert expected.std() > 0.05
            drafts.append((5 * i + len(committed)) % model.vocab_size)
            logits = model.drafter.next(ctx, torch.tensor(drafts[-1]))
    ctx.close()
    assert ctx.prompt_hidden is None
    assert ctx.drafter_cache is None


@pytest.mark.parametrize("name", SIZES)
@torch.inference_mode()
def test_a_tree_of_drafts_equals_a_whole_recomputation_of_its_paths(
    models: dict[str, BodyModel], name: str
) -> None:
    model, text = models[name], "a cat"
    ctx, committed = model.start(text, 2.0), [code % model.vocab_size for code in CODES[:3]]
    model.forward(ctx, torch.tensor([0, *committed]))
    ctx.keep(range(3))
    model.drafter.extend(ctx, range(3), torch.tensor(committed))
    for tokens, parents, paths in (
        ([5, 2], [0, 0], [[5], [2]]),
        ([1, 4, 6], [2, 1, 2], [[2, 1], [5, 4], [2, 6]]),
    ):
        logits = model.drafter.expand(ctx, torch.tensor(tokens), torch.tensor(parents))
        for ours, path in zip(logits, paths, strict=True):
            expected = recomputed(model, text, committed, path)
            torch.testing.assert_close(ours, expected, **EXACT)


# The files


def test_safetensors_are_read_too(models: dict[str, BodyModel], tmp_path: Path) -> None:
    model = models["llamagen-256"]
    save(tmp_path, "llamagen-256")
    (tmp_path / "pytorch_model.bin").unlink()
    save_file(narrowed(STATES["llamagen-256"]), tmp_path / "model.safetensors")
    again = llamagen_drafter(model, tmp_path).network.state_dict()
    assert all(again[key].equal(value) for key, value in model.drafter.network.state_dict().items())


@pytest.mark.parametrize(
    ("name", "key", "shape", "words"),
    [
        ("llamagen-256", "fc.bias", None, "'fc.bias' is missing"),
        (
            "llamagen-256",
            "fc.weight",
            (32, 32),
            r"'fc\.weight' has the shape \(32, 32\), not \(32, 64",
        ),
        ("llamagen-256", "layers.0.input_layernorm.weight", (32,), "is unexpected"),
        ("llamagen-256", "layers.1.mlp.up_proj.weight", (48, 32), "is unexpected"),
        ("lumina-768", "layers.0.self_attn.q_norm.bias", None, r"q_norm\.bias' is missing"),
        ("lumina-768", "norm.weight", (32,), "'norm.weight' is unexpected"),
        ("lumina-768", "fc.bias", (64,), r"has the shape \(64,\), not \(32,\)"),
    ],
)
def test_weights_that_do_not_fit_are_named(
    models: dict[str, BodyModel], tmp_path: Path, name: str, key: str, shape: tuple, words: str
) -> None:
    state = {k: weight for k, weight in STATES[name].items() if k != key}
    save(tmp_path, name, state | ({key: torch.zeros(shape)} if shape else {}))
    read = chameleon_drafter if name in CHAMELEONS else llamagen_drafter
    with pytest.raises(ModelError, match=words):
        read(models[name], tmp_path)


def test_files_that_are_missing_or_anothers_are_named(
    models: dict[str, BodyModel], tmp_path: Path
) -> None:
    model = models["llamagen-256"]
    with pytest.raises(ModelError, match="its hidden_size is 4096, not 32"):
        llamagen_drafter(model, save(tmp_path, model.name, hidden_size=4096))
    for file, content, words in (
        ("config.json", "[1]", r"config\.json is not a drafter's configuration: delete"),
        ("config.json", None, r"config\.json is missing"),
        ("pytorch_model.bin", None, "is missing"),
    ):
        save(tmp_path, model.name)
        (tmp_path / file).unlink()
        if content:
            (tmp_path / file).write_text(content)
        with pytest.raises(ModelError, match=words):
            llamagen_drafter(model, tmp_path)


# The cards


def test_drafters_are_on_request_alone() -> None:
    drafted = {name: card for name, card in CARDS.items() if card.drafter}
    assert list(drafted) == ["llamagen-256", "llamagen-512", "anole", "lumina-768"]
    for card in drafted.values():
        assert "drafter" not in [source.part for source in card.repos]
        whole = card.with_drafter()
        assert whole.source_of("drafter").repo.split("/")[0] in ("jadohu", "sihwanpark")
        assert whole.parameters == card.parameters + card.drafter.parameters
        assert dataclasses.replace(whole, repos=card.repos, parameters=card.parameters) == card
    with pytest.raises(ModelError, match=r"no drafter for Emu3-Gen, but for llamagen-256, .*anole"):
        CARDS["emu3"].with_drafter()
