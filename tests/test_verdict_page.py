"""docs/verdicts.md: every decoder is on it, with what its smallest case gives."""

from __future__ import annotations

import re

import pytest

from engine.decoders import BUILT_IN
from engine.decoders.base import Decoder
from engine.decoders.relaxed import RelaxedSettings, RelaxedSJD
from engine.decoders.verdict import Outcome
from engine.settings import Settings, knobs
from tests.pages import page, tables
from tests.tools.judge.faults import RIGHT, WRONG
from tests.verdict_page import examples, settings_of
from tools.judge.cases import Case, standard_toys
from tools.judge.counterexample import counterexample, first_difference
from tools.judge.enumeration import enumerated, exactly, sequences
from tools.judge.words import counterexample_lines

KINDS = [*BUILT_IN.values(), *examples()]
ROWS = [row for rows in tables(page("docs/verdicts.md"))[:2] for row in rows[1:]]


def case(kind: type[Decoder], words: str, settings: Settings) -> Case:
    standard, model, plan, expected = next(
        each for each in standard_toys() if words in (each[0].words, "") and each[0].suits(kind)
    )
    decoder = kind(model, settings, plan=plan)
    found = enumerated(decoder)
    joint = sequences(found.joint, decoder, plan)
    return Case(standard, model, plan, settings, found, joint, expected)


def test_every_decoder_is_there_and_why_of_each_example() -> None:
    assert [row[0] for row in ROWS] == [kind.title for kind in KINDS]
    why = re.findall(r"^\* \*\*(.+)\*\* \(`(.+)`\): ", page("docs/verdicts.md"), re.MULTILINE)
    assert why == [(kind.title, kind.name) for kind in examples()]


@pytest.mark.parametrize("number", range(len(KINDS)), ids=[kind.name for kind in KINDS])
def test_the_smallest_case_gives_what_is_written(number: int) -> None:
    kind, (_, outcome, count, pictures, words, settings, *numbers) = KINDS[number], ROWS[number]
    if not int(count):
        assert ", e = 10^" in pictures
        return
    with exactly():
        if not words:
            assert Outcome(outcome) in (Outcome.IDENTICAL, Outcome.LOSSLESS)
            assert not case(kind, words, kind.Settings()).differs
            return
        found = case(kind, words, settings_of(kind.Settings, settings))
        _, _, p, other = first_difference(found)
    assert outcome == Outcome.CHANGED.value
    assert [f"{value:.4f}" for value in (found.variation, p, other)] == numbers


def test_each_rule_of_relaxed_sjd_changes_what_is_written() -> None:
    text = page("docs/verdicts.md")
    (line,) = re.findall(r"the total variation is: (.+)\.", text)
    written = dict(each.split() for each in line.split(", "))
    (relax,) = [spec for name, spec, _ in knobs(RelaxedSettings) if name == "relax"]
    assert tuple(written) == relax.choices
    with exactly():
        for rule, number in written.items():
            settings = RelaxedSettings(window=4, fresh="uniform", relax=rule)
            found = case(RelaxedSJD, "three tokens of two codes in a row", settings)
            assert f"{found.variation:.4f}" == number


def test_no_planted_fault_is_called_lossless_and_no_right_decoder_changed() -> None:
    for rows, kinds, never in zip(
        tables(page("docs/verdicts.md"))[2:],
        (WRONG, RIGHT),
        (Outcome.LOSSLESS, Outcome.CHANGED),
        strict=True,
    ):
        listed = {row[0]: (row[1], Outcome(row[2])) for row in rows[1:]}
        assert list(listed) == [kind.__name__ for kind in kinds]
        for kind in kinds:
            words, outcome = listed[kind.__name__]
            assert words == " ".join((kind.__doc__ or "").split())
            assert outcome not in (never, Outcome.IDENTICAL, Outcome.BROKEN)
    assert len(WRONG) >= 40
    assert len(RIGHT) >= 10


def test_the_readme_shows_what_the_command_says_of_the_wrong_rule() -> None:
    kind = next(each for each in examples() if each.name == "wrong-rule")
    with exactly():
        found = counterexample(
            kind, case(kind, "three tokens of two codes in a row", kind.Settings(window=2))
        )
    said = list(counterexample_lines(found))
    shown = page("README.md").split("\nSmallest counterexample:")[1].split("\n```")[0]
    lines = f"Smallest counterexample:{shown}".splitlines()
    assert len(lines) > 10
    for line in lines:
        assert any(each.startswith(line.removesuffix("..").rstrip()) for each in said), line
