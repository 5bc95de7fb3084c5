"""The page's races over the families' own classes, read from files: other patches, codes and forced
tokens than a toy's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import app.serving.model_loader
from app.page.handlers import Races
from app.serving.model_loader import load_public
from app.serving.model_pool import Availability
from engine.models.emu3 import Emu3Model
from engine.models.janus import JanusModel
from tests.app.conftest import NONE_RECORDED, VISITOR, begun, toy_pool
from tests.engine.models import test_emu3, test_janus
from tests.steps import EIGHT
from tests.toy import Toy
from visualize.board import replay
from visualize.recorded_race import RecordedRace

# fixtures: folders with tiny models of the library's classes
emu3, janus = test_emu3.folder, test_janus.folder
CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("family", "cls", "card"),
    [("emu3", Emu3Model, test_emu3.CARD), ("janus", JanusModel, test_janus.CARD)],
)
def test_a_public_model_races_in_every_lane_and_its_recording_is_drawn_again(
    request, monkeypatch, family, cls, card
) -> None:
    folder: Path = request.getfixturevalue(family)
    card = replace(card, sampling=replace(card.sampling, top_k=0))
    monkeypatch.setattr(
        app.serving.model_loader,
        "load",
        lambda *_, progress, drafter, graphs: cls(card, {"model": folder}, CPU, torch.float32),
    )
    pool = toy_pool(Toy(), public={card: Availability()}, load_public=load_public)
    races = Races(pool, NONE_RECORDED)
    last = list(begun(races, prompt="a cat", lanes=list(EIGHT), model=card.name))[-1]
    assert [lane["error"] for lane in last["lanes"]] == [""] * len(EIGHT)
    assert {lane["state"] for lane in last["lanes"]} == {"finished"}
    assert {lane["n"] for lane in last["lanes"]} == {card.grid[0] * card.grid[1]}
    again = replay(RecordedRace.loads(races.finished(VISITOR).recording.dumps()))
    assert [lane["table"] for lane in again["lanes"]] == [lane["table"] for lane in last["lanes"]]
    assert [lane["drafter"] for lane in again["lanes"]] == [0] * len(EIGHT)
