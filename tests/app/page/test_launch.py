"""What the page is launched with."""

from __future__ import annotations

import httpx

from engine.judge.toys import Toy
from tests.browser.servers import served


def test_a_page_that_answers_slowly_at_first_is_served(monkeypatch) -> None:
    monkeypatch.setattr("gradio.networking.url_ok", lambda url: False)
    with served(Toy((4, 4), 16)) as url:
        assert httpx.get(url, timeout=300).status_code == 200
