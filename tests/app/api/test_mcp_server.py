"""MCP on the page's server: whose calls they are, and what becomes of those that are left."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import gradio as gr
import httpx
import pytest
from gradio.context import LocalContext
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app.api.api_result import RaceResult
from app.api.mcp_server import PATH, McpServer
from app.api.request_guard import FAILED
from app.api.visitor import address
from app.races.live_race import LiveRace
from tests.app.conftest import wait_until
from tests.browser.servers import Held, served

HEADERS = {"accept": "application/json, text/event-stream"}
VISITOR = ("203.0.113.9", 1)
PROMPT = "red apple"


def body(name: str, **arguments: object) -> dict[str, object]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def whose(prompt: str, request: gr.Request) -> Iterator[dict]:
    """Answers with its caller's address, as it is given it and as ZeroGPU looks for it."""
    if prompt != PROMPT:
        raise RuntimeError(prompt)
    known = {"prompt": prompt, "seed": 7, "model": "", "machine": "", "grid": [], "lanes": []}
    note = f"{address(request)} {address(LocalContext.request.get())}"
    yield RaceResult(state="finished", note=note, trace=None, **known).model_dump()


@pytest.fixture
def client() -> Iterator[TestClient]:
    server = McpServer({"whose": whose}, 1)
    app = Starlette(routes=server.routes(), lifespan=server.lifespan)
    with TestClient(app, client=VISITOR, headers=HEADERS) as client:
        yield client


def test_a_call_is_its_callers_also_to_zerogpu(client) -> None:
    answer = client.post(PATH, json=body("whose", prompt=PROMPT))
    assert f"{VISITOR[0]} {VISITOR[0]}" in answer.text


@pytest.mark.parametrize(
    ("name", "words"), [("whose", FAILED), ("nothing", "There is no such tool; there are whose.")]
)
def test_what_fails_is_answered_and_logged_without_what_was_typed(
    client, caplog, name, words
) -> None:
    caplog.set_level(logging.INFO)
    answer = client.post(PATH, json=body(name, prompt="typed"))
    assert words in answer.text
    assert '"isError":true' in answer.text
    assert "typed" not in answer.text + caplog.text


def test_on_a_space_a_tool_has_the_spaces_name(monkeypatch, client) -> None:
    assert [tool["name"] for tool in client.get(f"{PATH}/schema").json()] == ["whose"]
    monkeypatch.setenv("SPACE_ID", "owner/photo-finish")
    server = McpServer({"whose": whose}, 1)
    app = Starlette(routes=server.routes(), lifespan=server.lifespan)
    with TestClient(app, client=VISITOR, headers=HEADERS) as client:
        (tool,) = client.get(f"{PATH}/schema").json()
        assert tool["name"] == "photo_finish_whose"
        assert VISITOR[0] in client.post(PATH, json=body(tool["name"], prompt=PROMPT)).text


def test_a_race_ends_when_its_client_hangs_up(monkeypatch) -> None:
    model, stopped, stop = Held(), threading.Event(), LiveRace.stop
    monkeypatch.setattr(LiveRace, "stop", lambda live: stopped.set() or stop(live))
    with served(model) as url:
        call = body("race", prompt=PROMPT, seed=7, lanes=["ar"])
        model.hold()
        with httpx.stream("POST", f"{url.rstrip('/')}{PATH}", json=call, headers=HEADERS):
            wait_until(lambda: model.open == 1)
        assert stopped.wait(300)
        model.release()
        wait_until(lambda: model.open == 0)
    assert model.passes < 36
