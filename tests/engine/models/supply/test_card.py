"""The cards of the public models."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from engine.models import FAMILIES
from engine.models.embedded.model import EmbeddedModel
from engine.models.supply import card as module
from engine.models.supply.card import CARDS, REVISIONS, ModelError


def test_the_page_lists_them_in_this_order() -> None:
    names = ["embedded", *(f"llamagen-{size}-{side}" for size in "bl" for side in (256, 384))]
    names += [f"llamagen-{size}-384" for size in ("xl", "xxl", "3b")]
    names += ["randar-l", "janus-pro-1b", "janus-pro-7b", "llamagen-256", "llamagen-512"]
    names += ["simplear-512", "simplear-1024", "emu3", "anole", "lumina-768"]
    assert list(CARDS) == [card.name for card in CARDS.values()] == names


def test_every_card_can_be_raced() -> None:
    for card in CARDS.values():
        height, width = card.grid
        assert card.family == "embedded" or card.family in FAMILIES
        assert card.length in (height * width, height * (width + 1)), (
            "a forced token a row, or none"
        )
        assert 0 < card.codes < 65535, "a code fits the wire's 16 bits, and 65535 is none"
        assert card.sampling.top_k <= card.codes
        assert card.licence_url.startswith("https://")
        assert card.source


def test_parts_are_named_once_and_downloads_are_bounded() -> None:
    for card in CARDS.values():
        parts = [source.part for source in card.repos]
        assert len(set(parts)) == len(parts)
        # never a whole repository
        assert all(source.files and "*" not in source.files for source in card.repos)
        for part in parts:
            assert card.source_of(part).part == part
    with pytest.raises(KeyError):
        CARDS["anole"].source_of("gpt")


def test_a_download_has_all_that_is_loaded() -> None:
    for card in CARDS.values():
        assert bool(card.download) == bool(card.repos)
        if card.repos:
            assert card.download >= 2 * card.parameters, "16 bits a parameter at least"


def test_the_chameleon_family_alone_is_for_research_alone() -> None:
    assert [card.name for card in CARDS.values() if card.research_only] == ["anole", "lumina-768"]
    assert all(("research only" in card.licence) == card.research_only for card in CARDS.values())


def test_files_that_run_code_are_simplears_alone_and_are_named_with_what_to_do() -> None:
    for card in CARDS.values():
        card.check_code(True)
        if card.family == "simplear":
            words = "decoder.jit of nvidia/Cosmos-1.0-Tokenizer-DV8x16x16, a TorchScript file"
            with pytest.raises(ModelError, match=f"{words}.*PHOTO_FINISH_TORCHSCRIPT=on, or .*--t"):
                card.check_code(False)
        else:
            card.check_code(False)


def test_revisions_are_hashes_or_not_yet_known() -> None:
    pinned = json.loads(REVISIONS.read_text())
    drafters = [card.drafter.source for card in CARDS.values() if card.drafter]
    sources = [source for card in CARDS.values() for source in card.repos] + drafters
    assert set(pinned) == {source.repo for source in sources}
    for pin in filter(None, pinned.values()):
        assert re.fullmatch("[0-9a-f]{40}", pin["commit"])
        for digest in pin["files"].values():
            assert re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", digest)
    for source in sources:
        pin = pinned[source.repo] or {"commit": "main", "files": {}}
        assert source.revision == pin["commit"]
        assert set(source.digests) <= set(pin["files"].items())
        assert all(source.takes(name) for name, _ in source.digests)


FILE = """
[families.some]
grid = [2, 3]
sampling = { guidance = 2.0, temperature = 1.0, top_k = 0, top_p = 1.0 }
working_mib = 3
repos = [
  { part = "gpt", repo = "a/b", files = ["gpt*.pt"] },
  { part = "vq", repo = "a/b", files = ["vq.pt"] },
]

[[models]]
name = "one"
family = "some"

[[models]]
name = "other"
family = "some"
grid = [4, 5]
download_mb = 7
prompts = "classes"
"""
OF_NO_MATTER = "title codes length parameters layers depth kv_values source licence licence_url"


def test_a_model_has_what_its_family_has_unless_it_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And each part the digests of its own files: they are in one repository, which has more."""
    files = {"gpt.pt": "a" * 64, "vq.pt": "b" * 64, "readme.txt": "c" * 40}
    monkeypatch.setitem(module._PINNED, "a/b", {"commit": "d" * 40, "files": files})
    others = "\n".join(f"{name} = 1" for name in OF_NO_MATTER.split())
    file = tmp_path / "cards.toml"
    file.write_text(FILE.replace("[families.some]", f"[families.some]\n{others}"), "utf-8")
    one, other = module.read_cards(file).values()
    assert (one.name, one.grid, one.working, one.download) == ("one", (2, 3), 3 * 2**20, 0)
    assert (other.name, other.grid, other.working, other.download) == (
        "other",
        (4, 5),
        3 * 2**20,
        7 * 10**6,
    )
    assert (one.prompts, other.prompts) == (module.Prompts.ANY, module.Prompts.CLASSES)
    assert one.sampling.guidance == 2.0
    assert one.source_of("gpt").digests == (("gpt.pt", "a" * 64),)
    assert one.source_of("vq").digests == (("vq.pt", "b" * 64),)
    file.write_text(file.read_text("utf-8").replace("working_mib", "workingmib"), "utf-8")
    with pytest.raises(TypeError, match="working_mib"):
        module.read_cards(file)


def test_the_embedded_card_says_what_the_embedded_model_is() -> None:
    card, model = CARDS["embedded"], EmbeddedModel()
    assert (model.grid, model.vocab_size, model.plan.length) == (card.grid, card.codes, card.length)
    assert model.sampling == card.sampling
    cache = model.start("red apple", 1.5).cache
    assert cache._k.numel() + cache._v.numel() == card.kv_values * 2 * cache.slots


def test_cards_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        CARDS["embedded"].codes = 1
