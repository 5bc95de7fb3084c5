"""The middleware by itself, without a server."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from app.api import request_guard
from app.api.request_guard import (
    FAILED,
    HEADERS,
    MAX_BODY,
    MAX_SENDING,
    MAX_UPLOAD,
    NO_ROOM,
    TOO_MANY,
    TOO_SLOW,
    UPLOAD,
    RequestGuard,
)
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


async def _stream(_: Request) -> Response:
    """As gradio's, of messages that nobody waits for."""

    async def said() -> AsyncIterator[bytes]:
        yield b"not found"
        raise HTTPException(404)

    return StreamingResponse(said())


HANDLERS = (_length, _caught, _raise, _fill, _stream)
ROUTES = [Route(f"/{f.__name__}", f, methods=["POST"]) for f in HANDLERS]


def app() -> Starlette:
    routes = [*ROUTES, Route(UPLOAD, _length, methods=["POST"])]
    return Starlette(routes=routes, middleware=[Middleware(RequestGuard)])


@contextlib.asynccontextmanager
async def client_of(app: Starlette, address: str = "192.0.2.1") -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
        yield client


def post(path: str, body: object, headers: dict[str, str] | None = None) -> httpx.Response:
    async def send() -> httpx.Response:
        async with client_of(app()) as client:
            return await client.post(path, content=body, headers=headers)

    return run(send())


def test_a_body_of_the_largest_trace_is_read_and_every_answer_has_the_headers() -> None:
    answer = post(UPLOAD, b"x" * MAX_UPLOAD)
    assert answer.text == str(MAX_UPLOAD)
    assert answer.headers.items() >= {(name.lower(), value) for name, value in HEADERS.items()}
    assert post("/_length", b"x" * MAX_BODY).text == str(MAX_BODY)


@pytest.mark.parametrize(("path", "most"), [(UPLOAD, MAX_UPLOAD), ("/_length", MAX_BODY)])
def test_a_larger_body_is_rejected_unread(path: str, most: int) -> None:
    answer = post(path, b"", {"content-length": str(most + 1)})
    words = f"The request is too large: at most {most // 2**20} MB are allowed."
    assert (answer.status_code, answer.json()) == (413, {"error": words})
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/_length", "/_caught", UPLOAD])
def test_a_body_whose_rest_does_not_come_is_not_waited_for(path: str, monkeypatch) -> None:
    monkeypatch.setattr(request_guard, "BODY_SECONDS", 0.05)
    ended = []

    async def body() -> AsyncIterator[bytes]:
        try:
            yield b"half"
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    answer = post(path, body())
    assert (answer.status_code, answer.json()) == (408, {"error": TOO_SLOW})
    assert answer.headers["connection"] == "close"
    assert ended == [True]


def test_a_body_that_comes_slowly_has_more_time(monkeypatch) -> None:
    """A second for each so many bytes: here none for waiting, and an hour for each byte."""
    monkeypatch.setattr(request_guard, "BODY_SECONDS", 3600.0)
    monkeypatch.setattr(request_guard, "BODY_RATE", 1 / 3600)

    async def body() -> AsyncIterator[bytes]:
        for _ in range(5):
            await asyncio.sleep(0.01)
            yield b"x"
            request_guard.BODY_SECONDS = 0.0  # from the first byte on

    assert post("/_length", body()).text == "5"


def test_an_address_sends_so_many_requests_at_once_and_others_go_on() -> None:
    """However many they are that have come in part; one that is whole gives its place back."""

    async def sends() -> None:
        page, goes_on, begun = app(), asyncio.Event(), []

        async def body() -> AsyncIterator[bytes]:
            yield b"half"
            begun.append(True)
            await goes_on.wait()

        async with (
            client_of(page, "2001:db8::1") as client,
            client_of(page, "2001:db8::2") as neighbour,
            client_of(page) as other,
        ):
            posts = [client.post("/_length", content=body()) for _ in range(MAX_SENDING)]
            waiting = [asyncio.create_task(each) for each in posts]
            while len(begun) < MAX_SENDING:
                await asyncio.sleep(0)
            answer = await neighbour.post("/_length", content=body_of(b"x"))
            assert (answer.status_code, answer.json()) == (429, {"error": TOO_MANY})
            assert (await other.post("/_length", content=body_of(b"x"))).text == "1"
            goes_on.set()
            assert [answer.text for answer in await asyncio.gather(*waiting)] == ["4"] * MAX_SENDING
            assert (await neighbour.post("/_length", content=body_of(b"x"))).text == "1"

    run(sends())


async def body_of(data: bytes) -> AsyncIterator[bytes]:
    """In parts."""
    yield data
    yield b""


def test_a_stream_that_has_said_its_error_ends_and_is_not_logged(caplog) -> None:
    caplog.set_level(logging.DEBUG)
    answer = post("/_stream", b"")
    assert (answer.status_code, answer.text) == (200, "not found")
    assert "request_guard" not in caplog.text


def test_of_a_body_without_a_length_no_more_is_read_than_the_limit() -> None:
    for path in ("/_length", "/_caught"):
        sent = 0

        async def body() -> AsyncIterator[bytes]:
            nonlocal sent
            for _ in range(20):
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
    answer = post("/_fill", b"somebodys-prompt.json")
    assert (answer.status_code, answer.json()) == (507, {"error": NO_ROOM})
    assert f"OSError {errno.ENOSPC} (No space left on device)" in caplog.text
    assert "somebody" not in caplog.text
