"""A race in a terminal, on a toy."""

from __future__ import annotations

import dataclasses
import errno
import functools
import io
import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from engine.decoders import DECODERS, DEFAULT, WHOLE
from engine.decoders.sjd import SJD
from engine.models.embedded import model as embedded
from engine.models.supply.card import ModelError
from engine.race import Lane, Race
from engine.trace import Frame, LaneState, Trace
from photo_finish import __main__ as cli
from tests.races import race_of
from tests.unread import unread
from tools import race as cli_race
from tools.judge.toys import InfillToy, Toy
from visualize.pictures.recorded_race import RecordedRace, pixels

Main = Callable[..., None]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Main:
    """The command `photo-finish`."""

    def call(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["photo-finish", *arguments])
        cli.main()

    return call


@pytest.fixture
def main(engine: Main, monkeypatch: pytest.MonkeyPatch) -> Main:
    """A race over a toy."""
    monkeypatch.setattr(cli_race, "load", lambda *args, **options: Toy((3, 4), 8))
    return functools.partial(engine, "race")


def test_a_race_ends_with_a_table_of_the_default_lanes(main: Main, capsys: Capture) -> None:
    main("red apple", "--seed", "7")
    out = capsys.readouterr().out
    final = out[out.rindex("lane ") :]
    default = [DECODERS[name].title for name in DEFAULT]
    assert [line.split("  ")[0] for line in final.splitlines()[1 : len(default) + 1]] == default
    assert final.count("12/12") == final.count("finished") == len(default)
    assert "'red apple', seed 7, on " in final
    assert "torch" in final


def test_the_written_trace_is_that_race(main: Main, tmp_path: Path, capsys: Capture) -> None:
    out, lanes = tmp_path / "race.json", "ar, sjd:window=4;init=vertical repeat"
    options = {"--seed": "7", "--lanes": lanes, "--guided-tokens": "5", "--out": str(out)}
    main("red apple", *itertools.chain(*options.items()))
    trace = Trace.loads(out.read_text())
    assert (trace.header.prompt, trace.header.seed, trace.header.grid) == ("red apple", 7, (3, 4))
    assert [lane.decoder for lane in trace.header.lanes] == ["ar", "sjd"]
    assert trace.header.sampling.guided_tokens == 5
    settings = SJD.Settings(window=4, init="vertical repeat")
    assert trace.header.lanes[1].settings == dataclasses.asdict(settings)
    assert [frame.state for frame in trace.frames].count(LaneState.FINISHED) == 2
    assert f"trace: {out}" in capsys.readouterr().out
    for lane, file in enumerate(RecordedRace.loads(out.read_bytes()).pictures.lanes):
        drawn = Toy((3, 4), 8).pixels(trace.tokens(lane).reshape(3, 4))
        np.testing.assert_array_equal(pixels(file), drawn)


def test_a_damaged_model_is_one_sentence(engine, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "SHA256SUMS").write_text(f"{'0' * 64}  vq/model.safetensors\n")
    damaged = functools.partial(embedded.EmbeddedModel, tmp_path / "weights")
    monkeypatch.setattr(embedded, "EmbeddedModel", damaged)
    with pytest.raises(SystemExit) as caught:
        engine("race", "red apple")
    assert caught.value.code == 2
    *_, said = capsys.readouterr().err.splitlines()
    assert "error: weights/vq/model.safetensors is missing: check out the repository" in said


