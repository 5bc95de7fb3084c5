"""RaceRequest: what to race.

The form, links, the API, ZeroGPU's worker and the commands all use RaceRequest. This module also
names lanes, and reads and writes them as text.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.decoders import BUILT_IN, DECODERS, decoder_of
from engine.decoders.base import Decoder
from engine.infilling import Infilling
from engine.settings import Sampling, SettingError, Settings, knobs
from engine.trace import MAX_LANES, MAX_PROMPT, MAX_SEED, TraceLane

MAX_MESSAGE = 300  # characters of a rejected setting's message
SAMPLING = "sampling"
# Every group of settings with at least one knob, under its name on the form and in links.
GROUPS: dict[str, type[Settings]] = {SAMPLING: Sampling} | {
    name: decoder.Settings for name, decoder in DECODERS.items() if knobs(decoder.Settings)
}
_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{0,20})?(e[-+]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Lane:
    """One decoder in a race, with its settings; `settings` None means the decoder's defaults.

    Raises SettingError for an unknown decoder, or for another decoder's settings.
    """

    decoder: str
    settings: Settings = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        kind = _decoder(self.decoder).Settings
        if self.settings is None:
            object.__setattr__(self, "settings", kind())
        if not isinstance(self.settings, kind):
            raise SettingError(f"These are not settings of {self.decoder}: {self.settings!r}")

    def plain(self) -> TraceLane:
        """Return the lane in the form that a trace's header stores."""
        return TraceLane(self.decoder, dataclasses.asdict(self.settings))


@dataclass(frozen=True, slots=True)
class RaceRequest:
    """One race: lanes over one model, prompt and seed, all with the same sampling.

    The lanes draw a whole picture, or fill in the masked cells of `infilling`. Raises SettingError
    if no model could run the race.
    """

    prompt: str
    seed: int
    lanes: tuple[Lane, ...]
    sampling: Sampling
    model: str
    infilling: Infilling | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.lanes) <= MAX_LANES:
            raise SettingError(f"A race has 1 to {MAX_LANES} lanes, not {len(self.lanes)}.")
        if not isinstance(self.prompt, str):
            raise SettingError("The prompt is what the picture should show, as text.")
        if not self.prompt.strip():
            raise SettingError("Type what the picture should show: the prompt is empty.")
        if len(self.prompt) > MAX_PROMPT:
            raise SettingError(
                f"The prompt has {len(self.prompt)} characters; at most {MAX_PROMPT} are allowed."
            )
        # no tokenizer and no file takes half a character
        if any("\ud800" <= character <= "\udfff" for character in self.prompt):
            raise SettingError("The prompt holds half a character: type it again.")
        if "\0" in self.prompt:
            raise SettingError("The prompt holds a NUL, which no text has: type it again.")
        whole = isinstance(self.seed, int) and not isinstance(self.seed, bool)
        if not whole or not 0 <= self.seed <= MAX_SEED:
            raise SettingError(f"The seed is a whole number from 0 to {MAX_SEED}.")
        if not isinstance(self.model, str) or not self.model:
            raise SettingError("model is the name of a model, as text.")
        for decoder in (_decoder(lane.decoder) for lane in self.lanes):
            if decoder.infills and self.infilling is None:
                raise SettingError(f"{decoder.title} fills in pictures: it draws no whole ones.")
            if decoder.whole_only and self.infilling is not None:
                raise SettingError(f"{decoder.title} draws whole pictures: it fills in no part.")
            if decoder.infills and self.infilling is not None and self.infilling.forks:
                raise SettingError(
                    f"{decoder.title} asks for tokens out of order: a fork is drawn on token by"
                    " token."
                )


def group_title(group: str) -> str:
    return "Sampling" if group == SAMPLING else DECODERS[group].title


def build_settings(group: str, values: Mapping[str, Any]) -> Any:
    """Return a group's settings (Sampling or a decoder's Settings) from the values of its knobs.

    Raises a SettingError whose message begins with the group's title.
    """
    kind = Sampling if group == SAMPLING else DECODERS[group].Settings
    try:
        return kind(**values)
    except OverflowError as error:
        raise SettingError(f"{group_title(group)}: a number is far too large.") from error
    except SettingError as error:
        raise SettingError(f"{group_title(group)}: {error}"[:MAX_MESSAGE]) from error


