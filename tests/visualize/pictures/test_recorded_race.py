"""Recorded races: what is written is read back, and what cannot be drawn is rejected. Damage to the
trace alone is in tests/engine/trace/test_file.py."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from PIL.WebPImagePlugin import WebPImageFile

from engine.trace import MAX_BYTES, Frame, LaneState, Seconds, Status, Step, Trace, TraceError
from tests.engine.trace.reread import reread
from tests.steps import Candidate, Group, Spot, build
from tests.visualize.races import headed, recorded, toy_trace, trace_of
from tools.judge.toys import Toy
from visualize.board.board import replay
from visualize.pictures.recorded_race import RecordedRace, pixels, record
from visualize.pictures.swatches import sheet

THREE = ("ar", "sjd", "sjd-pac")
TRACE, MODEL = toy_trace(THREE)
RECORDING = recorded(THREE)
TEXT = RECORDING.dumps()


def base(data: bytes) -> str:
    return base64.b64encode(data).decode()


def file(width: int, height: int, kind: str = "WEBP", **options: Any) -> str:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height)).save(buffer, kind, **options)
    return base(buffer.getvalue())


def claiming(width: int, height: int) -> str:
    """A file whose header alone says that it has this size."""
    data = bytearray(base64.b64decode(file(32, 32, lossless=True)))
    at = data.index(b"VP8L") + 9  # behind the chunk's name, length and signature
    sizes = int.from_bytes(data[at : at + 4], "little") >> 28 << 28
    data[at : at + 4] = (sizes | (height - 1) << 14 | (width - 1)).to_bytes(4, "little")
    return base(bytes(data))


def changed(**pictures: Any) -> str:
    """The good file with other pictures."""
    data = json.loads(TEXT)
    data["pictures"] |= pictures
    return json.dumps(data)


def lanes(first: Any) -> str:
    return changed(lanes=[first, *json.loads(TEXT)["pictures"]["lanes"][1:]])


def rejected(text: str | bytes) -> str:
    with pytest.raises(TraceError) as error:
        RecordedRace.loads(text)
    return str(error.value)


# Recordings


def test_round_trip() -> None:
    for text in (TEXT, TEXT.encode()):
        assert RecordedRace.loads(text) == replace(RECORDING, trace=reread(TRACE))
    assert RecordedRace.loads(TEXT).dumps() == TEXT
    alone = RecordedRace.loads(TRACE.dumps())
    assert (alone.pictures, alone.dumps()) == (None, TRACE.dumps())


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("forced", [False, True])
def test_pictures_are_the_models_own(order: int, forced: bool) -> None:
    """Also of a sequence that fills the grid from its end; forced positions are in none."""
    trace, model = toy_trace(THREE, forced=forced)
    free = iter(range(16)[::order])
    cells = tuple(-1 if cell < 0 else next(free) for cell in trace.header.cells)
    recording = record(headed(trace, cells=cells), model)
    for i, picture in enumerate(recording.pictures.lanes):
        rows = trace.table(i).positions[trace.table(i).committed]
        tokens = rows["token"][rows["status"] != Status.FORCED][::order].reshape(4, 4)
        np.testing.assert_array_equal(pixels(picture), model.pixels(tokens))
    assert recording.pictures.swatches == sheet(model)
    again = RecordedRace.loads(recording.dumps())
    assert again == replace(recording, trace=reread(recording.trace))
    assert replay(again).cells == cells


def test_a_lane_that_committed_nothing_has_no_picture() -> None:
    failed = Frame(1, LaneState.FAILED, error="out of memory")
    frames = (*(f for f in TRACE.frames if f.lane != 1), failed)
    recording = record(replace(TRACE, frames=frames), MODEL)
    assert [lane is None for lane in recording.pictures.lanes] == [False, True, False]
    shot = replay(RecordedRace.loads(recording.dumps()))
    assert shot.lanes[1].picture == ""
    assert shot.lanes[1].error == "out of memory"
    nothing = record(replace(TRACE, frames=()), MODEL)
    assert nothing.pictures.lanes == (None, None, None)
    assert replay(RecordedRace.loads(nothing.dumps())).state == "waiting"


def test_only_the_model_that_raced_draws_its_pictures() -> None:
    with pytest.raises(TraceError, match="Only the model toy can draw"):
        record(TRACE, Toy((4, 4), 17))


# Pictures


@pytest.mark.parametrize("first", [file(32, 32, lossless=True), file(128, 128), None])
def test_what_is_rejected_below_is_fine_without_the_change(first) -> None:
    assert bool(RecordedRace.loads(lanes(first)).pictures.lanes[0]) is (first is not None)


BLUE = Image.new("RGB", (32, 32), "blue")
MOVING = file(32, 32, save_all=True, append_images=[BLUE])
DAMAGED = "pictures of this file are damaged"
REJECTED = [
    *((lanes(first), "not text") for first in (7, [])),
    *(
        (lanes(first), "lane 1 is damaged")
        for good in [file(32, 32)]
        for first in ("", "é", "====", good + "!", good[:-1], "\n" + good)
    ),
    *((lanes(file(32, 32, kind)), "not a WebP image") for kind in ("PNG", "GIF", "JPEG", "TIFF")),
    (lanes(base(b'<svg xmlns="http://www.w3.org/2000/svg"/>')), "not a WebP image"),
    (lanes(base(base64.b64decode(file(32, 32))[:40])), "damaged"),
    *(
        (lanes(file(*size)), f"{size[0]} x {size[1]} pixels")
        for size in ((33, 32), (32, 36), (32, 64), (3, 3), (132, 132))
    ),
    (lanes(claiming(16383, 16383)), "damaged or is not a WebP"),
    (lanes(claiming(8192, 8192)), "8192 x 8192 pixels"),
    (lanes(MOVING), "moves"),
    (changed(swatches=None), "swatches is damaged"),
    (changed(swatches=file(256, 16)), "256 x 16 pixels"),
    (changed(swatches=file(8, 256)), "8 x 256 pixels"),
    (changed(swatches=file(256, 8, "PNG")), "swatches is damaged"),
    (changed(lanes=None), DAMAGED),
    (changed(lanes={}), DAMAGED),
    (changed(lanes=[]), "one for each lane"),
    (changed(lanes=[None] * 4), "one for each lane"),
    *(
        (json.dumps(json.loads(TEXT) | {"pictures": pictures}), DAMAGED)
        for pictures in ([], "x", 7, True, {}, {"swatches": file(256, 8)})
    ),
]


@pytest.mark.parametrize(("text", "words"), REJECTED, ids=range(len(REJECTED)))
def test_other_pictures_are_rejected_in_words(text, words) -> None:
    assert words in rejected(text)


def test_a_file_over_the_cap_is_rejected_unread() -> None:
    assert "MB" in rejected(" " * (MAX_BYTES + 1))


@pytest.mark.parametrize(
    ("grid", "count", "size", "fits"),
    [
        # all together are bounded: each alone is within bounds
        *(((128, 128), 1, (2048, 2048), True), ((128, 128), 8, (2048, 2048), False)),
        *(((1, 128), 3, (4096, 32), True), ((1, 129), 3, (4128, 32), False)),
        *(((2, 8), 3, (64, 16), True), ((2, 8), 3, (16, 64), False)),
    ],
)
def test_pictures_fit_their_grid_and_memory(grid, count, size, fits) -> None:
    cells = tuple(range(grid[0] * grid[1]))
    trace = headed(TRACE, grid=grid, cells=cells, lanes=TRACE.header.lanes[:1] * count)
    text = json.loads(replace(trace, frames=()).dumps())
    first = file(*size, lossless=True, method=0, quality=0)
    pictures = {"swatches": base(sheet(MODEL)), "lanes": [first] + [None] * (count - 1)}
    text = json.dumps(text | {"pictures": pictures})
    if fits:
        assert base(RecordedRace.loads(text).pictures.lanes[0]) == first
        assert replay(RecordedRace.loads(text)).lanes[0].picture
    else:
        assert f"{size[0]} x {size[1]} pixels" in rejected(text)


def test_loading_decodes_no_picture_that_does_not_fit(monkeypatch) -> None:
    decoded: list[tuple[int, int]] = []
    monkeypatch.setattr(WebPImageFile, "load", lambda self: decoded.append(self.size))
    assert "4096 x 4096" in rejected(lanes(claiming(4096, 4096)))
    assert decoded == [(256, 8)], "the swatches, which come first and are fine"


# Steps and lanes


def place(at: int, **fields: Any) -> Spot:
    return Spot(
        **{"position": at, "draft": 3, "token": 3, "status": Status.ACCEPTED, "top1": 0.5} | fields
    )


def whole(**fields: Any) -> Step:
    return build(1, 0, 16, [place(at, **fields) for at in range(16)], Seconds(1.0))


def half(first: int, nfe: int, *more: int) -> Step:
    places = [place(at) for at in (*range(first, first + 8), *more)]
    return build(nfe, first, first + 8, places, Seconds(1.0))


def hand_made(*steps: Step, **options: Any) -> Trace:
    """One lane's steps on 4 x 4 tokens of 5 codes."""
    return trace_of({"sjd": steps}, length=16, rows=4, **options)


