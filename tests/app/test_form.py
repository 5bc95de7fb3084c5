from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.form import GROUPS, SAMPLING, Entry, read
from engine.decoders import DECODERS
from engine.settings import SettingError, knobs

# the last is the model
DEFAULTS = [*(default for kind in GROUPS.values() for _, _, default in knobs(kind)), None]
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([10**400, -(10**400)]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def turned(group: str, name: str, value: object) -> list[object]:
    """The default knobs with one of them turned."""
    names = [(which, knob) for which, kind in GROUPS.items() for knob, _, _ in knobs(kind)]
    values = list(DEFAULTS)
    values[names.index((group, name))] = value
    return values


def test_every_decoders_knobs_are_on_the_form() -> None:
    assert list(GROUPS) == [
        SAMPLING,
        *(name for name, decoder in DECODERS.items() if knobs(decoder.Settings)),
    ]


def test_defaults_are_read_as_each_decoders_own() -> None:
    entry = read("red apple", 7, list(DECODERS), *DEFAULTS)
    assert [lane.decoder for lane in entry.lanes] == list(DECODERS)
    assert all(lane.settings == DECODERS[lane.decoder].Settings() for lane in entry.lanes)


def test_a_turned_knob_reaches_its_lane() -> None:
    assert read("x", 7, ["gsd"], *turned("gsd", "G", 4)).lanes[0].settings.G == 4
    assert read("x", 7, ["gsd"], *turned(SAMPLING, "top_k", 9)).sampling.top_k == 9


def test_knobs_of_lanes_that_do_not_race_are_not_looked_at() -> None:
    assert read("x", 7, ["ar"], *turned("gsd", "G", None)).lanes[0].decoder == "ar"


def test_the_model_is_the_pages_unless_it_is_named() -> None:
    assert read("x", 7, ["ar"], *DEFAULTS).model == ""
    assert read("x", 7, ["ar"], *DEFAULTS[:-1], "emu3").model == "emu3"
    for name in (5, ["emu3"], True):
        with pytest.raises(SettingError, match="name of a model"):
            read("x", 7, ["ar"], *DEFAULTS[:-1], name)


@pytest.mark.parametrize("seed", [7, 7.0])
def test_whole_seeds_are_whole_however_they_come(seed) -> None:
    assert read("x", seed, ["ar"], *DEFAULTS).seed == 7


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "at least one lane"),
        (None, "list of decoders"),
        ("ar", "list of decoders"),
        ([1], "list of decoders"),
        ([["ar"]], "list of decoders"),
        (["ar", "ar"], "one lane at most"),
        (["ar", "nonsense"], "The lanes can be ar"),
    ],
)
def test_lanes_that_cannot_be_are_refused_in_words(names, words) -> None:
    with pytest.raises(SettingError, match=words):
        read("x", 7, names, *DEFAULTS)


@pytest.mark.parametrize(
    "value",
    [0, 101, 2.5, None, "ten", float("nan"), float("inf"), True, 10**400, [4], "x" * 10_000],
)
def test_knobs_out_of_range_are_refused_with_their_lanes_name(value) -> None:
    with pytest.raises(SettingError, match="GSD: ") as caught:
        read("x", 7, ["gsd"], *turned("gsd", "G", value))
    assert len(str(caught.value)) <= 300


@given(
    prompt=ANYTHING,
    seed=ANYTHING,
    names=ANYTHING,
    at=st.integers(0, len(DEFAULTS) - 1),
    value=ANYTHING,
)
def test_whatever_comes_is_read_or_refused_in_words(prompt, seed, names, at, value) -> None:
    for lanes in (names, ["gsd", "sjd", "sjd-pac", "lantern"]):
        values = list(DEFAULTS)
        values[at] = value
        try:
            made, refusal = read(prompt, seed, lanes, *values), ""
        except SettingError as error:
            made, refusal = None, str(error)
        assert isinstance(made, Entry) or 10 < len(refusal) <= 400
