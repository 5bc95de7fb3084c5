"""A race that fills in part of a picture, on the page's own path."""

from __future__ import annotations

import pickle
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gradio as gr
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.api import Api
from app.page.fill_in import LANES
from app.races.link import read_link, write_link
from app.races.races import Races
from app.races.recorded_races import RecordedRaces
from app.races.request_values import (
    infilling_value,
    read_request,
    recorded_values,
    request_of,
    request_values,
)
from app.workers import zerogpu
from engine.infilling import MASKED, Fills, Infilling
from engine.models import load
from engine.models.supply.card import CARDS
from engine.race import Lane, Race, RaceRequest
from engine.race.request import parse_lane
from engine.settings import Sampling, SettingError
from tests.app.conftest import (
    ANYTHING,
    NONE_RECORDED,
    VISITOR,
    Watched,
    begun,
    form,
    raced,
    ready_pool,
)
from tests.app.races.test_link import DEFAULT, MODELS, OWN, fields
from tests.engine.trace.reread import reread
from tests.infill_toys import BelowToy, NeighbourToy
from visualize.pictures.recorded_race import RecordedRace

SESSION = VISITOR.session_hash
CODES = [(7 * cell) % 16 for cell in range(36)]
MASK = [14 <= cell < 23 for cell in range(36)]
PART = Infilling.of_mask(CODES, MASK)
CALLER = SimpleNamespace(session_hash="shared", headers={}, client=None)


@pytest.fixture
def races() -> Races:
    return Races(ready_pool(NeighbourToy()), NONE_RECORDED)


PART_VALUE = infilling_value(PART, "toy")


def board(races: Races, **values: object) -> dict[str, Any]:
    """The last snapshot of an infilling's race."""
    return list(begun(races, **{"infilling": PART_VALUE} | values))[-1]


def test_every_lane_fills_in_the_masked_tokens_and_no_other(races) -> None:
    lanes = LANES[Fills.ANY.value]
    last = board(races, lanes=list(lanes))
    assert last.state == "finished"
    assert last.infilling == PART
    assert [lane.n for lane in last.lanes] == [9] * len(lanes)
    assert sorted(last.cells) == [cell for cell in range(36) if MASK[cell]]
    trace = races.kept(last.id, SESSION).recording.trace
    known = ~np.array(MASK)
    for i in range(len(lanes)):
        tokens = trace.tokens(i)
        assert (tokens >= 0).all()
        assert (tokens[known] == np.array(CODES)[known]).all()


def test_a_recorded_infilling_comes_back_from_its_file(races, tmp_path) -> None:
    last = board(races, lanes=["ar", "assd"])
    recording = races.kept(last.id, SESSION).recording
    again = RecordedRace.loads(recording.dumps())
    assert again == replace(recording, trace=reread(recording.trace))
    header = recording.trace.header
    assert recorded_values(header)["infilling"] == PART_VALUE
    assert request_of(header).infilling == PART
    file = tmp_path / "race.json"
    file.write_text(recording.dumps())
    opened = races.replay(races.kept(races.open_file(file, SESSION, "")["race"], SESSION))
    for name in ("cells", "infilling", "link", "prompt"):
        assert getattr(opened, name) == getattr(last, name), name
    assert [lane.table for lane in opened.lanes] == [lane.table for lane in last.lanes]
    assert all(lane.picture for lane in opened.lanes)


CELLS = st.lists(st.integers(MASKED, 1023), max_size=40)
KNOWN = st.tuples(CELLS, CELLS).map(lambda known: [*known[0], MASKED, *known[1]])


@given(KNOWN, st.sampled_from(["spread", "raster"]))
def test_every_infilling_comes_back_from_its_link_and_from_the_form(known, order) -> None:
    lanes = tuple(map(parse_lane, LANES[Fills.ANY.value]))
    request = RaceRequest("red apple", 7, lanes, OWN, "toy", Infilling(tuple(known), order))
    link = write_link(request, MODELS["toy"])
    assert read_link(fields(link), MODELS, DEFAULT) == request
    assert read_request(request_values(request), "other") == request


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("known=*", "damaged"),
        ("known=AAAA", "damaged"),
        ("known=AAA", "every cell is known"),
        ("known=__8&order=sideways", "order is one of spread, raster"),
        ("order=raster", "order needs a picture to fill in"),
        ("lanes=assd", "lanes must be at most 8 of ar, jacobi"),
        ("knwn=AAAA", "Did you mean known?"),
    ],
)
def test_links_that_cannot_be_say_so(query, words) -> None:
    with pytest.raises(SettingError, match=words.replace("?", r"\?")):
        read_link(fields(f"?{query}"), MODELS, DEFAULT)


