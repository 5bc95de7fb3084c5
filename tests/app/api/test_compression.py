"""Compression by itself, without a server."""

from __future__ import annotations

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.api.compression import Compression
from tests.coroutines import run


async def _told(request: Request) -> Response:
    """What a route that compresses by itself reads, at a length that is worth compressing."""
    return PlainTextResponse(request.headers["accept-encoding"] + " " * 1000)


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("GZip", "gzip"),
        ("x-gzip", "gzip"),
        ("gzip, deflate, br", "gzip"),
        ("br;q=1.0, gzip;q=0.001", "gzip"),
        ("*", "gzip"),
        ("deflate, *;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("gzip; q=0.000", None),
        ("gzip ;q = 0 , *", None),
        ("x-gzipped", None),
        ("nogzip", None),
        ("*;q=0", None),
        ("identity", None),
        ("", None),
        (",;,;q", None),
    ],
)
def test_gzip_is_for_those_who_take_it_and_caches_are_told(accepted: str, coding: str) -> None:
    page = Starlette(routes=[Route("/", _told)], middleware=[Middleware(Compression)])

    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(page)
        async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
            return await client.get("/", headers={"accept-encoding": accepted})

    answer = run(get())
    assert answer.headers.get("content-encoding") == coding
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.text.strip() == (coding or "identity")
