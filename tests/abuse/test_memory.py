"""Uploads that are small as files and large in memory: the page gives back what they took."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import cycle, islice

import httpx
import pytest
from PIL import Image

from app.models.model_loader import ModelLoader
from app.models.model_pool import ModelPool
from app.page.own_picture import MAX_MEGAPIXELS
from engine.models.supply.card import CARDS
from tests.abuse.conftest import Site, resident
from tests.abuse.test_files import upload
from tests.app.conftest import Watched
from tests.browser.servers import recorded, served_pool

FEW, MANY = 12, 36
LEVEL = 150  # MiB
SIDE = int((MAX_MEGAPIXELS * 1e6) ** 0.5)


@pytest.fixture
def site() -> Iterator[Site]:
    """A page over the embedded model, which nobody loads: its encoder is all that is needed."""
    pool = ModelPool(ModelLoader(lambda: None), CARDS["embedded"])
    with served_pool(pool) as url, httpx.Client(base_url=url, timeout=300) as client:
        yield Site(url, None, Watched(), client)


def picture(kind: str, mode: str, side: int = SIDE) -> tuple[str, bytes]:
    file = io.BytesIO()
    Image.new(mode, (side, side)).save(file, kind)
    return "own", file.getvalue()


def test_after_many_uploads_the_page_is_as_large_as_after_few(site: Site) -> None:
    files = [
        picture("PNG", "RGB"),
        ("open", recorded("red apple", ("ar", "sjd", "gsd")).dumps().encode()),
        picture("PNG", "LA"),
        picture("JPEG", "RGB"),
        picture("PNG", "RGB", SIDE + 1),  # rejected
        ("open", b"no trace"),
    ]
    assert all(len(file) < 2**20 for _, file in files)
    level = resident()
    for count in (FEW, MANY - FEW):
        for what, file in islice(cycle(files), count):
            (path,) = upload(site, "file", file).json()
            said = {"path": path, "meta": {"_type": "gradio.FileData"}}
            values = [said, "embedded"] if what == "own" else [said]
            event, _ = site.call(values, "own_picture" if what == "own" else "open")
            assert event == ("error" if file in (files[4][1], files[5][1]) else "complete")
        before, level = level, resident()
        print(f"{before:.0f} MiB before {count} uploads, {level:.0f} after")
        assert level - before < LEVEL
