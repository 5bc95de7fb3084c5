"""ASGI middleware that limits the bodies of all requests and adds headers to all answers."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import time
import traceback
from collections import Counter
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from app.api.site_guard import frame_policy
from app.api.visitor import network_of
from engine.trace import MAX_BYTES

MAX_UPLOAD = MAX_BYTES + 2**16  # the largest trace, and what a form puts around it
MAX_BODY = 4 * 2**20  # largest other request; it is kept in memory until it is complete
UPLOAD = "/gradio_api/upload"
TOO_LARGE = "The request is too large: at most {} MB are allowed."
# A request must be complete after BODY_SECONDS, and one second more for each BODY_RATE bytes that
# have come: an incomplete request holds a connection, and memory for its bytes.
BODY_SECONDS, BODY_RATE = 30.0, 2**16
TOO_SLOW = "The rest of the request did not come in time. Send it again."
MAX_SENDING = 40  # most incomplete requests of one address
TOO_MANY = "Too many requests are being sent from this address at once. Try again in a moment."
FAILED = "The page failed to answer; its log says why."
NO_ROOM = (
    "The disk of the page's machine is full or cannot be written, so nothing was kept. Try again"
    " later, or tell its host."
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # a race's id is in the page's address
    "Content-Security-Policy": "object-src 'none'; base-uri 'self'; form-action 'self'"
    + frame_policy(),
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}

log = logging.getLogger(__name__)


class _RejectedError(Exception):
    """Ends the reading of a request that has been answered already."""


class RequestGuard:
    """ASGI middleware that rejects bad request bodies and adds HEADERS to answers.

    A body is rejected if it is too large, whether or not it declares its length, or if it does
    not arrive in time. A body is also rejected if too many are arriving from the same address.
    An exception that nothing else caught is logged without its message, which may contain what
    a visitor typed.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._sending = Counter[str]()  # by address

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = MAX_UPLOAD if scope["path"].endswith(UPLOAD) else MAX_BODY
        address = network_of(scope["client"][0]) if scope.get("client") else ""
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "0")
        whole = declared == "0" and "transfer-encoding" not in headers
        read, started, rejected, sending, begin = 0, False, False, False, time.monotonic()

        async def reject(status: int, words: str) -> None:
            nonlocal rejected
            if not started:
                closes = {"Connection": "close"} if status == 408 else {}
                answer = JSONResponse({"error": words}, status, closes)
                await answer(scope, receive, add_headers)
            rejected = True

        async def next_part() -> Any:
            if whole:  # what comes now is the end of the connection
                return await receive()
            remaining_seconds = begin + BODY_SECONDS + read / BODY_RATE - time.monotonic()
            try:
                return await asyncio.wait_for(receive(), remaining_seconds)
            except TimeoutError:
                await reject(408, TOO_SLOW)
                raise _RejectedError from None

        async def count() -> Any:
            nonlocal read, whole, sending
            message = await next_part()
            read += len(message.get("body", b""))
            whole = whole or not message.get("more_body", False)
            if read > most:
                await reject(413, TOO_LARGE.format(most // 2**20))
                raise _RejectedError
            if not whole and not sending:
                if self._sending[address] >= MAX_SENDING:
                    await reject(429, TOO_MANY)
                    raise _RejectedError
                sending = True
                self._sending[address] += 1
            return message

        async def add_headers(message: Any) -> None:
            nonlocal started
            if rejected:  # what a route makes of the exception
                return
            if message["type"] == "http.response.start":
                started = True
                for name, value in HEADERS.items():
                    MutableHeaders(scope=message).setdefault(name, value)
            await send(message)

        if declared.isdigit() and int(declared) > most:
            await reject(413, TOO_LARGE.format(most // 2**20))
            return
        try:
            await self._app(scope, count, add_headers)
        except _RejectedError:
            pass
        except Exception as error:
            if started and isinstance(error.__cause__, HTTPException):
                # Gradio's, of a stream of messages that nobody waits for: the stream has said so.
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                log.error("a request failed: %s", without_message(error))
                words = words_of(error)
                await reject(500 if words == FAILED else 507, words)
        finally:
            if sending:
                self._sending[address] -= 1
                self._sending += Counter()  # drops those that are 0


def words_of(error: BaseException) -> str:
    """Return the message for a visitor about an exception that nothing else caught."""
    no_room = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
    return NO_ROOM if isinstance(error, OSError) and error.errno in no_room else FAILED


def without_message(error: BaseException) -> str:
    """Return an exception as text for the log, without its message.

    The text has the exception's class, the system's words for an OSError, and the traceback.
    """
    what = type(error).__name__
    if isinstance(error, OSError) and error.errno is not None:
        what += f" {error.errno} ({os.strerror(error.errno)})"
    return "".join([what, "\n", *traceback.format_tb(error.__traceback__)])
