"""The file on its own as text; tests/browser/test_standalone.py opens it."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from html.parser import HTMLParser

import pytest

from tests.browser.acts import INJECTIONS
from tests.visualize.races import prompted, recorded
from visualize.assets import script, styles
from visualize.board.board import replay
from visualize.export import standalone as module
from visualize.export.standalone import standalone


class Parts(HTMLParser):
    """The elements of a page, and what is in its scripts, its style and its title."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data) -> None:
        last = self.tags[-1][0] if self.tags else ""
        if last in ("script", "style", "title"):
            self.inside.append((last, data))

    def texts(self, tag: str) -> list[str]:
        """What stands in elements that hold text alone."""
        return [data for name, data in self.inside if name == tag and data.strip()]


@cache
def text() -> str:
    return standalone(recorded())


def test_it_holds_the_race_and_the_board_light_or_dark() -> None:
    parts = Parts(text())
    race, code = parts.texts("script")
    assert json.loads(race) == replay(recorded()).wire()
    assert script("standalone.js") in code
    assert styles() in text()
    assert "prefers-color-scheme: dark" in text()
    assert parts.texts("title") == ["a prompt · Photo Finish"]


def test_nothing_in_it_comes_from_elsewhere() -> None:
    parts = Parts(text())
    for _, attributes in parts.tags:
        assert not {"src", "href", "srcset", "action", "data", "poster"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert "link" not in dict(parts.tags)
    assert "@import" not in text()
    assert "url(" not in styles().replace("url(data:", "")


def test_its_policy_allows_its_own_script_alone() -> None:
    parts = Parts(text())
    (policy,) = (each for _, each in parts.tags if each.get("http-equiv"))
    assert policy["http-equiv"] == "Content-Security-Policy"
    rules = dict(rule.split(" ", 1) for rule in policy["content"].split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data: blob:"
    digest = base64.b64encode(hashlib.sha256(parts.texts("script")[1].encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'"
    # The policy comes before all that it rules over.
    tags = [tag for tag, attributes in parts.tags if tag != "meta" or "http-equiv" in attributes]
    assert tags.index("meta") < min(tags.index("style"), tags.index("script"))


HOSTILE = (
    *INJECTIONS,
    "</script>",
    "</SCRIPT ><b>",
    "<!--<script>",
    "</title><b>x",
    "&lt;b&gt; &amp;",
    "\u2028\u2029",
    "]]>",
    "\x00",
)


@pytest.mark.parametrize("prompt", HOSTILE)
def test_what_a_visitor_wrote_is_never_markup(prompt) -> None:
    plain, parts = Parts(text()), Parts(standalone(prompted(recorded(), prompt)))
    assert [tag for tag, _ in parts.tags] == [tag for tag, _ in plain.tags]
    race, code = parts.texts("script")
    assert "<" not in race
    assert json.loads(race)["prompt"] == prompt
    assert code == plain.texts("script")[1]
    assert "".join(parts.texts("title")) == f"{prompt} · Photo Finish"


def test_half_a_character_can_be_written() -> None:
    written = standalone(prompted(recorded(), "half \ud800 of one")).encode()
    assert b"<title>half ? of one" in written


@pytest.mark.parametrize("bad", ["const x = '</script>';", "// <!-- x"])
def test_a_script_that_would_end_early_is_never_written(monkeypatch, bad) -> None:
    monkeypatch.setattr(module, "script", lambda entry: bad)
    with pytest.raises(ValueError, match="end early"):
        standalone(recorded())
