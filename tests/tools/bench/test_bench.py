"""The bench, on a toy: its last line is JSON, and its figures fit together."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import json
import math
import sys
from typing import Any
from unittest.mock import patch

import pytest

from engine.decoders.sjd import SJD
from engine.infilling import MASKED, Infilling
from engine.models.base import planned
from engine.models.families import janus
from engine.models.supply import device
from engine.models.supply.card import CARDS, GIB
from engine.race import MAX_SEED, Lane, RaceRequest
from photo_finish import __main__ as cli
from tests.engine.models.families import JANUS
from tools import race as cli_race
from tools.bench import command as bench
from tools.bench import infill as bench_infill
from tools.judge.toys import InfillToy, Toy

Capture = pytest.CaptureFixture[str]
LANES = ["ar", "sjd:window=4", "lantern:k=8"]
KEYS = {"nfe", "step_compression", "mean_acceptance_length", "acceptance_histogram"}
KEYS |= {"drafter_passes", "seconds", "ms_per_pass", "ms_per_step", "outside_forward"}
KEYS |= {"not_charged", "shift", "speed_up"}


def run_bench(*arguments: str) -> tuple[list[str], list[str]]:
    """The lines that the command prints to stdout and to stderr."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["photo-finish", "bench", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        cli.main()
    return out.getvalue().rstrip().splitlines(), err.getvalue().splitlines()


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    """What a bench of two prompts and two seeds prints last, with the card before it under
    `card`."""
    with patch.object(cli_race, "load", lambda *args, **options: Toy((3, 4), 8)):
        lines, err = run_bench("--lanes", ",".join(LANES), "--prompts", "2", "--seeds", "2")
    assert "".join(err).count("/4 ") == 4
    return json.loads(lines[-1]) | {"card": lines[:-1]}


def test_the_last_line_says_what_was_measured_where(result: dict[str, Any]) -> None:
    named = [result[name] for name in ("model", "races", "prompts", "seeds")]
    assert named == ["toy", 4, 2, 2]
    assert "torch" in result["machine"]
    assert result["torch"]
    assert list(result["lanes"]) == LANES
    for figures in result["lanes"].values():
        assert set(figures) == KEYS
        assert set(figures["ms_per_step"]) == {"total", "forward", "verify", "cache", "draft"}


def test_the_figures_fit_together(result: dict[str, Any]) -> None:
    for name, figures in result["lanes"].items():
        histogram = figures["acceptance_histogram"]
        assert sum(int(length) * times for length, times in histogram.items()) == 4 * 12
        assert sum(histogram.values()) == pytest.approx(4 * figures["nfe"]["mean"])
        assert figures["step_compression"] == figures["mean_acceptance_length"]
        parts = figures["ms_per_step"]
        spent = sum(parts[part]["mean"] for part in ("forward", "verify", "cache", "draft"))
        assert spent == pytest.approx(parts["total"]["mean"], abs=1e-3)
        assert figures["ms_per_pass"] == parts["forward"]
        assert 0 < figures["outside_forward"]["mean"] < 1
        assert figures["not_charged"]["mean"] > 0
        assert figures["speed_up"]["mean"] > 0
        assert (figures["drafter_passes"]["mean"] > 0) == (name == "lantern:k=8")
        if name != "ar":
            assert (figures["shift"]["mean"] > 0.001) == (name == "lantern:k=8")
    ar = result["lanes"]["ar"]
    assert ar["shift"] is None  # no draft was tested
    assert ar["nfe"] == {"mean": 12, "plus_minus": 0}
    assert ar["step_compression"] == {"mean": 1, "plus_minus": 0}
    assert ar["acceptance_histogram"] == {"1": 48}
    assert ar["speed_up"] == {"mean": 1, "plus_minus": 0}


def test_the_card_has_a_row_a_lane(result: dict[str, Any]) -> None:
    rows = [line for line in result["card"] if line.startswith("|")]
    names = [row.split("|")[1].strip() for row in rows[2:]]
    assert names == ["Vanilla AR", "SJD:window=4", "LANTERN:k=8"]
    assert len({row.count("|") for row in rows}) == 1


