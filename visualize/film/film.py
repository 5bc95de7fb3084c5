"""A recorded race as a film (MP4, GIF or WebP), and its board at one instant as a photo.

All lanes run at once, each at true speed by its own clock. Frames are drawn one at a time and
handed to the encoder, so that a long race needs no more memory than a short one.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import av
import numpy as np
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc
from PIL import Image, ImageColor

from visualize.film.layers import Layer
from visualize.film.still import Still
from visualize.pictures.recorded_race import RecordedRace

HOLD = 3.0  # seconds that a film shows the finish
SLOWEST = 0.05  # the slowest speed, here and on the board
FASTEST = 16.0
LONGEST = 600.0  # seconds that a film may last


class FilmError(ValueError):
    """A film cannot be made; the message may be shown to a visitor."""


class FilmFormat(Enum):
    MP4 = "mp4"
    GIF = "gif"
    WEBP = "webp"


@dataclass(frozen=True, slots=True)
class _Format:
    """How a kind of film is written.

    Attributes:
        rate: the most frames a second.
        most: the most frames before the finish.
        scale: the scale of the board (see `Still`).
        codec: the encoder's name.
        pixels: the pixel format's name.
        tick: the unit of frame times, in seconds.
        options: the encoder's options.
    """

    rate: int
    most: int
    scale: float
    codec: str
    pixels: str
    tick: Fraction
    options: dict[str, str]


# H.264 in yuv420p plays everywhere. GIF counts time in hundredths of a second.
_FORMATS = {
    FilmFormat.MP4: _Format(
        30,
        3600,
        1.25,
        "libx264",
        "yuv420p",
        Fraction(1, 30_000),
        {"crf": "18", "preset": "veryfast", "rc-lookahead": "10"},
    ),
    FilmFormat.GIF: _Format(10, 200, 1.0, "gif", "pal8", Fraction(1, 100), {}),
    FilmFormat.WEBP: _Format(
        12,
        300,
        1.0,
        "libwebp_anim",
        "bgra",
        Fraction(1, 1000),
        {"quality": "80", "compression_level": "2"},
    ),
}


def film(
    recording: RecordedRace,
    kind: FilmFormat,
    *,
    clock: str = "seconds",
    layer: Layer = Layer.PICTURE,
    speed: float = 1.0,
    lanes: Sequence[int] | None = None,
    dark: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> bytes:
    """Return the race as a film's file.

    The film shows the whole race, `speed` times (0.05 to 16) as fast as it ran, then HOLD seconds
    of the finish. Lanes advance by `clock`, "seconds" or "passes"; the film lasts equally long with
    either.

    MP4 has 30 frames a second, WebP 12 and GIF 10. Before the finish there are at most 3,600 frames
    in MP4, 300 in WebP and 200 in GIF. A race that would need more has fewer frames a second.

    `lanes` are the lanes to show (all, if None). `progress` is called with the share of the work
    that is done, from 0 to 1. An exception that `progress` raises ends the work. Raises FilmError
    if the speed is out of range, or if the race would take over LONGEST seconds in the film.
    """
    if (
        isinstance(speed, bool)
        or not isinstance(speed, int | float)
        or not SLOWEST <= speed <= FASTEST
    ):
        raise FilmError(
            f"The speed must be a number from {SLOWEST:g} to {FASTEST:g}, not {str(speed)[:40]}."
        )
    how = _FORMATS[kind]
    still = Still(recording, clock, layer, how.scale, lanes, dark=dark)
    played = still.length["seconds"] / speed
    if played > LONGEST:
        raise FilmError(
            f"The film would last {played:.0f} seconds, and {LONGEST:.0f} is the maximum. Choose a"
            " higher speed."
        )
    count = min(how.most, round(played * how.rate))  # frames before the finish
    times = [i * played / count for i in range(count)] + [played]
    shown = [still.length[clock] * t / played if played else still.length[clock] for t in times]
    if kind is FilmFormat.MP4:  # players stop at the last frame
        rest = max(1, round(HOLD * (count / played if count else how.rate)))
        times += [played + HOLD * (i + 1) / rest for i in range(rest)]
    elif (
        kind is FilmFormat.GIF
    ):  # a frame lasts until the next: the finish comes once more, at the end
        times.append(played + HOLD)
    else:  # WebP's encoder gives its last frame the average duration of those before it
        times.append((played + HOLD) * len(times) / (len(times) + 1))
    shown += [shown[-1]] * (len(times) - len(shown))
    frames = len(times)
    buffer = io.BytesIO()
    progress(0.0)
    with av.open(
        buffer, "w", format=kind.value, options={"loop": "0"} if kind is not FilmFormat.MP4 else {}
    ) as file:
        stream = file.add_stream(how.codec, rate=how.rate, options=how.options)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height = still.size
        stream.pix_fmt = how.pixels
        stream.time_base = stream.codec_context.time_base = how.tick
        stream.codec_context.thread_count = 1  # a frame is encoded once `encode` returns
        if kind is FilmFormat.MP4:
            context = stream.codec_context  # players guess wrongly where the file does not say
            context.colorspace, context.color_range = Colorspace.ITU709, ColorRange.MPEG
            context.color_primaries, context.color_trc = ColorPrimaries.BT709, ColorTrc.BT709
        palette = _palette(still, shown[-1]) if kind is FilmFormat.GIF else None
        frame = drawn = None
        for i, (time, t) in enumerate(zip(times, shown, strict=True)):
            if frame is None or t != drawn:  # the finish is drawn once
                frame = _frame(still.draw(t), how.pixels, palette)
                drawn = t
            frame.time_base = how.tick
            frame.pts = round(time / how.tick)
            file.mux(stream.encode(frame))
            progress((i + 1) / (frames + 1))
        file.mux(stream.encode())
    progress(1.0)
    return buffer.getvalue()


def photo(
    recording: RecordedRace,
    clock: str,
    t: float,
    layer: Layer,
    scale: float = 2.0,
    lanes: Sequence[int] | None = None,
    *,
    dark: bool = False,
) -> bytes:
    """Return the board at one instant of a clock as a PNG file.

    The instant is `t` on `clock`, "seconds" or "passes". The board is `scale` times as large as in
    a GIF, by default twice. `lanes` are the lanes to show (all, if None).
    """
    buffer = io.BytesIO()
    Still(recording, clock, layer, scale, lanes, dark=dark).draw(t).save(buffer, "PNG")
    return buffer.getvalue()


def _palette(still: Still, end: float) -> Image.Image:
    """Return 256 colours for a whole film, because a palette for each frame would flicker.

    The colours are those of the film's middle and end, and the board's own.
    """
    pair = [np.asarray(still.draw(t)) for t in (end / 2, end)]
    common = Image.fromarray(np.concatenate(pair)).quantize(
        256 - len(still.palette), Image.Quantize.MEDIANCUT
    )
    colours = np.array(common.getpalette()).reshape(-1, 3)
    board = np.array([ImageColor.getrgb(colour) for colour in still.palette.values()])
    # Pillow's lookup is coarse: it would confuse a colour with a close colour of the board.
    apart = np.abs(colours[:, None] - board).max(-1).min(-1) >= 8
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.concatenate([board, colours[apart]]).ravel().tolist())
    return palette


def _frame(image: Image.Image, pixels: str, palette: Image.Image | None) -> av.VideoFrame:
    if palette is not None:
        flat = np.array(palette.getpalette(), np.uint8).reshape(-1, 3)
        table = np.full((256, 4), 255, np.uint8)
        table[: len(flat), 1:] = flat
        indices = np.asarray(image.quantize(palette=palette, dither=Image.Dither.NONE))
        # PyAV's stubs know arrays alone; for pal8 its code takes this pair.
        return av.VideoFrame.from_ndarray((indices, table), format="pal8")  # type: ignore[arg-type]
    frame = av.VideoFrame.from_ndarray(np.asarray(image), format="rgb24")
    if pixels == "bgra":
        return frame.reformat(format=pixels)
    return frame.reformat(
        format=pixels, dst_colorspace=Colorspace.ITU709, dst_color_range=ColorRange.MPEG
    )
