"""Shares gradio's queues of calls fairly between addresses.

Gradio itself has one limit for the calls of all addresses together, and takes the calls in the
order in which they come. It keeps unread answers of up to two thousand sessions, even if nobody
ever reads the answers.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from gradio.data_classes import PredictBodyInternal
from gradio.queueing import Event, Queue
from starlette.requests import Request

from app.api import visitor

KEPT_FREE = 8  # one place in eight is kept for other addresses
BUSY = "Too many calls from this address are waiting. Try again in a moment."
UNREAD_SECONDS = 60.0  # after which answers that nobody reads are forgotten
Pushed = tuple[bool, Any, Any]


class CallShares:
    """Shares gradio's `queue` of calls between addresses.

    `push` replaces the queue's own `push`. Addresses take turns at each function, and no
    address gets all places in the queue. A session that has read nothing for UNREAD_SECONDS
    loses its unread answers as soon as its address makes another call.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue, self._push = queue, queue.push
        self._callers: dict[str, str] = {}  # the addresses of sessions
        # Each session's oldest unread message, and when it was first seen here.
        self._unread: dict[str, tuple[object, float]] = {}

    async def push(
        self, body: PredictBodyInternal, request: Request, username: str | None
    ) -> Pushed:
        address, most = visitor.address(request), self._queue.max_size
        if most is not None and self._waiting(address) >= most - most // KEPT_FREE:
            return False, BUSY, "queue_full"
        self._forget_unread(address)
        pushed = await self._push(body=body, request=request, username=username)
        if body.session_hash is not None:
            self._callers[body.session_hash] = address
        if event := self._queue.event_ids_to_events.get(str(pushed[1])):
            _take_turn(
                event, self._queue.event_queue_per_concurrency_id[event.concurrency_id].queue
            )
        return pushed

    def _waiting(self, address: str) -> int:
        queues = self._queue.event_queue_per_concurrency_id.values()
        waiting = (event for queue in queues for event in queue.queue)
        return sum(visitor.address(event.request) == address for event in waiting)

    def _forget_unread(self, address: str) -> None:
        messages, calls = self._queue.pending_messages_per_session, self._queue.event_ids_to_events
        going, now = {event.session_hash for event in calls.values()}, time.monotonic()
        self._callers = {each: self._callers[each] for each in self._callers if each in messages}
        before, self._unread = self._unread, {}
        for session in self._callers.keys() - going:
            if not messages[session].qsize():
                continue
            first = messages[session]._queue[0]  # type: ignore[attr-defined]  # asyncio's
            seen, since = before.get(session, (first, now))
            if seen is not first:  # the session has read since
                since = now
            if self._callers[session] == address and now - since > UNREAD_SECONDS:
                del messages[session]
                self._queue.pending_event_ids_session.pop(session, None)
            else:
                self._unread[session] = first, since


def _take_turn(event: Event, waiting: list[Event]) -> None:
    """Move the new call `event` forward in the queue `waiting`, so that addresses take turns.

    Calls are served in rounds: the first round has each address's first waiting call, the second
    round each address's second one, and so on. The new call goes to the end of its round.
    """
    if waiting[-1:] != [event]:  # it does not wait any more
        return
    turns = Counter[str]()
    own = (
        sum(visitor.address(each.request) == visitor.address(event.request) for each in waiting) - 1
    )
    for place, each in enumerate(waiting):
        if turns[visitor.address(each.request)] > own:
            waiting.insert(place, waiting.pop())
            return
        turns[visitor.address(each.request)] += 1
