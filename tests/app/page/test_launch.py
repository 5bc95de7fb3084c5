"""What the page is launched with."""

from __future__ import annotations

import httpx

from app.page.launch import LAUNCH
from app.page.layout import build
from tests.app.conftest import NONE_RECORDED, toy_pool
from tests.toy import Toy


def test_a_page_that_answers_slowly_at_first_is_served(monkeypatch) -> None:
    monkeypatch.setattr("gradio.networking.url_ok", lambda url: False)
    demo = build(toy_pool(Toy((4, 4), 16)), NONE_RECORDED)
    try:
        demo.launch(**LAUNCH, prevent_thread_lock=True, quiet=True)
        assert httpx.get(demo.local_url, timeout=60).status_code == 200
    finally:
        demo.close()
