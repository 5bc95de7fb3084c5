"""Remotes: phones that turn a stage to its next or previous chapter.

A stage is the page as the audience of a talk sees it; its chapters are those of the tour. The stage
asks for a code and shows a link with it. A phone that opens the link can turn the stage to another
chapter, and do nothing else. A code ends with its stage. Codes are kept only in memory, with the
address that asked for the code and the names that phones made up.

Each turn has a number and is sent until the stage confirms it. Only then is the phone's press
answered with 200. If a proxy cuts a connection or answers in the server's place, the phone sends
the press again, and the server sends the turn again. The press and the turn keep their numbers, so
neither counts twice.

A stage can also open a hall: a list of prompts that phones propose with a second code, the hall's.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from app.api.hall import FULL_HALL, Hall, Proposal

DIGITS = 8  # in a code: at ten tries a minute, an address needs months to hit one of 64
STAGES, OWN_STAGES = 64, 4  # most stages with a code, in all and for one address
PHONES = 3  # most phones of one stage
LIFE_SECONDS = 4 * 3600.0  # how long a code lasts
AWAY_SECONDS = 60.0  # how long a stage may be away while its page reloads
# Wrong codes that an address may send in WRONG_SECONDS. A hall of phones is often one address.
WRONG, WRONG_SECONDS = {"remote": 10, "hall": 100}, 60.0
WAITING = 8  # most turns that a stage has not heard yet
HEARD_SECONDS = 5.0  # a turn that its stage has not heard by then is taken back
BEAT_SECONDS = 15.0  # between signs of life, without which a proxy cuts a stream
GONE = (
    "No stage has this code: the stage was closed, or has a new code. Open the link that it shows."
)
NO_HALL = "No stage takes prompts under this link. Open the link that the stage shows now."
FULL = f"{PHONES} phones turn this stage already, the most that can."
BEHIND = "The stage has not turned yet. Wait until it has, then press again."
NOT_HEARD = "The stage did not answer in time. Check whether it has turned before you press again."
TOO_OFTEN = "Too many wrong codes came from this address. Try again in a minute."


class Press(BaseModel):
    """A message by which a phone turns a stage, the page as an audience sees it.

    `by` is 1 for the next chapter and -1 for the previous one; 0 only asks whether the stage is
    connected. `code` is the stage's code, and `phone` is a name that the phone made up. `number`
    grows with each press of the phone.
    """

    model_config = ConfigDict(strict=True, extra="forbid")

    code: str = Field(max_length=16)
    phone: str = Field(min_length=8, max_length=64)
    number: int = Field(ge=0, lt=2**53)
    by: Literal[-1, 0, 1]


class Heard(BaseModel):
    """A message by which a stage confirms that it received all turns up to number `turn`.

    A turn is a phone's request for the stage's next or previous chapter.
    """

    model_config = ConfigDict(strict=True, extra="forbid")

    turn: int = Field(ge=1, lt=2**53)


@dataclass
class Turn:
    """A request for a stage's next or previous chapter, made by a phone's press.

    `by` is 1 or -1. `heard` becomes True once the stage confirms the turn, and False if the stage
    does not confirm it in time.
    """

    number: int  # number among the turns of the stage
    press: int  # number of the press among the phone's presses
    by: int
    heard: asyncio.Future[bool] = field(default_factory=asyncio.Future)


@dataclass
class Stage:
    """The page as the audience of a talk sees it; phones turn it by sending the stage's `code`.

    Only the stage itself knows the secret `key`, with which it asks for the phones' turns.
    """

    code: str
    key: str
    address: str
    began: float
    seen: float  # when the stage was last connected
    listening: int = 0
    turned: int = 0  # number of turns that phones asked for
    waiting: list[Turn] = field(default_factory=list)  # unheard turns, in order
    hall: Hall | None = None  # the open hall, if there is one
    phones: dict[str, Turn | None] = field(default_factory=dict)  # each phone's last turn
    news: asyncio.Event = field(default_factory=asyncio.Event)  # set to wake the stage's stream


class Remotes:
    """The stages that phones can turn. All methods are called from the server's event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stages: dict[str, Stage] = {}  # stages by their code
        self._wrong: dict[tuple[str, str], list[float]] = {}  # times, by kind and address

    def open(self, address: str) -> Stage | None:
        """Return a new stage with a code; None if there are too many, in all or for `address`."""
        self._forget()
        own = sum(stage.address == address for stage in self._stages.values())
        if len(self._stages) >= STAGES or own >= OWN_STAGES:
            return None
        code = _new_code()
        while code in self._stages:
            code = _new_code()
        now = self._clock()
        stage = self._stages[code] = Stage(code, secrets.token_urlsafe(16), address, now, now)
        return stage

    def of_key(self, key: str) -> Stage | None:
        self._forget()
        same = secrets.compare_digest
        stages = self._stages.values()
        return next((s for s in stages if same(s.key.encode(), key.encode())), None)

    async def listen(self, stage: Stage) -> AsyncIterator[str]:
        """Yield a stage's turns and its hall's prompts as server-sent events.

        The stream ends when the code ends, or when a newer call listens for this stage. A stage
        whose connection was cut listens again, and gets the turns that it has not confirmed.
        """
        stage.news.set()
        stage.news = news = asyncio.Event()
        sent, last_hall = 0, (not_open := {"code": "", "prompts": []})
        stage.listening += 1
        try:
            yield ":\n\n"
            while self._stages.get(stage.code) is stage:
                if stage.news is not news:
                    yield "event: elsewhere\ndata: 1\n\n"
                    return
                news.clear()
                for turn in [turn for turn in stage.waiting if turn.number > sent]:
                    sent = turn.number
                    yield f"id: {turn.number}\ndata: {turn.by}\n\n"
                if (hall := stage.hall.told() if stage.hall else not_open) != last_hall:
                    last_hall = hall
                    yield f"event: hall\ndata: {json.dumps(hall)}\n\n"
                try:
                    await asyncio.wait_for(news.wait(), BEAT_SECONDS)
                except TimeoutError:
                    yield ":\n\n"
                self._forget()
        finally:
            stage.listening -= 1
            stage.seen = self._clock()

    def heard(self, stage: Stage, number: int) -> None:
        """Note that the stage has confirmed all its turns up to number `number`."""
        for turn in stage.waiting:
            if turn.number <= number:
                turn.heard.set_result(True)
        stage.waiting = [turn for turn in stage.waiting if turn.number > number]

    async def press(self, press: Press, address: str) -> tuple[int, str]:
        """Pass a phone's press to its stage, and wait until the stage confirms it.

        Returns:
            An HTTP status and, unless it is 200, the reason.
        """
        self._forget()
        stage = self._stages.get(press.code)
        known = stage is not None and press.phone in stage.phones
        if not known and self._has_guessed("remote", address):
            return 429, TOO_OFTEN
        if stage is None:
            self._count_wrong("remote", address)
            return 404, GONE
        if press.phone not in stage.phones and len(stage.phones) >= PHONES:
            return 403, FULL
        turn = stage.phones.setdefault(press.phone, None)
        if not press.by:
            return (200, "") if stage.listening else (404, GONE)
        if turn is None or press.number > turn.press:
            if len(stage.waiting) >= WAITING:
                return 503, BEHIND
            stage.turned += 1
            turn = Turn(stage.turned, press.number, press.by)
            stage.phones[press.phone] = turn
            stage.waiting.append(turn)
            stage.news.set()
        await asyncio.wait([turn.heard], timeout=HEARD_SECONDS)
        if turn in stage.waiting:
            stage.waiting.remove(turn)
            turn.heard.set_result(False)
        return (200, "") if turn.heard.result() else (504, NOT_HEARD)

    def open_hall(self, stage: Stage, is_open: bool) -> str:
        """Open a stage's hall and return the hall's code, or close the hall and return "".

        A hall is the list of prompts that phones propose to the stage. Closing it drops them.
        """
        if not is_open:
            stage.hall = None
        elif stage.hall is None:
            codes = {other.hall.code for other in self._stages.values() if other.hall}
            stage.hall = Hall(next(code for code in iter(_new_code, "") if code not in codes))
        stage.news.set()
        return stage.hall.code if stage.hall else ""

    def take(self, stage: Stage, number: int) -> None:
        """Remove prompt `number` from the stage's hall, because the speaker has picked it."""
        if stage.hall:
            stage.hall.take(number)
            stage.news.set()

    def propose(self, proposal: Proposal, address: str) -> tuple[int, str]:
        """Pass a phone's prompt to the stage whose open hall has the proposal's code.

        Returns:
            An HTTP status and, unless it is 200, the reason.
        """
        self._forget()
        if self._has_guessed("hall", address):
            return 429, TOO_OFTEN
        for stage in self._stages.values():
            if stage.hall and stage.hall.code == proposal.code:
                if not stage.hall.add(proposal.phone, proposal.prompt):
                    return 503, FULL_HALL
                stage.news.set()
                return 200, ""
        self._count_wrong("hall", address)
        return 404, NO_HALL

    def _has_guessed(self, kind: str, address: str) -> bool:
        return len(self._wrong.get((kind, address), ())) >= WRONG[kind]

    def _count_wrong(self, kind: str, address: str) -> None:
        self._wrong.setdefault((kind, address), []).append(self._clock())

    def _forget(self) -> None:
        """Drop stages that have ended, and wrong codes that no longer count.

        A stage ends LIFE_SECONDS after it began, or once it has been away for AWAY_SECONDS. A wrong
        code counts against the address that sent it for WRONG_SECONDS.
        """
        now = self._clock()
        self._stages = {
            code: stage
            for code, stage in self._stages.items()
            if now - stage.began < LIFE_SECONDS
            and (stage.listening or now - stage.seen < AWAY_SECONDS)
        }
        recent = {
            key: [at for at in times if now - at < WRONG_SECONDS]
            for key, times in self._wrong.items()
        }
        self._wrong = {key: times for key, times in recent.items() if times}


def _new_code() -> str:
    return f"{secrets.randbelow(10**DIGITS):0{DIGITS}}"
