from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.races.request_values import KNOBS, read_request, recorded_values, request_values
from engine.decoders import DECODERS, WHOLE
from engine.race import Race, RaceRequest
from engine.race.request import GROUPS, SAMPLING
from engine.settings import SettingError, knobs
from tests.app.conftest import ANYTHING, FIELDS, form
from tools.judge.toys import Toy


def read(**values: object) -> RaceRequest:
    return read_request(form(**values), "toy")


def test_links_have_a_name_for_every_knob() -> None:
    named = [name for name, decoder in DECODERS.items() if knobs(decoder.Settings)]
    assert list(GROUPS) == [SAMPLING, *named]
    assert len(KNOBS) == sum(len(knobs(settings)) for settings in GROUPS.values())


def test_defaults_are_read_as_each_decoders_own() -> None:
    for names in (list(WHOLE)[:8], list(WHOLE)[8:]):
        request = read(lanes=names)
        assert [lane.decoder for lane in request.lanes] == names
        assert all(lane.settings == DECODERS[lane.decoder].Settings() for lane in request.lanes)


def test_the_settings_of_a_recorded_race_are_those_it_was_raced_with() -> None:
    request = read(prompt="x", seed=9, lanes=["gsd:G=4", "ar"], knobs={"sampling.top_k": 9})
    race = Race(Toy((2, 2), 16), request)
    found = recorded_values(race.trace(list(race)).header)
    values = request_values(request)
    assert found == {name: values[name] for name in found}
    assert values.keys() - found.keys() == {"model"}


def test_the_model_is_the_pages_unless_it_is_named() -> None:
    assert read().model == "toy"
    assert read(model="").model == "toy"
    assert read(model="emu3").model == "emu3"


def test_whole_seeds_are_whole_however_they_are_sent() -> None:
    assert read(seed=7).seed == read(seed=7.0).seed == 7


@pytest.mark.parametrize(
    ("field", "wrong", "words"),
    [
        *(("prompt", wrong, "prompt is empty") for wrong in ("", " \n")),
        *(("prompt", wrong, "should show, as text") for wrong in (None, 7, ["x"], {"a": 1})),
        *(("prompt", wrong, "half a character") for wrong in ("\ud83c", "a \udfff b")),
        ("prompt", "a\0b", "holds a NUL"),
        ("prompt", "x" * 1001, "1001 characters; at most 1000"),
        *(("seed", wrong, "whole number") for wrong in (None, -1, 2**53, 10**30, 0.5, True)),
        *(("seed", wrong, "whole number") for wrong in ("7", "seven", float("nan"), {})),
        ("lanes", [], "at least one lane"),
        *(("lanes", wrong, "list of texts") for wrong in (None, 5, "ar", [1], [None], [["ar"]])),
        ("lanes", ["ar"] * 9, "1 to 8 lanes, not 9"),
        ("lanes", ["ar", "nonsense"], "no decoder called 'nonsense'; there are ar"),
        ("lanes", ["__class__"], "no decoder called"),
        ("lanes", ["gsd:speed=1"], "gsd has no knob 'speed'; it has window"),
        ("lanes", ["gsd:G=4;G=5"], "GSD: G is given twice"),
        *(("model", wrong, "name of a model") for wrong in (5, ["emu3"], True, [])),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_cannot_be_raced_is_rejected_with_a_message(field, wrong, words) -> None:
    with pytest.raises(SettingError, match=words):
        read(**{field: wrong})


@pytest.mark.parametrize(
    "value", ["0", "101", "2.5", "", "ten", "nan", "inf", "true", "1e400", "9" * 400, "x" * 10_000]
)
def test_knobs_out_of_range_are_rejected_with_their_lanes_name(value) -> None:
    with pytest.raises(SettingError, match="GSD: ") as caught:
        read(lanes=[f"gsd:G={value}"])
    assert len(str(caught.value)) <= 300


@given(
    prompt=ANYTHING,
    seed=ANYTHING,
    names=ANYTHING | st.lists(st.text(max_size=30).map("gsd:".__add__), max_size=3),
    field=st.sampled_from(FIELDS),
    value=ANYTHING,
)
def test_any_values_are_read_or_rejected_with_a_message(prompt, seed, names, field, value) -> None:
    for lanes in (names, ["gsd:d=0.3", "sjd", "sjd-pac", "lantern"]):
        try:
            values = form(prompt=prompt, seed=seed, lanes=lanes) | {field: value}
            request, message = read_request(values, "toy"), ""
        except SettingError as error:
            request, message = None, str(error)
        assert isinstance(request, RaceRequest) or 10 < len(message) <= 400