def test_without_vanilla_ar_there_is_no_speed_up() -> None:
    with patch.object(cli_race, "load", lambda *args, **options: Toy((2, 2), 4)):
        lines, _ = run_bench("--lanes", "sjd", "--prompts", "1", "--seeds", "1")
    assert "speed_up" not in json.loads(lines[-1])["lanes"]["sjd"]


@pytest.mark.parametrize("raced", [0, 2])
def test_an_interrupted_bench_prints_the_figures_of_the_races_that_are_over(raced: int) -> None:
    real, calls = bench.race, itertools.count(-1)  # the first one warms up

    def race(*args: Any) -> Any:
        if next(calls) == raced:
            raise KeyboardInterrupt
        return real(*args)

    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(cli_race, "load", lambda *args, **options: Toy((2, 2), 4)),
        patch.object(bench, "race", race),
        patch.object(sys, "argv", ["photo-finish", "bench", "--lanes", "ar", "--prompts", "2"]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    assert ended.value.code == 130
    assert err.getvalue().endswith("\nStopped before its end.\n")
    if raced:
        assert json.loads(out.getvalue().splitlines()[-1])["races"] == raced
    else:
        assert out.getvalue() == ""


def test_one_prompt_from_seeds_of_ones_own() -> None:
    with patch.object(cli_race, "load", lambda *args, **options: Toy((2, 2), 4)):
        lines, err = run_bench(
            *(
                "--prompt",
                "an octopus",
                "--seed",
                "7",
                "--seeds",
                "2",
                "--lanes",
                "sjd,sjd:window=2",
            )
        )
    assert err == ["1/2 an octopus, seed 7", "2/2 an octopus, seed 8"]
    assert [json.loads(lines[-1])[name] for name in ("races", "prompts", "seeds")] == [2, 1, 2]
    assert all(" ± " in line.split("|")[2] for line in lines if line.startswith("| SJD"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lanes", "jet"], "no decoder called 'jet'"),
        (["--prompts", "0"], "--prompts must be 1 to 6"),
        (["--prompts", "7"], "--prompts must be 1 to 6"),
        (["--seeds", "0"], "--seeds at least 1"),
        (["--seed", "-1"], "The seed is a whole number"),
        (["--seed", str(MAX_SEED)], "The seed is a whole number"),
        (["--prompt", " "], "the prompt is empty"),
        (["--prompt", "octopus", "--infill"], "leave out --infill"),
        (["--model", "emu3", "--random-weights"], "Emu3-Gen needs "),
        (["--random-weights"], "comes with its own weights"),
        (["--model", "jet"], "invalid choice: 'jet'"),
        (["--device", "toaster"], "'toaster' is not a device"),
        (["--grids", "1"], "a grid's side must be a whole number from 2 to 256"),
        (["--grids", "24,a"], "a grid's side must be a whole number from 2 to 256"),
        (["--grids", "3", "--lanes", "nobody"], "nobody"),
    ],
)
def test_bad_arguments_and_models_that_cannot_be_had_end_with_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, arguments: list[str], message: str
) -> None:
    monkeypatch.setattr(device, "main_memory", lambda: 4 * GIB)
    with (
        patch.object(sys, "argv", ["photo-finish", "bench", *arguments]),
        pytest.raises(SystemExit) as caught,
    ):
        cli.main()
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_a_lane_that_fails_ends_the_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SJD, "verify", lambda *args: 1 / 0)
    model = Toy((2, 2), 4)
    with pytest.raises(RuntimeError, match="sjd failed: ZeroDivisionError"):
        bench.race(model, RaceRequest("x", 0, (Lane("sjd"),), model.sampling, model.name))


