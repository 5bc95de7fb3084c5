from __future__ import annotations

import functools
import io
import sys
import weakref
from dataclasses import replace

import av
import numpy as np
import pytest
from PIL import Image, ImageSequence

from engine.trace import Frame, LaneState, Seconds, Trace
from tests.steps import retimed
from tests.variants import further
from tests.visualize.races import recorded, toy_trace
from visualize.board.snapshot import CLOCKS
from visualize.film import __main__ as cli
from visualize.film.film import _FORMATS, HOLD, FilmError, FilmFormat, film, photo
from visualize.film.layers import Layer
from visualize.film.still import Still
from visualize.pictures.recorded_race import RecordedRace


@functools.cache
def timed(seconds: float) -> RecordedRace:
    """A recording of two lanes that take so long each."""
    trace, frames = recorded().trace, []
    for frame in trace.frames:
        if frame.step:
            each = Seconds(forward=seconds / len(trace.steps(frame.lane)))
            frame = replace(frame, step=retimed(frame.step, each))
        frames.append(frame)
    return replace(recorded(), trace=replace(trace, frames=tuple(frames)))


every_kind = pytest.mark.parametrize(
    "kind", [FilmFormat.MP4, *further(FilmFormat.WEBP, FilmFormat.GIF)]
)


def played(data: bytes, kind: FilmFormat) -> tuple[list[np.ndarray], list[float]]:
    """The pictures of a film uint8 [H, W, 3], and the seconds that each stays."""
    if kind is FilmFormat.MP4:
        with av.open(io.BytesIO(data)) as file:
            stream = file.streams.video[0]
            assert (stream.codec_context.name, stream.pix_fmt) == ("h264", "yuv420p")
            frames = list(file.decode(stream))
            pictures = [frame.to_ndarray(format="rgb24") for frame in frames]
            ends = [*(frame.pts for frame in frames), stream.duration]
            return pictures, np.diff([float(end * stream.time_base) for end in ends]).tolist()
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == kind.name
        still = getattr(image, "n_frames", 1) == 1
        assert still or image.info["loop"] == 0
        pictures, seconds = [], []
        for each in ImageSequence.Iterator(image):
            pictures.append(np.asarray(each.convert("RGB")))
            seconds.append(HOLD if still else each.info["duration"] / 1000)
        return pictures, seconds


def off(
    picture: np.ndarray, recording: RecordedRace, kind: FilmFormat, t: float, clock: str = "seconds"
) -> np.ndarray:
    """How far a film's picture is from the board at an instant."""
    still = Still(recording, clock, Layer.PICTURE, _FORMATS[kind].scale)
    return np.abs(picture.astype(int) - np.asarray(still.draw(t)))


@every_kind
def test_a_film_lasts_as_long_as_the_race_and_holds_its_finish(kind, monkeypatch) -> None:
    """Its frames are drawn one at a time: one is given up before the one after the next is."""
    shares: list[float] = []
    draw, images, alive = Still.draw, [], []

    def counted(self: Still, t: float) -> Image.Image:
        image = draw(self, t)
        images.append(weakref.ref(image))
        alive.append(sum(one() is not None for one in images))
        return image

    with monkeypatch.context() as patched:
        patched.setattr(Still, "draw", counted)
        data = film(timed(1.0), kind, speed=0.5, progress=shares.append)
    assert max(alive) <= 2
    pictures, seconds = played(data, kind)
    assert sum(seconds) == pytest.approx(2.0 + HOLD, abs=0.11)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert shares == sorted(shares)
    assert len(shares) > 10
    for at, share in ((0, 0.0), (-1, 1.0)):
        difference = off(pictures[at], timed(1.0), kind, share)
        assert difference.mean() < 2
        assert difference.max() < 255
    middle = np.searchsorted(np.cumsum(seconds), 1.0, "right")
    assert off(pictures[middle], timed(1.0), kind, 0.5).mean() < 2
    assert np.abs(pictures[0].astype(int) - pictures[-1]).mean() > 1


@every_kind
def test_a_long_race_has_no_more_frames(kind, monkeypatch) -> None:
    monkeypatch.setitem(_FORMATS, kind, replace(_FORMATS[kind], most=12))
    pictures, seconds = played(film(timed(24.0), kind), kind)
    assert sum(seconds) == pytest.approx(24.0 + HOLD, abs=2.1)
    assert 12 <= len(pictures) <= 15


