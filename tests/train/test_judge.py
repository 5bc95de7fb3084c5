"""The judges recognise real scenes of every kind, are right only by chance on pictures of something
else, and see what stands where nothing should."""

from __future__ import annotations

import numpy as np
import pytest

from engine.reader.scene import Layout, Scene
from tests.variants import further
from train.evaluate import KINDS, scores
from train.judge import GroundJudge, nearest, nearest_colours
from train.scenes import render, vocabulary


@pytest.fixture(scope="module")
def judge() -> GroundJudge:
    return GroundJudge.learn(scenes=12)


@pytest.mark.parametrize("name", [*[*KINDS][:2], *further(*[*KINDS][2:])])
def test_judges_know_real_scenes_and_nothing_else(judge: GroundJudge, name: str) -> None:
    kind = KINDS[name]
    scenes = kind.scenes(24)
    labels, real = [what for what, _ in scenes], np.stack([pixels for _, pixels in scenes])
    found = scores(judge, real, labels, equal=kind.equal)
    figures = {"glyph_of_100", "glyph_of_all", "nothing_else", "right", "ground"}
    assert set(found) == figures | ({"colour"} if kind.coloured else set())
    assert all(figure["share"] >= 23 / 24 for figure in found.values())
    other = scores(judge, np.roll(real, 1, 0), labels, equal=kind.equal)
    assert other["glyph_of_100"]["share"] <= 0.1
    assert other["right"]["share"] <= 0.05
    assert other["ground"]["share"] <= 0.2


def test_each_square_has_its_own_verdict() -> None:
    what = Scene(Layout.FOUR, ("cat", "dog", "banana", "rocket"), "green grass")
    shown = Scene(Layout.FOUR, ("cat", "rocket", "banana", "dog"), "green grass")
    rng = np.random.default_rng(0)
    assert nearest(render(shown, rng), what, rng) == ["cat", "rocket", "banana", "dog"]


def test_a_thing_in_another_colour_is_wrong(judge: GroundJudge) -> None:
    things = ("cat", "dog", "dragon")
    what = Scene(Layout.THREE, things, "grey gradient", colours=("red", "", "blue"))
    other = Scene(Layout.THREE, things, "grey gradient", colours=("red", "", "black"))
    rng = np.random.default_rng(0)
    picture = render(other, rng)
    assert nearest_colours(picture, what) == ("red", "", "black")
    found = scores(judge, picture[None], [what])
    shares = {name: found[name]["share"] for name in ("glyph_of_all", "colour", "right")}
    assert shares["colour"] == shares["right"] == 0
    assert scores(judge, picture[None], [other])["right"]["share"] == 1


def test_a_thing_of_another_size_is_wrong(judge: GroundJudge) -> None:
    rng, shown = np.random.default_rng(0), Scene(Layout.ONE, ("cat",), "blue", size="tiny")
    for size, right in (("tiny", 1), ("", 0), ("huge", 0)):
        what = Scene(Layout.ONE, ("cat",), "blue", size=size)
        assert scores(judge, render(shown, rng)[None], [what])["right"]["share"] == right


def test_with_equal_things_their_numbers_count(judge: GroundJudge) -> None:
    rng, what = np.random.default_rng(0), Scene(Layout.THREE, ("cat", "cat", "dog"), "red")
    swapped = Scene(Layout.THREE, ("dog", "cat", "cat"), "red")
    fewer = Scene(Layout.THREE, ("dog", "cat", "dog"), "red")
    for shown, right in ((what, 1), (swapped, 1), (fewer, 0)):
        found = scores(judge, render(shown, rng)[None], [what], equal=True)
        assert found["right"]["share"] == right
    assert scores(judge, render(swapped, rng)[None], [what])["right"]["share"] == 0


@pytest.mark.parametrize("ground", vocabulary()[1])
def test_a_thing_too_many_is_seen(judge: GroundJudge, ground: str) -> None:
    """A fourth thing beside a thing at a place that layouts have, and a pair where one is asked."""
    rng = np.random.default_rng(3)
    for shown, asked in (
        (Scene(Layout.FOUR, ("cat",) * 4, ground), Scene(Layout.ONE, ("cat",), ground, "top left")),
        (Scene(Layout.PAIR, ("cat", "dog"), ground), Scene(Layout.ONE, ("cat",), ground, "left")),
    ):
        picture = render(shown, rng)
        assert judge.read(picture, shown) == (ground, True)
        assert judge.read(picture, asked)[1] is False


def test_where_no_ground_shows_none_is_judged(judge: GroundJudge) -> None:
    what = Scene(Layout.FOUR, ("newspaper",) * 4, "red")
    assert judge.read(render(what, np.random.default_rng(0)), what) == ("", True)
