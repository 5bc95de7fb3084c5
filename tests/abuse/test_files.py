"""Nothing that a visitor asks for reads a file of the server's, writes one where it should not be,
or makes it call anywhere."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.abuse.conftest import SECRETS, TARGETS, Site, Trap

ROOT = Path(__file__).parents[2]
CLIMBING = [
    "../" * 8 + "etc/passwd",
    "..%2f" * 8 + "etc%2fpasswd",
    "....//" * 8 + "etc/passwd",
    "%2e%2e/" * 8 + "etc/passwd",
]
PLACES = ["file=", "file/", "stream/", "custom_component/x/client/component/"]
ROUTES = [f"/gradio_api/{place}" for place in PLACES] + ["/static/", "/assets/", "/svelte/"]
PATHS = [
    *(f"/gradio_api/file={target}" for target in TARGETS),
    *(route + way for route in ROUTES for way in CLIMBING),
    "/gradio_api/file=%2Fetc%2Fpasswd",
    "/gradio_api/file=/etc/passwd%00.png",
    "/gradio_api/file=file:///etc/passwd",
    "/gradio_api/file=//etc/passwd",
    "/gradio_api/file=/proc/self/root/etc/passwd",
    "/file=/etc/passwd",
    "/file/etc/passwd",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_to_a_file(site: Site, path: str) -> None:
    answer = site.client.get(path)
    refused = answer.status_code in (307, 400, 403, 404, 405)
    assert refused or "text/html" in answer.headers["content-type"]
    assert not any(secret in answer.content for secret in SECRETS)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_server_calls_nowhere(site: Site, trap: Trap, method: str) -> None:
    written = quote(trap.url, safe=""), trap.url.replace("http", "HTTP")
    for way in (trap.url, *written, trap.url.removeprefix("http:")):
        for route in ("proxy=", "file=", "stream/", "custom_component/"):
            path = f"/gradio_api/{route}{way}"
            answer = site.client.request(method, path, follow_redirects=False)
            assert answer.status_code >= 400, (route, way)
    assert trap.calls == 0


def test_component_server_runs_no_function_but_the_pages(site: Site) -> None:
    numbers = [each["id"] for each in site.client.get("/config").json()["components"]]
    names = "ls __init__ __class__ get_config move_resource_to_block_cache preprocess os.system"
    for name in names.split():
        for number in numbers[:: max(1, len(numbers) // 8)]:
            body = {"session_hash": "x", "component_id": number, "fn_name": name}
            body["data"] = ["/etc/passwd"]
            answer = site.client.post("/gradio_api/component_server", json=body)
            assert answer.status_code >= 400, (name, number, answer.text[:100])
            assert not any(secret in answer.content for secret in SECRETS)


# Roots, drives, devices, nothing at all.
NAMES = ["../../../../tmp/evil.py", "/etc/cron.d/evil", "..\\evil", "a" * 5000]
NAMES += ["\0", ".", "", "con"]


def upload(site: Site, name: str, data: bytes) -> httpx.Response:
    return site.client.post("/gradio_api/upload", files={"files": (name, data)})


def copies(folder: Path, data: bytes) -> list[Path]:
    """The files right in a folder that hold just this, whatever else comes and goes there."""
    found = []
    for file in folder.iterdir():
        with contextlib.suppress(OSError):
            if file.is_file() and file.stat().st_size == len(data) and file.read_bytes() == data:
                found.append(file)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_uploads_stay_in_their_folder_under_a_tame_name(site: Site, name: str) -> None:
    data, folder = secrets.token_bytes(32), Path(site.demo.GRADIO_CACHE).resolve()
    answer = upload(site, name, data)
    if answer.status_code == 200:
        (path,) = answer.json()
        assert Path(path).resolve().is_relative_to(folder)
        assert Path(path).read_bytes() == data
    else:
        assert answer.status_code < 600
    for place in (ROOT, Path("/tmp"), Path("/etc/cron.d"), *folder.parents):
        if os.access(place, os.R_OK):
            assert copies(place, data) == []


def test_an_upload_is_never_shown_as_a_page(site: Site) -> None:
    for kind in ("html", "svg", "xml", "js"):
        (path,) = upload(site, f"x.{kind}", b"<script>hit=1</script>").json()
        answer = site.client.get(f"/gradio_api/file={path}")
        assert answer.status_code == 200
        assert answer.headers["content-disposition"].startswith("attachment"), kind


def test_an_upload_beyond_the_limit_is_rejected_and_leaves_nothing(site: Site) -> None:
    def kept() -> int:
        files = Path(site.demo.GRADIO_CACHE).rglob("*")
        return sum(file.stat().st_size for file in files if file.is_file())

    before = kept()
    assert upload(site, "x.json", b"x" * (33 * 2**20)).status_code == 413
    assert kept() - before < 2**20


def test_nothing_of_the_makers_is_open(site: Site) -> None:
    """Monitoring, gradio's writing of code from prompts, its profiler, run history, its
    recorder."""
    for path in ("monitoring", "monitoring/summary"):
        assert site.client.get(f"/{path}").status_code >= 400, path
    for path in ("vibe-code", "profiling/traces", "run-history/records", "run-history/buckets"):
        assert site.client.get(f"/gradio_api/{path}").status_code >= 400, path
    for path in ("vibe-edit", "undo-vibe-edit", "vibe-code", "run-history/connect"):
        answer = site.client.post(f"/gradio_api/{path}", json={"prompt": "x", "code": "x"})
        assert answer.status_code >= 400, path
