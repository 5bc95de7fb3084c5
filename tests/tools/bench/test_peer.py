"""transformers' `generate` as the bench's peer: it must run the model that vanilla AR runs."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import json
import sys
from unittest.mock import patch

import pytest
import torch
from torch import Tensor
from transformers.cache_utils import StaticLayer

from engine.decoders.ar import VanillaAR
from engine.models.likelihood import teacher_forced
from engine.models.supply.card import CARDS
from engine.numerics.distributions import logits_to_probs
from engine.settings import Sampling
from photo_finish import __main__ as cli
from tests.engine.models.families import EMU3, TINY, Tiny
from tools import race as cli_race
from tools.bench import peer
from tools.bench.peer import PEERS, CacheKind, Round

Capture = pytest.CaptureFixture[str]


@pytest.fixture(
    scope="module", params=[name for name, tiny in TINY.items() if tiny.card.family in PEERS]
)
def tiny(request: pytest.FixtureRequest) -> Tiny:
    """With a model of its own: a peer lays weights out anew, and transformers' classes take none
    that were loaded in inference mode, as the shared one may have been."""
    shared: Tiny = TINY[request.param]
    own = copy.copy(shared)
    vars(own)["model"] = shared.load(shared.folders)
    return own


@pytest.mark.parametrize("cache", CacheKind)
@torch.inference_mode()
def test_it_runs_with_the_cache_asked_for(
    tiny: Tiny, cache: CacheKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    updates: list[int] = []
    update = StaticLayer.update

    def counted(layer: StaticLayer, *arguments: object, **options: object) -> object:
        updates.append(1)
        return update(layer, *arguments, **options)

    monkeypatch.setattr(StaticLayer, "update", counted)
    peer.peer_of(tiny.model, tiny.model.sampling)(tiny.prompts[0], cache)
    layers, passes = tiny.model.body.config.num_hidden_layers, tiny.model.plan.length
    assert len(updates) == layers * passes * (cache is CacheKind.STATIC)


@pytest.mark.parametrize("cache", CacheKind)
@torch.inference_mode()
def test_greedy_tokens_are_vanilla_ars(tiny: Tiny, cache: CacheKind) -> None:
    greedy = Sampling(guidance=tiny.guidance, top_k=1)
    generate = peer.peer_of(tiny.model, greedy)
    pictures = []
    for prompt in tiny.prompts[:2]:
        tokens = VanillaAR(tiny.model, sampling=greedy).generate(prompt, 0)
        assert generate(prompt, cache).tolist() == tokens
        pictures.append(tokens)
    assert pictures[0] != pictures[1], "the prompt matters"
    generate = peer.peer_of(tiny.model, dataclasses.replace(greedy, guidance=1.5))
    assert generate(tiny.prompts[1], cache).tolist() != pictures[1], "and guidance"


@torch.inference_mode()
def test_tokens_are_drawn_from_vanilla_ars_distributions(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny.model
    sampling = Sampling(guidance=tiny.guidance, temperature=1.7, top_k=9, top_p=0.9)
    drawn_from: list[Tensor] = []
    multinomial = torch.multinomial

    def recorded(p: Tensor, num_samples: int) -> Tensor:
        drawn_from.append(p[0].clone())
        return multinomial(p, num_samples)

    monkeypatch.setattr(torch, "multinomial", recorded)
    torch.manual_seed(0)
    tokens = peer.peer_of(model, sampling)(tiny.prompts[0], CacheKind.DYNAMIC)
    logits = teacher_forced(model, model.plan, tiny.prompts[0], sampling, tokens)
    free = model.forced_ids < 0
    found = torch.stack(drawn_from).float()
    if tiny.card is EMU3.card:  # which draws from all of its vocabulary
        assert tokens[~free].tolist() == model.forced_ids[~free].tolist()
        found = found[:, model.ids[:-1]]
    expected = logits_to_probs(logits, sampling, None)
    assert (expected > 0).sum(-1).float().mean() > 2, "there is something to draw"
    torch.testing.assert_close(found[free].to(expected), expected[free], rtol=1e-4, atol=1e-6)


def test_its_weights_lie_as_transformers_loads_them(tiny: Tiny) -> None:
    model = tiny.load(tiny.folders)
    loaded = {name: weight.clone() for name, weight in model.body.named_parameters()}
    assert model.lean, "lays them out for itself"
    assert not all(weight.is_contiguous() for weight in model.body.parameters())
    peer.peer_of(model, model.sampling)
    for name, weight in model.body.named_parameters():
        assert weight.is_contiguous()
        assert weight.equal(loaded[name])


def test_figures_are_ratios_within_a_round() -> None:
    seconds = {CacheKind.DYNAMIC: 3.0, CacheKind.STATIC: 4.0}
    slower = {cache: 3 * value for cache, value in seconds.items()}
    found = peer.figures([Round(1.0, 2.0, seconds), Round(3.0, 6.0, slower)])
    assert {name: each["mean"] for name, each in found["seconds"].items()} == {
        "charged": 2,
        "waited": 4,
        "dynamic": 6,
        "static": 8,
    }
    assert found["ratios"] == {
        "dynamic": {
            "charged": {"mean": 3, "plus_minus": 0},
            "waited": {"mean": 1.5, "plus_minus": 0},
        },
        "static": {"charged": {"mean": 4, "plus_minus": 0}, "waited": {"mean": 2, "plus_minus": 0}},
    }
    card = peer.card("a model", found).splitlines()
    assert card[0] == "a model"
    assert card[-2:] == [
        "| `generate`, dynamic cache | 6.00 | 3.00 ± 0.00 | 1.50 ± 0.00 |",
        "| `generate`, static cache | 8.00 | 4.00 ± 0.00 | 2.00 ± 0.00 |",
    ]


def test_the_command_prints_a_card_and_one_line_of_json() -> None:
    model = TINY["embedded"].model
    out, err = io.StringIO(), io.StringIO()
    arguments = ["photo-finish", "bench", "--peer", "generate", "--prompts", "2", "--seeds", "2"]
    with (
        patch.object(cli_race, "load", lambda *args, **options: model),
        patch.object(sys, "argv", arguments),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        cli.main()
    lines = out.getvalue().rstrip().splitlines()
    result = json.loads(lines[-1])
    assert [result[name] for name in ("model", "peer", "rounds")] == ["embedded", "generate", 4]
    assert lines[0].startswith("embedded, 4 rounds (2 prompts x 2 seeds), ")
    assert err.getvalue().count("/4 ") == 4
    assert set(result["ratios"]) == {"dynamic", "static"}
    assert min(seconds["mean"] for seconds in result["seconds"].values()) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--infill"], "leave out --infill, --lanes and --guided-tokens"),
        (["--lanes", "ar,sjd"], "leave out --infill, --lanes and --guided-tokens"),
        (["--guided-tokens", "5"], "leave out --infill, --lanes and --guided-tokens"),
        (["--model", "llamagen-256"], "generate draws no pictures with LlamaGen"),
        (["--model", "anole", "--random-weights"], "Choose one of Embedded model, Janus-Pro 1B"),
        (["--random-weights"], "comes with its own weights"),
    ],
)
def test_what_has_no_peer_ends_with_a_message(
    capsys: Capture, arguments: list[str], message: str
) -> None:
    arguments = ["photo-finish", "bench", "--peer", "generate", *arguments]
    with patch.object(sys, "argv", arguments), pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_every_model_has_a_peer_or_none() -> None:
    assert {name for name, card in CARDS.items() if card.family in PEERS} == {
        "embedded",
        "janus-pro-1b",
        "janus-pro-7b",
        "emu3",
    }