def test_a_public_model_with_random_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real way of `--model janus-pro-1b --random-weights`, on a body and a grid small enough
    for a test."""
    card = dataclasses.replace(CARDS["janus-pro-1b"], grid=(3, 3), length=9)
    monkeypatch.setitem(CARDS, "janus-pro-1b", card)
    monkeypatch.setattr(janus, "config", lambda card: JANUS.small)
    monkeypatch.setattr(device, "main_memory", lambda: 100 * GIB)
    options = ["--lanes", "ar,sjd:window=4", "--prompts", "1", "--seeds", "1"]
    lines, err = run_bench("--model", "janus-pro-1b", "--random-weights", *options)
    result = json.loads(lines[-1])
    assert (result["model"], result["random_weights"]) == ("janus-pro-1b", True)
    assert lines[0].startswith("janus-pro-1b with random weights, 1 races")
    assert result["lanes"]["ar"]["nfe"]["mean"] == 9
    assert 1 <= result["lanes"]["sjd:window=4"]["nfe"]["mean"] <= 9
    assert err[:2] == ["Loading Janus-Pro 1B, 0%", "Loading Janus-Pro 1B, 100%"]


# Infillings


def test_the_infilling_bench_prints_every_lane_share_and_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bench, "load_model", lambda args: InfillToy((2, 3), 2))
    lanes = "ar,assd:k=2,assd:drafts=n-gram"
    lines, _ = run_bench("--infill", "--prompts", "1", "--seeds", "2", "--lanes", lanes)
    result = json.loads(lines[-1])
    assert len(result["figures"]) == 2 * 4 * 2 * 3
    assert "each figure of 4 fills" in lines[0]
    passes, rest = (
        {row.split("|")[1].strip(): row.split("|")[2:-1] for row in table.splitlines()}
        for table in "\n".join(lines[2:-2]).split("\n\n")
    )
    assert [len(row) for row in passes.values()] == [8] * 5, "two orders of four shares"
    assert [len(row) for row in rest.values()] == [6] * 5
    assert passes["Vanilla AR"] == [" 1.00 ± 0.00 "] * 8
    both = [
        found["log_likelihood_per_cell"]["mean"]
        for name, found in result["figures"].items()
        if name.endswith("95% spread ar")
    ]
    assert len(both) == 2, "JSON has the kinds of mask apart"
    assert float(rest["Vanilla AR"][2].split("±")[0]) == pytest.approx(sum(both) / 2, abs=0.006)
    for name, found in result["figures"].items():
        assert found["log_likelihood_per_cell"]["mean"] < 0
        assert found["entropy"]["mean"] >= 0
        passes = found["passes_per_cell"]["mean"]
        assert passes == 1 if name.endswith(" ar") else passes <= 1


def test_more_lanes_than_a_race_has_are_raced_in_turns() -> None:
    lanes = [Lane("ar")] * 10
    names = [str(i) for i in range(10)]
    runs = bench_infill.run(InfillToy((2, 3), 2), names, lanes, ["a prompt"], 1)
    assert {name for *_, name in runs} == set(names)
    assert all(len(found) == 1 for found in runs.values())


@pytest.mark.parametrize("kind", bench_infill.MASKS)
def test_masks_cover_about_their_share(kind: str) -> None:
    for share, seed in itertools.product(bench_infill.SHARES, range(5)):
        mask = bench_infill.draw_mask(kind, share, (16, 16), seed)
        assert abs(mask.mean() - share) < 0.05
        assert mask.shape == (256,)


def test_the_log_likelihood_is_the_joint_distributions() -> None:
    toy = InfillToy((2, 3), 2)
    _, plan = planned(toy, Infilling((MASKED, 0, MASKED, 1, MASKED, 1)))
    for tokens, chance in toy.joint_distribution(plan).items():
        found = bench_infill.log_likelihood(toy, plan, "", toy.sampling, tokens)
        assert found == pytest.approx(math.log(chance), rel=1e-12)
    assert bench_infill.entropy([1, 1, 2, 2]) == pytest.approx(math.log(2))
