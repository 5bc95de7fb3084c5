"""Saved weights adapted to another canvas and other names: what they had learnt stays where it
belongs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from engine.models.embedded.infill import EmbeddedInfill
from engine.models.embedded.networks import CODES, EmbeddedTarget, target_config
from tests.train.conftest import SMALL
from train import captions, warm
from train.captions import build, load
from train.warm import adapt, adapted, carried, resized, resized_slots, save_half

LACKED = ("polar bear", "racing", "astronaut", "one", "pair", "stack", "three", "four")
# The canvas of which today's is larger, and half of its codes.
CORNER = SMALL | {"image_tokens": 16 * 16, "vocab_size": CODES // 2}


@pytest.fixture(scope="module")
def today() -> Tokenizer:
    return build(captions=500)


@pytest.fixture(scope="module")
def old() -> Tokenizer:
    """One that lacks some of today's names."""
    kept = [name for name in captions.single_tokens() if not name.startswith(LACKED)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(captions, "single_tokens", lambda: kept)
        return build(captions=500, seed=1)


def test_a_canvas_of_the_same_size_keeps_its_rows() -> None:
    slots = torch.randn(16 + 256 + 1, 8)
    assert resized_slots(slots, 16, 16).equal(slots)


def test_interpolation_keeps_corners_and_what_lies_between() -> None:
    """Row and column of what a slot predicts, as its embedding, stay in proportion."""
    old, new = (torch.cartesian_prod(*[torch.linspace(0, 1, side)] * 2) for side in (16, 20))
    torch.testing.assert_close(resized(old, 20), new)
    slots = torch.cat([torch.full((16, 2), 7.0), old, torch.full((1, 2), 9.0)])
    found = resized_slots(slots, 16, 20)
    assert found.shape == (16 + 400 + 1, 2)
    assert found[:16].equal(slots[:16])
    assert found[-1].equal(slots[-1])
    for slot, corner in ((16, (0, 0)), (35, (0, 1)), (396, (1, 0)), (415, (1, 1))):
        torch.testing.assert_close(found[slot], torch.tensor(corner).float())


def test_embeddings_are_carried_by_text(today: Tokenizer, old: Tokenizer) -> None:
    embeddings = torch.randn(old.get_vocab_size(), 8)
    found = carried(embeddings, old, today)
    assert found.shape == (today.get_vocab_size(), 8)
    for token in ("<pad>", "cat", "hot dog", "green grass", "top left"):
        assert found[today.token_to_id(token)].equal(embeddings[old.token_to_id(token)])
    # Of the names that the old vocabulary has not, by the words that it has.
    assert old.token_to_id("polar bear") is old.token_to_id("racing") is None
    assert found[today.token_to_id("polar bear")].equal(embeddings[old.token_to_id("bear")])
    astronaut = found[today.token_to_id("astronaut")]
    assert not (embeddings == astronaut).all(1).any()
    assert 0.1 < astronaut.std() < 3
    assert carried(embeddings, old, old).equal(embeddings)


@torch.no_grad()
def test_adapted_networks_do_what_they_did_in_the_corner(today: Tokenizer, old: Tokenizer) -> None:
    torch.manual_seed(0)
    target = EmbeddedTarget(target_config(old.get_vocab_size(), **CORNER)).eval()
    network = EmbeddedInfill.continued(target).eval()
    torch.nn.init.normal_(network.next.weight)
    larger, filling = adapted(target, old, today, 20), adapted(network, old, today, 20)
    assert isinstance(filling, EmbeddedInfill)
    assert larger.config.image_tokens == filling.config.image_tokens == 400
    assert filling.next.weight[399].equal(network.next.weight[255])
    for table in ("model.embed_tokens.weight", "lm_head.weight"):
        copies = larger.state_dict()[table].chunk(2)
        assert all(copy.equal(target.state_dict()[table]) for copy in copies)
    text, codes = "cat on green grass", torch.randint(0, 1024, (1, 1))
    hidden = []
    for model, tokenizer in ((target, old), (larger, today), (filling, today)):
        caption = model.embed_caption(torch.tensor([tokenizer.encode(text).ids]))
        hidden.append(model.model(inputs_embeds=caption).last_hidden_state)
        assert model.embed_codes(codes, torch.tensor([0])).shape == (1, 1, 32)
    torch.testing.assert_close(hidden[0], hidden[1])
    torch.testing.assert_close(hidden[0], hidden[2])


def test_a_folder_is_adapted_once(tmp_path: Path, today, old, monkeypatch) -> None:
    (tmp_path / "captions").mkdir()
    old.save(str(tmp_path / "captions/tokenizer.json"))
    torch.manual_seed(0)
    target = EmbeddedTarget(target_config(old.get_vocab_size(), **CORNER))
    save_half(target, tmp_path / "target")
    save_half(EmbeddedInfill.continued(target), tmp_path / "infill")
    monkeypatch.setattr(warm, "build", lambda: today)
    adapt(tmp_path)
    assert load(tmp_path / "captions/tokenizer.json").get_vocab() == today.get_vocab()
    for part, kind in (("target", EmbeddedTarget), ("infill", EmbeddedInfill)):
        network = kind.from_pretrained(tmp_path / part)
        assert network.config.caption_vocab == today.get_vocab_size()
        assert (network.config.image_tokens, network.config.vocab_size) == (400, CODES)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    monkeypatch.setattr(warm, "save_half", lambda *_: pytest.fail("nothing is to be adapted"))
    adapt(tmp_path)
    assert before == {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
