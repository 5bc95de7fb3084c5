"""What whoever runs the page may set in its environment, each as PHOTO_FINISH_<NAME>; validated when the page starts."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class AppSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PHOTO_FINISH_", frozen=True)

    queue_size: int = Field(20, ge=1, le=1000, description="Visitors who may wait for their race; others are asked to return.")
    race_seconds: float = Field(180.0, gt=0, le=3600, description="A race is stopped after this long on the wall clock.")
    updates: float = Field(10.0, gt=0, le=30, description="How many times a second the board is redrawn at most.")


SETTINGS = AppSettings()
