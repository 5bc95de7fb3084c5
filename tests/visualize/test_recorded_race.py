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

from engine.trace import (
    MAX_BYTES,
    Frame,
    LaneState,
    Seconds,
    Status,
    Step,
    Trace,
    TraceError,
    TraceLane,
)
from engine.trace.steps import step_row
from tests.steps import Candidate, Group, Spot, build
from tests.toy import Toy
from tests.visualize.races import toy_trace
from visualize.board import replay
from visualize.picture_rows import webp
from visualize.recorded_race import Pictures, RecordedRace, pixels, record
from visualize.swatches import sheet

TRACE, MODEL = toy_trace(("ar", "sjd", "sjd-pac"))
RECORDING = record(TRACE, MODEL)
TEXT = RECORDING.dumps()


def file(width: int, height: int, kind: str = "WEBP", **options: Any) -> str:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height)).save(buffer, kind, **options)
    return base64.b64encode(buffer.getvalue()).decode()


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


def test_round_trip() -> None:
    again = RecordedRace.loads(TEXT)
    assert again.pictures == RECORDING.pictures
    assert again.dumps() == TEXT
    assert RecordedRace.loads(TEXT.encode()).pictures == RECORDING.pictures


def test_pictures_are_the_models_own() -> None:
    for i, picture in enumerate(RECORDING.pictures.lanes):
        table = TRACE.table(i)
        tokens = table.positions["token"][table.committed].reshape(4, 4)
        np.testing.assert_array_equal(pixels(picture), MODEL.pixels(tokens))
    assert RECORDING.pictures.swatches == sheet(MODEL)


def test_a_trace_alone_loads_without_pictures() -> None:
    again = RecordedRace.loads(TRACE.dumps())
    assert again.pictures is None
    assert again.dumps() == TRACE.dumps()


def test_forced_positions_are_not_in_the_picture() -> None:
    trace, model = toy_trace(("ar",), forced=True)
    rows = trace.table(0).positions
    tokens = rows["token"][rows["status"] != Status.FORCED].reshape(4, 4)
    np.testing.assert_array_equal(
        pixels(record(trace, model).pictures.lanes[0]), model.pixels(tokens)
    )


def test_pictures_of_cells_in_another_order() -> None:
    """Of a race whose sequence fills the grid from its end."""
    header = replace(TRACE.header, cells=tuple(reversed(range(16))))
    recording = record(replace(TRACE, header=header), MODEL)
    for i, picture in enumerate(recording.pictures.lanes):
        table = TRACE.table(i)
        tokens = table.positions["token"][table.committed][::-1].reshape(4, 4)
        np.testing.assert_array_equal(pixels(picture), MODEL.pixels(tokens))
    again = RecordedRace.loads(recording.dumps())
    assert again == recording
    assert replay(again)["cells"] == list(reversed(range(16)))


def test_a_lane_that_committed_nothing_has_no_picture() -> None:
    frames = (
        *(f for f in TRACE.frames if f.lane != 1),
        Frame(1, LaneState.FAILED, error="out of memory"),
    )
    recording = record(replace(TRACE, frames=frames), MODEL)
    assert [lane is None for lane in recording.pictures.lanes] == [False, True, False]
    shot = replay(RecordedRace.loads(recording.dumps()))
    assert shot["lanes"][1]["picture_rows"] == [""] * 4
    assert shot["lanes"][1]["error"] == "out of memory"
    nothing = record(replace(TRACE, frames=()), MODEL)
    assert nothing.pictures.lanes == (None, None, None)
    assert replay(RecordedRace.loads(nothing.dumps()))["state"] == "waiting"


def test_only_the_model_that_raced_draws_its_pictures() -> None:
    other = Toy((4, 4), 17)
    with pytest.raises(TraceError, match="can only be drawn by the model toy"):
        record(TRACE, other)


