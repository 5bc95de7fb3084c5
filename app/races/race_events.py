"""The routes by which pages watch a race, bet and vote on it, and say that a visitor leaves.

A page watches a race by server-sent events. Many phones that watch cost the race hardly more than
one phone: no watcher takes a thread, or a place in gradio's queue.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable
from weakref import WeakKeyDictionary

from anyio import CapacityLimiter, to_thread
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from app.races.event_stream import GZIP, HEADERS, EventStream
from app.races.live_race import MAX_BETS, LiveRace
from app.races.race_table import StoredRace
from app.workers.between_steps import BETWEEN_STEPS
from engine.decoders import badge_of
from engine.decoders.base import Badge
from visualize.board.snapshot import Snapshot

NOT_KEPT = "This race is no longer kept here."
CLOSED = "Bets are closed, because a lane has half of its tokens."
NOT_OVER = "The race is not over yet. Wait for its end."
NO_VOTE = "A vote is {voter: 8 to 64 characters, lane: 0 ..}, a lane of the race."
SESSION = 64  # characters, at most
Find = Callable[[str], LiveRace | StoredRace | None]


class Choice(BaseModel):
    """The lane that a voter bets on or votes for.

    `voter` is a name that the voter's browser made up.
    """

    model_config = ConfigDict(strict=True, extra="forbid")

    voter: str = Field(min_length=8, max_length=64)
    lane: int = Field(ge=0, lt=64)


def race_routes(
    find: Find, replay: Callable[[StoredRace], Snapshot], leave: Callable[[str], None]
) -> list[Route]:
    """Return the routes for a race's events, for bets and votes on it, and for leaving the page.

    Races are found by id. A race that is over is sent as one event: the snapshot that `replay`
    returns. For a race that is not kept, the answer is 204, after which no browser asks again. A
    bet, placed during a race, says which lane will be first. A vote, after the race, says which
    lane changes the distribution. Votes are kept as long as their race. `leave` is called with the
    session of a page that its visitor leaves.
    """
    one_at_a_time = CapacityLimiter(1)  # the page needs the server's other threads
    only_events = WeakKeyDictionary[StoredRace, bytes]()  # of races that are kept elsewhere

    votes = WeakKeyDictionary[StoredRace, dict[str, int]]()  # each voter's lane

    def only_event(race: StoredRace) -> bytes:
        events = EventStream()
        with BETWEEN_STEPS.work():
            events.add("snapshot", 0, replay(race))
            events.close()
        return only_events.setdefault(race, b"".join(events.chunks))

    async def over(race: StoredRace) -> AsyncIterator[bytes]:
        event = only_events.get(race)
        if event is None:
            event = await to_thread.run_sync(only_event, race, limiter=one_at_a_time)
        yield event

    async def events(request: Request) -> Response:
        race = find(request.path_params["race"])
        if race is None:
            return Response(status_code=204)
        if request.method == "HEAD":  # whether there is one
            return Response()
        chunks: AsyncIterator[bytes] = race.stream() if isinstance(race, LiveRace) else over(race)
        headers = HEADERS | {"Vary": "Accept-Encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
        else:
            chunks = _plain(chunks)
        return StreamingResponse(chunks, media_type="text/event-stream", headers=headers)

    async def bet(request: Request) -> Response:
        try:
            placed = Choice.model_validate_json(await request.body())
        except ValidationError:
            return JSONResponse({"error": "A bet is {voter: 8 to 64 characters, lane: 0 ..}."}, 422)
        race = find(request.path_params["race"])
        if race is None:
            return JSONResponse({"error": NOT_KEPT}, 404)
        if not (isinstance(race, LiveRace) and race.bet(placed.voter, placed.lane)):
            return JSONResponse({"error": CLOSED}, 409)
        return JSONResponse({"lane": placed.lane})

    async def vote(request: Request) -> Response:
        race = find(request.path_params["race"])
        if race is None:
            return JSONResponse({"error": NOT_KEPT}, 404)
        if isinstance(race, LiveRace):
            return JSONResponse({"error": NOT_OVER}, 409)
        given = votes.setdefault(race, {})
        lanes = race.recording.trace.header.lanes
        if request.method == "POST":
            try:
                placed = Choice.model_validate_json(await request.body())
            except ValidationError:
                return JSONResponse({"error": NO_VOTE}, 422)
            if placed.lane >= len(lanes):
                return JSONResponse({"error": NO_VOTE}, 422)
            if len(given) < MAX_BETS:
                given.setdefault(placed.voter, placed.lane)  # a voter who knows has no second vote
        changed = [badge_of(lane.decoder) is Badge.CHANGED_DISTRIBUTION for lane in lanes]
        right = sum(changed[lane] for lane in given.values())
        return JSONResponse({"votes": len(given), "right": right})

    async def departure(request: Request) -> Response:
        leave((await request.body()).decode("utf-8", "replace")[:SESSION])
        return Response(status_code=204)

    return [
        Route("/left", departure, methods=["POST"]),
        Route("/races/{race}/events", events),
        Route("/races/{race}/bets", bet, methods=["POST"]),
        Route("/races/{race}/votes", vote, methods=["GET", "POST"]),
    ]


async def _plain(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the chunks decompressed; a chunk without text becomes a comment, which readers skip."""
    unzip = zlib.decompressobj(GZIP)
    async for chunk in chunks:
        yield unzip.decompress(chunk) or b":\n\n"
