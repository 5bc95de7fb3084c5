from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.whatif import RULES, answer, lanes
from engine.decoders import DECODERS
from engine.decoders.gsd import GSDSettings
from engine.race import Lane, Race
from engine.settings import SettingError
from engine.trace import Trace
from engine.trace.rejudge import rejudge
from tests.app.test_form import ANYTHING
from tests.toy import Toy

TURNED = [10, 0.5, 0.15, 62, 0.1]


def raced(*names: str) -> Trace:
    race = Race(Toy((6, 6), 16), [Lane(name) for name in names], "x", 7)
    return race.trace(list(race))


TRACE = raced("ar", "sjd", "gsd")


def test_lanes_that_refused_may_be_asked_about() -> None:
    assert lanes(TRACE) == [("SJD", 1), ("GSD", 2)]


def test_the_answer_has_the_tally_in_it() -> None:
    tally = rejudge(TRACE, 1, "gsd", GSDSettings())
    text = answer(TRACE, 1, "gsd", TURNED)
    assert (
        f"Of the {tally.rejections} drafts that SJD refused first, GSD with G = 10, d = 0.5, delta ="
        " 0.15" in text
    )
    assert f"would have accepted {tally.accepted} ({tally.accepted / tally.rejections:.0%})" in text
    assert "this counts single decisions, not a race" in text


def test_each_rule_has_its_own_knobs() -> None:
    assert "LANTERN with k = 5, delta = 1 would" in answer(TRACE, 1, "lantern", [*TURNED[:3], 5, 1])


def test_a_rule_that_accepts_all_and_one_that_accepts_as_before() -> None:
    total = int(re.search(r"Of the (\d+)", answer(TRACE, 1, "gsd", TURNED))[1])
    assert f"accepted {total} (100%)" in answer(TRACE, 1, "lantern", [*TURNED[:3], 16, 1.0])
    assert "accepted 0 (0%)" in answer(TRACE, 1, "lantern", [*TURNED[:3], 1, 0.0])


def test_a_race_without_refusals_says_so() -> None:
    assert "No draft was refused" in answer(raced("ar"), 0, "gsd", TURNED)


def test_a_trace_without_a_codebook_says_so() -> None:
    assert "cannot be judged again" in answer(
        dataclasses.replace(TRACE, codebook=b""), 1, "gsd", TURNED
    )


@pytest.mark.parametrize(
    ("lane", "rule", "turned", "words"),
    [
        (0, "gsd", TURNED, "Choose a lane"),
        ("1", "gsd", TURNED, "Choose a lane"),
        (True, "gsd", TURNED, "Choose a lane"),
        (None, "gsd", TURNED, "Choose a lane"),
        (1, "sjd", TURNED, "Choose a rule"),
        (1, ["gsd"], TURNED, "Choose a rule"),
        (1, "gsd", [0, *TURNED[1:]], "G is a whole number from 1 to 100, not 0"),
        (1, "gsd", [10, None, *TURNED[2:]], "d is a number from 0 to 10, not None"),
        (1, "lantern", [*TURNED[:4], float("nan")], "delta is a number from 0 to 1, not nan"),
    ],
)
def test_questions_that_cannot_be_put_are_refused_in_words(lane, rule, turned, words) -> None:
    with pytest.raises(SettingError, match=words):
        answer(TRACE, lane, rule, turned)


@given(
    lane=ANYTHING,
    rule=ANYTHING | st.sampled_from(list(RULES)),
    turned=st.lists(ANYTHING, max_size=6),
)
def test_whatever_is_asked_is_answered_in_words(lane, rule, turned) -> None:
    for asked in (lane, 1):
        try:
            text = answer(TRACE, asked, rule, turned)
        except SettingError as error:
            text = str(error)
        assert 10 < len(text) < 500


def test_rules_are_decoders_knobs() -> None:
    for rule, names in RULES.items():
        assert set(names) <= {field.name for field in dataclasses.fields(DECODERS[rule].Settings)}
