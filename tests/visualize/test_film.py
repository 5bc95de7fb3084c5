from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace

import av
import numpy as np
import pytest
from PIL import Image, ImageSequence

from engine.race import Lane
from engine.trace import Frame, LaneState, Seconds, Trace
from tests.steps import retimed
from tests.visualize.races import FIVE, toy_trace
from visualize import film as films
from visualize.film import _FORMATS, HOLD, FilmError, Kind, film, photo
from visualize.layers import CLOCKS, Layer
from visualize.recorded_race import RecordedRace, record
from visualize.still import Still


def timed(recording: RecordedRace, seconds: float) -> RecordedRace:
    """The same race, with lanes that take so long in all."""
    trace, frames = recording.trace, []
    counts = [len(trace.steps(i)) for i in range(len(trace.header.lanes))]
    for frame in trace.frames:
        if frame.step:
            frame = replace(
                frame, step=retimed(frame.step, Seconds(forward=seconds / counts[frame.lane]))
            )
        frames.append(frame)
    return replace(recording, trace=replace(trace, frames=tuple(frames)))


@pytest.fixture(scope="module")
def recording() -> RecordedRace:
    """Two lanes that take a second each."""
    return timed(record(*toy_trace(("ar", "sjd"))), 1.0)


def played(data: bytes, kind: Kind) -> tuple[list[np.ndarray], list[float]]:
    """The pictures of a film uint8 [H, W, 3], and the seconds that each stays."""
    if kind is Kind.MP4:
        with av.open(io.BytesIO(data)) as file:
            stream = file.streams.video[0]
            assert (stream.codec_context.name, stream.pix_fmt) == ("h264", "yuv420p")
            frames = list(file.decode(stream))
            pictures = [frame.to_ndarray(format="rgb24") for frame in frames]
            ends = [float(frame.pts * stream.time_base) for frame in frames] + [
                float(stream.duration * stream.time_base)
            ]
            return pictures, np.diff(ends).tolist()
    with Image.open(io.BytesIO(data)) as image:
        pairs = [
            (np.asarray(each.convert("RGB")), each.info["duration"] / 1000)
            for each in ImageSequence.Iterator(image)
        ]
        assert image.format == kind.name
        assert image.info["loop"] == 0
    return [picture for picture, _ in pairs], [seconds for _, seconds in pairs]


@pytest.mark.parametrize("kind", Kind)
def test_a_film_lasts_as_long_as_the_race_and_holds_its_finish(recording, kind) -> None:
    shares: list[float] = []
    pictures, seconds = played(film(recording, kind, speed=0.5, progress=shares.append), kind)
    assert sum(seconds) == pytest.approx(2.0 + HOLD, abs=0.11)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert shares == sorted(shares)
    assert len(shares) > 10
    still = Still(recording, "seconds", Layer.PICTURE, _FORMATS[kind].scale)
    for at, share in ((0, 0.0), (-1, 1.0)):
        expected = np.asarray(still.draw(share)).astype(int)
        assert np.abs(pictures[at] - expected).mean() < 2
        assert np.abs(pictures[at] - expected).max() < 255
    middle = np.searchsorted(np.cumsum(seconds), 1.0, "right")
    assert np.abs(pictures[middle] - np.asarray(still.draw(0.5)).astype(int)).mean() < 2
    assert np.abs(pictures[0].astype(int) - pictures[-1]).mean() > 1


def test_sides_are_even() -> None:
    for names in (("ar",), ("ar", "sjd", "gsd"), FIVE, (*FIVE, "jacobi", "fpi", "ar")):
        recording = record(*toy_trace(names))
        for scale in (1.0, 1.5, 2.0, 1.1):
            width, height = Still(recording, "seconds", Layer.PICTURE, scale).size
            assert (width % 2, height % 2) == (0, 0)


@pytest.mark.parametrize("kind", Kind)
def test_a_long_race_has_no_more_frames(recording, kind, monkeypatch) -> None:
    monkeypatch.setitem(_FORMATS, kind, replace(_FORMATS[kind], most=12))
    pictures, seconds = played(film(timed(recording, 24.0), kind), kind)
    assert sum(seconds) == pytest.approx(24.0 + HOLD, abs=2.1)
    assert 12 <= len(pictures) <= 15


def test_frames_are_drawn_one_at_a_time(recording, monkeypatch) -> None:
    """A frame is given up before the one after the next is drawn."""
    alive, most = 0, 0

    class Counted(Image.Image):
        pass

    draw = Still.draw

    def counted(self: Still, t: float) -> Image.Image:
        nonlocal alive, most
        image = draw(self, t)
        image.__class__ = Counted
        alive += 1
        most = max(most, alive)
        return image

    def gone(_: Image.Image) -> None:
        nonlocal alive
        alive -= 1

    Counted.__del__ = gone
    monkeypatch.setattr(Still, "draw", counted)
    film(recording, Kind.MP4, speed=1.0)
    assert most <= 2


