"""Races over the toy model, as headers and frames, for tests of what draws them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.race import Lane, Race
from engine.records import Frame, LaneState, Position, Seconds, Status, Step
from engine.trace import Header
from tests.toy import Toy

FIVE = ("ar", "sjd", "gsd", "lantern", "sjd-pac")


def run(names: Sequence[str] = FIVE, *, side: int = 8, forced: bool = False, seed: int = 7) -> tuple[Header, list[Frame]]:
    """A whole race on a toy of side x side tokens."""
    model = Toy((side, side), 16, forced=forced)
    race = Race(model, [Lane(name) for name in names], "a prompt", seed, model.sampling)
    return Header.of(race), list(race)


def pixels(tokens: np.ndarray) -> np.ndarray:
    """Tokens int [B, h, w] to patches of 8 x 8 pixels, one colour a token, uint8 [B, 8h, 8w, 3]."""
    colours = np.stack([tokens * 37 % 256, tokens * 91 % 256, tokens * 151 % 256], -1).astype(np.uint8)
    return colours.repeat(8, 1).repeat(8, 2)


def step(before: int, after: int, *, drafts: int = 0, nfe: int = 1, seconds: float = 1.0, token: int = 3) -> Step:
    """A hand-made step: everything committed was accepted, every draft refined."""
    positions = [
        Position(at, token, token, Status.ACCEPTED if at < after else Status.REFINED, 0.5, 0.5, 0.25, 0.75)
        for at in range(before, after + drafts)
    ]
    return Step(nfe, before, after, tuple(positions), Seconds(forward=seconds))


def frame(lane: int, made: Step, length: int) -> Frame:
    return Frame(lane, LaneState.FINISHED if made.after == length else LaneState.RACING, made)
