"""The page as a server, without a browser: what programs can reach, and the answers."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import httpx
import pytest
from gradio_client import Client

from app.page.layout import LAUNCH, build
from tests.app.conftest import NONE_RECORDED, SAMPLING_DEFAULTS, positional, toy_pool
from tests.toy import Toy


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    demo = build(toy_pool(Toy((4, 4), 16)), NONE_RECORDED)
    demo.launch(**LAUNCH, prevent_thread_lock=True, quiet=True)
    yield demo.local_url
    demo.close()


def called(url: str, values: list[object]) -> list[tuple[str, object]]:
    """The events of a raw call: (name, data)."""
    body = json.dumps({"data": values})
    answer = httpx.post(
        f"{url}gradio_api/call/board", content=body, headers={"content-type": "application/json"}
    )
    lines = httpx.get(
        f"{url}gradio_api/call/board/{answer.json()['event_id']}", timeout=60
    ).text.splitlines()
    pairs = itertools.pairwise(lines)
    return [
        (a[7:], json.loads(b[6:]))
        for a, b in pairs
        if a.startswith("event: ") and b.startswith("data: ")
    ]


def test_a_page_that_answers_slowly_at_first_is_served(monkeypatch) -> None:
    monkeypatch.setattr("gradio.networking.url_ok", lambda url: False)
    demo = build(toy_pool(Toy((4, 4), 16)), NONE_RECORDED)
    try:
        demo.launch(**LAUNCH, prevent_thread_lock=True, quiet=True)
        assert httpx.get(demo.local_url, timeout=60).status_code == 200
    finally:
        demo.close()


def test_race_is_served_to_programs(url) -> None:
    events = called(url, positional())
    assert events[-1][0] == "complete"
    assert events[-1][1][0]["state"] == "finished"


def test_client_sees_every_snapshot(url) -> None:
    shots = list(Client(url, verbose=False).submit(*positional(lanes=["sjd"]), api_name="/board"))
    shots = [shot for shot, _ in shots]
    assert [shot["seq"] for shot in shots] == list(range(len(shots)))
    assert shots[-1]["state"] == "finished"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["", 7, ["ar"]], "prompt is empty"),
        ([None, 7, ["ar"]], "prompt is empty"),
        ([{"a": 1}, 7, ["ar"]], "prompt is empty"),
        (["x" * 10_000, 7, ["ar"]], "10000 characters"),
        (["x", "seven", ["ar"]], "whole number"),
        (["x", float("nan"), ["ar"]], "whole number"),
        (["x", 10**30, ["ar"]], "whole number"),
        (["x", {}, ["ar"]], "whole number"),
        (["x", 7, []], "at least one lane"),
        (["x", 7, None], "list of decoders"),
        (["x", 7, 5], "list of decoders"),
        (["x", 7, ["gsd:G=0"]], "GSD: G is a whole number from 1 to 100, not 0"),
        (["x", 7, ["ar"] * 9], "1 to 8 lanes, not 9"),
        (["x", 7, ["<img src=x onerror=alert(1)>"]], "no decoder called"),
    ],
)
def test_bad_input_is_rejected_with_a_message(url, values, words) -> None:
    name, data = called(url, [*values, *positional()[3:]])[-1]
    assert name == "error"
    assert words in json.dumps(data)


@pytest.mark.parametrize("value", [None, "ten", 1e9, float("nan"), [], {"a": 1}, "<b>"])
def test_bad_knobs_are_rejected_with_a_message(url, value) -> None:
    name, data = called(url, positional(knobs=dict.fromkeys(SAMPLING_DEFAULTS, value)))[-1]
    assert name == "error"
    assert "Sampling: " in json.dumps(data)


def test_nothing_but_the_race_is_public(url) -> None:
    assert list(httpx.get(f"{url}gradio_api/info").json()["named_endpoints"]) == ["/race"]


def test_monitoring_is_off(url) -> None:
    assert httpx.get(f"{url}monitoring").status_code in (403, 404)


def test_a_space_links_to_its_own_files(monkeypatch) -> None:
    def header() -> str:
        blocks = build(toy_pool(Toy()), NONE_RECORDED).blocks.values()
        return next(str(b.value) for b in blocks if "masthead" in str(getattr(b, "value", "")))

    assert "<nav" not in header()
    monkeypatch.setenv("SPACE_ID", "someone/race")
    assert 'href="https://huggingface.co/spaces/someone/race/tree/main"' in header()
