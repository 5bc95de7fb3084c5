"""Forks: a race that draws a picture on from one of its tokens."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.races.fork import fork_of
from app.races.link import read_link, write_link
from app.races.race_table import StoredRace
from app.races.races import Races
from app.races.request_values import read_request, request_values
from engine.infilling import FORK, MASKED, Infilling, Parent
from engine.race import RaceRequest
from engine.settings import SettingError
from engine.trace import LaneState, Trace
from engine.trace.shares import ONE
from tests.app.conftest import ANYTHING, NONE_RECORDED, raced, ready_pool
from tests.app.races.test_link import DEFAULT, MODELS, OWN, fields
from tests.engine.trace.reread import reread
from tests.infill_toys import BelowToy
from visualize.film.still import fork_in_words

LANES = ("ar", "sjd", "gsd:G=4", "zipar", "fpi")
CELLS = 36


@pytest.fixture(scope="module")
def races() -> Races:
    return Races(ready_pool(BelowToy()), NONE_RECORDED)


@pytest.fixture(scope="module")
def parent(races) -> StoredRace:
    return raced(races, lanes=list(LANES))


def trace_of(race: StoredRace) -> Trace:
    return race.recording.trace


def fork(races: Races, request: RaceRequest) -> StoredRace:
    """The race of a request, as the form asks for it."""
    values = request_values(request)
    assert races.read(values) == request
    return raced(races, **{name: values[name] for name in ("seed", "lanes", "model", "infilling")})


def test_the_token_that_was_drawn_leads_to_the_same_pictures(races, parent) -> None:
    """Vanilla AR and Fixed point draw their whole picture again, from any cell."""
    whole = trace_of(parent).tokens(0).tolist()
    for cell in (0, 7, 34):
        request = fork_of(parent, 0, cell, whole[cell])
        again = fork(races, request)
        assert [lane.decoder for lane in request.lanes] == ["ar", "sjd", "gsd", "fpi"]
        assert trace_of(again).tokens(0).tolist() == trace_of(again).tokens(3).tolist() == whole


def test_a_fork_begins_with_its_lanes_tokens_and_says_whose(races, parent) -> None:
    trace = trace_of(parent)
    tokens, cell = trace.tokens(2).tolist(), 14
    row = ((trace.table(2).position == cell) & trace.table(2).committed).nonzero()[0][0]
    top = trace.table(2).positions[row]
    token = next(int(each) for each in top["top"] if each != tokens[cell])
    share = float(top["top_shares"][list(top["top"]).index(token)] / ONE)
    request = fork_of(parent, 2, cell, token)
    assert request.seed == trace.header.seed
    infilling = request.infilling
    assert infilling.known == (*tokens[:cell], token, *[MASKED] * 21)
    said = Parent(parent.id, 7, "GSD G=4", cell, tokens[cell], float(f"{share:.3g}"))
    assert (infilling.order, infilling.parent) == (FORK, said)
    other = fork(races, request)
    header = trace_of(other).header
    assert header.infilling == infilling == reread(trace_of(other)).header.infilling
    assert all(trace_of(other).tokens(i)[cell] == token for i in range(4))
    words = f"from seed 7, GSD G=4, row 3, column 3: token {token} instead of {tokens[cell]}, p"
    assert fork_in_words(header).startswith(words)
    # A fork of the fork has it as its parent.
    again = fork_of(other, 0, 20, 3).infilling
    assert (again.parent.race, again.known[:15]) == (other.id, (*tokens[:cell], token))


def test_other_noise_keeps_the_beginning_and_changes_the_seed(parent) -> None:
    tokens = trace_of(parent).tokens(1).tolist()
    request = fork_of(parent, 1, 14, None)
    assert request.infilling.known == (*tokens[:14], *[MASKED] * 22)
    assert request.infilling.parent == Parent(parent.id, 7, "SJD", 14)
    assert request.seed != 7


def test_a_fork_from_an_infilled_picture_has_another_seed(races, parent) -> None:
    """The picture's known tokens may come from its seed, by the noise that the fork would read."""
    known = trace_of(parent).tokens(0).tolist()[:12]
    filled = Infilling((*known, *[MASKED] * (CELLS - 12)), "raster")
    infilled = fork(races, replace(DEFAULT, seed=7, infilling=filled))
    request = fork_of(infilled, 0, 20, 3)
    assert request.infilling.parent.seed == trace_of(infilled).header.seed == 7
    assert request.seed != 7
    assert fork_of(fork(races, request), 0, 30, 3).seed == request.seed


