from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.races.link import read_link, starts_at_once, write_link
from app.races.request_values import read_request, request_values
from engine.decoders import WHOLE
from engine.race import MAX_SEED, Lane, RaceRequest
from engine.race.request import GROUPS, SAMPLING, build_settings, parse_lane
from engine.settings import Knob, Sampling, SettingError, Settings, knobs
from tests.app.conftest import form

OWN = Sampling(guidance=1.5, top_k=256)  # what the model looks best with
DEFAULT = RaceRequest("red apple", 5, (Lane("ar"), Lane("sjd")), OWN, "toy")
MODELS = {"toy": OWN, "emu3": Sampling(guidance=3.0, top_k=2048)}
PROMPTS = (st.text(min_size=1, max_size=1000) | st.just("é\n&=+%#?;")).filter(str.strip)


def knob(spec: Knob, default: object) -> st.SearchStrategy:
    if isinstance(default, bool):
        return st.booleans()
    if spec.choices:
        return st.sampled_from(spec.choices)
    if isinstance(default, int):
        return st.integers(int(spec.low), int(spec.high))
    return st.floats(spec.low, spec.high)


def settings(group: str) -> st.SearchStrategy:
    turned = {
        name: st.just(default) | knob(spec, default) for name, spec, default in knobs(GROUPS[group])
    }
    return st.fixed_dictionaries(turned).map(lambda values: valid(group, values)).filter(bool)


def valid(group: str, values: dict[str, object]) -> Settings | None:
    """None where valid knobs do not go together."""
    try:
        return build_settings(group, values)
    except SettingError:
        return None


def lane(name: str) -> st.SearchStrategy[Lane]:
    chosen = [settings(name)] if name in GROUPS else []
    return st.builds(Lane, st.just(name), *chosen)


LANES = st.lists(st.sampled_from(sorted(WHOLE)).flatmap(lane), min_size=1, max_size=8).map(tuple)
NAMES_OF_MODELS = st.sampled_from(sorted(MODELS))
REQUESTS = st.builds(
    RaceRequest, PROMPTS, st.integers(0, MAX_SEED), LANES, settings(SAMPLING), NAMES_OF_MODELS
)


def fields(link: str) -> list[tuple[str, str]]:
    return parse_qsl(link.removeprefix("?"), keep_blank_values=True)


def read(link: str) -> RaceRequest | None:
    return read_link(fields(link), MODELS, DEFAULT)


@given(REQUESTS)
def test_every_race_comes_back_from_its_link_and_from_the_forms_values(race) -> None:
    assert read(write_link(race, MODELS[race.model])) == race
    assert read_request(request_values(race), "other") == race


def test_a_link_spells_out_what_differs_and_nothing_else() -> None:
    lanes = tuple(map(parse_lane, ("ar", "sjd:window=32")))
    request = RaceRequest("red apple", 7, lanes, Sampling(guidance=2.0, top_k=256), "toy")
    written = "?prompt=red+apple&seed=7&model=toy&lanes=ar,sjd:window=32&sampling.guidance=2.0"
    assert write_link(request, OWN) == written


def test_a_field_of_an_older_link_is_about_every_lane_that_says_nothing_else() -> None:
    for link, lanes in (
        ("?lanes=ar,sjd,gsd&sjd.window=32&gsd.G=4", ("ar", "sjd:window=32", "gsd:G=4")),
        ("?lanes=gsd,gsd:G=50;d=0.3&gsd.G=4", ("gsd:G=4", "gsd:G=50;d=0.3")),
    ):
        assert read(link).lanes == tuple(map(parse_lane, lanes))


def test_what_a_link_leaves_open_is_the_default() -> None:
    assert read("?prompt=octopus") == replace(DEFAULT, prompt="octopus")
    sampling = Sampling(guidance=3.0, top_k=9)
    assert read("?model=emu3&sampling.top_k=9").sampling == sampling
    assert read("?sjd.window=32").lanes[1].settings.window == 32


@pytest.mark.parametrize(
    "link", ["", "?__theme=dark", "?present=1", "?go=1", "?view=api&logs=container"]
)
def test_an_address_without_a_race_asks_for_none(link) -> None:
    assert read(link) is None


TRACKING = "fbclid=abc&utm_source=a.b&utm_medium=mail&gclid=1&gclid=2&ref=x&si=y&lang=de&igshid=z"


