"""What a visitor types is handed back as text, and as nothing else, wherever the server says it."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.abuse.conftest import Site
from tests.browser.acts import INJECTIONS

STRANGE = (
    "\0\x1b[31m\x07",
    "\u202eelppa der",
    "🍎" * 1000,
    "a\r\nSet-Cookie: hit=1",
    "'; DROP TABLE races; --",
    "%s%n{0.__class__}",
    "/etc/passwd",
    "http://127.0.0.1/",
    "\ud83c",
    "\ufeff",
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢",
)


@pytest.mark.parametrize(
    ("name", "prompt"),
    [*(("board", text) for text in (*INJECTIONS, *STRANGE)), ("race", INJECTIONS[0])],
    ids=ascii,
)
def test_a_prompt_comes_back_as_the_text_it_is(site: Site, name: str, prompt: str) -> None:
    values = site.race_values(prompt, lanes=("sjd",)) if name == "board" else [prompt, 7, ["sjd"]]
    event, data = site.call(values, name)
    assert event == "complete", data
    assert data[0]["prompt"] == prompt.encode("utf-8", "replace").decode()
    assert data[0]["lanes"][0]["state"] == "finished"


@pytest.mark.parametrize("text", INJECTIONS)
def test_an_address_with_script_in_it_is_not_written_into_the_page(site: Site, text: str) -> None:
    for query in ("prompt={}", "lanes={}", "{}=1", "__theme={}"):
        page = site.client.get(f"/?{query.format(quote(text))}")
        assert page.status_code == 200
        assert text not in page.text
