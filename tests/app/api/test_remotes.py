"""Next and back from a phone: codes, what bounds them, and what a phone hears."""

from __future__ import annotations

import asyncio
import io
import json
from urllib.parse import quote

import httpx
import pytest
import segno
from starlette.applications import Starlette

from app.api import remotes as module
from app.api.hall import FULL_HALL, LENGTH, PROPOSED, Proposal
from app.api.remote_routes import LINK, NO_LINK, remote_routes
from app.api.remotes import (
    AWAY_SECONDS,
    BEHIND,
    DIGITS,
    FULL,
    GONE,
    LIFE_SECONDS,
    NO_HALL,
    NOT_HEARD,
    OWN_STAGES,
    PHONES,
    STAGES,
    TOO_OFTEN,
    WRONG,
    WRONG_SECONDS,
    Press,
    Remotes,
    Stage,
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
    """A stage with a stream that nobody reads."""
    stage = remotes.open(HOME)
    assert stage is not None
    stage.listening = 1
    return stage


@pytest.fixture
def hurried(monkeypatch) -> None:
    """Turns that nobody hears are taken back at once."""
    monkeypatch.setattr(module, "HEARD_SECONDS", 0.01)


def press(code: str, by: int = 1, phone: str = "phone-one", number: int = 1) -> Press:
    return Press.model_validate({"code": code, "phone": phone, "by": by, "number": number})


def asked(remotes: Remotes, code: str, address: str = HALL, **more) -> tuple[int, str]:
    """The answer to a phone that asks whether there is a stage."""
    return run(remotes.press(press(code, by=0, **more), address))


async def pressed(remotes: Remotes, one: Press) -> asyncio.Task:
    """A press that has come to the server and waits."""
    waits = asyncio.ensure_future(remotes.press(one, HALL))
    await asyncio.sleep(0)
    return waits


def test_a_press_is_answered_once_its_stage_has_heard_it(remotes, clock, monkeypatch) -> None:
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.01)
    stage, other = remotes.open(HOME), remotes.open(HOME)
    assert stage.code != other.code
    assert len(stage.code) == DIGITS

    async def heard() -> list[str]:
        events = remotes.listen(stage)
        said = [await anext(events)]
        for number, by in ((1, 1), (2, -1)):
            waits = await pressed(remotes, press(stage.code, by, number=number))
            said.append(await anext(events))
            remotes.heard(other, number)
            await asyncio.sleep(0)
            assert not waits.done()
            remotes.heard(stage, number)
            assert await waits == (200, "")
        clock.now = LIFE_SECONDS
        said += [event async for event in events]
        return said

    first, last = "id: 1\ndata: 1\n\n", "id: 2\ndata: -1\n\n"
    assert run(heard()) == [":\n\n", first, last, ":\n\n"]
    assert remotes.of_key(stage.key) is None


def test_a_press_that_is_sent_twice_is_one_turn(remotes, stage) -> None:
    """A proxy passes a press on and answers 502: the phone sends it again."""

    async def answers() -> list[tuple[int, str]]:
        one = press(stage.code)
        twice = [await pressed(remotes, one), await pressed(remotes, one)]
        assert [turn.number for turn in stage.waiting] == [1]
        remotes.heard(stage, 1)
        return [*await asyncio.gather(*twice), await remotes.press(one, HALL)]

    assert run(answers()) == [(200, "")] * 3
    assert stage.turned == 1


def test_a_turn_that_no_stage_hears_is_taken_back(remotes, stage, hurried) -> None:
    async def answers() -> list[tuple[int, str]]:
        one = press(stage.code)
        return [await remotes.press(one, HALL), await remotes.press(one, HALL)]

    assert run(answers()) == [(504, NOT_HEARD)] * 2
    assert stage.waiting == []


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
        for number, by in ((1, 1), (2, -1)):
            await pressed(remotes, press(stage.code, by, number=number))
            after.append(await anext(new))
        before.append(await waits)
        before += [event async for event in cut]
        await new.aclose()
        return before, after

    before, after = run(heard())
    assert before == [":\n\n", "event: elsewhere\ndata: 1\n\n"]
    assert after == [":\n\n", "id: 1\ndata: 1\n\n", "id: 2\ndata: -1\n\n"]
    assert stage.listening == 0


@pytest.mark.parametrize("was_sent", [False, True])
def test_turns_that_a_stage_has_not_heard_are_for_its_next_stream(remotes, was_sent) -> None:
    stage = remotes.open(HOME)

    async def heard() -> str:
        cut = remotes.listen(stage)
        await anext(cut)
        await pressed(remotes, press(stage.code, -1))
        if was_sent:
            await anext(cut)  # into a connection that is dead
        else:
            await cut.aclose()
        new = remotes.listen(stage)
        await anext(new)
        return await anext(new)

    assert run(heard()) == "id: 1\ndata: -1\n\n"