def test_what_was_rejected_here_is_fine_without_the_change() -> None:
    assert RecordedRace.loads(lanes(file(32, 32, lossless=True))).pictures.lanes[0]
    assert RecordedRace.loads(lanes(file(128, 128))).pictures.lanes[0]
    assert RecordedRace.loads(lanes(None)).pictures.lanes[0] is None


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (7, "not text"),
        ([], "not text"),
        ("", "lane 1 is damaged"),
        ("é", "lane 1 is damaged"),
        ("====", "lane 1 is damaged"),
        (file(32, 32) + "!", "lane 1 is damaged"),
        (file(32, 32)[:-1], "lane 1 is damaged"),
        ("\n" + file(32, 32), "lane 1 is damaged"),
        (file(32, 32, "PNG"), "no WebP image"),
        (file(32, 32, "GIF"), "no WebP image"),
        (file(32, 32, "JPEG"), "no WebP image"),
        (file(32, 32, "TIFF"), "no WebP image"),
        (
            base64.b64encode(
                b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
            ).decode(),
            "no WebP image",
        ),
        (base64.b64encode(base64.b64decode(file(32, 32))[:40]).decode(), "damaged"),
        (file(33, 32), "33 x 32 pixels"),
        (file(32, 36), "32 x 36 pixels"),
        (file(32, 64), "32 x 64 pixels"),
        (file(3, 3), "3 x 3 pixels"),
        (file(132, 132), "132 x 132 pixels"),
        (file(16383, 16383, lossless=True, method=0, quality=0), "damaged, or is no WebP"),
        (file(8192, 8192, lossless=True, method=0, quality=0), "8192 x 8192 pixels"),
    ],
)
def test_other_pictures_are_rejected_in_words(first, words) -> None:
    assert words in rejected(lanes(first))


def test_a_picture_that_moves_is_rejected() -> None:
    buffer = io.BytesIO()
    images = [Image.new("RGB", (32, 32), colour) for colour in ("red", "blue")]
    images[0].save(buffer, "WEBP", save_all=True, append_images=images[1:])
    assert "moves" in rejected(lanes(base64.b64encode(buffer.getvalue()).decode()))


@pytest.mark.parametrize(
    ("pictures", "words"),
    [
        ({"swatches": None}, "swatches is damaged"),
        ({"swatches": file(256, 16)}, "256 x 16 pixels"),
        ({"swatches": file(8, 256)}, "8 x 256 pixels"),
        ({"swatches": file(256, 8, "PNG")}, "swatches is damaged"),
        ({"lanes": None}, "pictures of this file are damaged"),
        ({"lanes": {}}, "pictures of this file are damaged"),
        ({"lanes": []}, "not one for each lane"),
        ({"lanes": [None] * 4}, "not one for each lane"),
    ],
)
def test_other_sets_of_pictures_are_rejected_in_words(pictures, words) -> None:
    assert words in rejected(changed(**pictures))


@pytest.mark.parametrize("pictures", [[], "x", 7, True, {}, {"swatches": file(256, 8)}])
def test_pictures_of_another_kind_are_rejected(pictures) -> None:
    assert "pictures of this file are damaged" in rejected(
        json.dumps(json.loads(TEXT) | {"pictures": pictures})
    )


def test_all_pictures_together_are_bounded() -> None:
    """Each alone is within bounds; together they would be too much to draw."""
    trace, model = toy_trace(("ar",) * 8, side=1)
    header = replace(trace.header, grid=(128, 128), cells=tuple(range(128**2)))
    large = file(2048, 2048, lossless=True, method=0, quality=0)
    for count, fits in ((1, True), (8, False)):
        few = replace(trace, header=replace(header, lanes=header.lanes[:count]), frames=())
        pictures = {
            "swatches": base64.b64encode(sheet(model)).decode(),
            "lanes": [large] + [None] * (count - 1),
        }
        text = json.dumps(json.loads(few.dumps()) | {"pictures": pictures})
        if fits:
            assert RecordedRace.loads(text).pictures.lanes[0]
        else:
            assert "2048 x 2048 pixels" in rejected(text)


def test_a_file_over_the_cap_is_rejected_unread() -> None:
    assert "MB" in rejected(" " * (MAX_BYTES + 1))


