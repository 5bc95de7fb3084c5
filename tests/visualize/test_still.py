from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import ImageColor

from engine.decoders.base import Badge
from engine.trace import Frame, LaneState, Trace
from tests.visualize.races import FIVE, toy_trace
from visualize.layers import CLOCKS, Layer
from visualize.recorded_race import RecordedRace, record
from visualize.still import BADGES, HEAD, MARGIN, TOP, Still
from visualize.typeface import Typeface

HOSTILE = ("a" * 1000, "word " * 200, "猫 🐱 مرحبا \u202e x", "\n\t\x00", "\ud800", "")


@pytest.fixture(scope="module")
def recording() -> RecordedRace:
    """Vanilla AR, the last by passes, is the first by seconds."""
    return record(*toy_trace(FIVE, ar=1.0))


@pytest.fixture
def written(monkeypatch) -> list[str]:
    """Every text that is drawn."""
    texts: list[str] = []
    draw = Typeface.draw
    monkeypatch.setattr(
        Typeface,
        "draw",
        lambda self, image, xy, text, *a, **k: (
            texts.append(text),
            draw(self, image, xy, text, *a, **k),
        ),
    )
    return texts


def prompted(recording: RecordedRace, prompt: str) -> RecordedRace:
    return replace(
        recording,
        trace=replace(recording.trace, header=replace(recording.trace.header, prompt=prompt)),
    )


def test_the_whole_board_is_on_it(recording, written) -> None:
    still = Still(recording, "passes", Layer.PICTURE)
    still.draw(1e9)
    lanes = recording.trace.header.lanes
    for i, title in enumerate(("Vanilla AR", "SJD", "GSD", "LANTERN", "SJD-PAC")):
        assert title in written
        assert str(i + 1) in written
        steps = recording.trace.steps(i)
        drafter = sum(step.drafter_passes for step in steps)
        assert (f"{steps[-1].nfe} + {drafter}" if drafter else str(steps[-1].nfe)) in written
        assert f"{recording.trace.table(i).clock[-1]:.2f}" in written
        assert f"{16 / steps[-1].nfe:.2f}" in written
    assert len(lanes) == 5
    assert {badge.value for badge in Badge} <= set(written)
    assert "a prompt" in written
    assert any(
        text.startswith("seed 7 · model toy") and text.endswith("4 × 4 tokens") for text in written
    )
    assert "16" in written  # the clock: vanilla AR's passes
    assert {"passes", "seconds", "tokens/pass", "Photo Finish"} <= set(written)


def test_places_come_with_the_finish(recording, written) -> None:
    still = Still(recording, "passes", Layer.PICTURE)
    ends = sorted(recording.trace.steps(i)[-1].nfe for i in range(5))
    still.draw(ends[0] - 1)
    assert not {"1st", "2nd"} & set(written)
    still.draw(ends[0])
    assert written.count("1st") >= 1
    written.clear()
    still.draw(ends[-1])
    passes = [1 + sum(end < mine for end in ends) for mine in ends]
    words = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 5: "5th"}
    for place in passes:
        assert words[place] in written


def test_every_badge_has_a_colour() -> None:
    assert set(BADGES) == set(Badge)


def test_a_lane_that_failed_says_why_and_others_do_not(recording, written) -> None:
    frames = [
        frame
        for frame in recording.trace.frames
        if frame.lane != 1 or (frame.step and frame.step.nfe < 3)
    ]
    frames.append(Frame(1, LaneState.FAILED, None, "no <b>drafter</b> today"))
    still = Still(
        replace(recording, trace=replace(recording.trace, frames=tuple(frames))),
        "seconds",
        Layer.TV,
    )
    still.draw(1e9)
    assert [text for text in written if "failed" in text] == [
        text for text in written if text.startswith("This lane failed: no <b>")
    ]
    assert any("drafter</b>" in text for text in written)
    assert "5th" not in written
    assert still.size[1] > Still(recording, "seconds", Layer.TV).size[1]