def test_a_race_has_the_threads_that_are_asked_for(main: Main, capsys, monkeypatch) -> None:
    threads = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    main("x", "--lanes", "ar", "--threads", "1")
    main("x", "--lanes", "ar")
    assert threads == [1]
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    monkeypatch.setattr(cli_race, "processors", lambda: 3)  # of a container's quota
    main("x", "--lanes", "ar")
    assert threads == [1, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x", "--lanes", "jet"], "There is no decoder called 'jet'; there are ar,"),
        (["x", "--lanes", ""], "no decoder called ''"),
        ([" "], "the prompt is empty"),
        (["x", "--model", "jet"], "invalid choice: 'jet'"),
        (["x", "--guided-tokens", "-1"], "guided_tokens is a whole number from 0 to 65536, not -1"),
        (["x", "--guided-tokens", "13"], "guided_tokens is a whole number from 0 to 12, the"),
        (["x", "--guided-tokens", "all"], "invalid int value: 'all'"),
        (["x", "--dtype", "int4"], "invalid choice: 'int4'"),
        (["x", "--weights", "/no/such"], "There is no folder /no/such of weights."),
        (["x", "--threads", "0"], "--threads must be 1 or more, not 0."),
        (["x", "--out", "/no/such/folder/race.json"], "there is no folder /no/such/folder"),
        (["x", "--out", "."], "argument --out: . is a folder: name a file in it"),
    ],
)
def test_bad_arguments_end_with_a_message(
    main: Main, capsys: Capture, arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(*arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_the_help_names_the_lanes_and_the_defaults(main: Main, capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main("--help")
    shown = " ".join(capsys.readouterr().out.split()).replace("- ", "-")  # where a line ends
    assert f"up to eight of {', '.join(WHOLE)}; knobs" in shown
    assert "--seed SEED by default 0 " in shown


def test_a_race_that_nobody_reads_is_written_whole(
    main: Main, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cli_race, "_UPDATE_SECONDS", -1)  # it prints at every step
    out = tmp_path / "race.json"
    with unread():
        main("x", "--lanes", "ar,sjd", "--out", str(out))
    frames = Trace.loads(out.read_bytes()).frames
    assert [frame.state for frame in frames].count(LaneState.FINISHED) == 2


def test_a_race_that_nobody_reads_and_nobody_keeps_ends(
    main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, frames = Race.__iter__, []
    monkeypatch.setattr(cli_race, "_UPDATE_SECONDS", -1)
    monkeypatch.setattr(
        Race, "__iter__", lambda race: (frames.append(frame) or frame for frame in real(race))
    )
    with unread(), pytest.raises(SystemExit) as ended:
        main("x", "--lanes", "ar")
    assert (ended.value.code, len(frames)) == (1, 1)


def test_a_prompt_that_the_terminal_cannot_show_races(main: Main, tmp_path: Path) -> None:
    raw, out = io.BytesIO(), tmp_path / "race.json"
    stream = io.TextIOWrapper(raw, "cp1252")
    with redirect_stdout(stream):
        main("a 🍎", "--lanes", "ar", "--out", str(out))
    assert b"'a \\U0001f34e', seed 0" in raw.getvalue()
    assert Trace.loads(out.read_bytes()).header.prompt == "a 🍎"


def test_a_trace_that_could_not_be_written_is_a_sentence_after_the_table(
    main: Main, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    def full(file: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = tmp_path / "race.json"
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(SystemExit) as ended:
        main("x", "--lanes", "ar", "--out", str(out))
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert f"the trace could not be written to {out}: No space left on device" in said.err
    assert "12/12" in said.out


def test_a_failed_lane_is_reported_and_the_exit_status_is_1(
    main: Main, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(SJD, "verify", lambda *args: 1 / 0)
    with pytest.raises(SystemExit) as caught:
        main("x", "--lanes", "ar,sjd")
    assert caught.value.code == 1
    captured = capsys.readouterr()
    assert "SJD failed: ZeroDivisionError" in captured.err
    assert "finished" in captured.out
    assert "failed" in captured.out


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_race_is_shown_as_far_as_it_got(
    main: Main,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: Capture,
    number: signal.Signals,
    status: int,
) -> None:
    real = Race.__iter__

    def interrupted(self: Race) -> Iterator[Frame]:
        for i, frame in enumerate(real(self)):
            if i == 6:
                signal.raise_signal(number)
            yield frame

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(Race, "__iter__", interrupted)
    # where the tests themselves run in the background, a shell has SIGINT ignored
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as ended:
            main("x", "--lanes", "ar,sjd", "--out", str(tmp_path / "race.json"))
    finally:
        signal.signal(signal.SIGINT, ignored)
    assert ended.value.code == status
    captured = capsys.readouterr()
    assert "racing" in captured.out
    assert captured.err.endswith("\nStopped before its end.\n")
    assert signal.getsignal(signal.SIGTERM) is before
    assert len(Trace.loads((tmp_path / "race.json").read_text()).frames) == 6


def test_the_model_is_loaded_as_asked_and_after_everything_else_is_checked(
    engine: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []

    def load(*args: Any, progress: Any, **options: bool) -> Toy:
        asked.append((*args, *(name for name, on in options.items() if on)))
        raise ModelError("it is gated")

    monkeypatch.setattr(cli_race, "load", load)
    chosen = ["--model", "anole", "--device", "cuda:1", "--dtype", "float16", "--random-weights"]
    for arguments in ([" "], ["x", "--lanes", "jet"], ["x"]):
        assert asked == []
        with pytest.raises(SystemExit):
            engine("race", *arguments, *chosen)
    assert asked == [("anole", "cuda:1", "float16", "random", "graphs")]
    with pytest.raises(SystemExit):
        engine("race", "x", "--model", "anole", "--drafter", "--no-graphs", "--torchscript")
    assert asked[1:] == [("anole", "cpu", "auto", "drafter", "torchscript")]


# Filling in part of a picture


def test_a_trace_that_is_not_there_is_named(engine: Main, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        engine("infill", "missing.json")
    assert ended.value.code == 2
    assert "missing.json" in capsys.readouterr().err


def test_a_box_of_a_saved_races_picture_is_filled_in(
    engine: Main, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    toy = InfillToy((2, 3), 2)
    monkeypatch.setattr(cli_race, "load", lambda *args, **options: toy)
    race = race_of(toy, [Lane("ar")], "red apple")
    saved, out = tmp_path / "race.json", tmp_path / "filled.json"
    trace = race.trace(list(race))
    saved.write_text(trace.dumps())
    call = functools.partial(engine, "infill", str(saved))
    call("--box", "0,1,2,2", "--order", "raster", "--prompt", "green pear", "--out", str(out))
    assert capsys.readouterr().out.count("4/4") >= 3
    header, codes = Trace.loads(out.read_bytes()).header, trace.tokens(0)
    assert header.cells == (1, 2, 4, 5)
    assert [header.infilling.known[cell] for cell in (0, 3)] == [codes[0], codes[3]]
    assert header.prompt == "green pear"
    # what was filled in can be changed again
    saved.write_text(out.read_text())
    call("--box", "1,1,1,1", "--lane", "2")
    assert "1/1" in capsys.readouterr().out
    outside = "is not inside the 2 x 3 tokens."
    for option, value, words in (
        ("--lane", "9", "The race has lanes 1 to 3, not 9."),
        ("--lane", "0", "The race has lanes 1 to 3, not 0."),
        ("--box", "a", "--box must be top,left,height,width, not 'a'"),
        ("--box", "9,9,1,1", outside),
        ("--box", "1,1,200,2", outside),
        ("--box", "0,0,0,2", outside),
        ("--box", "-1,0,2,2", outside),
        ("--lanes", "jet", "no decoder called"),
        ("--out", "/no/where/x.json", "no folder"),
        ("--text", "a [2]", "blanks of a text, run python -m examples.fill_in_text"),
    ):
        with pytest.raises(SystemExit) as ended:
            call(f"{option}={value}")
        assert ended.value.code == 2
        assert words in capsys.readouterr().err
