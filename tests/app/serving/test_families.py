"""The page's races over the families' own classes, read from files: other patches, codes and forced
tokens than a toy's."""

from __future__ import annotations

from dataclasses import replace

import pytest

import app.serving.model_loader
from app.page.handlers import Races
from app.serving.model_loader import load_public
from app.serving.model_pool import Availability
from tests.app.conftest import NONE_RECORDED, VISITOR, begun, toy_pool
from tests.engine.models.families import EMU3, JANUS, Tiny
from tests.steps import EIGHT
from tests.toy import Toy
from visualize.board import replay
from visualize.recorded_race import RecordedRace


@pytest.mark.parametrize("tiny", [EMU3, JANUS], ids=lambda tiny: tiny.card.name)
def test_a_public_model_races_in_every_lane_and_its_recording_is_drawn_again(
    monkeypatch: pytest.MonkeyPatch, tiny: Tiny
) -> None:
    card = replace(tiny.card, sampling=replace(tiny.card.sampling, top_k=0))
    monkeypatch.setattr(
        app.serving.model_loader,
        "load",
        lambda *_, progress, drafter, graphs: tiny.load(tiny.folders, card=card),
    )
    pool = toy_pool(Toy(), public={card: Availability()}, load_public=load_public)
    races = Races(pool, NONE_RECORDED)
    last = list(begun(races, prompt="a cat", lanes=list(EIGHT), model=card.name))[-1]
    assert [lane["error"] for lane in last["lanes"]] == [""] * len(EIGHT)
    assert {lane["state"] for lane in last["lanes"]} == {"finished"}
    assert {lane["n"] for lane in last["lanes"]} == {card.grid[0] * card.grid[1]}
    again = replay(
        RecordedRace.loads(races.kept(last["id"], VISITOR.session_hash).recording.dumps())
    )
    assert [lane["table"] for lane in again["lanes"]] == [lane["table"] for lane in last["lanes"]]
    assert [lane["drafter"] for lane in again["lanes"]] == [0] * len(EIGHT)
