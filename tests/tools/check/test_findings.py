"""What the checks find, good and bad: with fakes, where a GPU would be needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.failures import Failure
from engine.graphs import Captures
from engine.models.body import BodyModel
from engine.trace import Frame, LaneState
from tests.engine.race.test_captures import Captured, raises
from tests.engine.recorded_graph import capture
from tools.bench.grids import random_model
from tools.check import finding, lanes, races, report, speed, steps
from tools.check.finding import Finding, Grade, Subject, fault, good, left_out, run

CPU = torch.device("cpu")


def small(device: torch.device = CPU, dtype: torch.dtype = torch.float32) -> BodyModel:
    return random_model(3, device, dtype)


def captured(fake: Callable[[Callable[[], Any]], Captured] | None) -> Subject:
    model = small()
    model.static = True
    model.captures = Captures(lambda: fake) if fake else None
    return Subject(model, small)


def on_gpu() -> Subject:
    model = small()
    model.device = torch.device("cuda")
    return Subject(model, small)


def of_lane(found: Iterator[Finding], name: str) -> Finding:
    return next(each for each in found if each.figures.get("lane") == name)


def test_a_fault_alone_says_what_to_do() -> None:
    for made in (lambda: fault("a", "b", ""), lambda: Finding("a", Grade.GOOD, "b", "c")):
        with pytest.raises(ValueError, match="a fault, and nothing else, must say what to do"):
            made()


def test_a_check_that_raises_is_a_fault_and_what_it_found_before_stays() -> None:
    def check(subject: Subject) -> Iterator[Finding]:
        yield good("first", "was there.")
        raise KeyError("second")

    first, second = run(check, captured(None), "both")
    assert (first.name, first.outcome) == ("first", Grade.GOOD)
    assert (second.name, second.outcome) == ("both", Grade.FAULT)
    assert second.words == "It raised KeyError: 'second'"
    assert finding.REPORT in second.advice


# Lanes


def test_lanes_are_the_same_however_they_are_launched(monkeypatch) -> None:
    monkeypatch.setattr(lanes, "WHOLE", ("ar", "lantern", "sjd-pac"))
    for fake, words in (
        (None, "static shapes change no token."),
        (capture, "all that is recorded is the same."),
    ):
        found = list(lanes.check_lanes(captured(fake)))
        assert {each.outcome for each in found} == {Grade.GOOD}
        assert all(words in each.words for each in found), found


def test_a_capture_that_draws_other_tokens_is_a_fault() -> None:
    def differs(function: Callable[[], Any]) -> Captured:
        result, replay = capture(function)

        def wrong() -> None:
            replay()
            if isinstance(result, torch.Tensor):  # the logits
                result.copy_(result.flip(-1))

        return result, wrong

    found = of_lane(lanes.check_lanes(captured(differs)), "ar")
    assert found.outcome is Grade.FAULT
    assert found.figures["static_differs_at"] is None
    # The first two tokens are drawn before anything is replayed.
    assert found.figures["captured_differs_at"] >= 1
    assert "PHOTO_FINISH_GRAPHS=off" in found.advice


def test_a_lane_that_runs_without_graphs_is_a_fault_that_needs_nothing() -> None:
    found = of_lane(lanes.check_lanes(captured(raises)), "sjd")
    assert found.outcome is Grade.FAULT
    assert "not permitted when stream is capturing" in found.words
    assert "nothing needs to be set" in found.advice


def test_logits_are_those_of_the_same_weights_in_float64() -> None:
    subject = captured(None)
    assert [each.outcome for each in lanes.check_logits(subject)] == [Grade.GOOD]
    head = subject.model.head
    subject.model.head = lambda hidden: 1.01 * head(hidden)  # type: ignore[method-assign]
    (found,) = lanes.check_logits(subject)
    assert found.outcome is Grade.FAULT
    assert "--dtype float32" in found.advice


def test_logits_are_left_out_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "available", lambda device: 2**20)
    (found,) = lanes.check_logits(captured(None))
    assert found.outcome is Grade.LEFT_OUT


# Steps


def test_after_a_capture_that_fails_the_next_lane_is_captured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lanes, "FailingCapture", lambda device: raises)
    subject = captured(capture)
    (found,) = lanes.check_failed_capture(subject)
    assert found.outcome is Grade.GOOD
    subject.model.captures.without["sjd"] = "a capture that failed"
    (found,) = lanes.check_failed_capture(subject)
    assert found.outcome is Grade.FAULT


def test_a_captured_step_that_waits_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Counter({"kernels": 4, "graphs": 4, "copies": 7})
    where = {"sjd": ["window.py, line 3"]}
    monkeypatch.setattr(
        steps,
        "one_step",
        lambda model, name: (where.get(name, []) if model.captures else [], counts),
    )
    subject = on_gpu()
    subject.model.captures = Captures(lambda: capture)
    found = {
        (each.figures["lane"], each.figures["way"]): each for each in steps.check_steps(subject)
    }
    waits = found["sjd", "as it races"]
    assert waits.outcome is Grade.FAULT
    assert "the host waits 2 times, once at its end and in window.py, line 3" in waits.words
    assert found["ar", "eager"].outcome is found["ar", "captured"].outcome is Grade.GOOD
    subject.model.captures.without["sjd"] = "a capture that failed"
    assert of_lane(steps.check_steps(subject), "sjd").outcome is Grade.GOOD, "nor need it be fast"


# Speed


def test_a_pass_is_timed_at_each_width_captured_or_not() -> None:
    for fake in (None, capture):
        subject = captured(fake)
        memory, *passes = speed.check_speed(subject)
        assert memory.figures["weights"] == speed.weights_read(subject.model) > 0
        assert [each.figures["rows"] for each in passes] == list(speed.WIDTHS)
        assert all(each.figures["seconds"] > 0 for each in passes)


def test_generate_is_left_out_where_it_draws_nothing() -> None:
    (found,) = speed.check_peer(captured(None))
    assert found.outcome is Grade.LEFT_OUT


# Races


def test_two_races_and_pictures() -> None:
    first, memory = races.check_races(captured(None))
    assert len(first.figures["seconds"]) == 2
    assert memory.outcome is Grade.LEFT_OUT
    (pictures,) = races.check_pictures(captured(None))
    assert pictures.outcome is Grade.GOOD


def test_a_lane_that_fails_is_a_fault() -> None:
    subject = captured(None)
    subject.model.forward = lambda *_: 1 / 0  # type: ignore[method-assign]
    (found,) = races.check_races(subject)
    assert found.outcome is Grade.FAULT
    assert "ar failed: ZeroDivisionError" in found.words


@pytest.mark.parametrize("failure", [Failure.OUT_OF_MEMORY, Failure.DEVICE_LOST])
def test_a_race_that_runs_out_of_memory(monkeypatch: pytest.MonkeyPatch, failure: Failure) -> None:
    """On a GPU that is bounded, and freed after it."""
    subject, bounds = on_gpu(), list[float]()
    total = SimpleNamespace(total_memory=2**30)

    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError

    def race(model: object) -> tuple[list[Frame], float]:
        if bounds[-1] < 1:
            error = {"state": LaneState.FAILED, "error": "It failed.", "failure": failure}
            return [Frame(0, LaneState.RACING), Frame(1, **error)], 0.0
        return [Frame(0, LaneState.RACING), Frame(1, LaneState.FINISHED)], 0.0

    for name, fake in {
        "empty_cache": lambda: None,
        "current_device": lambda: 0,
        "get_device_properties": lambda device: total,
        "memory_reserved": lambda device: 2**29,
        "set_per_process_memory_fraction": lambda bound, number: bounds.append(bound),
    }.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    monkeypatch.setattr(torch, "empty", full)
    monkeypatch.setattr(races, "race", race)
    (found,) = races.check_out_of_memory(subject)
    assert bounds == [0.5 + races.SPARE / 2**30, 1.0]
    if failure is Failure.OUT_OF_MEMORY:
        assert found.outcome is Grade.GOOD
        assert "1 of 5 lanes ran out of memory" in found.words
    else:
        assert found.outcome is Grade.FAULT
        assert "Failure.DEVICE_LOST" in found.words


# The report


def test_a_report_has_every_finding_once_in_words_and_once_for_programs() -> None:
    findings = [
        good("a pass", "2 ms | 3\nms.", seconds=0.002),
        left_out("memory", "Not here."),
        fault("logits", "They are off.", "set something."),
    ]
    text = report.as_markdown("photo-finish check", {"device": "one"}, findings)
    assert "| good | a pass | 2 ms \\| 3 ms. |" in text
    assert "| **fault** | logits | They are off. What to do: set something. |" in text
    assert "1 fault: logits." in text
    block = text.partition("```json\n")[2].partition("\n```")[0]
    assert '"seconds": 0.002' in block
    assert "\n" not in block
    assert report.summary(findings[:2]) == "No fault was found."