def test_a_phone_hears_that_the_stage_has_gone_and_that_it_is_back(remotes, stage, clock) -> None:
    stage.listening = 0
    assert asked(remotes, stage.code) == (404, GONE)
    clock.now = AWAY_SECONDS - 1
    assert remotes.of_key(stage.key) is stage
    stage.listening = 1
    assert asked(remotes, stage.code) == (200, "")
    stage.listening, stage.seen = 0, clock.now
    clock.now += AWAY_SECONDS
    assert remotes.of_key(stage.key) is None


def test_a_few_phones_turn_a_stage(remotes, stage) -> None:
    for n in range(PHONES):
        assert asked(remotes, stage.code, phone=f"phone-{n:02}") == (200, "")
    assert asked(remotes, stage.code, phone="phone-too-many") == (403, FULL)
    assert asked(remotes, stage.code, phone="phone-00") == (200, "")


def test_a_stage_that_is_behind_is_not_asked_for_more(remotes, stage) -> None:
    async def last() -> tuple[int, str]:
        for number in range(module.WAITING):
            await pressed(remotes, press(stage.code, number=number))
        return await remotes.press(press(stage.code, number=module.WAITING), HALL)

    assert run(last()) == (503, BEHIND)


def test_codes_are_not_found_by_trying(remotes, stage, clock) -> None:
    wrong = str((int(stage.code) + 1) % 10**DIGITS).zfill(DIGITS)
    for _ in range(WRONG["remote"]):
        assert asked(remotes, wrong) == (404, GONE)
    assert asked(remotes, stage.code) == (429, TOO_OFTEN)
    assert asked(remotes, stage.code, HOME) == (200, "")
    clock.now = WRONG_SECONDS
    assert asked(remotes, stage.code) == (200, "")


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
        '{"code": "1", "phone": "phone-one", "by": 1}',
        '{"code": "1", "phone": "phone-one", "number": 1, "by": 2}',
        '{"code": "1", "phone": "phone-one", "number": -1, "by": 1}',
        '{"code": "1", "phone": "short", "number": 1, "by": 1}',
        '{"code": "12345678901234567", "phone": "phone-one", "number": 1, "by": 1}',
        '{"code": "1", "phone": "phone-one", "number": 1, "by": 1, "more": 1}',
    ],
)
def test_what_is_no_press_is_rejected_in_words(remotes, body: str) -> None:
    answers = run(_ask(remotes, ("POST", "/remotes/presses", body)))
    assert [answer.status_code for answer in answers] == [422]
    assert answers[0].json()["error"].startswith("A press is {code")


def test_only_the_stage_says_that_it_has_heard(remotes, stage) -> None:
    answers = run(
        _ask(
            remotes,
            ("POST", f"/remotes/{stage.key}/heard", '{"turn": 1}'),
            ("POST", f"/remotes/{stage.code}/heard", '{"turn": 1}'),
            ("POST", f"/remotes/{stage.key}/heard", '{"turn": 0}'),
        )
    )
    assert [answer.status_code for answer in answers] == [200, 404, 422]


def test_a_stage_is_asked_for_without_listening(remotes, stage) -> None:
    (there, gone) = run(
        _ask(
            remotes,
            ("HEAD", f"/remotes/{stage.key}/events", ""),
            ("HEAD", "/remotes/no-key/events", ""),
        )
    )
    assert (there.status_code, gone.status_code) == (200, 204)


def test_the_routes_give_codes_and_say_what_they_are_not(remotes, clock) -> None:
    asked = [("POST", "/remotes", "")] * (OWN_STAGES + 1)
    asked += [("GET", "/remotes/no-key/events", ""), ("GET", "/remote/00000000", "")]
    *given, last, events, page = run(_ask(remotes, *asked))
    assert all(set(answer.json()) == {"code", "key"} for answer in given)
    assert (last.status_code, events.status_code, page.status_code) == (429, 204, 200)
    assert "Close one of them" in last.json()["error"]
    assert page.text.count("<button") == 2


def test_a_link_has_a_code_for_a_camera_and_what_is_none_has_a_sentence(remotes) -> None:
    link = "https://a.example/photo/hall/12345678"
    texts = link, "", "javascript:alert(1)", "https://" + LINK * "a"
    asked = [("GET", f"/qr?text={quote(text, safe='')}", "") for text in texts]
    good, *bad = run(_ask(remotes, *asked))
    assert good.headers["content-type"] == "image/svg+xml"
    expected = io.BytesIO()
    segno.make_qr(link, error="m").save(expected, "svg", light="white", xmldecl=False)
    assert good.content == expected.getvalue()
    assert all((each.status_code, each.json()["error"]) == (422, NO_LINK) for each in bad)


def proposed(code: str, prompt: str, phone: str = "phone-one") -> Proposal:
    return Proposal.model_validate({"code": code, "phone": phone, "prompt": prompt})


