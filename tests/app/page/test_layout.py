"""The page's layout."""

from __future__ import annotations

from app.page.layout import build
from tests.app.conftest import NONE_RECORDED, toy_pool
from tools.judge.toys import Toy


def test_a_space_links_to_its_own_files(monkeypatch) -> None:
    def header() -> str:
        blocks = build(toy_pool(Toy()), NONE_RECORDED).blocks.values()
        return next(str(b.value) for b in blocks if "masthead" in str(getattr(b, "value", "")))

    assert "<nav" not in header()
    monkeypatch.setenv("SPACE_ID", "someone/race")
    assert 'href="https://huggingface.co/spaces/someone/race/tree/main"' in header()
