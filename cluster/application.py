"""The Serve application, as `python -m cluster`, `serve run` and KubeRay start it."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from ray import serve

from cluster import page, racer


class Options(BaseModel):
    """`args` in a Serve config file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    least: int = Field(1, ge=1, description="racers at least, also while nobody races")
    most: int = Field(2, ge=1, description="racers at most")
    cpus: float = Field(1, ge=0, description="CPU cores of each racer")
    gpus: float = Field(0, ge=0, description="GPUs of each racer, or the share of one")
    lanes_apart: bool = Field(
        False, description="one race at a time, each of its lanes on a racer of its own"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.least > self.most:
            raise ValueError(f"at least {self.least} racers and at most {self.most}")
        return self


def application(options: Options) -> serve.Application:
    racers = racer.deployment(options.least, options.most, options.cpus, options.gpus)
    return page.deployment().bind(racers.bind(), options.most, options.lanes_apart)