def test_fields_that_others_add_to_a_link_are_not_read() -> None:
    link = "?prompt=octopus&seed=3&lanes=ar,gsd&gsd.G=4"
    assert read(f"{link}&{TRACKING}") == read(link)
    assert read("?" + TRACKING) is None


def test_a_race_starts_at_once_only_where_the_link_says_so() -> None:
    links = ("?seed=1&go=1", "?seed=1", "?go=0", "?go=true", "?go=")
    assert [starts_at_once(fields(link)) for link in links] == [True] + [False] * 4


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("?seed=seven", "seed is a whole number"),
        ("?seed=-1", "seed is a whole number from 0 to 9007199254740991, not '-1'"),
        ("?seed=9007199254740992", "from 0 to 9007199254740991"),
        ("?seed=1&seed=2", "seed is given twice"),
        ("?prompt=", "prompt is empty"),
        ("?prompt=" + "x" * 1001, "1001 characters; at most 1000"),
        ("?lanes=", "lanes must be at most 8 of ar, jacobi"),
        ("?lanes=" + ",".join(["ar"] * 9), "at most 8"),
        ("?lanes=gsd:G=0,gsd", "GSD: G is a whole number from 1 to 100, not 0"),
        ("?lanes=gsd:speed=9", "gsd has no knob 'speed'"),
        ("?lanes=sjd-pac:tree=spine", "SJD-PAC has no setting tree any more: every node"),
        ("?lanes=sjd-pac&sjd-pac.tree=spine", "SJD-PAC has no setting tree any more: every node"),
        ("?lanes=gsd:G=4;G=5", "GSD: G is given twice"),
        ("?lanes=<b>", "lanes must be at most 8 of"),
        ("?model=other", "model must be one of toy"),
        ("?sed=1", "'sed', which this page does not know. Did you mean seed?"),
        ("?Prompt=x", "'Prompt', which this page does not know. Did you mean prompt?"),
        ("?lanez=ar", "Did you mean lanes?"),
        ("?sampling.guidence=2", "Did you mean sampling.guidance?"),
        ("?gsd.nonsense=1", "'gsd.nonsense', which this page does not know"),
        ("?lanes=gsd&gsd.G=0", "GSD: G is a whole number from 1 to 100, not 0"),
        ("?lanes=gsd&gsd.G=1.5", "GSD: G is a whole number from 1 to 100, not 1.5"),
        ("?lanes=gsd&gsd.d=nan", "GSD: d is a number from 0 to 10, not 'nan'"),
        ("?lanes=gsd&gsd.init=sideways", "init is one of random, horizontal repeat"),
        ("?lanes=ar&gsd.G=4", "gsd.G is a knob of GSD, which is not among"),
        (
            "?sampling.guided_tokens=nan",
            "guided_tokens is a whole number from 0 to 65536, not 'nan'",
        ),
        ("?sampling.top_k=-1", "Sampling: top_k is a whole number from 0 to 65536, not -1"),
        ("?" + "&".join(f"x{i}=1" for i in range(200)), "200 fields"),
    ],
)
def test_invalid_fields_are_rejected_with_their_range(link, words) -> None:
    with pytest.raises(SettingError, match=words):
        read(link)


OURS = ("prompt", "seed", "model", "lanes", "go", "sjd.window", "gsd.G", "sampling.guidance")
NAMES = st.sampled_from([*OURS, "a.b.c", "."])
TEXTS = st.text(max_size=30) | st.sampled_from(
    ["ar", "1e999", "9" * 5000, "gsd:G=4,gsd", "gsd:;=,:"]
)


@given(query=st.lists(st.tuples(NAMES | st.text(max_size=12), TEXTS), max_size=6))
def test_any_query_is_a_race_or_rejected_with_a_message(query) -> None:
    try:
        linked, message = read_link(query, MODELS, DEFAULT), "a message"
    except SettingError as error:
        linked, message = None, str(error)
    assert linked is None or isinstance(linked, RaceRequest)
    assert 5 < len(message) <= 500


def test_defaults_are_the_forms() -> None:
    request = read_request(form("x", lanes=["gsd"]), "toy")
    assert write_link(request, request.sampling) == "?prompt=x&seed=7&model=toy&lanes=gsd"
