from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.decoders.base import Badge
from engine.trace import Frame, LaneState, Trace
from engine.trace.shares import share_values
from tests.visualize.races import FIVE, prompted, recorded
from visualize.board.snapshot import CLOCKS
from visualize.film.layers import Layer
from visualize.film.still import BADGES, HEAD, MARGIN, TOP, Still
from visualize.film.typeface import Typeface
from visualize.look import LOOK
from visualize.pictures.recorded_race import RecordedRace

HOSTILE = ("a" * 1000, "word " * 200, "猫 🐱 مرحبا \u202e x", "\n\t\x00", "\ud800", "")
ORDINALS = ("1st", "2nd", "3rd", "4th", "5th")
SHARE = {"0", "0.25", "0.5", "0.75", "1"}


@pytest.fixture(scope="module")
def recording() -> RecordedRace:
    """Vanilla AR, the last by passes, is the first by seconds."""
    return recorded(FIVE, ar=1.0)


@pytest.fixture
def written(monkeypatch) -> list[str]:
    """Every text that is drawn."""
    texts: list[str] = []
    draw = Typeface.draw

    def noted(self: Typeface, image, xy, text: str, *args, **options) -> None:
        texts.append(text)
        draw(self, image, xy, text, *args, **options)

    monkeypatch.setattr(Typeface, "draw", noted)
    return texts


def image(still: Still, t: float = 1e9) -> np.ndarray:
    return np.asarray(still.draw(t))


def test_the_whole_board_is_on_it(recording, written) -> None:
    still = Still(recording, "passes", Layer.PICTURE)
    still.draw(1e9)
    for i, title in enumerate(("Vanilla AR", "SJD", "GSD", "LANTERN", "SJD-PAC")):
        steps = recording.trace.steps(i)
        drafter = sum(step.drafter_passes for step in steps)
        passes = f"{steps[-1].nfe} + {drafter}" if drafter else str(steps[-1].nfe)
        seconds = f"{recording.trace.table(i).clock[-1]:.2f}"
        assert {title, str(i + 1), passes, seconds, f"{16 / steps[-1].nfe:.2f}"} <= set(written)
    others = (Badge.NOT_JUDGED, Badge.ROUNDED)
    assert {badge.value for badge in Badge if badge not in others} <= set(written)
    assert set(BADGES) == set(Badge)
    facts = next(text for text in written if text.startswith("seed 7 · model toy"))
    assert facts.endswith("4 × 4 tokens")
    # of the words, 16 is the clock: vanilla AR's passes
    words = {"a prompt", "16", "passes", "seconds", "tokens a pass", "shift", "Photo Finish"}
    assert words <= set(written)
    assert written.count("exactly 0") == 3  # vanilla AR, SJD and SJD-PAC
    for lane in (2, 3):
        shifts = share_values(recording.trace.table(lane).positions["shift"])
        assert f"{np.nanmean(shifts):.3f}" in written
    written.clear()
    still.draw(0)
    assert written.count("–") == 2  # nothing tested yet


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
    written.clear()
    still.draw(1)
    assert "0 of 1" in written


def test_places_come_with_the_finish(recording, written) -> None:
    still = Still(recording, "passes", Layer.PICTURE)
    ends = sorted(recording.trace.steps(i)[-1].nfe for i in range(5))
    still.draw(ends[0] - 1)
    assert not {*ORDINALS} & set(written)
    still.draw(ends[0])
    assert "1st" in written
    written.clear()
    still.draw(ends[-1])
    assert {ORDINALS[sum(end < mine for end in ends)] for mine in ends} <= set(written)


def test_a_lane_that_failed_says_why_and_others_do_not(recording, written) -> None:
    frames = [
        frame
        for frame in recording.trace.frames
        if frame.lane != 1 or (frame.step and frame.step.nfe < 3)
    ]
    frames.append(Frame(1, LaneState.FAILED, None, "no <b>drafter</b> today"))
    failed = replace(recording, trace=replace(recording.trace, frames=tuple(frames)))
    still = Still(failed, "seconds", Layer.TV)
    still.draw(1e9)
    (said,) = (text for text in written if "failed" in text)
    assert said.startswith("This lane failed: no <b>")
    assert any("drafter</b>" in text for text in written)
    assert "5th" not in written
    assert still.board[1] > Still(recording, "seconds", Layer.TV).board[1]


def test_a_recording_without_pictures_says_so_and_shows_the_layers(recording, written) -> None:
    bare = replace(recording, pictures=None)
    pictured = image(Still(bare, "seconds", Layer.PICTURE))
    assert "no picture" in " ".join(written)
    written.clear()
    assert (image(Still(bare, "seconds", Layer.TV)) != pictured).any()
    assert "no picture" not in " ".join(written)


LEGENDS = dict.fromkeys((Layer.TOP1, Layer.TOP1_DRAFT, Layer.TV, Layer.ACCEPTANCE), SHARE) | {
    Layer.SHIFT: {"0", "0.125", "0.25", "0.375", "0.5 or more"},
    Layer.STATUS: {"accepted", "resampled", "fresh", "refined", "rejected"},
    Layer.DIFFERS: {"the same token", "another token"},
}


