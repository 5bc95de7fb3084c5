"""Prompts are read as scenes: things, counts and relations of many languages, what is left out."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.reader.colours import oklab
from engine.reader.names import Kind, phrase
from engine.reader.prompt import read_words
from engine.reader.reader import CONTRAST, Reading, SceneReader, describe
from engine.reader.scene import COLOURS, PLACES, SIZES, Layout, Scene
from engine.reader.scene_names import SceneNames
from engine.reader.words import ACTIVITIES, GROUNDS, NOUN_COLOURS, OTHERS, SCENERY, THINGS
from engine.reader.words import COLOURS as CALLED
from engine.reader.words import SIZES as SIZED
from train.colours import mean_colours
from train.glyphs import names
from train.paint import coloured, takes
from train.scenes import GROUNDS as DRAWN

COLOUR = mean_colours()
WORLD = {
    "glyphs": sorted(names()),
    "grounds": list(DRAWN),
    "places": list(PLACES),
    "coloured": coloured(),
    "sizes": list(filter(None, SIZES)),
    "colours": COLOUR,
    "layouts": [layout.value for layout in Layout],
}
READER = SceneReader(WORLD)
NAMES = SceneNames(WORLD)
EXPECTED = 0.95  # of the prompts that strangers type


def listed() -> list[tuple[str, str, list[str]]]:
    """Prompts with the caption and the words left out that each should have."""
    lines = Path(__file__).with_name("prompts.txt").read_text("utf-8").splitlines()
    parts = [line.split(" => ") for line in lines if not line.startswith("#")]
    return [(p, c, sorted(", ".join(rest).lower().split(", "))) for p, c, *rest in parts]


def as_expected(prompt: str, expected: str, left_out: list[str]) -> bool:
    reading = READER.read(prompt)
    found = reading.scene.caption
    if expected == "null":
        return not reading.named
    if " on *" in expected:
        found = found.replace(f" on {reading.scene.ground}", " on *")
    left = sorted(", ".join(reading.left_out).lower().split(", "))
    return reading.named and (found, left) == (expected, left_out)


def test_prompts_of_strangers() -> None:
    prompts = listed()
    assert len(prompts) >= 200
    failed = [prompt for prompt, *expected in prompts if not as_expected(prompt, *expected)]
    assert len(failed) <= (1 - EXPECTED) * len(prompts), failed


def test_a_canonical_caption_is_read_as_it_stands() -> None:
    things, grounds = WORLD["glyphs"], WORLD["grounds"]
    for i, thing in enumerate(things):
        ground, other = grounds[i % len(grounds)], things[(7 * i + 3) % len(things)]
        place = list(PLACES)[i % len(PLACES)]
        alone = Scene(Layout.ONE, (thing,), ground, place)
        assert READER.read(f"{thing} on {ground} at the {place}") == Reading(alone)
        pair = Scene(Layout.PAIR, (thing, other), ground)
        assert READER.read(f"{thing} and {other} on {ground}") == Reading(pair)
        stack = Scene(Layout.STACK, (thing, other), ground)
        assert READER.read(f"a {thing} above a {other} on {ground}") == Reading(stack)
        four = Scene(Layout.FOUR, (thing, other, thing, other), ground)
        assert READER.read(four.caption.partition(": ")[2]) == Reading(four)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("a cat below a dog on red", "stack: dog, cat on red"),
        ("a cat to the right of a dog on red", "pair: dog, cat on red"),
        ("two mice under a cat on red", "three: cat, mouse, mouse on red"),
        ("eine Katze unter einem Hund auf rot", "stack: dog, cat on red"),
        ("dog on the right, cat on the left on red", "pair: cat, dog on red"),
        ("a cat on a wooden table with a dog on red", "pair: cat, dog on red"),
    ],
)
def test_relations(prompt: str, expected: str) -> None:
    assert READER.read(prompt).scene.caption == expected


HAPPY, CORNER = "a happy cat above a bicycle on grass", "sun on red at the top left"


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("a cat on red", ""),
        ("two cats on red", ""),
        (HAPPY, "reads: cat above bicycle on green grass; not drawn: happy"),
        ("five dogs and a Pikachu on red", "reads: 4 × dog on red; not drawn: 1 × dog, Pikachu"),
        ("a guitarr on red", "reads: guitar on red"),
        ("a cat", "reads: cat on red lava"),  # a ground that is made up is named
        ("three cats and three cats on red", "reads: 4 × cat on red; not drawn: 2 × cat"),
        ("a Big, big dog on red", ""),
        ("a big, tiny dog on red", "reads: huge dog on red; not drawn: tiny"),
        ("two big dogs on red", "reads: 2 × dog on red; not drawn: big"),
        ("a red cat on blue", ""),
        ("a yelow cat on blue", "reads: yellow cat on blue"),
        ("a blue apple and a blue heart on red", ""),
        ("a red and blue man on green", "reads: man on green; not drawn: red, blue"),
        ("five red dogs on blue", "reads: 4 × red dog on blue; not drawn: 1 × red dog"),
        ("cat, cat, dog on red at the left", "reads: 2 × cat and dog on red; not drawn: left"),
        ("a cat, a dog, a cat on red at night", "reads: cat, dog and cat on red; not drawn: night"),
        (f"{CORNER}, purring", f"reads: {CORNER}; not drawn: purring"),
    ],
)
def test_a_reading_in_words(prompt: str, text: str) -> None:
    assert str(READER.read(prompt)) == text


def test_a_prompt_without_a_name_gets_its_own_scene_and_says_so() -> None:
    read = [READER.read(f"xylophone {i} ") for i in range(40)]
    assert not any(reading.named for reading in read)
    assert len({reading.scene for reading in read}) > 30
    assert READER.read(" XYLOPHONE 3").scene == read[3].scene
    assert str(read[0]).startswith("names nothing for this model to draw; draws: ")
    somewhere = READER.read("blue background")  # a ground alone has a thing made up
    assert (somewhere.named, somewhere.sure, somewhere.scene.ground) == (True, False, "blue")


def test_what_is_denied_is_not_made_up_either() -> None:
    for i in range(60):
        reading = READER.read(f"No hat, not {i} on white")
        assert not reading.named
        assert "top hat" not in reading.scene.things
        assert reading.scene.ground != "white"
    every = READER.read("no " + " or ".join(WORLD["glyphs"]))
    assert every.scene.things, "with all things denied there is still a picture"


def apart(thing: str, ground: str) -> float:
    return math.dist(oklab(COLOUR[thing]), oklab(COLOUR[ground]))


def test_an_unnamed_ground_contrasts_with_every_thing() -> None:
    chosen = set()
    for i, thing in enumerate(WORLD["glyphs"]):
        other = WORLD["glyphs"][-1 - i]
        ground = READER.read(f"{thing} and {other}").scene.ground
        chosen.add(ground)
        near = sorted(min(apart(thing, each), apart(other, each)) for each in WORLD["grounds"])
        assert apart(thing, ground) >= min(CONTRAST, near[-6])
    assert len(chosen) > len(WORLD["grounds"]) / 2


def scenes() -> st.SearchStrategy[Scene]:
    """Scenes whose equal things stand one behind the other; each thing in a colour that makes it
    no other thing, or in its own."""
    things = [
        (name, colour)
        for name in WORLD["glyphs"]
        for colour in ("", *COLOURS)
        if not colour or takes(name, colour)
    ]
    ground = st.sampled_from(WORLD["grounds"])

    def of(layout: Layout) -> st.SearchStrategy[Scene]:
        count = len(layout.squares)
        shown = st.lists(st.sampled_from(things), min_size=count, max_size=count).map(sorted)
        place = st.sampled_from(WORLD["places"] if count == 1 else ["centre"])
        size = st.sampled_from(list(SIZES) if count == 1 else [""])

        def scene(shown, ground, place, size) -> Scene:
            named, colours = zip(*shown, strict=True)
            return Scene(layout, named, ground, place, colours, size)

        return st.builds(scene, shown, ground, place, size)

    return st.sampled_from(Layout).flatmap(of)


@given(scenes())
def test_a_scene_in_words_is_read_as_that_scene(scene) -> None:
    reading = READER.read(describe(scene))
    assert (reading.scene, reading.left_out) == (scene, ())


@pytest.mark.parametrize("colour", COLOURS)
def test_a_coloured_thing_of_each_name_is_read(colour) -> None:
    for name in coloured():
        if takes(name, colour):
            scene = Scene(Layout.ONE, (name,), "blue", "left", (colour,), "tiny")
            assert READER.read(describe(scene)) == Reading(scene)


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("red heart on blue", "red heart on blue"),
        ("rotes Herz auf blau", "red heart on blue"),
        ("grünes Herz auf blau", "green heart on blue"),
        ("blauer Apfel auf rot", "blue apple on red"),
        ("a black paper lantern on red", "black paper lantern on red"),
        ("two blue cats and a dog on red", "2 × blue cat and dog on red"),
        ("a big red cat on blue at the left", "huge red cat on blue at the left"),
    ],
)
def test_a_scene_in_words(prompt, text) -> None:
    assert describe(READER.read(prompt).scene) == text


def test_a_model_of_no_colours_and_sizes_leaves_them_out() -> None:
    plain = SceneReader({key: WORLD[key] for key in WORLD.keys() - {"coloured", "sizes"}})
    reading = plain.read("a big blue cat on red")
    assert reading == Reading(Scene(Layout.ONE, ("cat",), "red"), ("big", "blue"))
    assert plain.read("un corazón verde sobre azul").left_out == ()


def test_a_ground_contrasts_with_the_colour_of_a_thing() -> None:
    for colour in COLOURS:
        for name in ("cat", "automobile", "whale"):
            ground = READER.read(f"{colour} {name}").scene.ground
            near = sorted(apart(colour, each) for each in WORLD["grounds"])
            assert apart(colour, ground) >= min(CONTRAST, near[-6])


@pytest.mark.parametrize("prompt", ["2 × cat on red", "2x cats on red", "2 X Cat"])
def test_times_between_a_count_and_a_thing_is_no_word(prompt) -> None:
    assert READER.read(prompt).scene.things == ("cat", "cat")


def test_oklab() -> None:
    """Ottosson's worked values: white, and sRGB red."""
    assert oklab((255, 255, 255)) == pytest.approx((1, 0, 0), abs=1e-3)
    assert oklab((255, 0, 0)) == pytest.approx((0.628, 0.225, 0.126), abs=1e-3)
    assert oklab((0, 0, 0)) == pytest.approx((0, 0, 0))


