"""Take away: a finished race as a file of the visitor's choice."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.settings import SETTINGS
from engine.settings import SettingError
from visualize.film import FilmError, Kind, film, photo
from visualize.layers import CLOCKS, Layer
from visualize.recorded_race import RecordedRace
from visualize.standalone import standalone
from visualize.steps_csv import steps_csv

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
FILMS = {"MP4": Kind.MP4, "GIF": Kind.GIF, "WebP": Kind.WEBP}
# What can be made, and the end of the file's name.
KINDS = {
    "Trace": ".json",
    "CSV of the steps": ".csv",
    "Standalone HTML": ".html",
    "PNG of this instant": ".png",
    "MP4": ".mp4",
    "GIF": ".gif",
    "WebP": ".webp",
}
LAYERS = {layer.look["title"]: layer for layer in Layer}


@dataclass(frozen=True, slots=True)
class Shown:
    """What the board shows just now. Raises SettingError for what no board shows."""

    clock: str
    t: float
    layer: Layer

    @staticmethod
    def read(value: Any) -> Shown:
        """From {clock, t, layer} as a browser sent it."""
        value = value if isinstance(value, dict) else {}
        clock, t, layer = value.get("clock"), value.get("t"), value.get("layer")
        number = isinstance(t, (int, float)) and not isinstance(t, bool) and 0 <= t < math.inf
        if clock not in CLOCKS or not number or layer not in [each.value for each in Layer]:
            raise SettingError("The board did not say what it shows: reload the page.")
        return Shown(clock, float(t), Layer(layer))


def name(recording: RecordedRace, kind: str) -> str:
    """A file name from the prompt and the seed, safe on any system."""
    header = recording.trace.header
    slug = re.sub(r"[^a-z0-9]+", "-", header.prompt.lower())[:60].strip("-") or "race"
    return f"photo-finish-{slug}-{header.seed}{KINDS[kind]}"


def make(
    recording: RecordedRace,
    kind: Any,
    speed: Any,
    layer: Any,
    shown: Any,
    progress: Callable[[float], None],
) -> bytes:
    """The file. `progress` is told from 0 to 1. Raises SettingError for what cannot be made, or
    takes too long."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise SettingError(f"A race can be taken away as {', '.join(KINDS)}.")
    if kind == "Trace":
        return recording.dumps().encode()
    if kind == "CSV of the steps":
        return steps_csv(recording.trace).encode()
    if kind == "Standalone HTML":
        return standalone(recording).encode()
    now = Shown.read(shown)
    if kind == "PNG of this instant":
        return photo(recording, now.clock, now.t, now.layer, scale=2)
    if isinstance(speed, bool) or speed not in SPEEDS:
        raise SettingError(f"The speed is one of {', '.join(f'{x:g}x' for x in SPEEDS)}.")
    if not isinstance(layer, str) or layer not in LAYERS:
        raise SettingError(f"The layer is one of {', '.join(LAYERS)}.")
    deadline = time.monotonic() + SETTINGS.make_seconds

    def told(share: float) -> None:
        if time.monotonic() > deadline:
            raise SettingError(
                f"Making this film takes over {SETTINGS.make_seconds:g} seconds, which is all that"
                " one visitor has here. Choose a higher speed."
            )
        progress(share)

    try:
        return film(
            recording, FILMS[kind], clock=now.clock, layer=LAYERS[layer], speed=speed, progress=told
        )
    except FilmError as error:
        raise SettingError(str(error)) from error
