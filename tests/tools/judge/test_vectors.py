"""The test vectors for other engines: by the engine, by the NumPy reader, and others' own."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from tests.pages import page, table
from tools.judge.enumeration import exactly
from tools.judge.vectors import (
    DECIMALS,
    Case,
    Trees,
    Vectors,
    main,
    outcome_distributions,
    published_cases,
    to_json,
    to_schema,
)

READER = page("examples/read_vectors.py")
VECTORS = Vectors.model_validate_json(page("docs/vectors.json"))
CASES = VECTORS.cases
ROUNDED = 10**-DECIMALS
each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

# One change of the reader each: a rule as somebody might write it.
PLANTED = {
    "u <= a": ("np.array(uniforms) < tests", "np.array(uniforms) <= tests"),
    "residual of p alone": ("np.maximum(scale[i] * p[i] - q[i], 0)", "scale[i] * p[i]"),
    "a rejected draft is replaced from p": ("left[accepted] / total if", "p[accepted] if"),
    "a residual of |p - q|": ("np.maximum(scale[i] * p[i] - q[i], 0)", "np.abs(p[i] - q[i])"),
    "a residual of q - p": (
        "np.maximum(scale[i] * p[i] - q[i], 0)",
        "np.maximum(q[i] - scale[i] * p[i], 0)",
    ),
    "not normalised": ("left[accepted] / total if", "left[accepted] if"),
    "no fallback where nothing is left": (" if total > 0 else p[accepted]", ""),
    "the bonus is another row": ("return accepted, p[-1], tests", "return accepted, p[-2], tests"),
    "drafts behind a rejection count": ("np.cumprod(passed).sum()", "passed.sum()"),
    "a ratio of q to p": ("p[i][x] / q[i][x]", "q[i][x] / max(p[i][x], 1e-9)"),
    "a block's residual is of p": (
        "total = left[accepted].sum()",
        "left[accepted] = np.maximum(p[accepted] - q[accepted], 0); total = left[accepted].sum()",
    ),
    "a prefix product without a bound": ("else min(1.0, scale[-1] * r)", "else scale[-1] * r"),
    "a prefix product of ratios cut off each": ("scale[-1] * r)", "scale[-1] * min(1.0, r))"),
    "a prefix product cut off once": (
        'if rule == "token" else min(1.0, scale[-1] * r)',
        'if rule == "token" else min(1.0, np.prod(ratio[: len(scale)]))',
    ),
    "S of the draft's own position": (
        "left[i].sum()",
        "np.maximum(scale[i] * p[i - 1] - q[i - 1], 0).sum()",
    ),
    "S without a": ("left[i].sum()", "np.maximum(p[i] - q[i], 0).sum()"),
    "h without 1 - a": (
        "tests[i - 1] = mass / (mass + 1 - a) if a < 1 else 1.0",
        "tests[i - 1] = float(mass > 0)",
    ),
    "h is a": ("tests[i - 1] = mass / (mass + 1 - a) if a < 1 else 1.0", "tests[i - 1] = a"),
    "the last draft has its ratio": ("tests[-1] = scale[-1]", "pass"),
    "a block ends at its first failure": (
        "int(np.max(np.flatnonzero(passed) + 1, initial=0))",
        "int(np.cumprod(passed).sum())",
    ),
    "a tree's a is S": (
        "            a = mass / (mass + 1 - a) if a < 1 else 1.0",
        "            a = min(1.0, mass)",
    ),
    "a tree's a is S / (1 - q(x))": (
        "            a = mass / (mass + 1 - a) if a < 1 else 1.0",
        "            a = min(1.0, mass / max(1 - draw[x], 1e-9))",
    ),
    "a tree's residual has no a": ("np.maximum(a * here - draw, 0)", "np.maximum(here - draw, 0)"),
    "a tree's q keeps what failed": ("draw = np.where(np.arange(len(draw)) == x, 0, draw)", "pass"),
    "a tree's a is not cut off": ("min(1.0, a * here[x] / draw[x])", "a * here[x] / draw[x]"),
    "a tree's longest path wins": (
        "return *passed[0], tests",
        "return *max(passed, key=lambda each: len(each[0])), tests",
    ),
    "u <= a in a tree": ("uniforms[node - 1] < a", "uniforms[node - 1] <= a"),
}


def reader(old: str = "", new: str = "") -> SimpleNamespace:
    """The reader, with one change."""
    assert not old or READER.count(old) == 1
    names: dict[str, object] = {"__name__": "reader"}
    exec(READER.replace(old, new) if old else READER, names)
    return SimpleNamespace(**names)


def failing(rule: SimpleNamespace) -> Iterator[str]:
    for case in CASES:
        with np.errstate(all="ignore"):
            if any(rule.failures(case.model_dump(), VECTORS.tolerance)):
                yield case.name


def test_the_command_writes_the_file_and_its_schema(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["vectors", str(tmp_path)])
    main()
    for name in ("vectors.json", "vectors.schema.json"):
        assert (tmp_path / name).read_text("utf-8") == page(f"docs/{name}"), name
    assert to_json(VECTORS) == page("docs/vectors.json")
    assert len(page("docs/vectors.json")) < 70_000


def test_the_file_fits_its_schema() -> None:
    """By pydantic; and the schema asks for every field of the file and no other."""
    schema = json.loads(to_schema())
    assert schema == json.loads(page("docs/vectors.schema.json"))
    assert set(schema["$defs"]["Case"]["required"]) == set(Case.model_fields)
    for kind in (schema, *schema["$defs"].values()):
        assert kind["additionalProperties"] is False
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "changed",
    [
        {"drafts": [1, 0, 0]},
        {"uniforms": [0.5, 1.0]},
        {"drafts": [1, 1], "q": [[0.5, 0.5, 0, 0], [1.0, 0, 0, 0]]},
        {"first_token": None},
        {"next": [1.0]},
        {"other": 0},
    ],
)
def test_a_case_that_does_not_fit_together_is_rejected(changed: dict[str, object]) -> None:
    case = published_cases()[0].model_dump()
    Case.model_validate(case)
    with pytest.raises(ValidationError):
        Case.model_validate(case | changed)


def test_distributions_sum_to_one_in_decimal() -> None:
    for case in CASES:
        sums = {sum(Decimal(str(value)) for value in row) for row in [*case.p, *case.q]}
        if case.name.startswith("only rounding"):
            sums = {sum(Decimal(str(value)) for value in row) for row in case.p}
        assert sums == {1} or case.first_token is None, case.name


@each
def test_what_is_expected_is_lossless(case: Case) -> None:
    """The first token is one of p, and so are whole sequences, by the engine."""
    if case.first_token is None:
        assert case.source is not None
        return
    near = {"rtol": 0, "atol": ROUNDED}
    np.testing.assert_allclose(case.first_token, case.p[0], **near)
    np.testing.assert_allclose(sum(case.accepted_distribution), 1, atol=len(case.p) * ROUNDED)
    with exactly():
        p, q = torch.tensor(case.p), torch.tensor(case.q)
        if case.parents:
            sequences = Trees(p, q, case.parents.count(0)).outcome_distributions()[1]
        else:
            sequences = outcome_distributions(case.rule, p, q)[1]
        product = functools.reduce(lambda joint, row: joint[..., None] * row, p)
    torch.testing.assert_close(sequences, product, **near)


def test_a_block_accepts_no_fewer_on_average() -> None:
    """Of a chain in both rules; 10/9 and 11/9 of the paper's example."""
    means = {}
    for case in CASES:
        if case.accepted_distribution is not None:
            chain = json.dumps([case.p, case.q])
            mean = sum(k * chance for k, chance in enumerate(case.accepted_distribution))
            means.setdefault(chain, {})[case.rule] = mean
    both = [mean for mean in means.values() if len(mean) == 2]
    assert len(both) >= 4
    assert all(mean["block"] >= mean["token"] - VECTORS.tolerance for mean in both)
    (paper,) = [mean for mean in both if abs(mean["token"] - 10 / 9) < VECTORS.tolerance]
    assert abs(paper["block"] - 11 / 9) < VECTORS.tolerance


