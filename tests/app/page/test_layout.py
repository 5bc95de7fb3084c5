"""What the page is served with."""

from __future__ import annotations

import httpx

from app.page.layout import LAUNCH, build
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


def test_a_space_links_to_its_own_files(monkeypatch) -> None:
    def header() -> str:
        blocks = build(toy_pool(Toy()), NONE_RECORDED).blocks.values()
        return next(str(b.value) for b in blocks if "masthead" in str(getattr(b, "value", "")))

    assert "<nav" not in header()
    monkeypatch.setenv("SPACE_ID", "someone/race")
    assert 'href="https://huggingface.co/spaces/someone/race/tree/main"' in header()
