"""Next and back from a phone: codes, what bounds them, and what a phone hears."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from starlette.applications import Starlette

from app.api import remotes as module
from app.api.remotes import (
    AWAY_SECONDS,
    DIGITS,
    FULL,
    GONE,
    LIFE_SECONDS,
    OWN_STAGES,
    PHONES,
    STAGES,
    TOO_OFTEN,
    WRONG,
    WRONG_SECONDS,
    Remotes,
    Stage,
    Turn,
    remote_routes,
)
from tests.coroutines import run
from tests.set_clock import Clock

HOME, HALL = "10.0.0.1", "10.0.0.2"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def remotes(clock: Clock) -> Remotes:
    return Remotes(clock)


@pytest.fixture
def stage(remotes: Remotes) -> Stage:
    """A stage that listens."""
    stage = remotes.open(HOME)
    assert stage is not None
    stage.listening = 1
    return stage


def turn(code: str, by: int = 1, phone: str = "phone-one") -> Turn:
    return Turn(code=code, phone=phone, by=by)


def test_a_stage_hears_the_turns_of_its_code_until_it_ends(remotes, clock) -> None:
    stage, other = remotes.open(HOME), remotes.open(HOME)
    assert stage.code != other.code
    assert len(stage.code) == DIGITS

    async def heard() -> list[str]:
        events = remotes.listen(stage)
        said = [await anext(events)]
        assert remotes.turn(turn(stage.code), HALL) == (200, "")
        assert remotes.turn(turn(stage.code, 0), HALL) == (200, "")
        assert remotes.turn(turn(stage.code, -1), HALL) == (200, "")
        said += [await anext(events), await anext(events)]
        clock.now = LIFE_SECONDS
        remotes.turn(turn(stage.code), HALL)
        stage.turns.put_nowait(1)  # was on its way
        said += [event async for event in events]
        return said

    assert run(heard()) == [":\n\n", "data: 1\n\n", "data: -1\n\n"]
    assert remotes.of_key(stage.key) is None


def test_the_last_stream_of_a_stage_has_its_turns(remotes) -> None:
    """A proxy cuts a stage's stream, and the server does not know of it yet."""
    stage = remotes.open(HOME)

    async def heard() -> tuple[list[str], list[str]]:
        cut = remotes.listen(stage)
        before = [await anext(cut)]
        waits = asyncio.ensure_future(anext(cut))
        await asyncio.sleep(0)
        new = remotes.listen(stage)
        after = [await anext(new)]
        for by in (1, -1):
            assert remotes.turn(turn(stage.code, by), HALL) == (200, "")
            after.append(await anext(new))
        before.append(await waits)
        before += [event async for event in cut]
        await new.aclose()
        return before, after

    before, after = run(heard())
    assert before == [":\n\n", "event: elsewhere\ndata: 1\n\n"]
    assert after == [":\n\n", "data: 1\n\n", "data: -1\n\n"]
    assert stage.listening == 0


def test_turns_that_a_stream_did_not_take_are_for_the_next(remotes) -> None:
    stage = remotes.open(HOME)

    async def heard() -> str:
        cut = remotes.listen(stage)
        await anext(cut)  # and no more: its connection is dead
        assert remotes.turn(turn(stage.code, -1), HALL) == (200, "")
        new = remotes.listen(stage)
        await anext(new)
        return await anext(new)

    assert run(heard()) == "data: -1\n\n"


def test_a_phone_hears_that_the_stage_has_gone_and_that_it_is_back(remotes, stage, clock) -> None:
    stage.listening = 0
    assert remotes.turn(turn(stage.code), HALL) == (404, GONE)
    clock.now = AWAY_SECONDS - 1
    assert remotes.of_key(stage.key) is stage
    stage.listening = 1
    assert remotes.turn(turn(stage.code), HALL) == (200, "")
    stage.listening, stage.seen = 0, clock.now
    clock.now += AWAY_SECONDS
    assert remotes.of_key(stage.key) is None


def test_a_few_phones_turn_a_stage(remotes, stage) -> None:
    for n in range(PHONES):
        assert remotes.turn(turn(stage.code, phone=f"phone-{n:02}"), HALL) == (200, "")
    assert remotes.turn(turn(stage.code, phone="phone-too-many"), HALL) == (403, FULL)
    assert remotes.turn(turn(stage.code, phone="phone-00"), HALL) == (200, "")


def test_turns_that_nobody_takes_are_dropped(remotes, stage) -> None:
    for _ in range(3 * module.WAITING):
        assert remotes.turn(turn(stage.code), HALL) == (200, "")
    assert stage.turns.qsize() == module.WAITING


def test_codes_are_not_found_by_trying(remotes, stage, clock) -> None:
    wrong = str((int(stage.code) + 1) % 10**DIGITS).zfill(DIGITS)
    for _ in range(WRONG):
        assert remotes.turn(turn(wrong), HALL) == (404, GONE)
    assert remotes.turn(turn(stage.code), HALL) == (429, TOO_OFTEN)
    assert remotes.turn(turn(stage.code), HOME) == (200, "")
    clock.now = WRONG_SECONDS
    assert remotes.turn(turn(stage.code), HALL) == (200, "")


def test_an_address_has_a_few_codes_and_all_together_have_an_end(remotes) -> None:
    own = [remotes.open(HOME) for _ in range(OWN_STAGES + 1)]
    assert own[-1] is None
    assert None not in own[:-1]
    others = [remotes.open(f"10.1.0.{n}") for n in range(STAGES)]
    assert others.count(None) == OWN_STAGES


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        '{"code": "1", "phone": "phone-one"}',
        '{"code": "1", "phone": "phone-one", "by": 2}',
        '{"code": "1", "phone": "short", "by": 1}',
        '{"code": "12345678901234567", "phone": "phone-one", "by": 1}',
        '{"code": "1", "phone": "phone-one", "by": 1, "more": 1}',
    ],
)
def test_what_is_no_turn_is_rejected_in_words(remotes, body: str) -> None:
    answers = run(_ask(remotes, ("POST", "/remotes/turns", body)))
    assert [answer.status_code for answer in answers] == [422]
    assert answers[0].json()["error"].startswith("A turn is {code")


def test_a_stage_is_asked_for_without_hearing_its_turns(remotes, stage) -> None:
    assert remotes.turn(turn(stage.code), HALL) == (200, "")
    (there, gone) = run(
        _ask(
            remotes,
            ("HEAD", f"/remotes/{stage.key}/events", ""),
            ("HEAD", "/remotes/no-key/events", ""),
        )
    )
    assert (there.status_code, gone.status_code) == (200, 204)
    assert stage.turns.qsize() == 1


def test_the_routes_give_codes_and_say_what_they_are_not(remotes, clock) -> None:
    asked = [("POST", "/remotes", "")] * (OWN_STAGES + 1)
    asked += [("GET", "/remotes/no-key/events", ""), ("GET", "/remote/00000000", "")]
    *given, last, events, page = run(_ask(remotes, *asked))
    assert all(set(answer.json()) == {"code", "key"} for answer in given)
    assert (last.status_code, events.status_code, page.status_code) == (429, 204, 200)
    assert "Close one of them" in last.json()["error"]
    assert page.text.count("<button") == 2


async def _ask(remotes: Remotes, *requests: tuple[str, str, str]) -> list[httpx.Response]:
    transport = httpx.ASGITransport(Starlette(routes=remote_routes(remotes)))
    async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
        return [await client.request(how, path, content=body) for how, path, body in requests]
