"""The form: what a visitor, a link or a program hands in to race, checked and turned into lanes.

The page's fields and the values they send have one order: prompt, seed, lanes, the knobs of every
group in GROUPS, and last the model's name; without one, it is the page's usual model. Whatever is
wrong raises SettingError with words fit for the visitor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.decoders import DECODERS
from engine.race import Lane, check
from engine.settings import Sampling, SettingError, Settings, knobs

SAMPLING = "sampling"
GROUPS: dict[str, type[Settings]] = {SAMPLING: Sampling} | {
    name: decoder.Settings for name, decoder in DECODERS.items() if knobs(decoder.Settings)
}
MAX_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Entry:
    """One race as it was asked for. Raises SettingError where it cannot be run."""

    prompt: str
    seed: int
    lanes: tuple[Lane, ...]
    sampling: Sampling
    model: str = ""  # the page's usual one

    def __post_init__(self) -> None:
        check(self.lanes, self.prompt, self.seed)


def read(prompt: Any, seed: Any, names: Any, *turned: Any) -> Entry:
    """Knobs of decoders that do not race are not looked at."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SettingError("The lanes are a list of decoders' names.")
    if not names:
        raise SettingError("Choose at least one lane.")
    if len(set(names)) < len(names):
        raise SettingError("Each decoder has one lane at most.")
    if len(turned) != sum(len(knobs(kind)) for kind in GROUPS.values()) + 1:
        raise SettingError("The form has more or fewer fields than the page: reload it.")
    *turned, model = turned
    values = iter(turned)
    settings: dict[str, Any] = {}
    for group, kind in GROUPS.items():
        given = {name: next(values) for name, _, _ in knobs(kind)}
        if group == SAMPLING or group in names:
            settings[group] = made(group, given)
    if isinstance(prompt, str):
        # half a surrogate pair cannot travel back
        prompt = prompt.encode("utf-8", "replace").decode()
    if isinstance(seed, float) and seed.is_integer():
        seed = int(seed)
    lanes = tuple(Lane(name, settings.get(name)) for name in DECODERS if name in names)
    if len(lanes) < len(names):
        raise SettingError(f"The lanes can be {', '.join(DECODERS)}.")
    if model is not None and not isinstance(model, str):
        raise SettingError("model is the name of a model, as text.")
    return Entry(prompt, seed, lanes, settings[SAMPLING], model or "")


def values(entry: Entry) -> list[Any]:
    """What the form's fields hold for an entry: `read` gives it back. Decoders that do not race
    have their defaults."""
    settings = {lane.decoder: lane.settings for lane in entry.lanes} | {SAMPLING: entry.sampling}
    turned = [
        getattr(settings[group], name) if group in settings else default
        for group, kind in GROUPS.items()
        for name, _, default in knobs(kind)
    ]
    return [
        entry.prompt,
        entry.seed,
        [lane.decoder for lane in entry.lanes],
        *turned,
        entry.model or None,
    ]


def made(group: str, given: dict[str, Any]) -> Settings:
    """A group's settings from its knobs' values."""
    title = "Sampling" if group == SAMPLING else DECODERS[group].title
    try:
        return GROUPS[group](**given)
    except OverflowError as error:
        raise SettingError(f"{title}: a number is far too large.") from error
    except SettingError as error:
        raise SettingError(f"{title}: {error}"[:MAX_MESSAGE]) from error
