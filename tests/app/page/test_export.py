from __future__ import annotations

import dataclasses
import errno
import html
from pathlib import Path
from unittest.mock import Mock

import gradio as gr
import pytest
from hypothesis import given
from hypothesis import strategies as st

import app.page.export
from app.api.request_guard import NO_ROOM
from app.page.export import KINDS, Instant, file_name, make_file, share_menu
from app.races.allowances import Allowance
from app.settings import AppSettings
from engine.settings import SettingError
from engine.trace import Seconds
from tests.app.conftest import ANYTHING
from tests.clocks import set_clocks
from tests.engine.trace.reread import reread
from tests.races import raced
from tests.steps import retimed
from tools.judge.toys import Toy
from visualize.film.layers import Layer
from visualize.pictures.recorded_race import RecordedRace, record

INSTANT = {"clock": "passes", "t": 3, "layer": "tv", "lanes": [0, 1], "dark": False}


with set_clocks():
    RECORDING = record(raced(model := Toy((4, 4), 16), ["ar", "sjd"], "red apple", 7), model)


def named(prompt: str, kind: str = "Trace") -> str:
    header = dataclasses.replace(RECORDING.trace.header, prompt=prompt)
    trace = dataclasses.replace(RECORDING.trace, header=header)
    return file_name(RecordedRace(trace, None), kind, INSTANT)


@pytest.mark.parametrize(
    ("prompt", "file"),
    [
        ("Red apple, on sky clouds!", "photo-finish-red-apple-on-sky-clouds-7.json"),
        ("../../etc/passwd", "photo-finish-etc-passwd-7.json"),
        ("", "photo-finish-race-7.json"),
        ("猫", "photo-finish-race-7.json"),
        ("a" * 900, f"photo-finish-{'a' * 60}-7.json"),
    ],
)
def test_files_are_called_after_prompt_and_seed(prompt, file) -> None:
    assert named(prompt) == file


def test_files_are_called_after_what_they_show() -> None:
    names = {
        kind: named("red apple", kind).removeprefix("photo-finish-red-apple-7") for kind in KINDS
    }
    assert names == {
        **{"Trace": ".json", "CSV of the steps": "-steps.csv", "Standalone HTML": ".html"},
        "PNG of this instant": "-tv-3-passes.png",
        **{kind: f"-tv-passes.{kind.lower()}" for kind in ("MP4", "GIF", "WebP")},
    }


