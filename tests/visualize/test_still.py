from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import ImageColor

from engine.decoders.base import Badge
from engine.trace import Frame, LaneState, Trace
from engine.trace.shares import share_values
from tests.visualize.races import FIVE, toy_trace
from visualize.layers import CLOCKS, Layer
from visualize.look import LOOK
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
    assert {"passes", "seconds", "tokens a pass", "Photo Finish"} <= set(written)


def test_the_mean_shift_stands_with_the_figures(recording, written) -> None:
    Still(recording, "passes", Layer.PICTURE).draw(1e9)
    assert written.count("shift") == 5
    assert written.count("0 exact") == 3  # vanilla AR, SJD and SJD-PAC
    for lane in (2, 3):
        shifts = share_values(recording.trace.table(lane).positions["shift"])
        assert f"{np.nanmean(shifts):.3f}" in written
    written.clear()
    Still(recording, "passes", Layer.SHIFT).draw(0)
    assert written.count("–") == 2  # nothing tested yet
    assert "0.5 or more" in written


def test_what_differs_is_counted_against_vanilla_ar(recording, written) -> None:
    plain = Still(recording, "passes", Layer.TV)
    still = Still(recording, "passes", Layer.DIFFERS)
    assert still.board[1] > plain.board[1]
    still.draw(1e9)
    trace = recording.trace
    for lane in range(5):
        assert f"{(trace.tokens(lane) != trace.tokens(0)).sum()} of 16" in written
    assert written.count("0 of 16") == 1
    assert any(text.startswith("Differs from Vanilla AR. ") for text in written)
    assert {"the same token", "another token"} <= set(written)
    written.clear()
    still.draw(1)
    assert "0 of 1" in written


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
    assert still.board[1] > Still(recording, "seconds", Layer.TV).board[1]


def test_a_recording_without_pictures_says_so_and_shows_the_layers(recording, written) -> None:
    bare = replace(recording, pictures=None)
    Still(bare, "seconds", Layer.PICTURE).draw(1e9)
    assert "no picture" in " ".join(written)
    written.clear()
    seen = np.asarray(Still(bare, "seconds", Layer.TV).draw(1e9))
    assert "no picture" not in " ".join(written)
    assert (seen != np.asarray(Still(bare, "seconds", Layer.PICTURE).draw(1e9))).any()


@pytest.mark.parametrize("layer", Layer)
def test_layers_differ_and_have_a_legend(recording, layer, written) -> None:
    image = np.asarray(Still(recording, "seconds", layer).draw(1e9))
    others = [
        np.asarray(Still(recording, "seconds", other).draw(1e9))
        for other in Layer
        if other is not layer
    ]
    assert all(image.shape != other.shape or (image != other).any() for other in others)
    numbers = {"0", "0.25", "0.5", "0.75", "1"}
    if layer in (Layer.TOP1, Layer.TOP1_DRAFT, Layer.TV, Layer.ACCEPTANCE):
        assert numbers <= set(written)
    if layer is Layer.SHIFT:
        assert {"0", "0.125", "0.25", "0.375", "0.5 or more"} <= set(written)
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
    left, over = still.offset
    right, below = left + still.board[0] - MARGIN - 140, over + TOP - 40
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
            assert x + still._side <= still.board[0] - MARGIN + 1
            assert y + still._panel < still.board[1]
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


def test_a_dark_page_has_a_dark_slide(recording) -> None:
    image = Still(recording, "seconds", Layer.PICTURE, dark=True).draw(0)
    assert image.getpixel((2, 2)) == ImageColor.getrgb(LOOK["colours"]["dark"]["card"])
    assert np.asarray(image).mean() < 60
    light = np.asarray(Still(recording, "seconds", Layer.TV).draw(1e9)).astype(int)
    dark = np.asarray(Still(recording, "seconds", Layer.TV, dark=True).draw(1e9)).astype(int)
    assert (light == dark).all(-1).mean() > 0.1  # what a layer shows has its own colours


@pytest.mark.parametrize("names", [("ar",), ("ar", "sjd"), FIVE, (*FIVE, "jacobi", "fpi")])
@pytest.mark.parametrize("scale", [1.0, 1.25, 2.0])
def test_the_board_stands_in_the_middle_of_a_slide(names, scale) -> None:
    still = Still(record(*toy_trace(names)), "seconds", Layer.PICTURE, scale)
    width, height = still.size
    assert abs(width / height - 16 / 9) < 0.01
    assert width % 2 == height % 2 == 0
    for side, board, offset in zip(still.size, still.board, still.offset, strict=True):
        assert 0 <= offset <= side - board - offset <= offset + 1
    image = np.asarray(still.draw(0))
    left, top = still.offset
    assert (image[:top] == 255).all()
    assert (image[:, :left] == 255).all()


def test_hidden_lanes_are_left_out_and_the_others_keep_number_and_place(recording, written) -> None:
    Still(recording, "passes", Layer.PICTURE, 1.0, (1, 4)).draw(1e9)
    assert {"2", "5", "SJD", "SJD-PAC"} <= set(written)
    assert not {"Vanilla AR", "GSD", "LANTERN"} & set(written)
    places = [text for text in written if text in ("1st", "2nd", "3rd", "4th", "5th")]
    written.clear()
    Still(recording, "passes", Layer.PICTURE).draw(1e9)
    assert all(written.count(place) >= 1 for place in places)
    alone = Still(recording, "passes", Layer.PICTURE, 1.0, (0,))
    assert alone.length == Still(recording, "passes", Layer.PICTURE).length
    with pytest.raises(ValueError, match="no lane"):
        Still(recording, "passes", Layer.PICTURE, 1.0, ())


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