def test_a_hall_is_closed_until_its_stage_opens_it_and_each_phone_has_one_prompt(
    remotes, stage
) -> None:
    assert remotes.propose(proposed("00000000", "cat"), HALL) == (404, NO_HALL)
    code = remotes.open_hall(stage, True)
    assert (len(code), code == stage.code, remotes.open_hall(stage, True)) == (DIGITS, False, code)
    assert asked(remotes, code) == (404, GONE), "who proposes prompts turns no stage"
    assert remotes.propose(proposed(stage.code, "cat"), HALL) == (404, NO_HALL)
    for phone, prompt in (
        ("phone-one", "cat"),
        ("phone-two", " <b>dog</b>\n\x07 "),
        ("phone-one", "owl"),
    ):
        assert remotes.propose(proposed(code, prompt, phone), HALL) == (200, "")
    assert [one["text"] for one in stage.hall.told()["prompts"]] == ["<b>dog</b>", "owl"]
    remotes.take(stage, stage.hall.told()["prompts"][0]["number"])
    assert [one["text"] for one in stage.hall.told()["prompts"]] == ["owl"]
    assert remotes.open_hall(stage, False) == ""
    assert remotes.propose(proposed(code, "cat"), HALL) == (404, NO_HALL)


def test_a_hall_has_an_end_and_its_code_is_not_guessed(remotes, stage) -> None:
    code = remotes.open_hall(stage, True)
    answers = [
        remotes.propose(proposed(code, "cat", f"phone-{n:04}"), HALL) for n in range(PROPOSED + 1)
    ]
    assert answers == [(200, "")] * PROPOSED + [(503, FULL_HALL)]
    assert remotes.propose(proposed(code, "another", "phone-0000"), HALL) == (200, "")
    for _ in range(WRONG["hall"]):
        remotes.propose(proposed("no-code", "cat"), HALL)
    assert remotes.propose(proposed(code, "cat"), HALL) == (429, TOO_OFTEN)
    assert asked(remotes, stage.code) == (200, ""), "a hall's errors stop no speaker"


def test_a_phone_that_turns_a_stage_is_not_stopped_by_others_errors(remotes, stage) -> None:
    assert asked(remotes, stage.code) == (200, "")
    for _ in range(WRONG["remote"]):
        asked(remotes, "no-code", phone="phone-two")
    assert asked(remotes, stage.code, phone="phone-two") == (429, TOO_OFTEN)
    assert asked(remotes, stage.code) == (200, "")


def test_a_stage_hears_of_its_halls_prompts(remotes, monkeypatch) -> None:
    monkeypatch.setattr(module, "BEAT_SECONDS", 60)
    stage = remotes.open(HOME)

    async def heard() -> list[str]:
        events = remotes.listen(stage)
        said = [await anext(events)]
        code = remotes.open_hall(stage, True)
        said.append(await anext(events))
        remotes.propose(proposed(code, 'a "cat"'), HALL)
        said.append(await anext(events))
        remotes.take(stage, 1)
        said.append(await anext(events))
        remotes.open_hall(stage, False)
        said.append(await anext(events))
        return said

    start, *told = run(heard())
    assert start == ":\n\n"
    cat = {"number": 1, "text": 'a "cat"'}
    halls = [json.loads(event.removeprefix("event: hall\ndata: ")) for event in told]
    assert [hall["prompts"] for hall in halls] == [[], [cat], [], []]
    assert [hall["code"] != "" for hall in halls] == [True, True, True, False]


@pytest.mark.parametrize("prompt", ["", " \n", "x" * (LENGTH + 1)])
def test_what_is_no_prompt_is_rejected_in_words(remotes, stage, prompt: str) -> None:
    body = json.dumps(
        {"code": remotes.open_hall(stage, True), "phone": "phone-one", "prompt": prompt}
    )
    open_it = ("POST", f"/remotes/{stage.key}/hall", '{"open": true}')
    rejected, given, wrong, page = run(
        _ask(
            remotes,
            ("POST", "/halls/prompts", body),
            open_it,
            ("POST", f"/remotes/{stage.code}/hall", '{"open": true}'),
            ("GET", "/hall/00000000", ""),
        )
    )
    assert (rejected.status_code, given.status_code, wrong.status_code) == (422, 200, 404)
    assert "1 to 200 characters" in rejected.json()["error"]
    assert given.json() == {"code": stage.hall.code}
    assert "<form" in page.text


async def _ask(remotes: Remotes, *requests: tuple[str, str, str]) -> list[httpx.Response]:
    transport = httpx.ASGITransport(Starlette(routes=remote_routes(remotes)))
    client = httpx.AsyncClient(transport=transport, base_url="http://page")
    async with asyncio.timeout(60), client:  # a stream's answer would have no end
        return [await client.request(how, path, content=body) for how, path, body in requests]
