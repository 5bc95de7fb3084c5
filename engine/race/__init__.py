"""A race: what is asked for (`request`), and how it runs (`runner`)."""

from engine.race.request import Lane, RaceRequest
from engine.race.runner import Race
from engine.trace import MAX_LANES, MAX_PROMPT, MAX_SEED

__all__ = ["MAX_LANES", "MAX_PROMPT", "MAX_SEED", "Lane", "Race", "RaceRequest"]
