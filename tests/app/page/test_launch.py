"""What the page is launched with."""

from __future__ import annotations

import os

import httpx
import pytest

from tests.browser.servers import served
from tests.ports import free_port
from tests.variants import further
from tools.judge.toys import Toy


def test_a_page_that_answers_slowly_at_first_is_served(monkeypatch) -> None:
    monkeypatch.setattr("gradio.networking.url_ok", lambda url: False)
    with served(Toy((4, 4), 16)) as url:
        assert httpx.get(url, timeout=300).status_code == 200


@pytest.mark.parametrize("spared", [None, "example.org"])
@pytest.mark.parametrize("name", ["http_proxy", *further("HTTP_PROXY", "ALL_PROXY")])
def test_a_page_starts_where_requests_go_by_a_proxy_and_leaves_that_as_it_is(
    monkeypatch, name, spared
) -> None:
    with free_port() as nobody:
        monkeypatch.setenv(name, f"http://127.0.0.1:{nobody}")
        monkeypatch.delenv("no_proxy", raising=False)
        if spared:
            monkeypatch.setenv("no_proxy", spared)
        with served(Toy((4, 4), 16)) as url:
            assert os.environ.get("no_proxy") == spared
            assert httpx.get(url, timeout=300, trust_env=False).status_code == 200
