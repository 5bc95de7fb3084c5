"""All of Gradio's routes, and what each may do here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import dropwhile
from pathlib import Path
from typing import Any

import gradio as gr
import httpx
import pytest

from app.api.open_routes import NOTHING, READ, WRITTEN
from app.page.layout import build
from tests.app.conftest import NONE_RECORDED, Watched, ready_pool
from tests.browser.servers import launched

OPEN = {
    "GET /": "the page",
    "HEAD /": "whether there is a page",
    "GET /assets/{path:path}": "Gradio's scripts and style sheets",
    "GET /static/{path:path}": "Gradio's icons",
    "GET /svelte/{path:path}": "Gradio's scripts of components",
    "GET /favicon.ico": "Gradio's icon",
    "GET /manifest.json": "404, unless the page is to be installed as an app",
    "GET /robots.txt": "what a search engine may read: all",
    "GET /theme.css": "the theme",
    "GET /gradio_api/theme.css": "the theme",
    "GET /config": "the page's components and events, for clients",
    "GET /gradio_api/info": "the calls for programs",
    "GET /gradio_api/openapi.json": "the same in OpenAPI's words",
    "GET /gradio_api/app_id": "whether it is the server that the page came from",
    "GET /gradio_api/heartbeat/{session_hash}": "a stream that ends at once",
    "GET /gradio_api/startup-events": "starts the queue, which the server asks itself for",
    "GET /gradio_api/queue/data": "answers of a session's calls",
    "GET /gradio_api/call/{api_name}/{event_id}": "the answer of a call",
    "GET /gradio_api/call/v2/{api_name}/{event_id}": "the answer of a call",
    "GET /gradio_api/upload_progress": "how far an upload is",
    "GET /gradio_api/file={path_or_url:path}": "a file that the page made or was brought",
    "HEAD /gradio_api/file={path_or_url:path}": "whether there is such a file",
    "POST /gradio_api/upload": "a file in the temporary folder, for two hours",
    "POST /gradio_api/queue/join": "a call",
    "POST /gradio_api/run/{api_name}": "a call without a queue: Stop",
    "POST /gradio_api/call/{api_name}": "a call",
    "POST /gradio_api/call/v2/{api_name}": "a call, values by name",
    "POST /gradio_api/cancel": "ends a call",
    "POST /gradio_api/reset": "nothing, but gradio_client calls it",
}
SHUT = {
    "GET /gradio_api/deep_link": "writes a session's values to the disk for good, and serves them",
    "POST /gradio_api/process_recording": "writes a film of the visitor's screen, and runs ffmpeg",
    "POST /gradio_api/component_server": "calls functions of components, which have none here",
    "GET /gradio_api/proxy={url_path:path}": "fetches from Spaces",
    "HEAD /gradio_api/proxy={url_path:path}": "fetches from Spaces",
    "GET /gradio_api/custom_component/{id}/{environment}/{type}/{file_name}": "there are none",
    "GET /gradio_api/file/{path:path}": "an old name of file=",
    "POST /gradio_api/api/{api_name}": "an old name of run",
    "POST /gradio_api/stream/{event_id}": "the next part of a stream, of which there are none",
    "POST /gradio_api/stream/{event_id}/close": "the end of one",
    "GET /gradio_api/stream/{session_hash}/{run}/{component_id}/playlist.m3u8": "sound or film",
    "GET /gradio_api/stream/{session_hash}/{run}/{component_id}/playlist-file": "sound or film",
    "GET /gradio_api/stream/{session_hash}/{run}/{component_id}/{segment_id}.{ext}": "one's part",
    "GET /gradio_api/vibe-code": "the program's text",
    "POST /gradio_api/vibe-code": "writes the program's text",
    "POST /gradio_api/vibe-edit": "has a model write the program's text",
    "POST /gradio_api/undo-vibe-edit": "writes the program's text",
    "POST /gradio_api/vibe-starter-queries": "asks a model about the program's text",
    "GET /gradio_api/runs": "calls that the browser remembers",
    "GET /gradio_api/dev/reload": "tells of a changed program, without end",
    "GET /gradio_api/queue/status": "how many calls wait: the page says so itself",
    "GET /gradio_api/user": "there are no accounts",
    "GET /gradio_api/token": "there are no accounts",
    "GET /gradio_api/login_check": "there are no accounts",
    "POST /login": "there are no accounts",
    "GET /logout": "there are no accounts",
    "GET /monitoring": "who called what",
    "GET /monitoring/summary": "how often what was called",
    "GET /monitoring/{key}": "who called what",
    "GET /pwa_icon": "the page is no app to install",
    "GET /pwa_icon/{size}": "the page is no app to install",
    "GET /openapi.json": "all of Gradio's routes",
    "HEAD /openapi.json": "all of Gradio's routes",
}


@pytest.fixture(scope="module")
def demo() -> Iterator[gr.Blocks]:
    demo = build(ready_pool(Watched()), NONE_RECORDED)
    with launched(demo):
        yield demo


def walk(routes: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Methods and paths, also of routers in routers."""
    for route in routes:
        inner = getattr(route, "effective_candidates", None)
        if inner is not None:
            yield from walk(inner())
        else:
            route = getattr(route, "starlette_route", None) or getattr(
                route, "original_route", route
            )
            yield from ((method, route.path) for method in route.methods)


