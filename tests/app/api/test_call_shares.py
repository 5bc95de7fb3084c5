"""What an address has of gradio's queue of calls, and what becomes of answers that nobody reads."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import gradio as gr
import httpx
import pytest

from app.api import call_shares
from app.api.call_errors import NO_CALL
from app.api.call_shares import BUSY
from app.api.page_blocks import PageBlocks
from tests.app.conftest import wait_until
from tests.browser.servers import launched

PLACES = 16
SELF, OTHER = "2001:db8::1", "203.0.113.9"


@pytest.fixture
def goes_on() -> threading.Event:
    return threading.Event()


@pytest.fixture
def begun() -> list[str]:
    """Who called, in the order in which their calls began."""
    return []


@pytest.fixture
def demo(goes_on, begun) -> Iterator[PageBlocks]:
    """A page with a call that waits until the test lets it go on, one at a time."""

    def wait(who: str) -> str:
        begun.append(who)
        goes_on.wait(300)
        return who

    def say() -> str:
        return "said"

    with PageBlocks(routes=[], calls={}, at_once=8) as demo:
        gr.api(wait, api_name="wait")
        gr.api(say, api_name="say")
    demo.queue(max_size=PLACES, api_open=False)
    with launched(demo):
        yield demo
        goes_on.set()


@pytest.fixture
def client(demo) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=demo.local_url, timeout=300) as client:
        yield client


def call(client: httpx.Client, name: str, address: str, *values: str) -> httpx.Response:
    """As a proxy on this machine passes it on."""
    headers = {"x-forwarded-for": address}
    return client.post(f"/gradio_api/call/{name}", json={"data": values}, headers=headers)


def test_no_address_has_all_places(demo, client, begun) -> None:
    call(client, "wait", SELF, "first")
    wait_until(lambda: begun)
    answers = [call(client, "wait", SELF, "more") for _ in range(PLACES)]
    assert [answer.status_code for answer in answers] == [200] * 14 + [503] * 2
    assert answers[-1].json() == {"detail": BUSY}
    assert call(client, "wait", "2001:db8::ffff", "").status_code == 503, "of the same network"
    assert call(client, "wait", OTHER, "").status_code == 200


def test_addresses_take_turns(demo, client, begun, goes_on) -> None:
    for address, who in ((SELF, "a"), *[(SELF, "b")] * 3, *[(OTHER, "x")] * 2, ("192.0.2.1", "y")):
        assert call(client, "wait", address, who).status_code == 200
        wait_until(lambda: begun)
    goes_on.set()
    wait_until(lambda: len(begun) == 7)
    assert "".join(begun) == "abxybxb"


def test_answers_that_nobody_reads_are_forgotten(demo, client, monkeypatch) -> None:
    """Once they have been seen twice, when the same address calls again."""
    monkeypatch.setattr(call_shares, "UNREAD_SECONDS", 0.0)
    said = [call(client, "say", address).json()["event_id"] for address in (SELF, OTHER)]
    wait_until(lambda: not demo._queue.event_ids_to_events)
    for _ in range(2):
        again = call(client, "say", SELF).json()["event_id"]
        wait_until(lambda: not demo._queue.event_ids_to_events)
    answers = [client.get(f"/gradio_api/call/say/{event}") for event in (*said, again)]
    assert [answer.status_code for answer in answers] == [404, 200, 200]
    assert answers[0].json() == {"error": NO_CALL}
    assert ["said" in answer.text for answer in answers[1:]] == [True, True]
    assert client.get(f"/gradio_api/call/say/{again}").json() == {"error": NO_CALL}


def test_answers_of_a_page_that_reads_are_not_forgotten(demo, client, monkeypatch) -> None:
    """Though one waits to be read whenever its address calls."""
    monkeypatch.setattr(call_shares, "UNREAD_SECONDS", 0.0)
    say = next(number for number, each in demo.fns.items() if each.api_name == "say")
    body = {"data": [], "fn_index": say, "session_hash": "page"}
    for _ in range(2):
        client.post("/gradio_api/queue/join", json=body, headers={"x-forwarded-for": SELF})
        wait_until(lambda: not demo._queue.event_ids_to_events)
    answers = demo._queue.pending_messages_per_session["page"]
    while answers.qsize() > 1:  # as its stream does
        answers.get_nowait()
    call(client, "say", SELF)
    with client.stream("GET", "/gradio_api/queue/data?session_hash=page") as stream:
        ends = ("process_completed", "unexpected_error")
        answer = next(line for line in stream.iter_lines() if any(end in line for end in ends))
    assert "said" in answer
