"""The stream of a race, and the bets and votes on it, as a page's server has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from gradio_client import Client
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app.races.race_events import CLOSED, NO_VOTE, NOT_OVER, SESSION, race_routes
from app.races.race_table import StoredRace
from tests.app.conftest import positional
from tests.browser.servers import Held, served

PATIENCE = 300
WATCHERS = 50


@pytest.fixture(scope="module")
def model() -> Held:
    return Held()


@pytest.fixture(scope="module")
def url(model) -> Iterator[str]:
    with served(model) as url:
        yield url


@pytest.fixture
def client(url) -> Iterator[httpx.Client]:
    limits = httpx.Limits(max_connections=WATCHERS + 1)
    with httpx.Client(base_url=url, timeout=PATIENCE, limits=limits) as client:
        yield client


def begin(url: str, lanes: Sequence[str] = ("sjd",)) -> str:
    """Begins a race as a page does; its id."""
    value = Client(url, verbose=False).predict(*positional(lanes=list(lanes)), api_name="/board")
    assert value.keys() == {"race", "key", "more"}
    return value["race"]


def events(client: httpx.Client, race: str, **headers: str) -> list[str]:
    with client.stream("GET", f"/races/{race}/events", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["x-accel-buffering"] == "no"
        assert answer.headers["vary"] == "Accept-Encoding"
        assert answer.headers.get("content-encoding") == headers.get("accept-encoding", "gzip")
        return [line for line in "".join(answer.iter_text()).splitlines() if line]


def test_a_hall_of_watchers_sees_one_race(url, client, model) -> None:
    """All of it, and a page loads meanwhile: they take no place in a queue."""
    model.hold()
    race = begin(url)
    with ThreadPoolExecutor(WATCHERS) as hall:
        watching = [hall.submit(events, client, race) for _ in range(WATCHERS)]
        assert begin(url) != race, "another race can be asked for"
        assert client.get("/").status_code == 200
        model.release()
        seen = [each.result() for each in watching]
    assert all(each == seen[0] for each in seen)
    assert next(line for line in seen[0] if line.startswith("event: ")) == "event: snapshot"
    assert '"state":"finished"' in seen[0][-1]


def test_a_race_that_is_over_is_one_event_and_one_that_is_not_kept_is_none(url, client) -> None:
    race = begin(url)
    live = events(client, race)
    over = events(client, race)
    assert over[:2] == ["event: snapshot", "id: 0"]
    assert len(over) == 3 < len(live)
    assert f'"id":"{race}"' in over[2]
    answer = client.get("/races/another/events")
    assert (answer.status_code, answer.content) == (204, b"")
    # whether there is one, asked by a page whose stream a proxy ended
    assert client.head(f"/races/{race}/events").status_code == 200
    assert client.head("/races/another/events").status_code == 204


def test_who_cannot_decompress_is_sent_text(url, client) -> None:
    race = begin(url)
    with client.stream(
        "GET", f"/races/{race}/events", headers={"accept-encoding": "identity"}
    ) as answer:
        assert "content-encoding" not in answer.headers
        text = b"".join(answer.iter_raw()).decode()
    assert text.startswith("event: snapshot\nid: 0\ndata: {")
    assert text.endswith("}\n\n")


def test_a_page_says_that_it_is_left() -> None:
    left: list[str] = []
    routes = race_routes(lambda _: None, StoredRace.replay, left.append)
    with TestClient(Starlette(routes=routes)) as client:
        assert client.post("/left", content=b"a session").status_code == 204
        assert client.post("/left", content=b"\xff" * 1000).status_code == 204
        assert client.get("/left").status_code == 405
    assert left == ["a session", "\ufffd" * SESSION]


def test_bets_are_taken_while_they_are_open(url, client, model) -> None:
    model.hold()
    race = begin(url)
    good = {"voter": "a voter's name", "lane": 0}
    assert client.post(f"/races/{race}/bets", json=good).json() == {"lane": 0}
    for bad in ({}, {**good, "lane": -1}, {**good, "voter": "x" * 65}, {**good, "more": 1}, []):
        answer = client.post(f"/races/{race}/bets", json=bad)
        assert answer.status_code == 422
        assert "A bet is" in answer.json()["error"]
    answer = client.post(f"/races/{race}/bets", json={**good, "lane": 5})
    assert (answer.status_code, answer.json()["error"]) == (409, CLOSED)
    model.release()
    last = events(client, race)[-1]
    assert '"bets":[1]' in last
    assert client.post(f"/races/{race}/bets", json=good).status_code == 409
    assert client.post("/races/another/bets", json=good).status_code == 404


def test_a_voter_says_once_which_lane_is_changed_when_the_race_is_over(url, client, model) -> None:
    model.hold()
    race = begin(url, lanes=["ar", "gsd"])
    address, good = f"/races/{race}/votes", {"voter": "a voter's name", "lane": 1}
    early = client.post(address, json=good)
    assert (early.status_code, early.json()["error"]) == (409, NOT_OVER)
    model.release()
    events(client, race)
    assert client.get(address).json() == {"votes": 0, "right": 0}
    assert client.post(address, json=good).json() == {"votes": 1, "right": 1}
    assert client.post(address, json={**good, "lane": 0}).json() == {"votes": 1, "right": 1}
    other = {"voter": "another name", "lane": 0}
    assert client.post(address, json=other).json() == {"votes": 2, "right": 1}
    for bad in ({}, {**good, "lane": 2}, {**good, "lane": True}, [], {**good, "right": 1}):
        answer = client.post(address, json=bad)
        assert (answer.status_code, answer.json()["error"]) == (422, NO_VOTE)
    assert client.get(address).json() == {"votes": 2, "right": 1}
    assert client.get("/races/another/votes").status_code == 404
