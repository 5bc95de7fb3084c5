"""The page's races over the families' own classes, read from files: other patches, codes and forced
tokens than a toy's."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import app.models.model_loader
import app.races.race_runner
from app.models.model_loader import load_public
from app.models.model_pool import Availability
from app.page.fill_in import LANES
from app.races.races import Races
from app.workers.race_stream import COLOURS, SLOW, RaceStream
from engine.infilling import MASKED, Fills
from engine.models.body import BodyModel
from tests.app.conftest import NONE_RECORDED, VISITOR, begun, toy_pool
from tests.engine.models.families import EMU3, JANUS, RANDAR, Tiny
from tests.steps import EIGHT
from tests.variants import further
from tools.judge.toys import Toy
from visualize.board.board import replay
from visualize.pictures.recorded_race import RecordedRace


@pytest.mark.parametrize("tiny", [EMU3, *further(JANUS)], ids=lambda tiny: tiny.card.name)
def test_a_public_model_races_in_every_lane_and_is_drawn_again(monkeypatch, tiny: Tiny) -> None:
    card = replace(tiny.card, sampling=replace(tiny.card.sampling, top_k=0))

    def load(*_, **options: object) -> BodyModel:
        model = tiny.load(tiny.folders, torch.float32, card)
        model.card, model.slow_pixels = card, True  # as on a CPU
        return model

    monkeypatch.setattr(app.models.model_loader, "load", load)
    monkeypatch.setattr("app.workers.race_stream.lane_seconds", lambda *lane: 50.0)
    limits = []
    monkeypatch.setattr(
        app.races.race_runner,
        "RaceStream",
        lambda *race: limits.append(race[-1]) or RaceStream(*race),
    )
    pool = toy_pool(Toy(), public={card: Availability()}, load_public=load_public)
    races = Races(pool, NONE_RECORDED)
    boards = list(begun(races, prompt="a cat", lanes=list(EIGHT), model=card.name))
    assert limits == [2 * 50.0 * len(EIGHT)], "twice what every pass of its lanes may take"
    said = SLOW.format("50 seconds") + ("" if pool.wait(card.name, 60).preview else f" {COLOURS}")
    for lane in (lane for board in boards for lane in board.lanes):
        assert lane.state == "finished" or not lane.picture
    assert {board.note for board in boards if board.state == "racing"} == {said}
    last = boards[-1]
    assert [lane.error for lane in last.lanes] == [""] * len(EIGHT)
    assert {lane.state for lane in last.lanes} == {"finished"}
    assert {lane.n for lane in last.lanes} == {card.grid[0] * card.grid[1]}
    again = replay(RecordedRace.loads(races.kept(last.id, VISITOR.session_hash).recording.dumps()))
    assert [lane.table for lane in again.lanes] == [lane.table for lane in last.lanes]
    assert [lane.drafter for lane in again.lanes] == [0] * len(EIGHT)


def test_the_page_fills_in_any_cells_of_a_public_model_in_its_order(monkeypatch) -> None:
    load = lambda *_, **options: RANDAR.load(RANDAR.folders, torch.float32)  # noqa: E731
    monkeypatch.setattr(app.models.model_loader, "load", load)
    card = RANDAR.card
    pool = toy_pool(Toy(), public={card: Availability()}, load_public=load_public)
    assert pool.fillable()[card.name] == [*card.grid, card.codes, Fills.ANY.value]
    known = [7 if cell % 3 else MASKED for cell in range(card.length)]
    lanes = LANES[Fills.ANY.value]
    *_, last = begun(
        Races(pool, NONE_RECORDED),
        prompt="valley",
        lanes=list(lanes),
        model=card.name,
        infilling={"known": known, "order": "spread", "model": card.name},
    )
    assert [(lane.state, lane.n) for lane in last.lanes] == [("finished", 6)] * len(lanes)
