"""The verdict on a decoder from outside: which file's is read, and what a lane wears for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine import decoders
from engine.decoders import DECODERS, VERDICTS, badge_of, is_claim, outside
from engine.decoders.base import Badge, Decoder
from engine.decoders.outside import classes_of
from engine.decoders.verdict import (
    MOST_BYTES,
    Outcome,
    SampledModel,
    Samples,
    VerdictFile,
    verdict_on,
    verdict_path,
    write_verdicts,
)
from tests.verdicts import verdict

EXAMPLES = Path(decoders.__file__).parents[2] / "examples" / "decoders"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    copy = tmp_path / "my_rule.py"
    copy.write_text((EXAMPLES / "my_rule.py").read_text("utf-8"), "utf-8")
    return copy


@pytest.fixture
def rule(file: Path) -> type[Decoder]:
    (found,) = classes_of(file)
    return found


def test_a_verdict_on_this_very_text_is_read(file: Path, rule: type[Decoder]) -> None:
    assert verdict_on(rule) is None
    written = verdict(rule)
    assert (
        write_verdicts(file, [written])
        == verdict_path(file)
        == file.parent / ("my_rule.verdict.json")
    )
    assert verdict_on(rule) == written


def test_verdicts_on_other_decoders_of_the_text_stay(file: Path, rule: type[Decoder]) -> None:
    mine = verdict(rule)
    other, old = mine.model_copy(update={"decoder": "other"}), {"decoder": "old", "digest": "0"}
    write_verdicts(file, [mine, other, mine.model_copy(update=old)])
    again = verdict(rule, Outcome.CHANGED)
    path = write_verdicts(file, [again])
    assert VerdictFile.model_validate_json(path.read_text("utf-8")).verdicts == (other, again)


def test_a_verdict_on_another_text_is_none(file: Path, rule: type[Decoder], caplog) -> None:
    write_verdicts(file, [verdict(rule)])
    file.write_text(file.read_text("utf-8") + "\n", "utf-8")
    assert verdict_on(rule) is None
    assert caplog.messages == [
        f"The verdict {verdict_path(file)} is of another text than {file} has now: judge it again."
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "it is of another version: judge it again"),
        ('{"verdicts": [{"outcome": "lossless"}]}', "it is of another version: judge it again"),
        (" " * (MOST_BYTES + 1), "it has more than 8 MB"),
    ],
)
def test_what_cannot_be_read_is_left_out_with_a_warning(
    file: Path, rule: type[Decoder], caplog, text: str, words: str
) -> None:
    verdict_path(file).write_text(text, "utf-8")
    assert verdict_on(rule) is None
    assert f"is left out: {words}." in caplog.text


def test_a_verdict_on_another_decoder_is_none(file: Path, rule: type[Decoder], caplog) -> None:
    write_verdicts(file, [verdict(rule, decoder="other-rule")])
    assert verdict_on(rule) is None
    assert not caplog.messages


def test_each_decoder_of_a_file_has_its_own(file: Path) -> None:
    second = '\n\nclass Other(MyRule):\n    name, title = "other", "Other"\n'
    file.write_text(file.read_text("utf-8") + second, "utf-8")
    mine, other = classes_of(file)
    found = [verdict(mine), verdict(other, Outcome.CHANGED)]
    write_verdicts(file, found)
    assert [verdict_on(mine), verdict_on(other)] == found


@pytest.mark.parametrize(
    ("outcome", "badge", "words"),
    [
        (Outcome.IDENTICAL, Badge.IDENTICAL, "vanilla AR's very picture; in 117 exact joint"),
        (Outcome.LOSSLESS, Badge.SAME_DISTRIBUTION, "in 117 exact joint distributions no diff"),
        (Outcome.CHANGED, Badge.CHANGED_DISTRIBUTION, "by a total variation of up to 0.0975 on"),
        (Outcome.OPEN, Badge.NOT_JUDGED, "no difference was found, and none is excluded."),
        (Outcome.BROKEN, Badge.NOT_JUDGED, "it does not decode as a lane must."),
    ],
)
def test_a_lane_wears_what_was_found(
    rule: type[Decoder], monkeypatch: pytest.MonkeyPatch, outcome, badge, words
) -> None:
    monkeypatch.setitem(DECODERS, rule.name, rule)
    assert badge_of(rule.name) is Badge.NOT_JUDGED
    assert is_claim(rule.name, 0.0)
    found = verdict(rule, outcome)
    monkeypatch.setitem(VERDICTS, rule.name, found)
    assert badge_of(rule.name) is badge
    assert is_claim(rule.name, 0.0) is not badge.lossless
    assert not is_claim(rule.name, 0.1)
    assert not is_claim(rule.name, None)
    assert not is_claim("sjd", 0.0)
    assert found.sentence.startswith("Judged by Photo Finish 0.1.0: ")
    assert words in found.sentence


@pytest.mark.parametrize(
    ("claim", "outcome", "denied"),
    [
        ("identical image", Outcome.IDENTICAL, False),
        ("identical image", Outcome.LOSSLESS, True),
        ("identical image", Outcome.CHANGED, True),
        ("same distribution", Outcome.IDENTICAL, False),
        ("same distribution", Outcome.LOSSLESS, False),
        ("same distribution", Outcome.CHANGED, True),
        ("changed distribution", Outcome.LOSSLESS, False),
        ("changed distribution", Outcome.CHANGED, False),
        ("same distribution", Outcome.OPEN, False),
        ("same distribution", Outcome.BROKEN, False),
    ],
)
def test_a_claim_that_does_not_hold_is_denied(
    rule: type[Decoder], claim: str, outcome: Outcome, denied: bool
) -> None:
    sentence = verdict(rule, outcome, claim=claim).sentence
    assert sentence.endswith(f" Its author's badge, {claim}, does not hold.") is denied


def test_a_difference_that_only_samples_show_has_no_total_variation(rule: type[Decoder]) -> None:
    drawn = SampledModel(model="a row", settings={}, pictures=4096, passes=9000, log10_e=9.0)
    samples = Samples(models=(drawn,), log10_e=9.0, statistics=27, deviation=0, pooled=0)
    found = verdict(rule, Outcome.CHANGED, cases=(), samples=samples)
    assert "another distribution than vanilla AR's, as sampled pictures show." in found.sentence


def test_a_process_reads_verdicts_when_it_reads_decoders_and_warns_once(file: Path) -> None:
    """The text that runs is the one that was judged: what changes later is not read."""
    (rule,) = classes_of(file)
    write_verdicts(file, [verdict(rule)])
    worn = (
        "import json, pathlib, sys; from engine.decoders import badge_of\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "first = badge_of('my-rule').value; file.with_suffix('.verdict.json').unlink()\n"
        "print(json.dumps([first] + [badge_of('my-rule').value for _ in range(9)]))"
    )

    def badges() -> tuple[set[str], str]:
        done = subprocess.run(
            [sys.executable, "-c", worn, str(file)],
            env=os.environ | {outside.FILES: str(file)},
            capture_output=True,
            text=True,
            check=True,
        )
        return set(json.loads(done.stdout)), done.stderr

    assert badges() == ({"same distribution"}, "")
    write_verdicts(file, [verdict(rule, digest="0" * 64)])
    worn_now, said = badges()
    assert worn_now == {"not judged"}
    assert said.count("is of another text than") == 1