def trace_of(*steps: Step, finished: bool = True) -> Trace:
    """The one-lane trace of hand-made steps on 4 x 4 tokens of 16 codes."""
    states = [LaneState.RACING] * (len(steps) - 1) + [
        LaneState.FINISHED if finished else LaneState.RACING
    ]
    frames = tuple(Frame(0, state, step) for state, step in zip(states, steps, strict=True))
    return Trace(replace(TRACE.header, lanes=TRACE.header.lanes[:1]), frames)


def place(at: int, **fields: Any) -> Spot:
    return Spot(
        **{"position": at, "draft": 3, "token": 3, "status": Status.ACCEPTED, "top1": 0.5} | fields
    )


def whole(**fields: Any) -> Step:
    return build(1, 0, 16, [place(at, **fields) for at in range(16)], Seconds(1.0))


def half(first: int, nfe: int, *more: Spot) -> Step:
    return build(
        nfe, first, first + 8, [*(place(at) for at in range(first, first + 8)), *more], Seconds(1.0)
    )


def test_hand_made_steps_load_where_nothing_is_wrong() -> None:
    for trace in (
        trace_of(whole()),
        trace_of(half(0, 1), half(8, 2)),
        trace_of(half(0, 1, place(8), place(9)), finished=False),
    ):
        assert replay(RecordedRace.loads(trace.dumps()))["recorded"]


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        (trace_of(whole(token=16)), "outside the vocabulary"),
        (trace_of(whole(draft=16)), "outside the vocabulary"),
        (trace_of(whole(group=Group(17, (3,), 0.5, 0.5))), "more tokens than there can be"),
        (trace_of(whole(group=Group(1, (3, 4), 0.5, 0.5))), "more tokens than there can be"),
        (
            trace_of(whole(candidates=(Candidate(16, 0.5, 0.5, 0.5, 0.5),))),
            "outside the vocabulary",
        ),
        (trace_of(half(0, 1), half(8, 1)), "do not count up"),
        (trace_of(half(0, 1)), "has not"),
        (trace_of(half(0, 1), half(8, 2, place(16))), "outside the grid"),
        (
            replace(
                trace_of(whole()), frames=(*trace_of(whole()).frames, Frame(0, LaneState.RACING))
            ),
            "has not",
        ),
    ],
)
def test_steps_that_no_decoder_makes_are_rejected_in_words(trace, words) -> None:
    assert words in rejected(trace.dumps())


@pytest.mark.parametrize(
    "fields",
    [
        {"drafter_passes": 65536},
        {"drafter_passes": -1},
        {"seconds": Seconds(4295.0)},
        {"positions": 65536},
        {"rows": 65536},
    ],
)
def test_what_a_step_cannot_have_fits_no_row(fields) -> None:
    counts = {"nfe": 1, "rows": 1, "positions": 1, "committed": 1, "drafter_passes": 0}
    good = {**counts, "seconds": Seconds()}
    step_row(**good, rejected=False)
    with pytest.raises(OverflowError):
        step_row(**good | fields, rejected=False)


@pytest.mark.parametrize(
    ("lane", "words"),
    [
        (TraceLane("jet", {}), "not known here: 'jet'"),
        (TraceLane("sjd-pac", {"K": 1000}), "K is a whole number from 1 to 8"),
        (TraceLane("sjd-pac", {"no_such": 1}), "settings of the lane sjd-pac"),
    ],
)
def test_a_lane_that_cannot_be_raced_here_is_rejected_in_words(lane, words) -> None:
    trace = replace(trace_of(whole()), header=replace(TRACE.header, lanes=(lane,)))
    assert Trace.loads(trace.dumps()) == trace, "it is a trace all the same"
    assert words in rejected(trace.dumps())


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.just(file(32, 32)),
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
        json.dumps(replay(recording), allow_nan=False, ensure_ascii=False).encode()
    else:
        assert len(words) > 10


@given(JSON)
def test_any_json_as_pictures(pictures) -> None:
    loads_or_says(json.dumps(json.loads(TEXT) | {"pictures": pictures}))


@given(JSON, JSON)
def test_any_json_in_pictures(swatches, first) -> None:
    loads_or_says(changed(swatches=swatches))
    loads_or_says(lanes(first))


