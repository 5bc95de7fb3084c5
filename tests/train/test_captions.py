"""The caption tokenizer reads every wording, gives names a token each, and takes any text at
all."""

import json

import numpy as np
import pytest
from tokenizers import Tokenizer

from train.captions import CAPTION, PAD, build, save_world, wording
from train.scenes import Words, vocabulary, words


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return build(captions=2_000)


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return [i for i in tokenizer.encode(text).ids if i != PAD]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a" * 100_000,
        "\x00\x01\u202e",
        "🍎 on 🌊",
        "<pad><pad>",
        "{{prompt}}",
        "<script>",
        "苹果",
        "\ufffd",
        "é" * 40,
    ],
)
def test_hostile_text(tokenizer: Tokenizer, text: str) -> None:
    encoded = tokenizer.encode(text).ids
    assert len(encoded) == CAPTION
    assert min(encoded) >= 0
    assert max(encoded) < tokenizer.get_vocab_size()


def test_every_name_is_one_token_of_its_own(tokenizer: Tokenizer) -> None:
    names = [name for kind in vocabulary() for name in kind]
    encoded = [ids(tokenizer, name) for name in names]
    assert all(len(one) == 1 for one in encoded)
    assert len({one[0] for one in encoded}) == len(set(names))
    assert ids(tokenizer, "category") != ids(tokenizer, "cat")


def test_case_and_punctuation_do_not_matter(tokenizer: Tokenizer) -> None:
    assert ids(tokenizer, "Hot Dog, Sky Clouds!") == ids(tokenizer, "hot dog sky clouds")


def test_wordings_fit_and_hold_out_what_is_held_out() -> None:
    """Training only ever words triples that are not held out; canonical captions say all three."""
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(500):
        what = words(rng, held_out=False)
        assert not what.held_out
        assert len(wording(what, rng).split()) < CAPTION
        seen.add(wording(what, rng).split()[0])
    assert {"a", "the"} <= seen
    assert Words("hot dog", "red", "top").caption() == "hot dog on red at the top"


def test_world_names_everything(tmp_path) -> None:
    save_world(tmp_path / "world.json")
    world = json.loads((tmp_path / "world.json").read_text())
    assert (*map(tuple, (world[kind] for kind in ("glyphs", "grounds", "places"))),) == vocabulary()
