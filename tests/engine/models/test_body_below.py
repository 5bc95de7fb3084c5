"""Every family's model behind a known top of a picture, against the library's own pass over all."""

from __future__ import annotations

import functools

import pytest
import torch

from engine.decoders import DECODERS
from engine.graphs import Captures
from engine.infilling import FORK, Infilling
from engine.models import body
from engine.models.base import ImageModel, planned
from engine.race import Lane
from engine.settings import Sampling, SettingError
from engine.trace import LaneState, Trace
from tests.engine.models.families import NAMES, RASTER, TINY, Tiny
from tests.engine.models.sequence import Sequence
from tests.engine.recorded_graph import capture
from tests.races import race_of
from tests.variants import further

SAMPLED = Sampling(guidance=2.0, top_k=8)


@pytest.fixture(params=NAMES)
def tiny(request: pytest.FixtureRequest) -> Tiny:
    return TINY[request.param]


def drawn(
    model: ImageModel,
    prompt: str,
    sampling: Sampling,
    name: str = "ar",
    infilling: Infilling | None = None,
) -> list[int]:
    model, plan = planned(model, infilling)
    return DECODERS[name](model, sampling=sampling, plan=plan).generate(prompt, 4)


def below(tiny: Tiny, tokens: list[int], first: int, order: str = "raster") -> Infilling:
    """All from cell `first` on is masked; the others hold a picture's tokens."""
    codes = [token for token, forced in zip(tokens, tiny.forced_ids, strict=True) if forced < 0]
    return Infilling.of_mask(codes, [cell >= first for cell in range(len(codes))], order)


@torch.inference_mode()
@pytest.mark.parametrize("guided", [*further(False), True])
def test_it_is_the_whole_model_behind_the_same_tokens(
    tiny: Tiny, guided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first cell, from within a row, and behind a row's end, forced where there is one;
    the first window has a tree, behind prompts with and without padding."""
    guidance, width = tiny.guidance if guided else 1.0, tiny.card.grid[1]
    greedy = Sampling(guidance=guidance, top_k=1)
    for prompt in tiny.prompts[:2]:
        whole = drawn(tiny.model, prompt, greedy)
        for first in (0, width - 1, width):
            infilling, k = below(tiny, whole, first), tiny.model.plan.cells.index(first)
            model, plan = planned(tiny.model, infilling)
            assert model is tiny.model
            assert plan.cells == tiny.model.plan.cells[k:]
            assert list(plan.forced) == tiny.forced_ids[k:]

            def one_shot(tokens: list[int], top: list[int], prompt: str) -> torch.Tensor:
                return tiny.logits(prompt, [*top, *tokens], guidance)[len(top) :]

            behind = functools.partial(one_shot, top=whole[:k], prompt=prompt)
            Sequence(tiny.model, behind, guidance, prompt, plan=plan).begin_with_a_tree()
            for name in ("sjd", "sjd-pac"):
                found = drawn(tiny.model, prompt, greedy, name, infilling)
                assert found == whole[k:], (first, name)
    monkeypatch.setattr(body, "BUCKET", 16)
    monkeypatch.setattr(tiny.model, "static", True)
    monkeypatch.setattr(tiny.model, "captures", Captures(lambda: capture))
    assert drawn(tiny.model, prompt, greedy, "sjd", infilling) == whole[k:]


@torch.inference_mode()
def test_its_noise_is_keyed_by_what_is_known(tiny: Tiny) -> None:
    """With nothing known it draws the whole model's picture; else from the same seed another rest,
    the same one as the fixed point."""
    prompt, width = tiny.prompts[0], tiny.card.grid[1]
    whole = drawn(tiny.model, prompt, SAMPLED)
    nothing, top = below(tiny, whole, 0), below(tiny, whole, width)
    assert drawn(tiny.model, prompt, SAMPLED, infilling=nothing) == whole
    rest = drawn(tiny.model, prompt, SAMPLED, infilling=top)
    assert rest != whole[-len(rest) :]
    assert drawn(tiny.model, prompt, SAMPLED, "fpi", top) == rest


@torch.inference_mode()
def test_a_fork_with_the_token_that_was_drawn_leads_to_the_same_picture(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its noise is the whole picture's, also in captured steps, and guidance ends where the whole
    picture's does."""
    prompt, width = tiny.prompts[0], tiny.card.grid[1]
    sampling = Sampling(guidance=2.0, top_k=8, guided_tokens=width + 2)
    whole = drawn(tiny.model, prompt, sampling)
    forks = {first: below(tiny, whole, first, FORK) for first in (1, width, width + 1)}
    for first, fork in forks.items():
        rest = whole[tiny.model.plan.cells.index(first) :]
        for name in ("ar", "fpi"):
            assert drawn(tiny.model, prompt, sampling, name, fork) == rest
    monkeypatch.setattr(body, "BUCKET", 16)
    monkeypatch.setattr(tiny.model, "static", True)
    monkeypatch.setattr(tiny.model, "captures", Captures(lambda: capture))
    assert drawn(tiny.model, prompt, sampling, "ar", fork) == rest


def test_a_race_draws_a_picture_on_and_its_trace_is_read_back(tiny: Tiny) -> None:
    whole = drawn(tiny.model, tiny.prompts[0], SAMPLED)
    infilling = below(tiny, whole, tiny.card.grid[1])
    lanes = [Lane(name) for name in ("ar", "gsd", "lantern", "sjd-pac")]
    race = race_of(tiny.model, lanes, tiny.prompts[0], 3, SAMPLED, infilling)
    frames = list(race)
    assert [frame.state for frame in frames].count(LaneState.FINISHED) == len(lanes)
    trace = Trace.loads(race.trace(frames).dumps())
    assert trace.header == race.header
    for lane in range(len(lanes)):
        tokens = trace.tokens(lane)
        assert tokens[: tiny.card.grid[1]].tolist() == whole[: tiny.card.grid[1]]
        assert (tokens >= 0).all()


@pytest.mark.parametrize("name", RASTER)
@pytest.mark.parametrize(
    ("mask", "order", "lane", "message"),
    [
        ("below", "spread", "ar", "everything below it, in raster order"),
        ("box", "raster", "ar", "can draw a picture on from a row"),
        ("below", "raster", "assd", "ASSD asks for tokens out of order"),
        ("below", "raster", "parallel", "can only draw a picture on"),
        ("short", "raster", "ar", "does not fit"),
    ],
)
def test_what_it_cannot_fill_in_is_said(
    name: str, mask: str, order: str, lane: str, message: str
) -> None:
    tiny = RASTER[name]
    height, width = tiny.card.grid
    cells = range(height * width - (mask == "short"))
    masked = [cell == 1 if mask == "box" else cell > 1 for cell in cells]
    infilling = Infilling.of_mask([0] * len(cells), masked, order)
    with pytest.raises(SettingError, match=message):
        race_of(tiny.model, [Lane(lane)], tiny.prompts[0], infilling=infilling)