def gradios(demo: gr.Blocks) -> set[str]:
    """Behind the page's own, and without the slash that it has many of its routes with besides."""
    routes = dropwhile(lambda route: route.path != "/openapi.json", demo.app.routes)
    found = list(walk(routes))
    paths = {path for _, path in found} - {""}
    return {f"{method} {path}" for method, path in found if path.rstrip("/") not in paths - {path}}


def test_every_route_of_gradios_is_named_with_what_it_may_do(demo) -> None:
    """One that a later Gradio adds is shut. It belongs in SHUT here, or to the open ones."""
    assert gradios(demo) == OPEN.keys() | SHUT.keys()


def test_open_are_those_that_are_said_to_be() -> None:
    named = [*(f"GET {path}" for path in READ), *(f"POST {path}" for path in WRITTEN)]
    assert set(named) == {name for name in OPEN if not name.startswith("HEAD")}


@pytest.mark.parametrize("name", SHUT)
def test_what_is_shut_is_not_there(demo, name) -> None:
    method, path = name.split()
    path = re.sub(r"{.*?}", "x", path)
    with httpx.Client(base_url=demo.local_url, timeout=300, verify=False) as client:
        for address in (path, f"{path}/"):
            answer = client.request(method, address)
            assert answer.status_code == 404
            assert method == "HEAD" or answer.json() == {"error": NOTHING}


def test_no_session_is_written_to_the_disk(demo) -> None:
    """By its name, as Gradio's frontend asks for a link to it."""
    prompt = "a prompt that somebody typed"
    with httpx.Client(base_url=demo.local_url, timeout=300) as client:
        config = client.get("/config").json()
        board = next(each for each in config["dependencies"] if each["api_name"] == "board")
        props = {each["id"]: each["props"] for each in config["components"]}
        values = [prompt, *(props[number].get("value") for number in board["inputs"][1:])]
        body = {"data": values, "fn_index": board["id"], "session_hash": "typed"}
        client.post("/gradio_api/queue/join", json=body)
        with client.stream("GET", "/gradio_api/queue/data?session_hash=typed") as events:
            assert any("process_completed" in line for line in events.iter_lines())
        assert "typed" in demo.app.state_holder
        assert client.get("/gradio_api/deep_link?session_hash=typed").status_code == 404
    files = [file for file in Path(demo.GRADIO_CACHE).rglob("*") if file.is_file()]
    assert not any(prompt.encode() in file.read_bytes() for file in files)


def test_the_page_and_its_files_are_there(demo) -> None:
    with httpx.Client(base_url=demo.local_url, timeout=300) as client:
        page = client.get("/").text
        for path in set(re.findall(r'(?:src|href)="\./(assets/[^"]+)"', page)) | {"theme.css"}:
            assert client.get(f"/{path}").status_code == 200, path
        assert client.head("/").status_code == 200
        assert client.get("/gradio_api/call/race").status_code == 404
        assert client.get("/gradio_api/mcp").status_code == 405, "as a client of MCP expects"