def test_by_passes_it_lasts_as_long(recording) -> None:
    pictures, seconds = played(film(recording, Kind.WEBP, clock="passes"), Kind.WEBP)
    assert sum(seconds) == pytest.approx(1.0 + HOLD, abs=0.02)
    other, _ = played(film(recording, Kind.WEBP), Kind.WEBP)
    assert np.abs(pictures[5].astype(int) - other[5]).mean() > 0.1


@pytest.mark.parametrize("speed", [0, 0.24, 16.1, -1, float("nan"), float("inf"), True, "2", None])
def test_a_speed_out_of_range_is_rejected(recording, speed) -> None:
    with pytest.raises(FilmError, match=r"from 0\.25 to 16"):
        film(recording, Kind.GIF, speed=speed)


def test_a_film_of_hours_is_rejected_before_a_frame_is_drawn(recording) -> None:
    with pytest.raises(FilmError, match="would last 10000 seconds"):
        film(timed(recording, 10_000.0), Kind.GIF, progress=lambda _: pytest.fail("it began"))


def test_what_watches_can_end_the_work(recording) -> None:
    def enough(share: float) -> None:
        if share > 0.3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        film(recording, Kind.MP4, progress=enough)


def test_a_race_that_took_no_time_is_its_finish(recording) -> None:
    still = timed(recording, 0.0)
    for kind in Kind:
        data = film(still, kind)
        if kind is Kind.WEBP:  # which is a still, where nothing moves
            with Image.open(io.BytesIO(data)) as image:
                last = np.asarray(image.convert("RGB"))
        else:
            pictures, seconds = played(data, kind)
            last = pictures[-1]
            assert sum(seconds) == pytest.approx(HOLD, abs=0.11)
        expected = np.asarray(
            Still(still, "seconds", Layer.PICTURE, _FORMATS[kind].scale).draw(0)
        ).astype(int)
        assert np.abs(last - expected).mean() < 2


def test_a_race_without_a_step_can_be_filmed() -> None:
    trace, _ = toy_trace(("ar", "sjd"))
    empty = RecordedRace(
        Trace(
            trace.header, (Frame(0, LaneState.STOPPED), Frame(1, LaneState.FAILED, None, "broken"))
        ),
        None,
    )
    for kind in Kind:
        assert len(film(empty, kind)) > 500


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_photo_is_that_instant_at_its_scale(recording, clock) -> None:
    with Image.open(io.BytesIO(photo(recording, clock, 0.4, Layer.TV))) as image:
        assert image.format == "PNG"
        still = Still(recording, clock, Layer.TV, 2.0)
        assert image.size == still.size
        np.testing.assert_array_equal(np.asarray(image), np.asarray(still.draw(0.4)))
    with Image.open(io.BytesIO(photo(recording, clock, 0.4, Layer.TV, scale=1))) as small:
        assert abs(2 * small.width - image.width) <= 2


def test_command(recording, tmp_path) -> None:
    race = tmp_path / "race.json"
    race.write_text(timed(recording, 0.2).dumps())
    run = [sys.executable, "-m", "visualize.film", str(race)]
    out = tmp_path / "out.gif"
    done = subprocess.run(
        [*run, str(out), "--speed", "4", "--layer", "tv"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "out.gif" in done.stdout
    assert out.read_bytes().startswith(b"GIF89a")
    for arguments, word in (
        ([str(tmp_path / "out.avi")], "ends in"),
        ([str(out), "--speed", "99"], "16"),
    ):
        done = subprocess.run([*run, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert word in done.stderr
        assert "Traceback" not in done.stderr


def test_limits_are_those_of_the_docstring() -> None:
    assert [
        (_FORMATS[kind].rate, _FORMATS[kind].most) for kind in (Kind.MP4, Kind.WEBP, Kind.GIF)
    ] == [(30, 3600), (12, 300), (10, 200)]
    assert (
        "30 frames a second, but 3,600 in all at most; WebP 12 and 300, GIF 10 and 200"
        in " ".join(films.film.__doc__.split())
    )


def test_lanes_may_share_a_decoder() -> None:
    trace, model = toy_trace(("ar", "ar"))
    assert trace.header.lanes == (Lane("ar").plain(),) * 2
    assert len(photo(record(trace, model), "passes", 3, Layer.PICTURE)) > 1000