def test_layers_differ_and_have_a_legend(recording, written) -> None:
    seen = set()
    for layer in Layer:
        written.clear()
        seen.add(image(Still(recording, "seconds", layer)).tobytes())
        assert LEGENDS.get(layer, set()) <= set(written), layer
        assert "forced" not in written
    assert len(seen) == len(Layer)


@pytest.mark.parametrize("names", [("sjd",), FIVE])
def test_any_prompt_leaves_the_clock_alone(names) -> None:
    plain = image(Still(prompted(recorded(names), "x"), "seconds", Layer.PICTURE), 0.001)
    for prompt in HOSTILE:
        still = Still(prompted(recorded(names), prompt), "seconds", Layer.PICTURE)
        found = image(still, 0.001)
        assert found.shape == plain.shape
        left, over = still.offset
        right, below = left + still.board[0] - MARGIN - 140, over + TOP - 40
        np.testing.assert_array_equal(plain[:, right:], found[:, right:])
        np.testing.assert_array_equal(plain[below:], found[below:])


MANY = (*FIVE, "jacobi", "fpi")


@pytest.mark.parametrize("names", [("ar",), ("ar", "sjd"), FIVE, MANY, (*MANY, "ar")])
@pytest.mark.parametrize("scale", [1.0, 1.1, 1.25, 2.0])
def test_lanes_stand_apart_on_a_board_in_the_middle_of_a_slide(names, scale) -> None:
    still = Still(recorded(names), "seconds", Layer.PICTURE, scale)
    width, height = still.size
    assert abs(width / height - 16 / 9) < 0.01
    assert width % 2 == height % 2 == 0
    for side, board, offset in zip(still.size, still.board, still.offset, strict=True):
        assert 0 <= offset <= side - board - offset <= offset + 1
    left, top = still.offset
    seen = image(still, 0)
    assert (seen[:top] == 255).all()
    assert (seen[:, :left] == 255).all()
    corners = [spot.xy for spot in still._spots]
    assert len(set(corners)) == len(names)
    margin, head = round(MARGIN * scale), round((HEAD - 10) * scale)
    for i, (x, y) in enumerate(corners):
        assert margin <= x <= still.board[0] - margin + 1 - still._side
        assert y + still._panel < still.board[1]
        for other, above in corners[:i]:
            assert abs(x - other) >= still._side + 10 or abs(y - above) >= still._panel + head


@pytest.mark.parametrize("clock", CLOCKS)
def test_time_stands_still_outside_the_race_and_may_go_anywhere(recording, clock) -> None:
    still = Still(recording, clock, Layer.STATUS)
    end = still.length[clock]
    fresh = {t: image(Still(recording, clock, Layer.STATUS), t) for t in (0, end / 2, end)}
    for t, same in ((end / 2, end / 2), (-5, 0), (99 * end + 1, end), (end / 2, end / 2), (0, 0)):
        np.testing.assert_array_equal(image(still, t), fresh[same])


def test_a_dark_page_has_a_dark_slide(recording) -> None:
    light, dark = (Still(recording, "seconds", Layer.TV, dark=dark) for dark in (False, True))
    assert light.draw(0).getpixel((2, 2)) == (255, 255, 255)
    card = LOOK["colours"]["dark"]["card"]
    assert bytes(dark.draw(0).getpixel((2, 2))).hex() == card.removeprefix("#")
    assert image(light, 0).mean() > 200
    assert image(dark, 0).mean() < 60
    # what a layer shows has its own colours
    assert (image(light) == image(dark)).all(-1).mean() > 0.1


def test_hidden_lanes_are_left_out_and_the_others_keep_number_and_place(recording, written) -> None:
    whole = Still(recording, "passes", Layer.PICTURE)
    whole.draw(1e9)
    places = [text for text in written if text in ORDINALS]
    written.clear()
    some = Still(recording, "passes", Layer.PICTURE, 1.0, (1, 4))
    some.draw(1e9)
    assert {"2", "5", "SJD", "SJD-PAC"} <= set(written)
    assert not {"Vanilla AR", "GSD", "LANTERN"} & set(written)
    kept = [text for text in written if text in ORDINALS]
    # by passes and by seconds, lane after lane
    assert kept == [*places[2:4], *places[8:10]]
    assert Still(recording, "passes", Layer.PICTURE, 1.0, (0,)).length == whole.length


@pytest.mark.parametrize(
    ("clock", "lanes", "words"), [("days", None, "seconds or passes"), ("passes", (), "no lane")]
)
def test_an_unknown_clock_and_no_lane_are_rejected(recording, clock, lanes, words) -> None:
    with pytest.raises(ValueError, match=words):
        Still(recording, clock, Layer.PICTURE, 1.0, lanes)


@pytest.mark.parametrize("layer", Layer)
def test_a_race_that_never_began(recording, layer) -> None:
    bare = RecordedRace(Trace(recording.trace.header, ()), None)
    assert Still(bare, "passes", layer).draw(3).size[0] > 700
