"""A race: the request (`request`) and its run (`runner`)."""

from engine.race.request import Lane, RaceRequest
from engine.race.runner import Race
from engine.trace import MAX_LANES, MAX_PROMPT, MAX_SEED

__all__ = ["MAX_LANES", "MAX_PROMPT", "MAX_SEED", "Lane", "Race", "RaceRequest"]
