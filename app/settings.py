"""What may be set in the page's environment, each as PHOTO_FINISH_<NAME>; checked when the page starts."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class AppSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PHOTO_FINISH_", frozen=True)

    queue_size: int = Field(20, ge=1, le=1000)  # visitors who may wait; others are asked to return
    race_seconds: float = Field(180.0, gt=0, le=3600)  # on the wall clock; then a race is stopped
    updates: float = Field(10.0, gt=0, le=30)  # of the board, a second, at most
    kept_races: int = Field(32, ge=1, le=1000)  # the last race of so many visitors is at hand, in memory
    make_seconds: float = Field(120.0, gt=0, le=3600)  # on the wall clock, for a file to take away


SETTINGS = AppSettings()
