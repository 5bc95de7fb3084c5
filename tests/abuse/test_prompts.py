"""What a visitor types is handed back as text, and as nothing else, wherever the server says it."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.abuse.conftest import Site
from tests.browser.acts import INJECTIONS

STRANGE = (
    "\x1b[31m\x07",
    "\u202eelppa der",
    "🍎" * 1000,
    "a\r\nSet-Cookie: hit=1",
    "'; DROP TABLE races; --",
    "%s%n{0.__class__}",
    "/etc/passwd",
    "http://127.0.0.1/",
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
    assert data[0]["prompt"] == prompt
    assert data[0]["lanes"][0]["state"] == "finished"


@pytest.mark.parametrize("name", ["board", "race"])
@pytest.mark.parametrize(
    ("prompt", "said"), [("half \ud83c", "half a character"), ("a\0b", "holds a NUL")], ids=ascii
)
def test_what_is_no_text_is_rejected_in_words(
    site: Site, name: str, prompt: str, said: str
) -> None:
    values = site.race_values(prompt) if name == "board" else [prompt, 7, ["sjd"]]
    assert said in site.rejection(values, name)
    event, _ = site.call(site.race_values(prompt), "read")  # while it is typed
    assert event == "complete"


@pytest.mark.parametrize("text", INJECTIONS)
def test_an_address_with_script_in_it_is_not_written_into_the_page(site: Site, text: str) -> None:
    for query in ("prompt={}", "lanes={}", "{}=1", "__theme={}"):
        page = site.client.get(f"/?{query.format(quote(text))}")
        assert page.status_code == 200
        assert text not in page.text
