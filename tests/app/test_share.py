from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.form import GROUPS, SAMPLING, Entry, made, read, values
from app.share import entry, query, starts
from engine.decoders import DECODERS
from engine.race import MAX_SEED, Lane
from engine.settings import Knob, Sampling, SettingError, Settings, knobs
from tests.app.test_form import DEFAULTS

OWN = Sampling(guidance=1.5, top_k=256)  # what the model looks best with
USUAL = Entry("red apple", 5, (Lane("ar"), Lane("sjd")), OWN, "toy")
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
    return st.fixed_dictionaries(turned).map(lambda given: possible(group, given)).filter(bool)


def possible(group: str, given: dict[str, object]) -> Settings | None:
    """None where knobs that can be do not go together."""
    try:
        return made(group, given)
    except SettingError:
        return None


def lane(name: str) -> st.SearchStrategy[Lane]:
    return (
        settings(name).map(lambda chosen: Lane(name, chosen))
        if name in GROUPS
        else st.just(Lane(name))
    )


LANES = st.sets(st.sampled_from(sorted(DECODERS)), min_size=1).flatmap(
    lambda names: st.tuples(*(lane(name) for name in DECODERS if name in names))
)
ENTRIES = st.builds(
    Entry,
    PROMPTS,
    st.integers(0, MAX_SEED),
    LANES,
    settings(SAMPLING),
    st.sampled_from(sorted(MODELS)),
)


def fields(link: str) -> list[tuple[str, str]]:
    return parse_qsl(link.removeprefix("?"), keep_blank_values=True)


@given(ENTRIES)
def test_every_race_comes_back_from_its_link(asked) -> None:
    assert entry(fields(query(asked, MODELS[asked.model])), MODELS, USUAL) == asked


@given(ENTRIES)
def test_every_race_comes_back_from_the_fields(asked) -> None:
    assert read(*values(asked)) == asked


def test_a_link_spells_out_what_differs_and_nothing_else() -> None:
    lanes = (Lane("ar"), Lane("sjd", made("sjd", {"window": 32})))
    asked = Entry("red apple", 7, lanes, Sampling(guidance=2.0, top_k=256), "toy")
    assert (
        query(asked, OWN)
        == "?prompt=red+apple&seed=7&model=toy&lanes=ar,sjd&sampling.guidance=2.0&sjd.window=32"
    )


def test_what_a_link_leaves_open_is_as_usual() -> None:
    assert entry(fields("?prompt=octopus"), MODELS, USUAL) == Entry(
        "octopus", 5, USUAL.lanes, OWN, "toy"
    )
    assert entry(fields("?model=emu3&sampling.top_k=9"), MODELS, USUAL).sampling == Sampling(
        guidance=3.0, top_k=9
    )
    assert entry(fields("?sjd.window=32"), MODELS, USUAL).lanes[1].settings.window == 32


@pytest.mark.parametrize(
    "link", ["", "?__theme=dark", "?present=1", "?go=1", "?view=api&logs=container"]
)
def test_an_address_without_a_race_asks_for_none(link) -> None:
    assert entry(fields(link), MODELS, USUAL) is None


def test_a_race_starts_at_once_only_where_the_link_says_so() -> None:
    assert [
        starts(fields(link)) for link in ("?seed=1&go=1", "?seed=1", "?go=0", "?go=true", "?go=")
    ] == [True] + [False] * 4


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("?seed=seven", "seed is a whole number"),
        ("?seed=-1", "seed is a whole number from 0 to 9007199254740991, not '-1'"),
        ("?seed=9007199254740992", "from 0 to 9007199254740991"),
        ("?seed=1&seed=2", "seed is given twice"),
        ("?prompt=", "prompt is empty"),
        ("?prompt=" + "x" * 1001, "1001 characters; at most 1000"),
        ("?lanes=", "lanes can be any of ar, jacobi"),
        ("?lanes=ar,ar", "each once"),
        ("?lanes=<b>", "lanes can be any of"),
        ("?model=other", "model can be toy"),
        ("?nonsense=1", "'nonsense', which is none"),
        ("?gsd.nonsense=1", "'gsd.nonsense', which is none"),
        ("?lanes=gsd&gsd.G=0", "GSD: G is a whole number from 1 to 100, not 0"),
        ("?lanes=gsd&gsd.G=1.5", "GSD: G is a whole number from 1 to 100, not 1.5"),
        ("?lanes=gsd&gsd.d=nan", "GSD: d is a number from 0 to 10, not 'nan'"),
        ("?lanes=gsd&gsd.order=sideways", "order is one of ascending, descending"),
        ("?lanes=ar&gsd.G=4", "gsd.G is a knob of GSD, which is not among"),
        ("?sampling.top_k=-1", "Sampling: top_k is a whole number from 0 to 65536, not -1"),
        ("?" + "&".join(f"x{i}=1" for i in range(200)), "200 fields"),
    ],
)
def test_what_cannot_be_is_refused_with_the_field_and_its_range(link, words) -> None:
    with pytest.raises(SettingError, match=words):
        entry(fields(link), MODELS, USUAL)


NAMES = st.sampled_from(
    [
        "prompt",
        "seed",
        "model",
        "lanes",
        "go",
        "sjd.window",
        "gsd.G",
        "sampling.guidance",
        "a.b.c",
        ".",
    ]
)


TEXTS = st.text(max_size=30) | st.sampled_from(["ar", "1e999", "9" * 5000])


@given(st.lists(st.tuples(NAMES | st.text(max_size=12), TEXTS), max_size=6))
def test_whatever_comes_is_a_race_or_refused_in_words(given) -> None:
    try:
        asked, refusal = entry(given, MODELS, USUAL), "a message"
    except SettingError as error:
        asked, refusal = None, str(error)
    assert asked is None or isinstance(asked, Entry)
    assert 5 < len(refusal) <= 500


def test_defaults_are_the_forms() -> None:
    asked = read("x", 7, ["gsd"], *DEFAULTS[:-1], "toy")
    assert query(asked, asked.sampling) == "?prompt=x&seed=7&model=toy&lanes=gsd"