def test_a_lane_that_cannot_draw_on_is_replaced_by_vanilla_ar(races) -> None:
    rows = raced(races, lanes=["zipar"])
    assert [lane.decoder for lane in fork_of(rows, 0, 3, 1).lanes] == ["ar"]


@pytest.mark.parametrize(
    ("lane", "cell", "token", "words"),
    [
        (5, 3, 1, "lane is a number from 0 to 4"),
        (True, 3, 1, "lane is a number"),
        (0, 36, 1, "cell is a number from 0 to 35"),
        (0, -1, 1, "cell is a number"),
        (0, 3, 16, "A token is a whole number from 0 to 15, not 16"),
        (0, 3, 1.0, "A token is a whole number"),
        (0, 0, None, "This is the first token: press New seed"),
        (0, 35, 1, "This is the last token"),
    ],
)
def test_what_cannot_be_drawn_on_is_said(parent, lane, cell, token, words) -> None:
    with pytest.raises(SettingError, match=words):
        fork_of(parent, lane, cell, token)


def test_a_lane_that_stopped_is_drawn_on_from_what_it_had(parent) -> None:
    trace = trace_of(parent)
    frames = [frame for frame in trace.frames if frame.lane == 0 and frame.step][:10]
    others = [frame for frame in trace.frames if frame.lane]
    stopped = replace(frames[-1], state=LaneState.STOPPED, step=None)
    short = replace(trace, frames=(*frames, stopped, *others))
    race = replace(parent, recording=replace(parent.recording, trace=short))
    assert fork_of(race, 0, 9, 2).infilling.masked == CELLS - 10
    with pytest.raises(SettingError, match="Choose an earlier token"):
        fork_of(race, 0, 10, 2)


@given(ANYTHING, ANYTHING, ANYTHING)
def test_whatever_a_browser_sends_is_a_fork_or_rejected(parent, lane, cell, token) -> None:
    with contextlib.suppress(SettingError):
        assert fork_of(parent, lane, cell, token).infilling.forks


PARENTS = st.builds(
    Parent,
    st.text("abcXYZ_-09", max_size=12),
    st.integers(0, 2**53 - 1),
    st.sampled_from(["SJD", "GSD G=4", "my, lane"]),
    st.just(2),
    st.none(),
    st.none(),
) | st.builds(
    Parent,
    st.just("x"),
    st.just(5),
    st.just("Vanilla AR"),
    st.just(1),
    st.integers(0, 15),
    st.none() | st.floats(0, 1).map(lambda p: round(p, 4)),
)


@given(PARENTS)
def test_every_parent_comes_back_from_its_link_and_from_the_form(parent) -> None:
    infilling = Infilling((3, 7, MASKED, MASKED), FORK, parent)
    request = replace(DEFAULT, sampling=OWN, infilling=infilling)
    linked = replace(request, infilling=replace(infilling, parent=replace(parent, race="")))
    assert read_link(fields(write_link(request, OWN)), MODELS, DEFAULT) == linked
    assert read_request(request_values(request), "other") == request


@pytest.mark.parametrize(
    "values",
    [
        {"race": "a,b"},
        {"race": "\ud800"},
        {"lane": "\ud800"},
        {"seed": True},
        {"cell": -1},
        {"more": 1},
    ],
)
def test_a_parent_that_no_link_or_file_takes_is_rejected(values) -> None:
    with pytest.raises(SettingError, match="A fork's parent"):
        Parent.read({"race": "a", "seed": 5, "lane": "SJD", "cell": 1, **values})


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("from=5,1,2,,SJD", "from needs a picture to fill in"),
        ("known=AAD__w&from=5,0,2,,SJD", "The fork does not begin"),
        ("known=AAD__w&order=fork&from=5,1,2,,SJD", "The fork does not begin"),
        ("known=AAD__w&order=fork&from=5,0,2,7,SJD", "A fork's parent has"),
        ("known=AAD__w&order=fork&from=5", "A fork's parent has"),
        ("known=AAD__w&order=fork&from=", "A fork's parent has"),
    ],
)
def test_links_to_what_is_no_fork_say_so(query, words) -> None:
    with pytest.raises(SettingError, match=words):
        read_link(fields(f"?{query}"), MODELS, DEFAULT)
