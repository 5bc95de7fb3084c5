"""Races by the model that they are over."""

from __future__ import annotations

from collections.abc import Iterable

from engine.infilling import Infilling
from engine.models.base import ImageModel
from engine.race import Lane, Race, RaceRequest
from engine.settings import Sampling


def race_of(
    model: ImageModel,
    lanes: Iterable[Lane],
    prompt: str = "a prompt",
    seed: int = 1,
    sampling: Sampling | None = None,
    infilling: Infilling | None = None,
) -> Race:
    """With the model's own sampling, if no other is named."""
    sampling = sampling or model.sampling
    return Race(model, RaceRequest(prompt, seed, tuple(lanes), sampling, model.name, infilling))