def test_by_passes_it_lasts_as_long() -> None:
    pictures, seconds = played(film(timed(1.0), FilmFormat.WEBP, clock="passes"), FilmFormat.WEBP)
    assert sum(seconds) == pytest.approx(1.0 + HOLD, abs=0.02)
    half = Still(timed(1.0), "passes", Layer.PICTURE).length["passes"] / 2
    by_passes, by_seconds = (
        off(pictures[6], timed(1.0), FilmFormat.WEBP, *at).mean()
        for at in ((half, "passes"), (0.5, "seconds"))
    )
    assert by_passes < 1 < by_seconds


@pytest.mark.parametrize("speed", [0, 0.04, 16.1, -1, float("nan"), float("inf"), True, "2", None])
def test_a_speed_out_of_range_is_rejected(speed) -> None:
    with pytest.raises(FilmError, match=r"from 0\.05 to 16"):
        film(timed(1.0), FilmFormat.GIF, speed=speed)


def test_a_film_of_hours_is_rejected_before_a_frame_is_drawn() -> None:
    with pytest.raises(FilmError, match="would last 10000 seconds"):
        film(timed(10_000.0), FilmFormat.GIF, progress=lambda _: pytest.fail("it began"))


def test_what_watches_can_end_the_work() -> None:
    def enough(share: float) -> None:
        if share > 0.3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        film(timed(1.0), FilmFormat.MP4, progress=enough)


@every_kind
def test_a_race_that_took_no_time_or_made_no_step_is_its_finish(kind) -> None:
    header = recorded().trace.header
    failed = (Frame(0, LaneState.STOPPED), Frame(1, LaneState.FAILED, None, "broken"))
    for recording in (timed(0.0), RecordedRace(Trace(header, failed), None)):
        pictures, seconds = played(film(recording, kind), kind)
        assert sum(seconds) == pytest.approx(HOLD, abs=0.11)
        assert off(pictures[-1], recording, kind, 0).mean() < 2


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_photo_is_that_instant_at_its_scale(clock) -> None:
    with Image.open(io.BytesIO(photo(timed(1.0), clock, 0.4, Layer.TV))) as image:
        assert image.format == "PNG"
        still = Still(timed(1.0), clock, Layer.TV, 2.0)
        np.testing.assert_array_equal(np.asarray(image), np.asarray(still.draw(0.4)))
    with Image.open(io.BytesIO(photo(timed(1.0), clock, 0.4, Layer.TV, scale=1))) as small:
        assert abs(2 * small.width - image.width) <= 2


def test_command(tmp_path, monkeypatch, capsys) -> None:
    race, bare, out = (tmp_path / name for name in ("race.json", "bare.json", "out.gif"))
    race.write_text(timed(0.2).dumps())
    bare.write_text(timed(0.2).trace.dumps())
    monkeypatch.setattr(cli, "load", lambda name: {"toy": toy_trace(("ar", "sjd"))[1]}[name])
    options = ["--speed", "4", "--layer", "tv", "--clock", "passes"]
    expected = film(timed(0.2), FilmFormat.GIF, speed=4, layer=Layer.TV, clock="passes")
    for file in (race, bare):  # a trace's pictures are drawn by its model
        monkeypatch.setattr(sys, "argv", ["film", str(file), str(out), *options])
        cli.main()
        assert "out.gif" in capsys.readouterr().out
        assert out.read_bytes() == expected
    for arguments, word in (
        ([race, tmp_path / "out.avi"], "ends in"),
        ([race, out, "--speed", "99"], "16"),
        ([tmp_path / "none.json", out], "none.json"),
        ([tmp_path / "none.json", tmp_path / "no" / "out.gif"], "there is no folder"),  # said first
    ):
        monkeypatch.setattr(sys, "argv", ["film", *map(str, arguments)])
        with pytest.raises(SystemExit, match="2"):
            cli.main()
        assert word in capsys.readouterr().err


def test_limits_are_those_of_the_docstring() -> None:
    limits = [(_FORMATS[kind].rate, _FORMATS[kind].most) for kind in FilmFormat]
    assert limits == [(30, 3600), (10, 200), (12, 300)]
    said = " ".join(film.__doc__.split())
    assert "MP4 has 30 frames a second, WebP 12 and GIF 10" in said
    assert "at most 3,600 frames in MP4, 300 in WebP and 200 in GIF" in said
