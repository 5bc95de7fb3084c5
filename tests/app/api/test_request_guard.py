"""The middleware by itself, without a server."""

from __future__ import annotations

import errno
import logging
from collections.abc import AsyncIterator

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.api.request_guard import FAILED, HEADERS, MAX_BODY, RequestGuard
from tests.coroutines import run

CHUNK = 2**20


async def _length(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def _caught(request: Request) -> Response:
    """As FastAPI, which calls a body that it cannot read malformed."""
    try:
        return await _length(request)
    except Exception:
        return PlainTextResponse("malformed", 400)


async def _raise(request: Request) -> Response:
    raise ValueError(await request.body())


async def _fill(request: Request) -> Response:
    raise OSError(errno.ENOSPC, "No space left on device", (await request.body()).decode())


ROUTES = (_length, _caught, _raise, _fill)
APP = Starlette(
    routes=[Route(f"/{f.__name__}", f, methods=["POST"]) for f in ROUTES],
    middleware=[Middleware(RequestGuard)],
)


def post(path: str, body: object, headers: dict[str, str] | None = None) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(APP)
        async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
            return await client.post(path, content=body, headers=headers)

    return run(send())


def test_a_body_of_the_largest_trace_is_read_and_every_answer_has_the_headers() -> None:
    answer = post("/_length", b"x" * MAX_BODY)
    assert answer.text == str(MAX_BODY)
    assert answer.headers.items() >= {(name.lower(), value) for name, value in HEADERS.items()}


def test_a_larger_body_is_rejected_unread() -> None:
    answer = post("/_length", b"", {"content-length": str(MAX_BODY + 1)})
    assert (answer.status_code, answer.json()) == (413, {"error": "A request has at most 32 MB."})
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_of_a_body_without_a_length_no_more_is_read_than_the_limit() -> None:
    for path in ("/_length", "/_caught"):
        sent = 0

        async def body() -> AsyncIterator[bytes]:
            nonlocal sent
            for _ in range(100):
                sent += CHUNK
                yield b"x" * CHUNK

        answer = post(path, body())
        assert answer.status_code == 413
        assert sent <= MAX_BODY + CHUNK


def test_an_exception_is_logged_without_its_message(caplog) -> None:
    caplog.set_level(logging.DEBUG)
    answer = post("/_raise", b"somebody's prompt")
    assert (answer.status_code, answer.json()) == (500, {"error": FAILED})
    assert "ValueError" in caplog.text
    assert "_raise" in caplog.text
    assert "somebody" not in caplog.text


def test_a_full_disk_is_logged_as_that_without_the_files_name(caplog) -> None:
    assert post("/_fill", b"somebodys-prompt.json").json() == {"error": FAILED}
    assert f"OSError {errno.ENOSPC} (No space left on device)" in caplog.text
    assert "somebody" not in caplog.text