FINISHED = hand_made(whole())


def by(decoder: str, **settings: int | str) -> Trace:
    """The finished race as one of another decoder."""
    lane = replace(FINISHED.header.lanes[0], decoder=decoder, settings=settings)
    return headed(FINISHED, lanes=(lane,))


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        (FINISHED, ""),
        (hand_made(half(0, 1), half(8, 2)), ""),
        (hand_made(half(0, 1, 8, 9), state=LaneState.RACING), ""),
        (hand_made(whole(token=5)), "outside the vocabulary"),
        (hand_made(whole(draft=5)), "outside the vocabulary"),
        (hand_made(whole(group=Group(6, (3,), 0.5, 0.5))), "more tokens than there can be"),
        (hand_made(whole(group=Group(1, (3, 4), 0.5, 0.5))), "more tokens than there can be"),
        (hand_made(whole(candidates=(Candidate(5, *[0.5] * 4),))), "outside the vocabulary"),
        (hand_made(half(0, 1), half(8, 1)), "do not count up"),
        (hand_made(half(0, 1)), "is not complete"),
        (hand_made(half(0, 1), half(8, 2, 16)), "outside the grid"),
        (
            replace(FINISHED, frames=(*FINISHED.frames, Frame(0, LaneState.RACING))),
            "is not complete",
        ),
        (by("<b>jet"), "not known here: '<b>jet'"),
        (by("sjd-pac", K=1000), "K is a whole number from 1 to 8"),
        (by("sjd-pac", no_such=1), "settings of the lane sjd-pac"),
        (by("sjd-pac", tree="round"), "tree was never 'round'"),
    ],
)
def test_what_no_decoder_makes_or_is_raced_here_is_rejected_in_words(trace, words) -> None:
    if words:
        assert words in rejected(trace.dumps())
    else:
        assert replay(RecordedRace.loads(trace.dumps())).recorded


