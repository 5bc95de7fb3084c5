"""The options of the page on a cluster. This module does not import Ray, which imports slowly."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Options(BaseModel):
    """The options of a cluster's page: `args` in a Serve config file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    least: int = Field(1, ge=1, description="racers at least, also while nobody races")
    most: int = Field(2, ge=1, description="racers at most")
    cpus: float = Field(1, ge=0, description="CPU cores of each racer")
    # Whole GPUs: on a shared one a lane would be charged for another race's passes.
    gpus: int = Field(0, ge=0, description="GPUs of each racer, whole ones")
    lanes_apart: bool = Field(
        False, description="one race at a time, each of its lanes on a racer of its own"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.least > self.most:
            raise ValueError(
                f"the least number of racers, {self.least}, is above the most, {self.most}"
            )
        return self