@given(st.text(max_size=1000))
def test_file_names_are_safe_whatever_the_prompt(prompt) -> None:
    assert set(named(prompt)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")


STARTS = {
    **{"Trace": b"{", "CSV of the steps": b"lane", "Standalone HTML": b"<!doctype html"},
    **{"PNG of this instant": b"\x89PNG", "MP4": b"\0\0\0", "GIF": b"GIF8", "WebP": b"RIFF"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_made(kind) -> None:
    reports: list[float] = []
    data = make_file(RECORDING, kind, 16.0, INSTANT, reports.append)
    assert data.lower().startswith(STARTS[kind].lower())
    assert reports == sorted(reports)
    assert not reports or reports[-1] == 1.0
    if kind == "Trace":
        stored = dataclasses.replace(RECORDING, trace=reread(RECORDING.trace))
        assert RecordedRace.loads(data) == stored


@pytest.mark.parametrize("layer", Layer)
def test_pictures_follow_the_board(layer, monkeypatch) -> None:
    asked: list[tuple[object, ...]] = []

    def kept(*args: object, **options: object) -> bytes:
        asked.append((*args[2:], *options.items()))
        return b""

    monkeypatch.setattr(app.page.export, "photo", kept)
    monkeypatch.setattr(app.page.export, "film", kept)
    instant = INSTANT | {"layer": layer.value, "lanes": [1], "dark": True}
    make_file(RECORDING, "PNG of this instant", None, instant, print)
    make_file(RECORDING, "MP4", 4.0, instant, print)
    assert asked[0] == (3.0, layer, 2.0, (1,), ("dark", True))
    shown = {"clock": "passes", "layer": layer, "lanes": (1,), "dark": True, "speed": 4.0}
    assert shown.items() <= dict(asked[1]).items()


@pytest.mark.parametrize(
    ("kind", "speed", "changes", "words"),
    [
        *((kind, 1.0, {}, "no such kind of file") for kind in ("EXE", ["MP4"])),
        *(("MP4", speed, {}, "speed must be one of") for speed in (3.0, "fast", True, [1.0])),
        ("MP4", 1.0, None, "did not say what its board shows"),
        *(
            ("PNG of this instant", 1.0, change, "did not say")
            for change in (
                *({"t": -1}, {"t": float("inf")}, {"clock": "hours"}, {"layer": ["tv"]}),
                *({"lanes": [2]}, {"lanes": 1}, {"dark": None}),
            )
        ),
        ("MP4", 1.0, {"lanes": []}, "Every lane is hidden"),
    ],
)
def test_invalid_choices_are_rejected_with_a_message(kind, speed, changes, words) -> None:
    instant = None if changes is None else INSTANT | changes
    with pytest.raises(SettingError, match=words):
        make_file(RECORDING, kind, speed, instant, lambda share: None)


@given(ANYTHING, ANYTHING, ANYTHING)
def test_anything_a_browser_sends_is_an_instant_or_rejected_with_a_message(clock, t, layer) -> None:
    whole = {"clock": clock, "t": t, "layer": layer, "lanes": t, "dark": layer}
    for value in (whole, *(INSTANT | each for each in ({"t": t}, {"lanes": t}, {"lanes": [t]}))):
        try:
            read, message = Instant.read(value, 2), ""
        except SettingError as error:
            read, message = None, str(error)
        assert isinstance(read, Instant) or "Reload it" in message or "hidden" in message


def test_a_film_that_takes_too_long_is_given_up(monkeypatch) -> None:
    monkeypatch.setattr(app.page.export, "SETTINGS", AppSettings(make_seconds=1e-9))
    with pytest.raises(SettingError, match="over 1e-09 seconds"):
        make_file(RECORDING, "GIF", 1.0, INSTANT, lambda share: None)


def test_a_visitor_makes_films_until_their_allowance_is_used_up() -> None:
    allowance = Allowance(1e-9)
    assert allowance.left
    with pytest.raises(SettingError, match="over 1e-09 seconds"):
        make_file(RECORDING, "GIF", 1.0, INSTANT, lambda share: None, allowance)
    assert not allowance.left, "what was begun is paid for"
    with pytest.raises(SettingError, match="are used up"):
        make_file(RECORDING, "GIF", 1.0, INSTANT, lambda share: pytest.fail("begun"), allowance)
    assert make_file(RECORDING, "Trace", 1.0, INSTANT, lambda share: None, allowance)


def test_a_film_that_would_last_for_hours_is_rejected_before_a_frame_is_drawn() -> None:
    trace, slow = RECORDING.trace, Seconds(forward=900.0)
    frames = tuple(
        dataclasses.replace(frame, step=retimed(frame.step, slow)) if frame.step else frame
        for frame in trace.frames
    )
    recording = RecordedRace(dataclasses.replace(trace, frames=frames), RECORDING.pictures)
    with pytest.raises(SettingError, match="would last"):
        make_file(recording, "MP4", 1.0, INSTANT, lambda share: pytest.fail("it began"))


def test_kinds_have_endings_of_their_own() -> None:
    assert len(set(KINDS.values())) == len(KINDS)


def test_a_full_disk_is_said_in_the_menu_and_leaves_nothing(monkeypatch, tmp_path: Path) -> None:
    def full(path: Path, data: bytes) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    races = Mock()
    races.kept.return_value.recording = RECORDING
    with gr.Blocks() as demo:
        share_menu(races, gr.Textbox())
    write_file = next(call.fn for call in demo.fns.values() if call.name == "write_file")
    monkeypatch.setattr(Path, "write_bytes", full)
    monkeypatch.setattr(app.page.export.tempfile, "tempdir", str(tmp_path))
    ((file, words),) = write_file("a race", "Trace", 1.0, INSTANT, Mock(client=None))
    assert not file["visible"]
    assert html.escape(NO_ROOM) in words
    assert list(tmp_path.iterdir()) == []
