"""Requests that are not as they should be: too large, malformed, with wrong fields."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app.api.call_errors import NO_CALL
from app.api.request_guard import MAX_BODY, MAX_UPLOAD
from tests.abuse.conftest import Site, wait_until

TYPED = "a prompt that somebody typed"
TAKES = "/race takes prompt, seed, lanes, model (optional), guidance (optional)"


def post(site: Site, path: str, body: Any) -> httpx.Response:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    content = body if isinstance(body, str) else json.dumps(body)
    return site.client.post(f"/gradio_api/{path}", content=content, headers=headers)


def mcp(method: str = "tools/call", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def chunks(most: int) -> Iterator[bytes]:
    """More than a request may have, without a declared length."""
    yield b'--x\r\ncontent-disposition: form-data; name="files"; filename="a"\r\n\r\n'
    for _ in range(most // 2**20 + 1):
        yield b"x" * 2**20


@pytest.mark.parametrize("path", ["call/race", "call/v2/race", "queue/join", "upload", "mcp/"])
def test_a_body_of_no_declared_length_has_a_limit(site: Site, path: str) -> None:
    kind = "multipart/form-data; boundary=x" if path == "upload" else "application/json"
    headers = {"content-type": kind, "accept": "application/json, text/event-stream"}
    content = chunks(MAX_UPLOAD if path == "upload" else MAX_BODY)
    answer = site.client.post(f"/gradio_api/{path}", content=content, headers=headers)
    assert answer.status_code == 413


NAMED = {"prompt": TYPED, "seed": 7, "lanes": ["ar"]}
MALFORMED = [
    ("call/race", {}, "data: Field required"),
    ("call/race", {"data": TYPED}, "data: Input should be a valid list"),
    ("call/race", f'["{TYPED}', "JSON decode error"),
    (f"call/{TYPED}", {"data": [TYPED]}, "there are /race"),
    ("call/v2/race", {"prompt": TYPED}, TAKES),
    ("call/v2/race", NAMED | {"colour": TYPED}, TAKES),
    (f"call/v2/{TYPED}", {"prompt": TYPED}, "there are /race"),
    ("queue/join", {"data": [TYPED], "fn_index": TYPED, "session_hash": "x"}, "a valid integer"),
]


@pytest.mark.parametrize(("path", "body", "words"), MALFORMED)
def test_a_malformed_call_is_answered_with_a_sentence(site: Site, path, body, words) -> None:
    answer = post(site, path, body)
    assert answer.status_code in (404, 422)
    assert words in answer.json()["error"]


OF_MCP = [
    mcp(TYPED),
    mcp(name=TYPED, arguments={}),
    mcp(name="race", arguments=TYPED),
    mcp(name="race", arguments={"prompt": TYPED}),
    mcp(name="race", arguments=NAMED | {"colour": TYPED}),
    mcp(name="race", arguments=NAMED | {"lanes": [TYPED]}),
    {"x": TYPED},
    TYPED,
]


def test_no_log_has_what_was_typed(site: Site, capfd, caplog) -> None:
    caplog.set_level(logging.INFO)
    for path, body, _ in MALFORMED:
        post(site, path, body)
    for body in OF_MCP:
        post(site, "mcp/", body)
    file = {"path": TYPED, "meta": {"_type": "gradio.FileData"}}
    for name, values in (("race", [TYPED]), ("open", [file]), ("open", [TYPED])):
        site.call(values, name)
    post(site, "component_server", {"data": [TYPED], "component_id": -1, "fn_name": TYPED})
    wait_until(site.idle)
    shown = capfd.readouterr()
    assert TYPED not in caplog.text + shown.out + shown.err


@pytest.mark.parametrize("path", ["call/race/unknown", "call/v2/race/unknown"])
def test_the_answer_of_an_unknown_call_is_a_sentence(site: Site, path: str) -> None:
    answer = site.client.get(f"/gradio_api/{path}")
    assert (answer.status_code, answer.json()) == (404, {"error": NO_CALL})


def test_a_session_that_is_gone_is_told_so_and_nothing_is_logged(site: Site, capfd, caplog) -> None:
    """As a page's is whose server was started again."""
    answer = site.client.get("/gradio_api/queue/data?session_hash=unknown")
    assert '"session_not_found":true' in answer.text
    shown = capfd.readouterr()
    assert caplog.text + shown.out + shown.err == ""


def test_a_program_is_told_an_error_as_text_and_the_page_as_html(site: Site) -> None:
    wrong = "<b>&amp;"
    assert f"'{wrong}'" in site.rejection(["red apple", 7, [wrong]], "race")
    said = site.rejection(site.race_values(lanes=(wrong,)))
    assert "'&lt;b&gt;&amp;amp;'" in said
    call = mcp(name="race", arguments=NAMED | {"lanes": [wrong]})
    assert f"'{wrong}'" in post(site, "mcp/", call).text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"data": null}',
        b'{"data": 5}',
        b'{"data": {"0": "x"}}',
        b'{"data": ["x"]}',
        b"\xff\xfe",
        b'{"data": []}',
        b'{"data": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        json.dumps({"data": ["x"] * 5000}).encode(),
        b'{"data": ["x", 7, ["ar"]], "fn_index": -1}',
        b'{"data": ["x", 7, ["ar"]], "fn_index": 99999}',
        b'{"data": ["x", 7, ["ar"]], "session_hash": {"a": 1}}',
        b'{"data": ["x", 7, ["ar"]], "trigger_id": "x"}',
    ],
)
def test_bodies_that_are_no_call_start_no_race(site: Site, body: bytes) -> None:
    passes = site.model.passes
    answer = site.client.post(
        "/gradio_api/call/board", content=body, headers={"content-type": "application/json"}
    )
    if answer.status_code == 200:
        event = answer.json()["event_id"]
        assert "event: complete" not in site.client.get(f"/gradio_api/call/board/{event}").text
    assert site.model.passes == passes
    assert "Traceback" not in answer.text


def test_the_queue_cannot_be_bypassed(site: Site) -> None:
    """Gradio's route for a call at once, and a call of the page's inner functions by number or
    name."""
    passes = site.model.passes
    for name in ("board", "race"):
        body = {"data": site.race_values() if name == "board" else ["x", 7, ["ar"]]}
        for route in ("run", "api"):
            answer = site.client.post(f"/gradio_api/{route}/{name}", json=body)
            assert answer.status_code >= 400, (route, name, answer.text[:200])
    assert site.model.passes == passes
