"""The file on its own as text; tests/browser/test_standalone.py opens it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tests.browser.acts import INJECTIONS
from tests.visualize.races import toy_trace
from visualize import standalone as module
from visualize.assets import script, styles
from visualize.board import replay
from visualize.recorded_race import RecordedRace, record
from visualize.standalone import standalone


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

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def texts(self, tag: str) -> list[str]:
        """What stands in elements that hold text alone."""
        return [data for name, data in self.inside if name == tag and data.strip()]


@pytest.fixture(scope="module")
def recording() -> RecordedRace:
    return record(*toy_trace(("ar", "sjd")))


def prompted(recording: RecordedRace, prompt: str) -> RecordedRace:
    return replace(
        recording,
        trace=replace(recording.trace, header=replace(recording.trace.header, prompt=prompt)),
    )


def test_it_holds_the_race_and_the_board(recording) -> None:
    text = standalone(recording)
    parts = Parts(text)
    race, code = parts.texts("script")
    assert json.loads(race) == json.loads(json.dumps(replay(recording)))
    assert script("standalone.js") in code
    assert styles() in text
    assert parts.texts("title") == ["a prompt · Photo Finish"]


def test_nothing_in_it_comes_from_elsewhere(recording) -> None:
    text = standalone(recording)
    parts = Parts(text)
    for _, attributes in parts.tags:
        assert not {"src", "href", "srcset", "action", "data", "poster"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert not parts.all("link")
    assert "@import" not in text
    assert "url(" not in styles().replace("url(data:", "")


def test_its_policy_allows_its_own_script_alone(recording) -> None:
    parts = Parts(standalone(recording))
    (policy,) = (
        meta["content"]
        for meta in parts.all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data: blob:"
    digest = base64.b64encode(hashlib.sha256(parts.texts("script")[1].encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'"
    # The policy comes before all that it rules over.
    assert [tag for tag, _ in parts.tags].index("style") > [tag for tag, _ in parts.tags].index(
        "meta"
    ) + 1


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
def test_what_a_visitor_wrote_is_never_markup(recording, prompt) -> None:
    plain, text = Parts(standalone(recording)), standalone(prompted(recording, prompt))
    parts = Parts(text)
    assert [tag for tag, _ in parts.tags] == [tag for tag, _ in plain.tags]
    race, code = parts.texts("script")
    assert "<" not in race
    assert json.loads(race)["prompt"] == prompt
    assert code == plain.texts("script")[1]
    assert "".join(parts.texts("title")) == f"{prompt} · Photo Finish"


def test_half_a_character_can_be_written(recording) -> None:
    text = standalone(prompted(recording, "half \ud800 of one")).encode()
    assert b"<title>half ? of one" in text


def test_without_pictures_it_says_so(recording) -> None:
    text = standalone(replace(recording, pictures=None))
    race = json.loads(Parts(text).texts("script")[0])
    assert race["swatches"] == ""
    assert "picture" in race["note"]


@pytest.mark.parametrize("bad", ["const x = '</script>';", "// <!-- x"])
def test_a_script_that_would_end_early_is_never_written(recording, monkeypatch, bad) -> None:
    monkeypatch.setattr(module, "script", lambda entry: bad)
    with pytest.raises(ValueError, match="end early"):
        standalone(recording)


def test_it_is_dark_by_the_reader_s_system(recording) -> None:
    assert re.search(r"prefers-color-scheme: dark", standalone(recording))
