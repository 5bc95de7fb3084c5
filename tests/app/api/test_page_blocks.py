"""What the page's server sends beside gradio's own."""

from __future__ import annotations

import re

import httpx

from tests.browser.servers import served
from tools.judge.toys import Toy


def test_files_are_compressed_and_kept_for_good() -> None:
    with served(Toy()) as url, httpx.Client(base_url=url, timeout=300) as client:
        page = client.get("/")
        assert page.headers["content-encoding"] == "gzip"
        assert len(page.content) < 500_000
        (path,) = set(re.findall(r"/files/[0-9a-f]{16}/page\.js", page.text))
        script = client.get(path)
        assert script.headers["content-type"].startswith("text/javascript")
        assert script.headers["content-encoding"] == "gzip"
        assert "immutable" in script.headers["cache-control"]
        assert script.text.endswith("export { mountPage };\n")
        assert client.get("/files/0000000000000000/page.js").status_code == 404