def test_a_recording_without_pictures_says_so_and_shows_the_layers(recording, written) -> None:
    bare = replace(recording, pictures=None)
    Still(bare, "seconds", Layer.PICTURE).draw(1e9)
    assert "no picture" in " ".join(written)
    written.clear()
    seen = np.asarray(Still(bare, "seconds", Layer.TV).draw(1e9))
    assert "no picture" not in " ".join(written)
    np.testing.assert_array_equal(seen, np.asarray(Still(recording, "seconds", Layer.TV).draw(1e9)))


@pytest.mark.parametrize("layer", Layer)
def test_layers_differ_and_have_a_legend(recording, layer, written) -> None:
    image = np.asarray(Still(recording, "seconds", layer).draw(1e9))
    others = [
        np.asarray(Still(recording, "seconds", other).draw(1e9))
        for other in Layer
        if other is not layer
    ]
    assert all((image != other).any() for other in others)
    numbers = {"0", "0.25", "0.5", "0.75", "1"}
    if layer in (Layer.TOP1, Layer.TOP1_DRAFT, Layer.TV, Layer.ACCEPTANCE):
        assert numbers <= set(written)
    if layer is Layer.STATUS:
        assert {"accepted", "resampled", "fresh", "refined", "rejected"} <= set(written)
        assert "forced" not in written


@pytest.mark.parametrize("prompt", HOSTILE)
@pytest.mark.parametrize("names", [("sjd",), FIVE])
def test_any_prompt_leaves_the_clock_alone(recording, prompt, names) -> None:
    one = recording if names == FIVE else record(*toy_trace(names))
    plain = Still(prompted(one, "x"), "seconds", Layer.PICTURE)
    still = Still(prompted(one, prompt), "seconds", Layer.PICTURE)
    a, b = (np.asarray(each.draw(0.001)) for each in (plain, still))
    assert a.shape == b.shape
    right, below = still.size[0] - MARGIN - 140, TOP - 40
    np.testing.assert_array_equal(a[:, right:], b[:, right:])
    np.testing.assert_array_equal(a[below:], b[below:])


def test_no_lane_is_drawn_over_another() -> None:
    for names in (
        ("ar",),
        ("ar", "sjd"),
        FIVE,
        (*FIVE, "jacobi", "fpi"),
        (*FIVE, "jacobi", "fpi", "ar"),
    ):
        still = Still(record(*toy_trace(names)), "seconds", Layer.PICTURE)
        corners = [spot.xy for spot in still._spots]
        assert len(set(corners)) == len(names)
        for x, y in corners:
            assert x >= MARGIN
            assert x + still._side <= still.size[0] - MARGIN + 1
            assert y + still._panel < still.size[1]
        for i, (x, y) in enumerate(corners):
            for left, top in corners[:i]:
                assert abs(x - left) >= still._side + 10 or abs(y - top) >= still._panel + HEAD - 10


def test_time_stands_still_outside_the_race(recording) -> None:
    for clock in CLOCKS:
        still = Still(recording, clock, Layer.STATUS)
        np.testing.assert_array_equal(np.asarray(still.draw(-5)), np.asarray(still.draw(0)))
        end = still.length[clock]
        np.testing.assert_array_equal(
            np.asarray(still.draw(end)), np.asarray(still.draw(99 * end + 1))
        )


def test_drawing_out_of_order_is_drawing_afresh(recording) -> None:
    still = Still(recording, "passes", Layer.PICTURE)
    seen = [np.asarray(still.draw(t)) for t in (12, 3, 12, 0, 7)]
    for image, t in zip(seen, (12, 3, 12, 0, 7), strict=True):
        np.testing.assert_array_equal(
            image, np.asarray(Still(recording, "passes", Layer.PICTURE).draw(t))
        )


def test_the_ground_is_light(recording) -> None:
    image = Still(recording, "seconds", Layer.PICTURE).draw(0)
    assert image.getpixel((2, 2)) == ImageColor.getrgb("#ffffff")
    assert np.asarray(image).mean() > 200


def test_an_unknown_clock_is_rejected(recording) -> None:
    with pytest.raises(ValueError, match="seconds or passes"):
        Still(recording, "days", Layer.PICTURE)


def test_a_race_that_never_began() -> None:
    trace, _ = toy_trace(("ar", "sjd"))
    for layer in Layer:
        assert (
            Still(RecordedRace(Trace(trace.header, ()), None), "passes", layer).draw(3).size[0]
            > 700
        )