@given(st.binary(max_size=200))
def test_any_bytes(data) -> None:
    loads_or_says(data)
    loads_or_says(lanes(base64.b64encode(data).decode()))
    loads_or_says(lanes(base64.b64encode(b"RIFF\xff\0\0\0WEBP" + data).decode()))


@given(
    st.lists(st.tuples(st.integers(0, len(TEXT) - 1), st.integers(0, 255)), min_size=1, max_size=4)
)
def test_mutated_bytes_of_a_good_file(changes) -> None:
    data = bytearray(TEXT.encode())
    for at, byte in changes:
        data[at] = byte
    loads_or_says(bytes(data))


@given(st.integers(0, len(TEXT) - 1), st.integers(0, 40))
def test_a_file_cut_off_or_with_a_hole(at, hole) -> None:
    assert rejected(TEXT[:at])
    loads_or_says(TEXT[:at] + TEXT[at + hole :])


BYTES = st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=6)


@given(st.sampled_from(["swatches", "lane"]), BYTES, st.integers(0, 30))
def test_mutated_bytes_of_a_good_picture(which, changes, cut) -> None:
    good = RECORDING.pictures.swatches if which == "swatches" else RECORDING.pictures.lanes[0]
    data = bytearray(good)
    for at, byte in changes:
        data[at % len(data)] = byte
    text = base64.b64encode(data[: len(data) - cut]).decode()
    loads_or_says(changed(swatches=text) if which == "swatches" else lanes(text))


@given(st.data())
def test_wrong_types_anywhere_in_the_trace(data) -> None:
    whole_file = json.loads(TEXT)
    spot, keys = whole_file, []
    while isinstance(spot, dict | list) and spot and (not keys or data.draw(st.booleans())):
        keys.append(
            data.draw(st.sampled_from(sorted(spot) if isinstance(spot, dict) else range(len(spot))))
        )
        parent, spot = spot, spot[keys[-1]]
    parent[keys[-1]] = data.draw(JSON)
    loads_or_says(json.dumps(whole_file))


def test_loading_decodes_no_picture_that_does_not_fit(monkeypatch) -> None:
    text, decoded = lanes(file(4096, 4096, lossless=True, method=0, quality=0)), []
    monkeypatch.setattr(WebPImageFile, "load", lambda self: decoded.append(self.size))
    assert "4096 x 4096" in rejected(text)
    assert decoded == [(256, 8)], "the swatches, which come first and are fine"


@pytest.mark.parametrize("name", ["prompt", "machine", "model"])
def test_half_a_surrogate_pair_is_rejected(name) -> None:
    data = json.loads(TEXT)
    data["header"][name] = "apple \ud83c"
    assert "half a character" in rejected(json.dumps(data))
    data = json.loads(TEXT)
    data["order"][-1] = [0, "failed", False, "\ud83c"]
    loads_or_says(json.dumps(data))


def test_a_long_picture_is_rejected() -> None:
    for width, fits in ((128, True), (129, False)):
        header = replace(TRACE.header, grid=(1, width), cells=tuple(range(width)))
        lane = webp(np.zeros((32, 32 * width, 3), np.uint8), None)
        text = RecordedRace(
            replace(TRACE, header=header, frames=()), Pictures(sheet(MODEL), (lane, None, None))
        ).dumps()
        if fits:
            assert RecordedRace.loads(text).pictures.lanes[0] == lane
        else:
            assert "4128 x 32 pixels" in rejected(text)


def test_pictures_of_any_shape_of_grid() -> None:
    header = replace(TRACE.header, grid=(2, 8))
    trace = replace(TRACE, header=header)
    wide = Pictures(
        RECORDING.pictures.swatches, (webp(np.zeros((16, 64, 3), np.uint8), None), None, None)
    )
    assert replay(RecordedRace.loads(RecordedRace(trace, wide).dumps()))["lanes"][0][
        "picture_rows"
    ][1]
    tall = Pictures(
        RECORDING.pictures.swatches, (webp(np.zeros((64, 16, 3), np.uint8), None), None, None)
    )
    assert "does not fit" in rejected(RecordedRace(trace, tall).dumps())
