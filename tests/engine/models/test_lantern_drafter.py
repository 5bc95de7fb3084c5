"""LANTERN's published drafters on small ones of the same shape: files through the real path, their
passes against a whole recomputation that is written out here."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections import Counter
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import ChameleonForConditionalGeneration, LlamaConfig
from transformers.models.chameleon.modeling_chameleon import ChameleonDecoderLayer

from engine.decoders.ar import VanillaAR
from engine.decoders.lantern import Lantern, LanternSettings
from engine.models.body import BodyModel
from engine.models.card import CARDS, ModelError
from engine.models.chameleon import ChameleonModel
from engine.models.eagle import EagleDrafter
from engine.models.lantern_drafter import llamagen_drafter
from engine.models.llamagen import LlamaGenModel
from engine.numerics.distributions import logits_to_probs
from engine.settings import Sampling
from tests.engine.decoders.sampling import FALSE_ALARM, smallest_p_value
from tests.engine.models import test_chameleon as anole
from tests.engine.models import test_llamagen as llamagen

CPU = torch.device("cpu")
CODES = [3, 39, 0, 7, 7, 21, 14, 30, 2, 11]
SIZES = {"llamagen-256": llamagen.SIZES.gpt, "anole": anole.tiny()}
OWN_EPS = 1e-2  # unlike the target's, and large enough to matter


def drawn(shapes: dict[str, tuple[int, ...]], seed: int = 4) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        key: (0.3 if len(shape) > 1 else 0.2) * torch.randn(shape, generator=generator)
        + ("norm" in key and key.endswith("weight"))
        for key, shape in shapes.items()
    }


def shapes(name: str) -> dict[str, tuple[int, ...]]:
    """The keys of a published file."""
    config = SIZES[name]
    width, inner = config.hidden_size, config.intermediate_size
    dim = width // config.num_attention_heads
    keys = config.num_key_value_heads * dim
    found = {
        "embed_tokens.weight": (config.vocab_size, width),
        "fc.weight": (width, 2 * width),
        "fc.bias": (width,),
        "layers.0.self_attn.q_proj.weight": (width, width),
        "layers.0.self_attn.k_proj.weight": (keys, width),
        "layers.0.self_attn.v_proj.weight": (keys, width),
        "layers.0.self_attn.o_proj.weight": (width, width),
        "layers.0.mlp.gate_proj.weight": (inner, width),
        "layers.0.mlp.up_proj.weight": (inner, width),
        "layers.0.mlp.down_proj.weight": (width, inner),
        "layers.0.post_attention_layernorm.weight": (width,),
    }
    if name == "anole":
        found["layers.0.input_layernorm.weight"] = (width,)
        for part, heads in (("q", config.num_attention_heads), ("k", config.num_key_value_heads)):
            found[f"layers.0.self_attn.{part}_norm.weight"] = (heads, dim)
            found[f"layers.0.self_attn.{part}_norm.bias"] = (heads, dim)
    return found


STATES = {name: drawn(shapes(name)) for name in SIZES}


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
    torch.save(STATES[name] if state is None else state, folder / "pytorch_model.bin")
    return folder


@torch.no_grad()
def randomise(network: nn.Module) -> None:
    """Weights large enough that every slot of context matters."""
    for name, parameter in network.named_parameters():
        parameter.copy_(0.3 * torch.randn(parameter.shape))
        if "norm" in name and name.endswith("weight"):
            parameter += 1


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BodyModel]:
    root = tmp_path_factory.mktemp("models")
    torch.manual_seed(1)
    first = LlamaGenModel(llamagen.CARD, None, CPU, torch.float32, sizes=llamagen.SIZES)
    randomise(first.network)
    first.drafter = llamagen_drafter(first, save(root / "first", "llamagen-256"))
    parts = {part: root / part for part in ("model", "vq", "text")}
    for folder in parts.values():
        folder.mkdir()
    network = ChameleonForConditionalGeneration(anole.tiny()).requires_grad_(False)
    randomise(network)
    network.save_pretrained(parts["model"])
    save_file(anole.taming_state(), parts["vq"] / "model.safetensors")
    anole.save_tokenizer(parts["text"] / "tokenizer.json", anole.IDS)
    parts["drafter"] = save(root / "drafter", "anole")
    second = ChameleonModel(anole.card("anole"), parts, CPU, torch.float32)
    return {"llamagen-256": first, "anole": second}


# The drafters, written out: one guidance row at a time, no cache


def rms(x: Tensor, scale: Tensor) -> Tensor:
    return x * (x.square().mean(-1, keepdim=True) + OWN_EPS).rsqrt() * scale


def llamagen_row(model: LlamaGenModel, hidden: Tensor, codes: list[int]) -> Tensor:
    """The predicted state [D] behind the last of `codes`; `hidden` [P + n - 1, D] are the states
    of all slots but the last."""
    w, (slots, heads) = STATES["llamagen-256"], (model.caption_slots, llamagen.HEADS)
    table = w["embed_tokens.weight"]
    embedded = torch.cat([table[:1].expand(slots - 1, -1), table[torch.tensor(codes)]])
    x = torch.cat([embedded, hidden], -1) @ w["fc.weight"].T + w["fc.bias"]
    length, dim = len(x), x.shape[1] // heads
    turns = torch.zeros(length, dim // 2, dtype=torch.complex64)
    for i in range(len(codes)):
        cell = divmod(i, model.grid[1])
        for pair in range(dim // 4):
            for axis in (0, 1):
                angle = torch.tensor(cell[axis] * 10000.0 ** (-2 * pair / (dim // 2)))
                turns[slots - 1 + i, axis * (dim // 4) + pair] = torch.polar(
                    torch.tensor(1.0), angle
                )

    def turned(name: str) -> Tensor:
        pairs = (x @ w[f"layers.0.self_attn.{name}_proj.weight"].T).view(length, heads, -1, 2)
        return torch.view_as_real(torch.view_as_complex(pairs) * turns[:, None]).flatten(2)

    scores = torch.einsum("qhd,khd->hqk", turned("q"), turned("k")) / dim**0.5
    seen = torch.ones(length, length, dtype=torch.bool).tril()
    values = (x @ w["layers.0.self_attn.v_proj.weight"].T).view(length, heads, dim)
    mixed = torch.einsum("hqk,khd->qhd", scores.masked_fill(~seen, -torch.inf).softmax(-1), values)
    x = x + mixed.flatten(1) @ w["layers.0.self_attn.o_proj.weight"].T
    y = rms(x, w["layers.0.post_attention_layernorm.weight"])
    y = F.silu(y @ w["layers.0.mlp.gate_proj.weight"].T) * (y @ w["layers.0.mlp.up_proj.weight"].T)
    return (x + y @ w["layers.0.mlp.down_proj.weight"].T)[-1]


def anole_row(model: ChameleonModel, hidden: Tensor, ids: list[int]) -> Tensor:
    """The same of Anole, without padding: `hidden` [n - 1, D], `ids` [n] with the prompt's."""
    config = anole.tiny()
    config.rms_norm_eps = OWN_EPS
    config._attn_implementation = "eager"
    layer = ChameleonDecoderLayer(config, 0)
    prefix = "layers.0."
    layer.load_state_dict(
        {k.removeprefix(prefix): v for k, v in STATES["anole"].items() if k.startswith(prefix)}
    )
    embedded = model.body.embed_tokens(torch.tensor(ids[1:]))
    x = torch.cat([embedded, hidden], -1) @ STATES["anole"]["fc.weight"].T
    x = (x + STATES["anole"]["fc.bias"])[None]
    positions = torch.arange(x.shape[1])[None]
    later = torch.full((x.shape[1], x.shape[1]), -torch.inf).triu(1)
    return layer(
        x, attention_mask=later[None, None], position_embeddings=model.body.rotary_emb(x, positions)
    )[0][0, -1]


