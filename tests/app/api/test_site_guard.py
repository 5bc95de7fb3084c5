"""Under which names the page answers, and to whose pages."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.api import site_guard
from app.api.mcp_server import PATH
from app.api.site_guard import OTHER_NAME, OTHER_SITE, SiteGuard, frame_policy, names_of
from app.settings import AppSettings
from tests.app.conftest import Watched
from tests.browser.servers import served
from tests.coroutines import run

LOCAL: dict[str, str] = {}
SPACE = {"SPACE_ID": "a/b", "SPACE_HOST": "a-b.hf.space,race.example"}
NAMED = {"GRADIO_SERVER_NAME": "lab.example"}
HERE = "http://127.0.0.1:7860"


async def _yes(_: Request) -> Response:
    return PlainTextResponse("yes")


def status(environment: dict[str, str], host: str, origin: str | None, hosts: str = "") -> int:
    """Of a request, where the environment and PHOTO_FINISH_HOSTS are such."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site_guard, "SETTINGS", AppSettings(hosts=hosts))
        guard = Middleware(SiteGuard, names=names_of(environment))
    app = Starlette(routes=[Route("/", _yes, methods=["POST"])], middleware=[guard])
    headers = {"host": host} | ({"origin": origin} if origin else {})

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.post("/", headers=headers)

    answer = run(send())
    if answer.status_code != 200:
        assert answer.json()["error"] in (OTHER_NAME, OTHER_SITE)
    return answer.status_code


@pytest.mark.parametrize(
    ("environment", "host", "origin"),
    [
        *((LOCAL, host, None) for host in ("127.0.0.1:7860", "localhost", "[::1]:7860", "")),
        *((LOCAL, host, f"http://{host}") for host in ("127.0.0.1:7860", "LOCALHOST:8000")),
        (LOCAL, "localhost:8000", "http://127.0.0.1:7860"),
        (LOCAL, "127.0.0.1:7860", "http://localhost:6274"),  # the inspector of MCP
        (LOCAL, "192.0.2.7:7860", "http://192.0.2.7:7860"),  # of a network
        (LOCAL, f"{socket.gethostname()}:7860", f"http://{socket.gethostname()}:7860"),
        (NAMED, "lab.example:7860", "http://lab.example:7860"),
        *((SPACE, host, f"https://{host}") for host in ("a-b.hf.space", "race.example")),
        (SPACE, "a-b.hf.space", "https://huggingface.co"),
        (SPACE, "a-b--replicas.hf.space", None),
        (SPACE, "10.16.3.80:7860", None),
    ],
)
def test_its_own_names_are_answered(environment, host, origin) -> None:
    assert status(environment, host, origin) == 200


@pytest.mark.parametrize(
    ("environment", "host", "origin", "expected"),
    [
        # DNS rebinding, as in CVE-2025-66416
        *(
            (where, "evil.example:7860", "http://evil.example:7860", 421)
            for where in (LOCAL, SPACE)
        ),
        *((LOCAL, host, None, 421) for host in ("evil.example", "127.0.0.1.evil.example", "[x")),
        (LOCAL, "a-b.hf.space", None, 421),
        (SPACE, "evilhf.space", None, 421),
        # across sites
        *(
            (LOCAL, "127.0.0.1:7860", f"http://{name}", 403)
            for name in ("evil.example", "10.0.0.9")
        ),
        *((LOCAL, "localhost", origin, 403) for origin in ("null", "file://", "http://[x")),
        (SPACE, "a-b.hf.space", "https://evil.hf.space", 403),
        (LOCAL, "127.0.0.1", "https://huggingface.co", 403),
    ],
)
def test_other_names_and_sites_are_not(environment, host, origin, expected) -> None:
    assert status(environment, host, origin) == expected


@pytest.mark.parametrize("host", ["photo.example", "127.0.0.1:7860"])
def test_behind_a_proxy_it_has_the_names_that_its_host_names(host) -> None:
    """Whether the proxy passes the name on, or asks for this machine's own."""
    origin = "https://photo.example:8443"
    assert status(LOCAL, host, origin) != 200
    assert status(LOCAL, host, origin, "blog.example, Photo.example") == 200
    assert status(LOCAL, host, "https://blog.example", "blog.example, photo.example") == 200
    assert status(LOCAL, host, "https://evil.example", "photo.example") == 403


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(Watched()) as url:
        yield url.rstrip("/")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/config"),
        ("POST", PATH),
        ("POST", "/gradio_api/upload"),
        ("POST", "/gradio_api/call/race"),
        ("POST", "/gradio_api/queue/join"),
        ("POST", "/races/x/bets"),
        ("GET", "/races/x/events"),
    ],
)
def test_all_that_is_served_is_guarded(url, method, path) -> None:
    for header, expected in (("host", 421), ("origin", 403)):
        value = "evil.example" if header == "host" else "https://evil.example"
        answer = httpx.request(method, url + path, headers={header: value}, timeout=300)
        assert answer.status_code == expected
        assert answer.json()["error"].endswith("add the name to PHOTO_FINISH_HOSTS.")


@pytest.mark.parametrize(
    ("environment", "frames", "who"),
    [
        (LOCAL, (), "'self'"),
        (SPACE, (), "'self' https://huggingface.co"),
        (LOCAL, ("*.example.org", "localhost:8000"), "'self' *.example.org localhost:8000"),
    ],
)
def test_only_pages_that_the_host_names_show_it_in_a_frame(environment, frames, who) -> None:
    assert frame_policy(frames, environment) == f"; frame-ancestors {who}"


def test_any_page_shows_it_in_a_frame_where_the_host_says_so() -> None:
    assert frame_policy(("*",), SPACE) == ""
