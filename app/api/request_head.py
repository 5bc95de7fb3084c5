"""Closes connections that do not send a complete request head in time.

uvicorn waits for the rest of a request's head without end, and has no setting for a limit.
"""

from __future__ import annotations

import asyncio
from typing import Any

HEAD_SECONDS = 30.0


def with_deadline(protocol: Any) -> Any:
    """Return a subclass of uvicorn's HTTP class `protocol`, with a deadline for request heads.

    A connection is closed if a request's head is incomplete after HEAD_SECONDS. This time begins
    with the head; for the first head, it begins with the connection.
    """

    class TimedProtocol(protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._wait()

        def connection_lost(self, error: Exception | None) -> None:
            self._end_wait()
            super().connection_lost(error)

        def _wait(self) -> None:
            if not self._is_idle():
                self._end_wait()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(HEAD_SECONDS, self._close)

        def _is_idle(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _end_wait(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _close(self) -> None:
            self._deadline = None
            if self._is_idle():
                self.transport.close()

    return TimedProtocol
