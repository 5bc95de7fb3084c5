"""The caption tokenizer reads every wording, gives names a token each, and takes any text at
all."""

import json

import numpy as np
import pytest
from tokenizers import Tokenizer

from engine.reader.scene import Layout, Scene
from train.captions import CANONICAL, CAPTION, PAD, build, knows_names, save_world, spoken, wording
from train.glyphs import PEOPLE
from train.paint import coloured
from train.scenes import held_out, random_scene, vocabulary


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return build(captions=2_000)


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return [i for i in tokenizer.encode(text).ids if i != PAD]


HOSTILE = ["", " ", "a" * 100_000, "\x00\x01\u202e", "🍎 on 🌊", "<pad><pad>", "{{prompt}}"]


@pytest.mark.parametrize("text", [*HOSTILE, "<script>", "苹果", "\ufffd", "é" * 40])
def test_hostile_text(tokenizer: Tokenizer, text: str) -> None:
    encoded = tokenizer.encode(text).ids
    assert len(encoded) == CAPTION
    assert 0 <= min(encoded) <= max(encoded) < tokenizer.get_vocab_size()


def test_every_name_and_layout_is_one_token_of_its_own(tokenizer: Tokenizer) -> None:
    names = [name for kind in vocabulary() for name in kind] + [kind.value for kind in Layout]
    encoded = [ids(tokenizer, name) for name in names]
    assert all(len(one) == 1 for one in encoded)
    assert len({one[0] for one in encoded}) == len(set(names))
    assert ids(tokenizer, "category") != ids(tokenizer, "cat")
    assert knows_names(tokenizer)
    assert not knows_names(Tokenizer.from_str(tokenizer.to_str().replace("astronaut", "astro")))


def test_a_canonical_caption_is_its_names(tokenizer: Tokenizer) -> None:
    """A token each, whichever names follow one another, "on" and "at the" between them."""
    names, rng = vocabulary()[0], np.random.default_rng(1)
    on = ids(tokenizer, "on")
    # Names that others begin with, before every other.
    short = [name for name in names if any(other.startswith(name + " ") for other in names)]
    pairs = [(one, other) for one in short for other in names]
    scenes = [Scene(Layout.PAIR, pair, "blue") for pair in pairs]
    scenes += [random_scene(rng, held=False) for _ in range(300)]
    for what in scenes:
        found = ids(tokenizer, what.caption)
        dressed = zip(what.colours, what.things, strict=True)
        named = [(what.layout.value,), *((what.size, *pair) for pair in dressed)]
        said = [i for names in named for name in names for i in ids(tokenizer, name)]
        where = [] if what.place == "centre" else ids(tokenizer, f"at the {what.place}")
        assert found == [*said, *on, *ids(tokenizer, what.ground), *where]
        assert len(found) < CAPTION


def test_case_and_punctuation_do_not_matter(tokenizer: Tokenizer) -> None:
    assert ids(tokenizer, "Hot Dog, Sky Clouds!") == ids(tokenizer, "hot dog sky clouds")


def test_training_words_most_scenes_canonically_and_none_held_out() -> None:
    rng = np.random.default_rng(5)
    canonical = 0
    for _ in range(500):
        what = random_scene(rng, held=False)
        assert not held_out(what)
        canonical += wording(what, rng) == what.caption
    assert abs(canonical / 500 - CANONICAL) < 0.06


@pytest.mark.parametrize(
    ("layout", "things", "said"),
    [
        (Layout.ONE, "apple", {"an apple on blue", "the apple on a blue", "apple blue", "apple"}),
        (Layout.PAIR, "cat dog", {"a cat and a dog on blue", "the cat next to the dog on blue"}),
        (Layout.PAIR, "cat cat", {"two cats on blue", "two cats on the blue"}),
        (Layout.STACK, "cat dog", {"a cat above a dog on blue", "cat on top of dog on blue"}),
        (Layout.STACK, "cat cat", {"cat above cat on blue"}),
        (Layout.THREE, "cat cat dog", {"two cats and a dog on blue"}),
        (Layout.THREE, "cat dog cat", {"a cat, a dog and a cat on blue"}),
        (Layout.FOUR, "cherry cherry cherry cherry", {"four cherries on blue"}),
        (Layout.FOUR, "cat dog dog bus", {"the cat, two dogs and the bus on blue"}),
        (Layout.FOUR, "cat bus bus bus", {"a cat and three buses on blue"}),
    ],
)
def test_people_say_it_so(layout: Layout, things: str, said: set[str]) -> None:
    what, rng = Scene(layout, tuple(things.split()), "blue"), np.random.default_rng(0)
    found = {spoken(what, rng) for _ in range(1500)}
    assert said <= found
    if layout in (Layout.PAIR, Layout.STACK):
        assert not any(layout.value in one.split() for one in found)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (
            Scene(Layout.PAIR, ("red apple", "cat"), "blue", colours=("pink", "black")),
            {"a pink red apple and a black cat on blue", "pink apple beside black cat"},
        ),
        (
            Scene(Layout.PAIR, ("cat", "cat"), "blue", colours=("red", "red")),
            {"two red cats on blue"},
        ),
        (
            Scene(Layout.PAIR, ("cat", "cat"), "blue", colours=("red", "")),
            {"a red cat and a cat on blue"},
        ),
        (
            Scene(Layout.STACK, ("cat", "dog"), "blue", colours=("orange", "")),
            {"an orange cat above a dog on blue"},
        ),
        (
            Scene(Layout.ONE, ("cat",), "blue", colours=("orange",), size="huge"),
            {"a huge orange cat on blue", "the big orange cat on blue"},
        ),
    ],
    ids=lambda part: part.caption if isinstance(part, Scene) else "",
)
def test_people_say_colours_and_sizes_so(what: Scene, said: set[str]) -> None:
    rng = np.random.default_rng(0)
    found = {spoken(what, rng) for _ in range(8000)}
    assert said <= found, said - found


def test_spoken_captions_fit(tokenizer: Tokenizer) -> None:
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    tokenizer.no_truncation()
    rng = np.random.default_rng(2)
    texts = [spoken(random_scene(rng, held=False), rng) for _ in range(500)]
    assert np.mean([len(ids(tokenizer, text)) <= CAPTION for text in texts]) > 0.98


def test_world_names_everything(tmp_path) -> None:
    save_world(tmp_path / "world.json")
    world = json.loads((tmp_path / "world.json").read_text())
    assert (*map(tuple, (world[kind] for kind in ("glyphs", "grounds", "places"))),) == vocabulary()
    assert set(world["groups"]["people"]) == PEOPLE
    assert tuple(world["coloured"]) == coloured()
    assert world["sizes"] == ["tiny", "huge"]
    grouped = [name for names in world["groups"].values() for name in names]
    assert sorted(grouped) == world["glyphs"]
