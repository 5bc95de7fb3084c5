"""Races by the model that they are over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.infilling import Infilling
from engine.models.base import ImageModel
from engine.race import Lane, Race, RaceRequest
from engine.race.request import parse_lane
from engine.settings import Sampling
from engine.trace import Trace


def race_of(
    model: ImageModel,
    lanes: Iterable[Lane | str],
    prompt: str = "a prompt",
    seed: int = 1,
    sampling: Sampling | None = None,
    infilling: Infilling | None = None,
) -> Race:
    """With the model's own sampling, if no other is named; lanes may be given as in a link."""
    sampling = sampling or model.sampling
    lanes = tuple(parse_lane(lane) if isinstance(lane, str) else lane for lane in lanes)
    return Race(model, RaceRequest(prompt, seed, lanes, sampling, model.name, infilling))


def raced(model: ImageModel, lanes: Iterable[Lane | str], *request: Any, **more: Any) -> Trace:
    """The trace of a whole `race_of`."""
    race = race_of(model, lanes, *request, **more)
    return race.trace(list(race))
