"""ASGI middleware in front of all that the page's server answers."""

from __future__ import annotations

import logging
import os
import traceback
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse

from engine.trace import MAX_BYTES

MAX_BODY = MAX_BYTES + 2**16  # the largest trace, and what a form puts around it
TOO_LARGE = f"A request has at most {MAX_BODY // 2**20} MB."
FAILED = "This could not be answered; the page's log says why."
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # a race's id is in the page's address
    # not frame-ancestors: a Space is shown in a frame
    "Content-Security-Policy": "object-src 'none'; base-uri 'self'; form-action 'self'",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}

log = logging.getLogger(__name__)


class _BodyTooLargeError(Exception):
    """More than MAX_BODY came."""


class RequestGuard:
    """Rejects bodies of more than MAX_BODY bytes, whether or not they declare their length, and
    adds HEADERS. An exception that nothing else caught is logged without its message, which may
    hold what a visitor typed."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        read, started, rejected = 0, False, False

        async def reject(status: int, words: str) -> None:
            if not started:
                await JSONResponse({"error": words}, status)(scope, receive, add_headers)

        async def count() -> Any:
            nonlocal read, rejected
            message = await receive()
            read += len(message.get("body", b""))
            if read > MAX_BODY:
                await reject(413, TOO_LARGE)
                rejected = True
                raise _BodyTooLargeError
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

        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > MAX_BODY:
            await reject(413, TOO_LARGE)
            return
        try:
            await self._app(scope, count, add_headers)
        except _BodyTooLargeError:
            pass
        except Exception as error:
            log.error("a request failed: %s", without_message(error))
            await reject(500, FAILED)


def without_message(error: BaseException) -> str:
    """An exception for the log: its class, of an OSError what went wrong in the system's words, and
    where it was raised."""
    what = type(error).__name__
    if isinstance(error, OSError) and error.errno is not None:
        what += f" {error.errno} ({os.strerror(error.errno)})"
    return "".join([what, "\n", *traceback.format_tb(error.__traceback__)])