def reject_withdrawn(group: str, knob: str) -> None:
    """Raise SettingError for a setting that the group no longer has, and say what to do instead."""
    old = GROUPS.get(group, Settings).withdrawn.get(knob)
    if old is not None:
        raise SettingError(f"{group_title(group)} has no setting {knob} any more: {old.instead}")


def parse_value(default: Any, text: str) -> Any:
    """Return a knob's value from text: a bool, a number or text, as its default is.

    A number is an int if the text has only digits and a sign, else a float. Text that cannot be
    converted stays text; the settings reject it and say what they accept.
    """
    if isinstance(default, bool):
        return {"true": True, "false": False}.get(text, text)
    if isinstance(default, str) or not _NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)


def format_value(value: Any) -> str:
    """Return a value as the text that `parse_value` reads."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_lane(
    text: str, others: Mapping[str, str] | None = None, offered: Sequence[str] = tuple(DECODERS)
) -> Lane:
    """Return the lane that a text describes: "sjd", or "sjd:window=32;init=horizontal repeat".

    The text has the decoder's name, and then the knobs that it sets. `others` gives, as text, the
    values of knobs that `text` does not set; remaining knobs have their defaults. Raises
    SettingError for an invalid text; for an unknown decoder its message lists the `offered` names.
    """
    name, _, rest = text.partition(":")
    defaults = {knob: default for knob, _, default in knobs(_decoder(name, offered).Settings)}
    values: dict[str, Any] = {}
    pairs = [pair.partition("=")[::2] for pair in rest.split(";") if pair]
    for knob, value in pairs:
        if knob not in defaults:
            reject_withdrawn(name, knob)
            known = ", ".join(defaults) or "none"
            raise SettingError(f"{name} has no knob {knob[:40]!r}; it has {known}.")
        if knob in values:
            raise SettingError(f"{group_title(name)}: {knob} is given twice.")
        values[knob] = parse_value(defaults[knob], value)
    for knob, value in (others or {}).items():
        values.setdefault(knob, parse_value(defaults[knob], value))
    return Lane(name, build_settings(name, values))


def format_lane(lane: TraceLane) -> str:
    """Return a lane as the text that `parse_lane` reads.

    The text has only the knobs that differ from their defaults. An old trace's lane may have a
    withdrawn setting, which `parse_lane` rejects.
    """
    changed = ";".join(f"{k}={format_value(value)}" for k, value in _changed_knobs(lane).items())
    return f"{lane.decoder}:{changed}" if changed else lane.decoder


def lane_names(lanes: Sequence[TraceLane]) -> list[str]:
    """Return the short name of each lane of a race.

    A name is the decoder's title with the knobs that differ from their defaults: "GSD G=50". Lanes
    that would have the same name also get their number in the race: "SJD (1)" and "SJD (3)".
    """
    names = []
    for lane in lanes:
        knobs = (
            f"{knob}={value:g}" if isinstance(value, float) else f"{knob}={format_value(value)}"
            for knob, value in _changed_knobs(lane).items()
        )
        names.append(" ".join([decoder_of(lane.decoder).title, *knobs]))
    return [name if names.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(names, 1)]


TOGETHER = "block", "traversal", "runs"  # rules that test drafts together


def rule_of(lane: TraceLane) -> str:
    """Return the name of the rule that tests a lane's drafts.

    It is a knob's value ("block", "traversal", "typical" or "runs") if that decides how drafts are
    tested, else the decoder's name. It is "outside" for a decoder that is not built in, whose rule
    is unknown.
    """
    if lane.decoder not in BUILT_IN:
        return "outside"
    values = (str(lane.settings.get(knob)) for knob in ("verification", "relax"))
    return next((value for value in values if value in (*TOGETHER, "typical")), lane.decoder)


def _changed_knobs(lane: TraceLane) -> dict[str, Any]:
    kind = decoder_of(lane.decoder).Settings
    defaults = {knob: old.values[0] for knob, old in kind.withdrawn.items()}
    defaults |= dataclasses.asdict(kind())
    return {knob: value for knob, value in lane.settings.items() if value != defaults.get(knob)}


def _decoder(name: str, offered: Sequence[str] = tuple(DECODERS)) -> type[Decoder]:
    if name not in DECODERS:
        raise SettingError(
            f"There is no decoder called {name[:40]!r}; there are {', '.join(offered)}."
        )
    return DECODERS[name]
