"""`python -m visualize.movie race.json out.webp`: a race as a moving picture, at true speed by each lane's own seconds."""

from __future__ import annotations

import argparse
import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from engine.models import load
from engine.records import Frame
from engine.trace import Trace
from visualize.board import Board

PER_SECOND, MOST = 12, 150  # pictures: a second, and in all, so that a long race stays a small file
HOLD = 3.0  # seconds that the finish stays
LANE, PICTURE, MARGIN, HEAD = 176, 160, 16, 100  # pixels
INK, SOFT, RULE, PAPER, SIGNAL = "#14161a", "#5c6370", "#d9dce1", "#f1f2f4", "#e4002b"
BADGES = {"identical image": "#1f4e9c", "same law": "#0b6e4f", "changed law": "#a34700"}
PLACES = {1: "1st", 2: "2nd", 3: "3rd"}


def instants(trace: Trace) -> list[tuple[float, Frame]]:
    """The frames in the order of a race in which every lane runs at once, each with its lane's own seconds after it."""
    clocks, timed = [0.0] * len(trace.header.lanes), []
    for frame in trace.frames:
        clocks[frame.lane] += frame.step.seconds.total if frame.step else 0.0
        timed.append((clocks[frame.lane], frame))
    return sorted(timed, key=lambda pair: pair[0])


def film(trace: Trace, pixels: Callable[[np.ndarray], np.ndarray]) -> bytes:
    """An animated WebP of the trace; `pixels` decodes int [B, h, w] to uint8 [B, H, W, 3]."""
    board, pictures, now = Board(trace.header, pixels), [], 0.0
    moves = instants(trace)
    end = moves[-1][0]
    interval = max(1 / PER_SECOND, end / MOST)
    for seconds, frame in moves:
        while seconds > now:
            pictures.append(draw(board.snapshot(), now))
            now += interval
        board.fold(frame)
    pictures.append(draw(board.snapshot(), end))
    times = [round(1000 * interval)] * (len(pictures) - 1) + [round(1000 * HOLD)]
    buffer = io.BytesIO()
    pictures[0].save(buffer, "WEBP", save_all=True, append_images=pictures[1:], duration=times, loop=0, quality=75, method=2)
    return buffer.getvalue()


def draw(snapshot: dict[str, Any], now: float) -> Image.Image:
    """The board as it stands, `now` seconds into the race."""
    count = len(snapshot["lanes"])
    image = Image.new("RGB", (count * LANE + MARGIN, HEAD + PICTURE + 112), "white")
    pen = ImageDraw.Draw(image)
    pen.text((MARGIN, 16), snapshot["prompt"], INK, _font(22))
    pen.text((image.width - MARGIN, 16), f"{now:.2f} s", SIGNAL, _font(22), anchor="ra")
    pen.line((MARGIN, 46, image.width - MARGIN, 46), INK, 3)
    for i, lane in enumerate(snapshot["lanes"]):
        _lane(image, pen, lane, snapshot["grid"], MARGIN + i * LANE)
    return image


def _lane(image: Image.Image, pen: ImageDraw.ImageDraw, lane: dict[str, Any], grid: list[int], x: int) -> None:
    rows, columns = grid
    pen.text((x, 54), lane["title"], INK, _font(17))
    pen.text((x, 76), lane["badge"], BADGES[lane["badge"]], _font(13))
    image.paste(_picture(lane, rows, columns), (x, HEAD))
    if lane["state"] == "racing" and lane["n"]:
        row, column = divmod(lane["n"], columns)
        top, bottom = HEAD + row * PICTURE // rows, HEAD + (row + 1) * PICTURE // rows
        edge = x + column * PICTURE // columns
        pen.line([(x, bottom), (edge, bottom), (edge, top), (x + PICTURE, top)], SIGNAL, 2)
    bottom = HEAD + PICTURE
    pen.rectangle((x, bottom, x + PICTURE - 1, bottom + 7), RULE)
    if done := PICTURE * lane["n"] // (rows * columns):
        pen.rectangle((x, bottom, x + done - 1, bottom + 7), INK)
    figures = [("passes", str(lane["passes"])), ("seconds", f"{lane['seconds']:.2f}")]
    for line, (clock, value) in enumerate([*figures, ("tokens/pass", f"{lane['compression']:.2f}")]):
        y = bottom + 16 + 28 * line
        pen.text((x, y + 3), clock, SOFT, _font(13))
        pen.text((x + PICTURE - 36, y), value, INK, _font(16), anchor="ra")
        if place := lane["places"].get(clock):
            ordinal = PLACES.get(place, f"{place}th")
            pen.text((x + PICTURE, y), ordinal, SIGNAL if place == 1 else SOFT, _font(16), anchor="ra")


def _picture(lane: dict[str, Any], rows: int, columns: int) -> Image.Image:
    """What the lane has reached: the committed part, the rest paper."""
    out = Image.new("RGB", (PICTURE, PICTURE), PAPER)
    strips = [Image.open(io.BytesIO(base64.b64decode(text))).convert("RGB") for text in lane["strips"] if text]
    if not strips:
        return out
    width, height = strips[0].size
    whole = Image.new("RGB", (width, height * rows), PAPER)
    for row, strip in enumerate(strips):
        whole.paste(strip, (0, row * height))
    cells = np.arange(rows * columns).reshape(rows, columns)
    solid = np.where(cells < lane["n"], 255, 0)
    mask = Image.fromarray(solid.astype(np.uint8)).resize(out.size, Image.Resampling.NEAREST)
    out.paste(whole.resize(out.size, Image.Resampling.LANCZOS), (0, 0), mask)
    return out


def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.load_default(size)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m visualize.movie", description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("out", type=Path, help="an animated WebP")
    args = parser.parse_args()
    trace = Trace.loads(args.trace.read_bytes())
    args.out.write_bytes(film(trace, load(trace.header.model).pixels))
    print(f"{args.out}: {args.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
