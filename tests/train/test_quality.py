"""Quality against passes: what is measured of a picture, and a measurement that is stopped at any
moment and goes on."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.decoders import DECODERS, WHOLE
from engine.decoders.base import Badge
from engine.infilling import MASKED, Infilling
from engine.models.base import planned
from engine.models.supply.card import WEIGHTS
from engine.race.request import parse_lane
from engine.reader.reader import describe, reader_of
from engine.reader.scene import Layout, Scene
from engine.settings import Sampling
from engine.trace.quality import Judge, Picture, Quality
from tests.engine.models.families import TINY
from tests.engine.trace.test_quality import quality
from tests.infill_toys import NeighbourToy
from tools.judge.toys import Toy, _state
from train import quality as command
from train.quality import LANES, captions, draw, judge_of, log_p, measure, resume, run

POINTS, CAPTIONS = ("ar", "sjd", "gsd:G=3"), 4
APPLE = Scene(Layout.ONE, ("red apple",), "blue", "top left")
JUDGE = Judge(100, 306, 80)


def picture(lane: str, index: int) -> Picture:
    return Picture(len(lane) + index, 0.1 * index, -1.5 * index, index, bool(index % 2))


class Stopped(Exception):
    pass


def measured(file: Path, stop: int | None = None) -> list[str]:
    """Goes on with a file, until `stop` pictures have been drawn; what was reported."""
    left, lines = [stop], list[str]()

    def count(lane: str, index: int) -> Picture:
        if left[0] is not None:
            if not left[0]:
                raise Stopped
            left[0] -= 1
        return picture(lane, index)

    run(resume(file, quality(*POINTS)), file, CAPTIONS, count, lines.append)
    return lines


@pytest.mark.parametrize("stop", range(len(POINTS) * CAPTIONS))
def test_stopped_at_any_picture_it_ends_with_the_same_file(tmp_path: Path, stop: int) -> None:
    whole, broken = tmp_path / "whole.json", tmp_path / "broken.json"
    measured(whole)
    with pytest.raises(Stopped):
        measured(broken, stop)
    if stop >= len(POINTS):
        assert len(Quality.load(broken)) == stop // len(POINTS), "all points have as many"
    measured(broken)
    assert broken.read_bytes() == whole.read_bytes()
    found = Quality.load(whole)
    assert [point.lane for point in found.points] == list(POINTS)
    for point in found.points:
        assert point.pictures == tuple(picture(point.lane, i) for i in range(CAPTIONS))


def test_a_finished_file_stays_and_more_pictures_continue_it(tmp_path: Path) -> None:
    file = tmp_path / "quality.json"
    measured(file)
    before = file.read_bytes()
    assert measured(file) == []
    assert file.read_bytes() == before
    elsewhere = replace(quality(*POINTS), machine="there", date="2026-02-03")
    run(resume(file, elsewhere), file, CAPTIONS + 2, picture, lambda line: None)
    assert len(Quality.load(file)) == CAPTIONS + 2


def test_it_reports_each_caption_and_continues_no_other_measurement(tmp_path: Path) -> None:
    lines = measured(file := tmp_path / "quality.json")
    done = [f"{i + 1}/{CAPTIONS} captions" for i in range(CAPTIONS)]
    assert [line.split(",")[0] for line in lines] == done
    with pytest.raises(ValueError, match="--out"):
        resume(file, replace(quality(*POINTS), commit="def"))


@pytest.mark.exact
def test_workers_measure_what_one_process_does(tmp_path: Path, monkeypatch, capsys) -> None:
    """Of a tiny model, whose things no judge knows."""
    file, weights = tmp_path / "quality.json", tmp_path / "weights"
    shutil.copytree(TINY["embedded"].folders["weights"], weights)
    world = json.loads((weights / "world.json").read_text("utf-8"))
    world["glyphs"] = world["glyphs"][1:]
    (weights / "world.json").write_text(json.dumps(world), "utf-8")
    monkeypatch.setattr(command, "LANES", ("fpi", "gsd:G=9", "scd"))
    options = ["--pictures=2", f"--out={file}", "--workers=2", f"--weights={weights}"]
    monkeypatch.setattr(sys, "argv", ["quality", *options])
    before = signal.getsignal(signal.SIGTERM)
    command.main()
    assert signal.getsignal(signal.SIGTERM) == before
    captured = capsys.readouterr()
    assert "2/2 captions" in captured.out
    assert "nothing is judged" in captured.err
    for point in Quality.load(file).points:  # of more calls than are ahead at once
        assert point.pictures == tuple(command.picture(weights, point.lane, i) for i in range(2))


# A picture


def toy(*, forced: bool = False) -> Toy:
    return Toy((4, 4), 8, forced=forced)


@pytest.mark.parametrize("lane", [lane for lane in LANES if parse_lane(lane).decoder in WHOLE])
def test_a_lane_draws_what_its_decoder_draws(lane: str) -> None:
    model, parsed = toy(forced=True), parse_lane(lane)
    tokens, passes, shift = draw(model, lane, "a prompt", 5)
    decoder = DECODERS[parsed.decoder](model, parsed.settings, model.sampling)
    steps = list(decoder.steps("a prompt", 5))
    assert tokens[list(decoder.plan.slots)].tolist() == decoder.generate("a prompt", 5)
    assert passes == len(steps)
    if decoder.badge is not Badge.CHANGED_DISTRIBUTION:
        assert shift == 0


def test_parallel_fills_in_the_whole_picture_whose_tokens_are_in_raster_order() -> None:
    model = NeighbourToy((4, 4), 8)
    tokens, passes, shift = draw(model, "parallel:T=4", "a prompt", 5)
    _, plan = planned(model, Infilling((MASKED,) * model.plan.length, "spread"))
    settings = parse_lane("parallel:T=4").settings
    decoded = DECODERS["parallel"](model, settings, model.sampling, plan).generate("a prompt", 5)
    assert passes == 4
    assert [tokens[cell] for cell in plan.cells] == decoded
    assert shift > 0


def test_relaxed_lanes_have_a_shift() -> None:
    lanes = ("gsd:G=50;d=10;delta=1", "sjd-relaxed:relax=amplify;k=5.0")
    assert all(draw(toy(), lane, "a prompt", 5)[2] > 0.02 for lane in lanes)


def by_hand(model: Toy, tokens: np.ndarray, temperature: float) -> float:
    """Log p of a toy's picture, token by token."""
    total = 0.0
    for i, token in enumerate(tokens.tolist()):
        if model.forced_ids[i] < 0:
            logits = model.logits[_state(tokens.tolist()[:i], model.vocab_size)]
            total += float(torch.log_softmax(logits.double() / temperature, -1)[token])
    return total


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_log_p_is_that_of_every_sampled_token(forced: bool, temperature: float) -> None:
    model = Toy((12, 10), 8, forced=forced)  # more than one window
    tokens, _, _ = draw(model, "ar", "a prompt", 1)
    sampling = Sampling(guidance=1.0, top_k=0, temperature=temperature)
    nats, cut = log_p(model, "a prompt", tokens, sampling)
    assert nats == pytest.approx(by_hand(model, tokens, temperature), rel=1e-12)
    assert cut == 0


