"""Connections that do not say what they want, against a page that is served."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import httpx
import pytest

from app.api import request_guard, request_head
from tests.app.conftest import Watched
from tests.browser.servers import served

BODY = json.dumps({"data": ["red apple", 7, ["ar"]]}).encode()
HEAD = (
    f"POST /gradio_api/call/race HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(BODY)}\r\n"
    "content-type: application/json\r\n\r\n"
).encode()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served(Watched()) as url:
        yield int(url.rstrip("/").rpartition(":")[2])


def answer(port: int, *parts: bytes) -> bytes:
    """All that comes back until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=300) as connection:
        for part in parts:
            connection.sendall(part)
        return b"".join(iter(lambda: connection.recv(2**16), b""))


@pytest.mark.parametrize("sent", [b"", b"GET / HT", HEAD[:60], HEAD + BODY + HEAD[:60]])
def test_a_connection_without_a_whole_head_is_closed(port, monkeypatch, sent) -> None:
    monkeypatch.setattr(request_head, "HEAD_SECONDS", 0.2)
    assert (b"event_id" in answer(port, sent)) == (BODY in sent)


def test_a_request_without_the_rest_of_its_body_is_closed(port, monkeypatch) -> None:
    monkeypatch.setattr(request_guard, "BODY_SECONDS", 0.2)
    said = answer(port, HEAD, BODY[:10])
    assert b" 408 " in said
    assert request_guard.TOO_SLOW.encode() in said


def test_one_that_is_whole_is_answered_however_long_it_takes(port, monkeypatch) -> None:
    """The stream of a stage's remote has no end of its own."""
    monkeypatch.setattr(request_head, "HEAD_SECONDS", 0.05)
    monkeypatch.setattr(request_guard, "BODY_SECONDS", 0.05)
    key = httpx.post(f"http://127.0.0.1:{port}/remotes", timeout=300).json()["key"]
    request = f"GET /remotes/{key}/events HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port), timeout=300) as connection:
        connection.sendall(request)
        said = b""
        while b"event: hall" not in said and b":\n" not in said:
            said += connection.recv(2**16)
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):
            connection.recv(1)