@given(ANYTHING)
def test_whatever_a_browser_sends_is_an_infilling_or_rejected(value) -> None:
    try:
        request = read_request(form(infilling=value), "toy")
    except SettingError:
        return
    assert request.infilling is None


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ([MASKED] * 35, "does not fit 6 x 6 cells of 16 codes"),
        ([MASKED] * 35 + [16], "does not fit 6 x 6 cells of 16 codes"),
        (CODES, "every cell is known"),
        ([*CODES[1:], 0.5], "whole numbers"),
        ("all", "The picture to fill in must be"),
        ([MASKED] * 70_000, "at most 65536 tokens"),
    ],
)
def test_masks_that_cannot_be_say_so(races, known, words) -> None:
    with pytest.raises(gr.Error, match=words):
        next(begun(races, infilling={"known": known, "order": "spread"}))


def test_a_model_that_draws_whole_pictures_only_says_so() -> None:
    races = Races(ready_pool(Watched()), NONE_RECORDED)
    assert races.pool.fillable() == {}
    with pytest.raises(gr.Error, match="toy draws whole pictures only"):
        board(races)


ROWS = Infilling.of_mask(CODES, [cell >= 12 for cell in range(36)], "raster")
BELOW = infilling_value(ROWS, "toy")


def test_a_model_that_draws_pictures_on_does_so_with_its_own_lanes() -> None:
    races = Races(ready_pool(BelowToy()), NONE_RECORDED)
    assert races.pool.fillable() == {"toy": [6, 6, 16, "below"]}
    last = board(races, infilling=BELOW, lanes=list(LANES[Fills.BELOW.value]))
    assert last.state == "finished"
    assert [lane.n for lane in last.lanes] == [24] * len(LANES[Fills.BELOW.value])


@pytest.mark.parametrize(
    ("value", "lane", "words"),
    [
        (BELOW | {"order": "spread"}, "ar", "toy can draw a picture on from a row"),
        (PART_VALUE, "ar", "cannot fill in another part"),
        (BELOW, "assd", "ASSD asks for tokens out of order"),
        (BELOW | {"model": "other"}, "ar", "The picture to fill in is not from 'toy'"),
        (None, "assd", "ASSD fills in pictures"),
    ],
)
def test_what_it_cannot_draw_is_not_raced(value, lane, words) -> None:
    races = Races(ready_pool(BelowToy()), NONE_RECORDED)
    with pytest.raises(gr.Error, match=words):
        next(begun(races, infilling=value, lanes=["ar", lane]))


def test_the_card_of_a_model_says_whether_it_fills_in(races) -> None:
    assert races.pool.fillable() == {"toy": [6, 6, 16, "any"]}
    assert CARDS["embedded"].fills_in == load("embedded").fills_in


def test_programs_fill_in_too(races) -> None:
    race = Api(races).fill_in("red apple", 7, ["ar", "assd"], list(PART.known), "raster", CALLER)
    result = list(race)[-1]
    lanes = [(lane["decoder"], lane["tokens"]) for lane in result["lanes"]]
    assert lanes == [("ar", 9), ("assd", 9)]


def test_the_plain_request_carries_it_and_a_gpu_is_lent_for_less() -> None:
    whole = RaceRequest("red apple", 7, (Lane("ar"),), Sampling(), "janus-pro-1b")
    part = replace(whole, infilling=Infilling((MASKED, *[0] * 575)))
    assert pickle.loads(pickle.dumps(part)) == part
    assert zerogpu.duration(part) < zerogpu.duration(whole)


def test_the_board_before_the_model_is_there_has_the_mask(races) -> None:
    request = RaceRequest("red apple", 7, (Lane("assd"),), Sampling(), "toy", PART)
    shown = races.pool.waiting(request).board()
    assert shown.cells == PART.cells((6, 6))
    assert shown.infilling.known == PART.known


def test_a_stopped_infilling_is_kept_with_what_was_known(races) -> None:
    race = begun(races, infilling=PART_VALUE)
    first = next(race)
    second = next(board for board in race if board.lanes[0].picture)  # what is known is drawn
    assert first.infilling == second.infilling
    assert second.lanes[0].state == "racing"
    races.stop(first.id, "", SESSION)
    list(race)
    stored = races.kept(first.id, SESSION)
    tokens = stored.recording.trace.tokens(0)
    assert (tokens[~np.array(MASK)] >= 0).all()
    assert isinstance(Race(NeighbourToy(), request_of(stored.recording.trace.header)), Race)


def test_a_recorded_infilling_is_named_is_not_what_opens_and_is_the_tours(races, tmp_path) -> None:
    part = raced(races, lanes=["ar", "assd"], infilling=PART_VALUE).recording.dumps()
    whole = raced(races, prompt="octopus").recording.dumps()
    for name, text in (("a", part), ("b", whole), ("rows", whole), ("tour", whole)):
        (tmp_path / f"{name}.json").write_text(text)
    recorded = RecordedRaces(tmp_path)
    assert recorded.first == "b"
    assert recorded.titles["a"] == "red apple, a part filled in"
    assert recorded.tours == {"whole": "tour", "rows": "rows", "filling": "a"}
    assert recorded.replay("b").infilling is None
