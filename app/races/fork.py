"""The request for a fork: a race that keeps the start of a lane's picture and draws the rest."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from app.races.race_table import StoredRace
from app.races.request_values import request_of
from engine.race import Lane, RaceRequest
from engine.race.fork import fork
from engine.settings import SettingError
from engine.trace import MAX_SEED


def fork_of(race: StoredRace, lane: Any, cell: Any, token: Any) -> RaceRequest:
    """Return the request for a fork, which keeps all tokens of a lane's picture before `cell`.

    The fork has `token` in that cell, and draws the cells after it. If `token` is None, the fork
    draws `cell` too, from a new seed. A fork from an infilled picture has a new seed too: with the
    old one its noise may be what chose the picture's known tokens. All other settings are those of
    `race`. Lanes whose decoders cannot race on a fork are left out; if no lane remains, vanilla AR
    races. Raises SettingError.
    """
    trace = race.recording.trace
    infilling = fork(trace, race.id, lane, cell, token)
    request = request_of(trace.header)
    infilled = request.infilling is not None and not request.infilling.forks

    def races(lane: Lane) -> bool:
        try:
            replace(request, lanes=(lane,), infilling=infilling)
        except SettingError:
            return False
        return True

    return replace(
        request,
        seed=random.randrange(MAX_SEED + 1) if token is None or infilled else request.seed,
        lanes=tuple(lane for lane in request.lanes if races(lane)) or (Lane("ar"),),
        infilling=infilling,
    )
