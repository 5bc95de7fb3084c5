"""Slots: what a lane finds there that an earlier lane left, and what it does not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.decoders import DECODERS, priced
from engine.decoders.recorder import StepRecorder
from engine.graphs import Captures
from engine.models.base import planned
from engine.models.cache import WindowCache
from engine.models.slots import Slot, Slots
from engine.models.supply.card import ModelError
from engine.race import Lane
from engine.trace import LaneState
from tests.engine.models.families import JANUS, TINY
from tests.infill_toys import NeighbourToy
from tests.races import race_of
from tools.judge.toys import Toy, infilling

CPU = torch.device("cpu")


def cache(slot: Slot, rows: int = 2, slots: int = 8) -> WindowCache:
    return slot.cache("body", 1, rows, 1, slots, 4, torch.float32, CPU)


def test_a_cache_is_used_again_empty_by_fewer_rows_too() -> None:
    slot = Slot()
    first = cache(slot)
    first.open(3)
    first.update(*torch.ones(2, 2, 1, 3, 4), 0)
    first.keep(range(3))
    second = cache(slot, rows=1, slots=5)
    assert second is first
    assert (second.base, int(second.first), second.end) == (0, 0, 0)
    second.open(2)
    keys, values = second.update(*torch.full((2, 1, 1, 2, 4), 2.0), 0)
    assert keys.shape == values.shape == (1, 1, 2, 4)
    assert cache(slot).update(*torch.ones(2, 2, 1, 0, 4), 0)[0].shape[0] == 2


@pytest.mark.parametrize("needs", [{"slots": 9}, {"rows": 3}])
def test_a_cache_that_is_too_small_is_another_and_what_knew_its_address_goes(needs: dict) -> None:
    slot = Slot()
    slot.enter("lane")
    first, place = cache(slot), slot.place("n", torch.ones(1))
    slot.graphs = object()
    assert cache(slot, **needs) is not first
    assert slot.graphs is None
    assert slot.place("n", torch.zeros(1)) is not place
    assert slot.bytes == 2 * 4 * 4 * needs.get("rows", 2) * needs.get("slots", 8)


def test_a_lane_that_comes_back_finds_its_places_and_graphs_and_another_does_not() -> None:
    slot, graphs = Slot(), object()
    slot.enter("lane")
    place, slot.graphs = slot.place("n", torch.ones(1)), graphs
    slot.enter(None)  # an audit
    assert slot.place("n", torch.full((1,), 7.0)) is not place
    slot.enter("lane")
    assert slot.graphs is graphs
    assert slot.place("n", torch.zeros(1)) is place
    assert place == 0
    assert slot.place("n", torch.zeros(2)) is not place
    slot.enter("other")
    assert slot.graphs is None


def test_the_first_free_slot_is_given() -> None:
    slots = Slots()
    a, b, c = (slots.take() for _ in range(3))
    for slot in (c, a, b):
        slots.release(slot)
    assert [slots.take() for _ in range(4)][:3] == [a, b, c]


@pytest.mark.parametrize("name", ["ar", "sjd", "lantern", "zipar", "rows"])
def test_a_lane_decodes_the_same_in_a_slot_where_another_prompt_was_decoded(name: str) -> None:
    tiny = TINY["embedded"] if name == "lantern" else JANUS  # which has no drafter
    fresh, used = (DECODERS[name](tiny.model) for _ in range(2))
    tiny.model.slots.trim(0)
    expected = fresh.generate(tiny.prompts[0], 3)
    for prompt in (*tiny.prompts[1:], tiny.prompts[0]):
        found = used.generate(prompt, 3)
    assert found == expected


class Overflows(Toy):
    def forward(self, *more: Any) -> Tensor:
        return torch.full_like(super().forward(*more), math.nan)


def test_what_a_failed_lane_leaves_is_not_used_again() -> None:
    """Numbers that are none would be multiplied by the zeros of the attention mask."""
    model = Overflows()
    slot = model.slots.take()
    cache(slot)
    model.slots.release(slot)
    with pytest.raises(ModelError, match="overflows"):
        DECODERS["ar"](model).generate("", 0)
    assert model.slots.take() is slot
    assert not slot.bytes


def test_a_lane_that_cannot_begin_gives_its_slot_back() -> None:
    """Where its tensors do not fit, or a graph's memory does not."""

    def full(*_: Any) -> Tensor:
        raise MemoryError

    for spoil in ("place", "capture"):
        model = Toy()
        model.static = True
        slot = model.slots.take()
        model.slots.release(slot)
        if spoil == "place":
            slot.place = full
        else:
            model.captures = Captures(full)
        with pytest.raises(MemoryError):
            DECODERS["ar"](model).generate("", 0)
        assert model.slots.take() is slot, spoil


