from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.races.fair_queue import FairQueue, QueueFullError, Ticket, Wait


def enter(queue: FairQueue, visitor: object, address: str, device: str = "gpu") -> Ticket:
    queue.join(ticket := Ticket(visitor, address, device))
    return ticket


def ahead(queue: FairQueue, ticket: Ticket) -> int:
    """How many races come first; 0 of one that has the device."""
    wait = queue.wait_of(ticket)
    return wait.ahead if wait else 0


def join(queue: FairQueue, names: str, device: str = "gpu") -> list[Ticket]:
    """A ticket for each letter, which is both the visitor and the address."""
    return [enter(queue, name, name, device) for name in names]


def served(queue: FairQueue, tickets: list[Ticket]) -> list[Ticket]:
    """The order in which tickets that wait come to race, each leaving before the next."""
    order = []
    while left := [ticket for ticket in tickets if ticket not in order]:
        now = [ticket for ticket in left if ahead(queue, ticket) == 0]
        assert len(now) == 1, "one race at a time"
        queue.leave(now[0])
        order += now
    return order


def test_one_race_at_a_time_and_the_others_know_their_place() -> None:
    tickets = join(queue := FairQueue(5), "abc")
    for _ in range(2):
        assert [ahead(queue, ticket) for ticket in tickets] == [0, 1, 2]
    queue.leave(tickets[0])
    assert [ahead(queue, ticket) for ticket in tickets[1:]] == [0, 1]


def test_devices_do_not_wait_for_each_other() -> None:
    queue = FairQueue(5, {"zero": 2})
    tickets = join(queue, "ab", "cpu") + join(queue, "cde", "zero")
    assert [ahead(queue, ticket) for ticket in tickets] == [0, 1, 0, 0, 2]


def test_waiting_times_follow_from_the_last_races_of_the_device() -> None:
    now = [0.0]
    queue = FairQueue(9, {"zero": 2}, lambda: now[0])
    for seconds in (500, 9, 10, 11, 12, 60):
        racing, waits = enter(queue, "a", "a"), enter(queue, "b", "a")
        assert ahead(queue, racing) == 0
        now[0] += seconds
        queue.leave(racing)
        queue.leave(waits)  # it never raced
    racing, *waiting = join(queue, "cdef")
    assert ahead(queue, racing) == 0
    assert [queue.wait_of(ticket) for ticket in waiting] == [Wait(i, i * 11) for i in (1, 2, 3)]
    first, second, third = join(queue, "ghi", "zero")
    assert [ahead(queue, ticket) for ticket in (first, second)] == [0, 0]
    assert queue.wait_of(third) == Wait(2, None)
    now[0] += 8
    for _ in range(2):
        queue.leave(first)
    (fourth,) = join(queue, "j", "zero")
    assert ahead(queue, third) == 0
    assert queue.wait_of(fourth) == Wait(2, 2 * 8 / 2)


def test_what_a_race_waits_for_is_said_in_words() -> None:
    assert Wait(1, None).note == "In the queue: 1 race comes before yours."
    for seconds, words in ((0.2, "10 seconds"), (34.0, "40 seconds"), (130.0, "3 minutes")):
        assert Wait(3, seconds).note == (
            "In the queue: 3 races come before yours. If they take as long as the last races, yours"
            f" starts within {words}."
        )


def test_a_second_race_cancels_the_first() -> None:
    holder, first, other = join(queue := FairQueue(5), "hab")
    assert ahead(queue, holder) == 0
    (second,) = join(queue, "a")
    assert "newer race" in first.cancelled
    assert not second.cancelled
    queue.leave(holder)
    assert served(queue, [other, second]) == [other, second]


def test_a_second_race_waits_for_the_first_to_end() -> None:
    (first,) = join(queue := FairQueue(5), "a")
    assert ahead(queue, first) == 0
    (second,) = join(queue, "a")
    assert "newer race" in first.cancelled
    assert ahead(queue, second) == 1
    queue.leave(first)
    queue.leave(first)
    assert ahead(queue, second) == 0


def test_many_races_of_one_address_wait_for_their_own() -> None:
    queue = FairQueue(9)
    greedy = [enter(queue, f"g{i}", "g") for i in range(4)]
    modest = join(queue, "ab")
    assert served(queue, [*greedy, *modest]) == [greedy[0], *modest, *greedy[1:]]


def test_an_address_that_has_just_raced_comes_last() -> None:
    queue = FairQueue(9)
    served(queue, [enter(queue, "a1", "a")])
    again, new = enter(queue, "a2", "a"), enter(queue, "b", "b")
    assert served(queue, [again, new]) == [new, again]


def test_a_full_queue_rejects_with_a_message() -> None:
    (racing,) = join(queue := FairQueue(2), "r")
    assert ahead(queue, racing) == 0
    join(queue, "ab")
    with pytest.raises(QueueFullError, match="2 races are waiting"):
        join(queue, "c")


def test_one_address_cannot_fill_the_queue() -> None:
    queue = FairQueue(3)
    greedy = [enter(queue, f"g{i}", "g") for i in range(3)]
    enter(queue, "a", "a")
    assert [bool(ticket.cancelled) for ticket in greedy] == [False, False, True]
    with pytest.raises(QueueFullError):
        enter(queue, "g4", "g")


def test_a_race_that_leaves_gives_its_place_back() -> None:
    tickets = join(queue := FairQueue(5), "abc")
    assert ahead(queue, tickets[0]) == 0
    queue.leave(tickets[1])
    assert ahead(queue, tickets[2]) == 1, "the race that is on ends first"
    queue.leave(tickets[0])
    assert ahead(queue, tickets[2]) == 0


CALLS = st.sampled_from(["join", "wait_of", "leave"])
ACTS = st.tuples(CALLS, st.integers(0, 5), st.integers(0, 2))


@given(st.lists(ACTS, max_size=60))
def test_at_any_time_one_race_has_the_device_and_the_queue_is_bounded(acts) -> None:
    queue, tickets = FairQueue(3), []
    for act, who, where in acts:
        if act == "join":
            try:
                tickets.append(enter(queue, who, str(where)))
            except QueueFullError:
                assert len(tickets) >= 3
        elif tickets:
            getattr(queue, act)(tickets[who % len(tickets)])
        alive = [ticket for ticket in queue._tickets if not ticket.cancelled]
        assert sum(ticket.racing for ticket in queue._tickets) <= 1
        assert sum(not ticket.racing for ticket in queue._tickets) <= 3
        assert all(a.visitor != b.visitor for a, b in itertools.combinations(alive, 2))
