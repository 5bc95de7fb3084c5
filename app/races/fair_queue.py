"""FairQueue: decides which race runs next.

There is one bounded queue for all devices, with one ticket for each visitor and fair shares
between addresses.
"""

from __future__ import annotations

import itertools
import statistics
import threading
import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial

from app.workers.race_stream import duration_words

MAX_ADDRESSES = 1000  # addresses whose last turn is remembered; others count as new
TIMED_RACES = 5  # the last races of a device, by which waiting times are estimated
_numbers = itertools.count(1)


class QueueFullError(Exception):
    """Raised if the queue is full; the message is for the user."""


@dataclass(slots=True, eq=False)
class Ticket:
    """One race in the queue.

    `cancelled` is "" until the race loses its place; then it is the reason, in words for the user.
    If the race is running at that time, it keeps the device until its runner sees `cancelled` and
    ends it.
    """

    visitor: Hashable
    address: str
    device: Hashable
    number: int = field(default_factory=lambda: next(_numbers))
    racing: bool = False
    started: float = 0.0  # the clock's seconds when it began to race
    seconds: float = 0.0  # how long the race had the device; 0 until it leaves
    cancelled: str = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """A race's wait in the queue.

    `ahead` races run before this race and take about `seconds`, which is None until some race
    on the device has ended.
    """

    ahead: int
    seconds: float | None

    @property
    def note(self) -> str:
        """What the board says about this wait."""
        races = "race comes" if self.ahead == 1 else "races come"
        text = f"In the queue: {self.ahead} {races} before yours."
        if self.seconds is None:
            return text
        words = duration_words(self.seconds)
        return f"{text} If they take as long as the last races, yours starts within {words}."


class FairQueue:
    """Decides which race runs next; a visitor's second race cancels the first.

    Waiting races are served in rounds, with one race of each address in a round. Within a
    round, the address that has not raced for longest comes first. So races from one address
    wait for each other, and other addresses need not wait for all of them. If a proxy hides
    addresses, races are served in the order in which they come.

    A race that meets a full queue is rejected, unless another address has at least two more
    races waiting than the race's own address. Then the last race of that other address is
    cancelled.
    """

    def __init__(
        self,
        max_waiting: int,
        at_once: dict[Hashable, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
        report: Callable[[int], None] = lambda waiting: None,
    ) -> None:
        """Make an empty queue.

        Args:
            max_waiting: largest number of waiting races.
            at_once: number of races that run at a time on each device; one if a device is not
                named.
            clock: returns the time in seconds.
            report: called with the number of waiting races whenever this number changes.
        """
        self._max_waiting, self._at_once, self._clock = max_waiting, at_once or {}, clock
        self._report = report
        last = partial(deque[float], maxlen=TIMED_RACES)
        self._seconds: defaultdict[Hashable, deque[float]] = defaultdict(last)
        self._lock = threading.Lock()
        self._tickets: list[Ticket] = []
        self._turns = itertools.count(1)
        self._last_turn: OrderedDict[str, int] = OrderedDict()

    def join(self, ticket: Ticket) -> None:
        """Add a race, in place of the visitor's earlier race. Raises QueueFullError."""
        with self._lock:
            self._cancel_all(ticket.visitor, "Your newer race has replaced this one.")
            waiting = [other for other in self._tickets if not other.racing]
            if len(waiting) >= self._max_waiting:
                self._make_room(waiting, ticket.address)
            self._tickets.append(ticket)
            self._report_waiting()

    def wait_of(self, ticket: Ticket) -> Wait | None:
        """Return a race's wait in the queue; give the race the device if it is its turn.

        Returns None while the race has the device, and after it has left.
        """
        with self._lock:
            if ticket.racing or ticket not in self._tickets:
                return None
            here = [other for other in self._tickets if other.device == ticket.device]
            racing = [other for other in here if other.racing]
            waiting = [other for other in here if not other.racing]
            ahead = self._order(waiting, racing).index(ticket) + len(racing)
            if ahead >= self._at_once.get(ticket.device, 1):
                return Wait(ahead, self._estimate(ticket.device, ahead))
            ticket.racing, ticket.started = True, self._clock()
            self._last_turn[ticket.address] = next(self._turns)
            self._last_turn.move_to_end(ticket.address)
            while len(self._last_turn) > MAX_ADDRESSES:
                self._last_turn.popitem(last=False)
            self._report_waiting()
            return None

    def leave(self, ticket: Ticket) -> None:
        """Give a race's place in the queue, or its device, to others. May be called twice."""
        with self._lock:
            if ticket in self._tickets:
                self._tickets.remove(ticket)
                self._report_waiting()
                if ticket.racing:
                    ticket.seconds = self._clock() - ticket.started
                    self._seconds[ticket.device].append(ticket.seconds)

    def seconds_of(self, ticket: Ticket) -> float:
        """Return the seconds for which a race has had the device so far."""
        with self._lock:
            here = ticket.racing and ticket in self._tickets
            return self._clock() - ticket.started if here else ticket.seconds

    def _estimate(self, device: Hashable, ahead: int) -> float | None:
        """Return the seconds until `ahead` races are over; None if no race has ended on the device.

        Each race is assumed to take the median time of the device's last races.
        """
        if not self._seconds[device]:
            return None
        return ahead * statistics.median(self._seconds[device]) / self._at_once.get(device, 1)

    def _order(self, waiting: list[Ticket], racing: list[Ticket]) -> list[Ticket]:
        rounds = Counter(ticket.address for ticket in racing)
        keys = {}
        for ticket in sorted(waiting, key=lambda ticket: ticket.number):
            turn = rounds[ticket.address]
            rounds[ticket.address] += 1
            last = 0 if turn else self._last_turn.get(ticket.address, 0)
            keys[ticket] = (turn, last, ticket.number)
        return sorted(waiting, key=keys.__getitem__)

    def _make_room(self, waiting: list[Ticket], address: str) -> None:
        held = Counter(ticket.address for ticket in waiting)
        greediest, most = held.most_common(1)[0]
        if most < held[address] + 2:
            raise QueueFullError(
                f"The queue is full: {len(waiting)} races are waiting. Try again in a minute."
            )
        self._cancel(
            [ticket for ticket in waiting if ticket.address == greediest][-1],
            "The queue is full and other visitors had no place in it, so this race was taken out."
            " Try again in a minute.",
        )

    def _cancel_all(self, visitor: Hashable, reason: str) -> None:
        for ticket in [ticket for ticket in self._tickets if ticket.visitor == visitor]:
            self._cancel(ticket, reason)

    def _cancel(self, ticket: Ticket, reason: str) -> None:
        ticket.cancelled = reason
        if not ticket.racing:  # a running race leaves by itself, after the step in progress
            self._tickets.remove(ticket)
            self._report_waiting()

    def _report_waiting(self) -> None:
        self._report(sum(not ticket.racing for ticket in self._tickets))
