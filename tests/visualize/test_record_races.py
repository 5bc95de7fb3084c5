"""The recorded races that ship, and the command that makes them."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from engine.decoders import DECODERS, DEFAULT, WHOLE
from engine.decoders.base import Badge
from engine.infilling import MASKED, box_mask
from engine.models import load
from engine.models.supply.card import WEIGHTS
from engine.race.request import parse_lane
from engine.reader.reader import reader_of
from engine.trace import LaneState
from engine.trace.shares import NONE
from tests.races import race_of
from tests.stopped import run_until
from tools.judge.toys import Toy
from train.judge import nearest, nearest_colours
from visualize import record_races as module
from visualize.board.board import replay
from visualize.figures.measures import sorted_shifts
from visualize.pictures.recorded_race import RecordedRace, pixels
from visualize.record_races import RACES, SPECS, TOURED, RaceSpec, main


@pytest.fixture(scope="module", params=SPECS, ids=[spec.slug for spec in SPECS])
def spec(request) -> RaceSpec:
    return request.param


def test_the_list() -> None:
    assert len({spec.slug for spec in SPECS}) == len(SPECS) >= 5
    assert all(re.fullmatch(r"[a-z][a-z-]*", spec.slug) for spec in SPECS)
    assert sum(spec.lanes == DEFAULT for spec in SPECS) >= 4
    (part,) = (spec for spec in SPECS if spec.part)  # what the tour's last chapter shows
    assert {parse_lane(lane).decoder for lane in part.lanes} >= {"ar", "assd", "parallel"}
    assert len({spec.prompt.split(" on ")[1] for spec in SPECS}) >= 4  # grounds
    (tour,) = (spec for spec in SPECS if spec.slug == "tour")
    assert set(tour.lanes) == set(WHOLE) - {
        "sjd-relaxed",
        "sjd-plus-plus",
        "zipar",
        "rows",
        "auto-correct",
    }
    assert {path.stem for path in RACES.glob("*")} == {spec.slug for spec in SPECS}


def test_what_ships_is_what_was_specified(spec) -> None:
    text = (RACES / f"{spec.slug}.json").read_bytes()
    assert len(text) < 1_250_000
    recording = RecordedRace.loads(text)
    header = recording.trace.header
    model = load("embedded")
    raced = header.prompt, header.seed, header.model, header.grid
    assert raced == (spec.prompt, spec.seed, "embedded", model.grid)
    lanes = [replace(lane, cells=()) for lane in header.lanes]
    for lane in lanes:  # a race from before may say settings that are gone, as they then were
        for name, gone in DECODERS[lane.decoder].Settings.withdrawn.items():
            assert lane.settings.pop(name, gone.values[0]) == gone.values[0]
        for name, value in parse_lane(lane.decoder).plain().settings.items():
            lane.settings.setdefault(name, value)  # it may lack settings that came later
    assert lanes == [parse_lane(lane).plain() for lane in spec.lanes]
    assert header.weights == (model.filler if spec.part else model).weights
    if spec.part:
        assert header.infilling
        mask = [code == MASKED for code in header.infilling.known]
        assert mask == box_mask(model.grid, *spec.part.box)
    length = len(header.cells)
    assert recording.trace.codebook
    snapshot = replay(recording)
    assert {lane.state for lane in snapshot.lanes} == {LaneState.FINISHED.value}
    assert all(lane.n == length and lane.picture for lane in snapshot.lanes)
    assert all(row.differs is None for row in snapshot.results)
    # What a visitor asks of a token is in it.
    tables = [recording.trace.table(i) for i in range(len(spec.lanes))]
    assert all((table.positions["top"][:, 0] != NONE).all() for table in tables)
    if spec.fork:
        cell, token = spec.fork.cell, spec.fork.token
        parent = RecordedRace.loads((RACES / f"{spec.fork.race}.json").read_bytes()).trace
        tokens = parent.tokens(0).tolist()
        assert header.infilling.known[: cell + 1] == (*tokens[:cell], token)
        assert header.infilling.parent.instead == tokens[cell] != token
        assert header.infilling.parent.race == spec.fork.race
    elif not spec.part and "gsd" in spec.lanes:
        for detail in ("groups", "candidates", "rejections"):
            assert any(len(getattr(table, detail)) for table in tables)
    for lane, table in zip(header.lanes, tables, strict=True):
        shifts = sorted_shifts(table)
        changed = DECODERS[lane.decoder].badge is Badge.CHANGED_DISTRIBUTION
        assert (len(shifts) > length / 3) == (lane.decoder != "ar")
        assert shifts.any() == changed


def test_every_lossless_lane_of_the_opening_race_draws_what_is_asked_in_its_colours() -> None:
    """A newcomer takes a thing that is missing or green for the method."""
    spec, rng = SPECS[0], np.random.default_rng(0)
    what = reader_of(WEIGHTS).read(spec.prompt).scene
    assert what.colours == ("red", "blue")
    recording = RecordedRace.loads((RACES / f"{spec.slug}.json").read_bytes())
    for name, picture in zip(spec.lanes, recording.pictures.lanes, strict=True):
        if DECODERS[name].badge is not Badge.CHANGED_DISTRIBUTION:
            drawn = pixels(picture)
            assert nearest(drawn, what, rng) == list(what.things), name
            assert nearest_colours(drawn, what) == what.colours, name


def test_a_lane_takes_at_most_600_bytes_a_token(spec) -> None:
    lanes = json.loads((RACES / f"{spec.slug}.json").read_bytes())["lanes"]
    trace = RecordedRace.loads((RACES / f"{spec.slug}.json").read_bytes()).trace
    for i, lane in enumerate(lanes):
        assert sum(map(len, lane.values())) <= 600 * int(trace.table(i).frontier[-1])


def test_seven_lanes_of_8100_tokens_stay_below_25_mb() -> None:
    """At the bytes a token of the recorded races of these lanes."""
    takes = []
    for spec in (spec for spec in SPECS if spec.lanes == DEFAULT):
        data = json.loads((RACES / f"{spec.slug}.json").read_bytes())
        length = len(data["header"]["cells"])
        takes += [sum(map(len, lane.values())) / length for lane in data["lanes"]]
    assert len(takes) >= 4 * len(DEFAULT) == 28
    assert 8100 * len(DEFAULT) * sum(takes) / len(takes) < 25e6


def test_the_weights_still_draw_what_ships() -> None:
    """Vanilla AR's first tokens, again: a race that ships and cannot be had again would be of other
    weights."""
    spec = SPECS[0]
    shipped = RecordedRace.loads((RACES / f"{spec.slug}.json").read_bytes()).trace
    model = load("embedded")
    frames = run_until(race_of(model, ["ar"], spec.prompt, spec.seed), 25).frames
    tokens = [t for frame in frames if frame.step for t in frame.step.committed["token"]]
    assert len(tokens) >= 20
    lane = spec.lanes.index("ar")
    assert shipped.table(lane).positions["token"][: len(tokens)].tolist() == tokens


def test_the_command_writes_the_races_that_are_named(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(module, "load", lambda _: Toy((4, 4), 16))
    monkeypatch.setattr(module, "RACES", tmp_path / "races")
    monkeypatch.setattr(sys, "argv", ["record", "fruit", "tour"])
    main()
    assert {path.name for path in (tmp_path / "races").iterdir()} == {"fruit.json", "tour.json"}
    assert "fruit.json: 0." in capsys.readouterr().out
    data = json.loads((tmp_path / "races" / "tour.json").read_text())
    assert [lane["decoder"] for lane in data["header"]["lanes"]] == list(TOURED)
    assert "pictures" in data
    monkeypatch.setattr(sys, "argv", ["record", "fruit", "unicorn"])
    with pytest.raises(SystemExit):
        main()
    assert "there is no race unicorn" in capsys.readouterr().err