@pytest.mark.parametrize(
    ("decoder", "settings", "name"),
    [
        ("sjd-pac", {"K": 4, "D": 3, "tree": "full"}, "SJD-PAC"),
        ("sjd-pac", {"window": 8, "PD": False}, "SJD-PAC window=8 PD=false"),
        ("gsd", {"G": 10, "order": "descending", "reading": "paper"}, "GSD order=descending"),
        ("lantern", {"k": 0, "draws": "top-1"}, "LANTERN draws=top-1"),
        ("assd", {"drafts": "self", "k": 5, "fused": True}, "ASSD fused=true"),
        # a tree of as many levels has more rows than the window now
        ("sjd-pac", {"K": 4, "D": 4, "tree": "spine"}, "SJD-PAC D=4 tree=spine"),
    ],
)
def test_a_trace_with_a_withdrawn_setting_opens_under_its_old_name(decoder, settings, name) -> None:
    recording = RecordedRace.loads(by(decoder, **settings).dumps())
    assert replay(recording).lanes[0].title == name
    assert recording.trace.header.lanes[0].settings == settings


@pytest.mark.parametrize("name", ["prompt", "machine", "model", "weights", "dtype", "error"])
def test_half_a_surrogate_pair_is_rejected(name) -> None:
    data = json.loads(TEXT)
    if name == "error":
        data["order"].append([0, "failed", False, "\ud83c"])
    else:
        data["header"][name] = "apple \ud83c"
    assert "half a character" in rejected(json.dumps(data))


# Anything at all

LEAVES = (st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20))
JSON = st.recursive(
    st.one_of(*LEAVES, st.just(file(32, 32))),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["swatches", "lanes", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def loads_or_says(text: str | bytes) -> None:
    """Either a recording that can be replayed and travel, or a TraceError in words; nothing
    else."""
    recording, words = None, ""
    try:
        recording = RecordedRace.loads(text)
    except TraceError as error:
        words = str(error)
    if recording:
        json.dumps(replay(recording).wire(), allow_nan=False, ensure_ascii=False).encode()
    else:
        assert len(words) > 10


@given(st.data())
def test_any_json_anywhere(data) -> None:
    """Half of the time within the pictures."""
    whole_file = json.loads(TEXT)
    spot, keys = whole_file, ["pictures"] * data.draw(st.booleans())
    while isinstance(spot, dict | list) and spot and (len(keys) < 2 or data.draw(st.booleans())):
        if keys != ["pictures"] or spot is not whole_file:
            names = sorted(spot) if isinstance(spot, dict) else range(len(spot))
            keys.append(data.draw(st.sampled_from(names)))
        parent, spot = spot, spot[keys[-1]]
    parent[keys[-1]] = data.draw(JSON)
    loads_or_says(json.dumps(whole_file))


CHANGES = st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=6)
SPAN = st.tuples(st.integers(0), st.integers(0, 40))


def damaged(good: bytes, changes: list[tuple[int, int]], span: tuple[int, int]) -> bytes:
    """With some bytes changed and some left out."""
    data = bytearray(good)
    for at, byte in changes:
        data[at % len(data)] = byte
    start = span[0] % len(data)
    return bytes(data[:start] + data[start + span[1] :])


@given(CHANGES, SPAN)
def test_a_damaged_file(changes, span) -> None:
    loads_or_says(damaged(TEXT.encode(), changes, span))
    assert rejected(TEXT[: span[0] % len(TEXT)])


@given(st.sampled_from(["swatches", "lane"]), CHANGES, SPAN)
def test_a_damaged_picture(which, changes, span) -> None:
    good = RECORDING.pictures.swatches if which == "swatches" else RECORDING.pictures.lanes[0]
    text = base(damaged(good, changes, span))
    loads_or_says(changed(swatches=text) if which == "swatches" else lanes(text))


@given(st.binary(max_size=200))
def test_any_bytes_as_a_picture(data) -> None:
    loads_or_says(lanes(base(data)))
    loads_or_says(lanes(base(b"RIFF\xff\0\0\0WEBP" + data)))