def test_tokens_beyond_top_k_are_counted_and_keep_their_log_p() -> None:
    model = toy()
    tokens, _, _ = draw(model, "ar", "a prompt", 1)
    likeliest = [
        int(model.logits[_state(tokens.tolist()[:i], 8)].argmax()) for i in range(len(tokens))
    ]
    beyond = sum(token != best for token, best in zip(tokens.tolist(), likeliest, strict=True))
    assert beyond > 0
    nats, cut = log_p(model, "a prompt", tokens, Sampling(guidance=1.0, top_k=1))
    assert cut == beyond
    assert nats == pytest.approx(by_hand(model, tokens, 1.0), rel=1e-12)


# The judge


def test_the_judge_sees_the_finished_picture_and_its_caption(monkeypatch) -> None:
    model, seen = toy(forced=True), []

    def stub(pixels: np.ndarray, what: Scene, rng: np.random.Generator, candidates: int) -> bool:
        seen.append((pixels, what, rng.integers(1 << 30), candidates))
        return len(seen) > 1

    monkeypatch.setattr(command, "is_nearest", stub)
    found = [measure(model, lane, APPLE, 3, JUDGE) for lane in ("ar", "sjd")]
    assert [one.right for one in found] == [False, True]
    tokens, passes, _ = draw(model, "ar", describe(APPLE), 3)
    grid = tokens[np.array(model.plan.cells) >= 0].reshape(4, 4)
    assert np.array_equal(seen[0][0], model.pixels(grid))
    assert [entry[1:] for entry in seen] == [(APPLE, seen[0][2], 100)] * 2, "the same candidates"
    assert found[0].passes == passes
    assert found[0].log_p == pytest.approx(by_hand(model, tokens, 1.0), abs=1e-3)  # to 3 decimals


def test_without_a_judge_nothing_is_recognised(monkeypatch) -> None:
    monkeypatch.setattr(command, "is_nearest", lambda *_: pytest.fail("there is no judge"))
    assert measure(toy(), "ar", APPLE, 0, None).right is None


def test_the_judge_goes_with_weights_of_its_own_things_alone(monkeypatch) -> None:
    monkeypatch.setattr(command, "vocabulary", lambda: (("apple", "cat"), (), ()))
    assert judge_of({"glyphs": ["apple", "cat"]}) == Judge(100, 2, command.SIDE)
    assert judge_of({"glyphs": ["apple", "cat", "dog"]}) is None


def test_captions_are_the_held_out_ones_that_the_model_knows(monkeypatch) -> None:
    shown = [("apple", "dog"), ("apple", "cat"), ("dog", "dog")]

    def scene(stream: int, index: int, *, held: bool, **wanted: bool) -> tuple[Scene, None]:
        assert (stream, held, wanted) == (command.TEST, True, {"coloured": False, "sized": False})
        return Scene(Layout.PAIR, shown[index % 3], "blue"), None

    monkeypatch.setattr(command, "scene", scene)
    found = islice(captions({"glyphs": ["apple", "dog"]}), 4)
    assert [what.things for what in found] == [shown[0], shown[2]] * 2


def test_the_points_are_vanilla_ar_then_every_decoder() -> None:
    parsed = [parse_lane(lane) for lane in LANES]
    assert LANES[0] == "ar"
    assert {lane.decoder for lane in parsed} == {*WHOLE, "parallel"}
    assert len({(lane.decoder, lane.settings) for lane in parsed}) == len(LANES)
    sizes = [lane.settings.G for lane in parsed if lane.decoder == "gsd"]
    assert (min(sizes), max(sizes)) == (3, 100)


def test_the_prompts_are_read_as_the_scenes_that_are_judged() -> None:
    reader = reader_of(WEIGHTS)
    for what in islice(captions(json.loads((WEIGHTS / "world.json").read_text("utf-8"))), 200):
        assert reader.read(describe(what)).scene == what