def test_tables_name_what_the_model_knows() -> None:
    assert THINGS.keys() | ACTIVITIES.keys() | set(SCENERY.values()) <= set(WORLD["glyphs"])
    assert GROUNDS.keys() | CALLED.keys() | SCENERY.keys() <= set(WORLD["grounds"])
    assert CALLED.keys() - {"sky blue"} == set(COLOURS)
    assert SIZED.keys() == set(WORLD["sizes"])
    assert set(NOUN_COLOURS.values()) <= set(COLOURS)
    for name, words in (*(THINGS | GROUNDS).items(), *CALLED.items(), *SIZED.items()):
        for word in filter(None, map(phrase, words.replace(";", ",").split(","))):
            meaning = NAMES.exact(word)
            assert meaning, word
            assert meaning[1] == name, word
    for word in OTHERS:
        assert [found.kind for found in read_words(NAMES, word)] == [Kind.UNKNOWN], word


PIECES = sorted(
    {word for prompt, *_ in listed() for word in prompt.split()}
    | {"0", "9", ",", ".", "の", "上", "❄", "\u200d", "🏽"}
)


@given(
    st.one_of(
        st.text(max_size=1000),
        st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join),
        st.lists(st.sampled_from(PIECES), max_size=60).map("".join),
    )
)
def test_every_text_is_read(text: str) -> None:
    reading = READER.read(text)
    assert reading == READER.read(text)
    assert set(reading.scene.things) <= set(WORLD["glyphs"])
    assert reading.scene.ground in WORLD["grounds"]
    assert reading.scene.place in PLACES
    assert str(reading) or not reading.left_out