# Audits


def priced_lanes() -> list[tuple[Toy, Lane]]:
    return [
        (Toy((3, 4), 5), Lane("zipar", DECODERS["zipar"].Settings(s=2))),
        (Toy((3, 4), 5), Lane("rows", DECODERS["rows"].Settings(c=2))),
        (NeighbourToy((3, 4), 5), Lane("parallel", DECODERS["parallel"].Settings(T=3))),
    ]


@pytest.mark.parametrize(("model", "lane"), priced_lanes(), ids=["zipar", "rows", "parallel"])
def test_an_audit_is_in_the_slot_that_its_lane_has_given_back(model: Toy, lane: Lane) -> None:
    taken = []
    real = model.slots.take
    model.slots.take = lambda *key: taken.append(real(*key)) or taken[-1]
    known = infilling([True] * 12, "raster", 5) if lane.decoder == "parallel" else None
    whole, plan = planned(model, known)
    decoder = DECODERS[lane.decoder](whole, lane.settings, plan=plan)
    with torch.inference_mode():
        steps = list(decoder.steps("", 0))
    assert len(steps[-1].rows.prices) == 12
    assert len(taken) == 2
    assert taken[0] is taken[1]


def test_stop_ends_an_audit_and_the_lane_has_finished_without_its_price() -> None:
    model = Toy((9, 12), 5)  # longer than a window
    asked = []
    decoder = DECODERS["zipar"](model, DECODERS["zipar"].Settings(s=2))
    with torch.inference_mode():
        *_, last = decoder.steps("", 0, lambda: asked.append(1) or True)
    assert last.after == 108
    assert not len(last.rows.prices)
    assert len(asked) == 1
    assert len(model.slots._free) == 1


@pytest.mark.parametrize("error", [MemoryError("no room"), RuntimeError("a bolt came loose")])
def test_a_lane_whose_audit_fails_has_finished_without_its_price(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    race = race_of(model := Toy((3, 4), 5), ["zipar"])
    monkeypatch.setattr(priced, "windows", lambda *_: (_ for _ in ()).throw(error))
    *_, last = race
    assert last.state is LaneState.FINISHED
    assert last.step.after == model.plan.length
    assert not len(last.step.rows.prices)
    assert str(error) in caplog.text
    assert len(model.slots._free) == len(model.slots._all)


@pytest.mark.parametrize("method", ["__init__", "close"])
def test_a_lane_whose_recorder_fails_gives_its_slot_back(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(StepRecorder, method, fails)
    race = race_of(model := Toy((3, 4), 5), ["sjd"])
    *_, last = race
    assert (last.state, last.error) == (LaneState.FAILED, "MemoryError: no room")
    assert len(model.slots._free) == len(model.slots._all) == 1


def test_a_races_stop_ends_its_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop comes while the last step of the race is on its way."""
    race = race_of(Toy((9, 12), 5), ["zipar"])
    audit = priced.windows

    def stopping(*more: Any) -> Iterator[Tensor]:
        race.stop()
        yield from audit(*more)

    assert len(list(race)[-1].step.rows.prices) == 108
    monkeypatch.setattr(priced, "windows", stopping)
    *_, last = race
    assert last.state is LaneState.FINISHED
    assert not len(last.step.rows.prices)