def test_the_reader_passes_every_case() -> None:
    assert list(failing(reader())) == []
    done = subprocess.run(
        [sys.executable, "examples/read_vectors.py", "docs/vectors.json"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, f"0 of {len(CASES)} cases fail\n")


@each
def test_in_float32_as_many_drafts_are_accepted(case: Case) -> None:
    p, q, uniforms = (np.array(rows, np.float32) for rows in (case.p, case.q, case.uniforms))
    if case.parents:
        path, following, _ = reader().traverse(p, q, case.parents, case.drafts, uniforms)
        assert path == case.path
    else:
        accepted, following, _ = reader().verify(case.rule, p, q, case.drafts, uniforms)
        assert accepted == case.accepted
    np.testing.assert_allclose(following, case.next, rtol=0, atol=1e-5)
    # No other u is near its threshold, so that a processor's rounding decides nothing.
    exact = case.name.startswith(("only rounding", "u at the threshold"))
    for u, a in zip(case.uniforms, case.acceptance, strict=True):
        assert exact or u == a == 0 or abs(u - a) > 9e-4


@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_rule_fails(name: str) -> None:
    failed = list(failing(reader(*PLANTED[name])))
    assert failed
    assert len(failed) < len(CASES), "the change breaks the reader"


def test_others_vectors_are_what_these_rules_give() -> None:
    published = [case for case in CASES if case.source]
    assert len(published) == 7
    for case in published:
        assert re.fullmatch(r"https://github\.com/[\w./-]+/blob/[0-9a-f]{40}/.+", case.source.url)
        if (output := case.source.output) is None:
            continue
        assert output[: case.accepted] == case.drafts[: case.accepted]
        following = output[case.accepted :]
        assert len(following) == (case.accepted < len(case.drafts))
        assert all(case.next[token] > 0 for token in following)


def test_an_exponential_race_picks_what_others_tests_expect() -> None:
    """argmax(next / e) at the exponentials e of their tests."""
    races = {
        "test_sample_recovered_blockwise_pytorch_selects_argmax": [0.1, 0.8, 0.1],
        "test_sample_recovered_tokens_pytorch_ngram": [0.5, 0.4, 0.1],
    }
    for case in CASES:
        if case.source and case.source.test in races:
            e = races.pop(case.source.test)
            assert [int(np.argmax(np.array(case.next) / e))] == case.source.output
    assert not races


def test_the_page_has_every_field_and_the_reader() -> None:
    text = page("docs/vectors.md")
    shown = [row[0].strip("`") for row in table(text, "field")]
    assert shown == list(Case.model_fields)
    assert [row[0].strip("`") for row in table(text, "key")] == list(Vectors.model_fields)
    (block,) = re.findall(r"```python\n(.+?)```", text, re.DOTALL)
    assert f"\n{block}\n\ndef" in READER
    at_most = (
        reader("np.array(uniforms) < tests", "np.array(uniforms) <= tests"),
        reader("uniforms[node - 1] < a", "uniforms[node - 1] <= a"),
    )
    assert [len(list(failing(each))) for each in at_most] == [5, 2]  # the page says how many
