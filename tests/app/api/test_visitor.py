"""Whose address a request has, behind proxies and with forged headers."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
import uvicorn
from starlette.requests import Request

from app.api.visitor import address
from tests.coroutines import run

APP = Path(__file__).parents[3] / "app" / "__init__.py"
VISITOR, FORGED = "203.0.113.9", "198.51.100.1"


def address_of(app: Any, peer: str, forwarded: str) -> str:
    """The address of a request from `peer` with that header, as what is behind `app` has it."""
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    scope = {"type": "http", "path": "/", "headers": headers, "client": (peer, 1)}
    seen: list[str] = []

    async def page(scope: Any, receive: Any, send: Any) -> None:
        seen.append(address(gr.Request(Request(scope))))

    run(app(page)(scope, None, None))
    return seen[0]


def server(app: Any) -> Any:
    """What gradio's server puts in front of an app."""
    config = uvicorn.Config(app, log_config=None)
    config.load()
    return config.loaded_app


@pytest.fixture
def start(monkeypatch):
    """Starts the page with the environment of a Space, or that of a host."""

    def start(**environment: str) -> None:
        for name in ("SPACE_ID", "FORWARDED_ALLOW_IPS"):
            monkeypatch.setenv(name, "")
            monkeypatch.delenv(name)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        runpy.run_path(str(APP))

    return start


@pytest.mark.parametrize(
    ("environment", "peer", "forwarded", "expected"),
    [
        ({}, VISITOR, "", VISITOR),
        ({}, VISITOR, FORGED, VISITOR),
        ({}, "127.0.0.1", f"{FORGED}, {VISITOR}", VISITOR),
        ({"FORWARDED_ALLOW_IPS": "192.0.2.7"}, "192.0.2.7", f"{FORGED}, {VISITOR}", VISITOR),
        ({"FORWARDED_ALLOW_IPS": "192.0.2.7"}, VISITOR, FORGED, VISITOR),
        ({"SPACE_ID": "a/b"}, "10.16.3.80", VISITOR, VISITOR),
        ({"SPACE_ID": "a/b"}, "10.16.3.80", f"{FORGED}, {VISITOR}", VISITOR),
        ({"SPACE_ID": "a/b"}, "10.16.3.80", f"{FORGED}, {VISITOR}, 10.0.1.2", VISITOR),
        ({"SPACE_ID": "a/b"}, "10.16.3.80", f"10.9.9.9, {VISITOR}", VISITOR),
    ],
)
def test_what_a_visitor_writes_into_the_header_is_not_believed(
    start, environment, peer, forwarded, expected
) -> None:
    start(**environment)
    assert address_of(server, peer, forwarded) == expected
