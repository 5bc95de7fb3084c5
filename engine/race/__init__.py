"""A race: what is asked for (`request`), and how it runs (`runner`)."""

from engine.race.request import MAX_LANES, MAX_PROMPT, MAX_SEED, Lane, RaceRequest
from engine.race.runner import Race

__all__ = ["MAX_LANES", "MAX_PROMPT", "MAX_SEED", "Lane", "Race", "RaceRequest"]