def recomputed(model: BodyModel, text: str, committed: list[int], drafts: list[int]) -> Tensor:
    """Guided logits [V] of the position behind `drafts`, with guidance 2, from the target's states
    before the drafts and the drafter's own behind."""
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
                ids = anole.prompts("anole", text)[row] + [anole.IMAGE[code] for code in known]
                predicted = anole_row(model, hidden, ids)
            hidden = torch.cat([hidden, predicted[None]])
            known.append(draft)
        rows.append(predicted)
    logits = model.head(torch.stack(rows)[:, None])
    return (logits[1] + 2.0 * (logits[0] - logits[1]))[0]


@pytest.mark.parametrize("name", SIZES)
@torch.inference_mode()
def test_drafting_ahead_equals_a_whole_recomputation(
    models: dict[str, BodyModel], name: str
) -> None:
    model, text = models[name], "a cat"
    codes = [code % model.vocab_size for code in CODES]
    assert isinstance(model.drafter, EagleDrafter)
    ctx, committed = model.start(text, 2.0), []
    for count, ahead in ((1, 3), (2, 1), (1, 2), (3, 3)):  # committed each time, then drafted
        root = torch.tensor([committed[-1] if committed else 0])
        taken = codes[len(committed) : len(committed) + count]
        model.forward(ctx, torch.cat([root, torch.tensor(taken)]))
        model.keep(ctx, range(count))
        committed += taken
        drafts: list[int] = []
        logits = model.drafter.extend(ctx, range(count), torch.tensor(taken))
        for i in range(ahead):
            expected = recomputed(model, text, committed, drafts)
            torch.testing.assert_close(logits, expected, atol=2e-4, rtol=2e-4)
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
    model.keep(ctx, range(3))
    model.drafter.extend(ctx, range(3), torch.tensor(committed))
    for tokens, parents, paths in (
        ([5, 2], [0, 0], [[5], [2]]),
        ([1, 4, 6], [2, 1, 2], [[2, 1], [5, 4], [2, 6]]),
    ):
        logits = model.drafter.expand(ctx, torch.tensor(tokens), torch.tensor(parents))
        for ours, path in zip(logits, paths, strict=True):
            expected = recomputed(model, text, committed, path)
            torch.testing.assert_close(ours, expected, atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize("drafts", ["chain", "tree"])
@pytest.mark.parametrize("name", SIZES)
def test_with_a_delta_of_zero_greedy_decoding_gives_vanilla_ars_tokens(
    models: dict[str, BodyModel], name: str, drafts: str
) -> None:
    model, greedy = models[name], Sampling(guidance=2.0, top_k=1)
    lantern = Lantern(model, LanternSettings(k=9, delta=0.0, drafts=drafts), greedy)
    with torch.inference_mode():
        steps = list(lantern.steps("a cat", 3))
    assert sum(step.drafter_passes for step in steps) > 0
    tokens = [int(token) for step in steps for token in step.committed["token"]]
    assert tokens == VanillaAR(model, sampling=greedy).generate("a cat", 3)
    assert len(set(tokens)) > 2


@torch.inference_mode()
def test_with_a_delta_of_zero_the_models_distribution_stays(tmp_path: Path) -> None:
    """The joint distribution of three positions, of which the drafter drafts the last two."""
    torch.manual_seed(2)
    gpt = LlamaConfig(**llamagen.SIZES.gpt.to_dict() | {"vocab_size": 3})
    sizes = dataclasses.replace(llamagen.SIZES, gpt=gpt)
    card = dataclasses.replace(llamagen.CARD, grid=(1, 3), codes=3, length=3)
    model = LlamaGenModel(card, None, CPU, torch.float32, sizes=sizes)
    randomise(model.network)
    table = STATES["llamagen-256"]["embed_tokens.weight"][:3]
    state = STATES["llamagen-256"] | {"embed_tokens.weight": table}
    model.codebook = model.codebook[:3]
    model.drafter = llamagen_drafter(model, save(tmp_path, "llamagen-256", state))
    sampling = Sampling(guidance=2.0, top_k=0)
    decoder = Lantern(model, LanternSettings(k=3, delta=0.0), sampling)
    joint = {}
    for codes in itertools.product(range(3), repeat=3):
        logits = model.forward(model.start("a", 2.0), torch.tensor([0, *codes]))
        p = logits_to_probs(logits[:3], sampling, None)
        joint[codes] = float(p[range(3), codes].double().prod())
    drafted: Counter[int] = Counter()
    sequences: Counter[tuple[int, ...]] = Counter()
    for seed in range(400):
        steps = list(decoder.steps("a", seed))
        drafted.update(len(step.committed) for step in steps if step.drafter_passes)
        sequences[tuple(int(t) for step in steps for t in step.committed["token"])] += 1
    assert min(drafted[1], drafted[2]) > 30, "drafts were rejected, and accepted"
    assert smallest_p_value(sequences, joint) > FALSE_ALARM


# The files


def test_safetensors_are_read_too(models: dict[str, BodyModel], tmp_path: Path) -> None:
    model = models["llamagen-256"]
    save(tmp_path, "llamagen-256")
    (tmp_path / "pytorch_model.bin").unlink()
    save_file(STATES["llamagen-256"], tmp_path / "model.safetensors")
    again = llamagen_drafter(model, tmp_path).network.state_dict()
    assert all(again[key].equal(value) for key, value in model.drafter.network.state_dict().items())


@pytest.mark.parametrize(
    ("missing", "words"),
    [("config.json", r"config\.json is missing"), ("pytorch_model.bin", "is missing")],
)
def test_a_missing_file_is_named(
    models: dict[str, BodyModel], tmp_path: Path, missing: str, words: str
) -> None:
    (save(tmp_path, "llamagen-256") / missing).unlink()
    with pytest.raises(ModelError, match=words):
        llamagen_drafter(models["llamagen-256"], tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("fc.bias", None, "'fc.bias' is missing"),
        (
            "fc.weight",
            torch.zeros(32, 32),
            r"'fc\.weight' has the shape \(32, 32\), not \(32, 64\)",
        ),
        (
            "layers.0.self_attn.q_proj.weight",
            torch.zeros(16, 32),
            r"q_proj\.weight' has the shape \(16, 32\)",
        ),
        ("layers.0.input_layernorm.weight", torch.zeros(32), "is unexpected"),
        ("layers.1.mlp.up_proj.weight", torch.zeros(48, 32), "is unexpected"),
    ],
)
def test_weights_that_do_not_fit_are_named(
    models: dict[str, BodyModel], tmp_path: Path, key: str, value: Tensor | None, words: str
) -> None:
    state = STATES["llamagen-256"] | {key: value}
    save(tmp_path, "llamagen-256", {k: v for k, v in state.items() if v is not None})
    with pytest.raises(ModelError, match=words):
        llamagen_drafter(models["llamagen-256"], tmp_path)


def test_another_models_configuration_is_rejected(
    models: dict[str, BodyModel], tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="its hidden_size is 4096, not 32"):
        llamagen_drafter(models["llamagen-256"], save(tmp_path, "llamagen-256", hidden_size=4096))
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(ModelError, match=r"config\.json is not a drafter's configuration: delete"):
        llamagen_drafter(models["llamagen-256"], tmp_path)


# The cards


def test_drafters_are_on_request_alone() -> None:
    drafted = {name: card for name, card in CARDS.items() if card.drafter}
    assert list(drafted) == ["llamagen-256", "llamagen-512", "anole"]
    for card in drafted.values():
        assert "drafter" not in [source.part for source in card.repos]
        whole = card.with_drafter()
        assert whole.source_of("drafter").repo.startswith("jadohu/")
        assert whole.parameters == card.parameters + card.drafter.parameters
        assert dataclasses.replace(whole, repos=card.repos, parameters=card.parameters) == card
    with pytest.raises(ModelError, match=r"no drafter for Emu3-Gen, but for llamagen-256, .*anole"):
        CARDS["emu3"].with_drafter()
