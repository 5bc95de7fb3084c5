"""A lane from outside on the board, in a still and in the figures: its badge, what the badge says,
and a shift of 0 that is its author's word."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.decoders import DECODERS, VERDICTS
from engine.decoders.outside import classes_of
from engine.decoders.verdict import Outcome
from tests.races import raced
from tests.verdicts import verdict
from tools.judge.toys import Toy
from visualize.board.board import replay
from visualize.board.lane import PROMISES
from visualize.figures.figures import figures
from visualize.film.layers import LaneReplay, Layer
from visualize.film.still import Still
from visualize.pictures.recorded_race import RecordedRace, record

FILE = Path(__file__).parents[3] / "examples" / "decoders" / "wrong_rule.py"
LANES = ("ar", "sjd", "wrong-rule")


@pytest.fixture
def race(monkeypatch: pytest.MonkeyPatch) -> RecordedRace:
    (rule,) = classes_of(FILE)
    monkeypatch.setitem(DECODERS, rule.name, rule)
    model = Toy((4, 4), 16)
    return record(raced(model, LANES, "a prompt", 7), model)


def judged(monkeypatch: pytest.MonkeyPatch, outcome: Outcome) -> str:
    found = verdict(DECODERS["wrong-rule"], outcome)
    monkeypatch.setitem(VERDICTS, "wrong-rule", found)
    return found.sentence


def figure(race: RecordedRace, name: str) -> str:
    return next(found.sentence for found in figures(race.trace) if found.name == name)


def shown(race: RecordedRace) -> str:
    """The shift in a still, at the end."""
    still = Still(race, "passes", Layer.PICTURE)
    replayed = LaneReplay(race.trace, 2)
    return still._shift(still._spots[2], replayed.at(len(replayed.table)))


def test_without_a_verdict_its_badge_says_how_to_get_one(race: RecordedRace) -> None:
    lane = replay(race).lanes[2]
    assert (lane.badge.value, lane.rule, lane.shift) == ("not judged", "outside", None)
    assert lane.promise == (
        "A decoder from outside, not judged. Its author says: same distribution. Run photo-finish"
        " judge FILE, then restart the page."
    )
    assert shown(race) == "not judged"
    assert "Wrong rule (not judged) is" in figure(race, "acceptance")
    assert figure(race, "shift").endswith(
        "The shift of Wrong rule is 0 by the author's claim, which is not proved."
    )


@pytest.mark.parametrize(
    ("outcome", "badge", "shift", "words"),
    [
        (Outcome.LOSSLESS, "same distribution", 0, "exactly 0"),
        (Outcome.CHANGED, "changed distribution", None, "0 claimed"),
        (Outcome.OPEN, "not judged", None, "not judged"),
        (Outcome.BROKEN, "not judged", None, "not judged"),
    ],
)
def test_its_badge_follows_from_the_verdict_and_says_it(
    race: RecordedRace, monkeypatch: pytest.MonkeyPatch, outcome, badge, shift, words
) -> None:
    sentence = judged(monkeypatch, outcome)
    lane = replay(race).lanes[2]
    assert (lane.badge.value, lane.promise, lane.shift) == (badge, sentence, shift)
    assert shown(race) == words
    assert ("author's claim" in figure(race, "shift")) is (shift is None)
    assert ("Wrong rule (relaxed)" in figure(race, "acceptance")) is False


def test_where_its_decoder_is_not_at_hand_nothing_is_known_of_it(
    race: RecordedRace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(DECODERS, "wrong-rule")
    lane = replay(race).lanes[2]
    assert (lane.badge.value, lane.rule) == ("not judged", "outside")
    assert lane.promise.startswith("This machine has no such decoder")


def test_the_repository_s_own_say_what_their_badges_promise(race: RecordedRace) -> None:
    assert all(lane.promise == PROMISES[lane.badge] for lane in replay(race).lanes[:2])
