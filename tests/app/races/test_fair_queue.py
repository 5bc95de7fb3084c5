from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.races.fair_queue import FairQueue, QueueFullError, Ticket


def join(queue: FairQueue, names: str, device: str = "gpu") -> list[Ticket]:
    """A ticket for each letter, which is both the visitor and the address."""
    return [queue.join(name, name, device) for name in names]


def served(queue: FairQueue, tickets: list[Ticket]) -> list[Ticket]:
    """The order in which tickets that wait come to race, each leaving before the next."""
    order = []
    while left := [ticket for ticket in tickets if ticket not in order]:
        now = [ticket for ticket in left if queue.ahead(ticket) == 0]
        assert len(now) == 1, "one race at a time"
        queue.leave(now[0])
        order += now
    return order


def test_one_race_at_a_time_and_the_others_know_their_place() -> None:
    tickets = join(queue := FairQueue(5), "abc")
    for _ in range(2):
        assert [queue.ahead(ticket) for ticket in tickets] == [0, 1, 2]
    queue.leave(tickets[0])
    assert [queue.ahead(ticket) for ticket in tickets[1:]] == [0, 1]


def test_devices_do_not_wait_for_each_other() -> None:
    queue = FairQueue(5, {"zero": 2})
    tickets = join(queue, "ab", "cpu") + join(queue, "cde", "zero")
    assert [queue.ahead(ticket) for ticket in tickets] == [0, 1, 0, 0, 2]


def test_waiting_times_follow_from_the_last_races_of_the_device() -> None:
    now = [0.0]
    queue = FairQueue(5, {"zero": 2}, lambda: now[0])
    assert queue.estimate("gpu", 1) is None
    for seconds in (500, 9, 10, 11, 12, 60):
        ticket = queue.join("a", "a", "gpu")
        waits = queue.join("b", "a", "gpu")
        assert queue.ahead(ticket) == 0
        now[0] += seconds
        queue.leave(ticket)
        queue.leave(waits)  # it never raced
    assert queue.estimate("gpu", 3) == 3 * 11
    assert queue.estimate("zero", 1) is None
    ticket = queue.join("a", "a", "zero")
    assert queue.ahead(ticket) == 0
    now[0] += 8
    queue.leave(ticket)
    queue.leave(ticket)
    assert queue.estimate("zero", 3) == 3 * 8 / 2


def test_a_second_race_cancels_the_first() -> None:
    holder, first, other = join(queue := FairQueue(5), "hab")
    assert queue.ahead(holder) == 0
    (second,) = join(queue, "a")
    assert "later race" in first.cancelled
    assert not second.cancelled
    queue.leave(holder)
    assert served(queue, [other, second]) == [other, second]


def test_a_second_race_waits_for_the_first_to_end() -> None:
    (first,) = join(queue := FairQueue(5), "a")
    assert queue.ahead(first) == 0
    (second,) = join(queue, "a")
    assert "later race" in first.cancelled
    assert queue.ahead(second) == 1
    queue.leave(first)
    queue.leave(first)
    assert queue.ahead(second) == 0


def test_many_races_of_one_address_wait_for_their_own() -> None:
    queue = FairQueue(9)
    greedy = [queue.join(f"g{i}", "g", "gpu") for i in range(4)]
    modest = join(queue, "ab")
    assert served(queue, [*greedy, *modest]) == [greedy[0], *modest, *greedy[1:]]


def test_an_address_that_has_just_raced_comes_last() -> None:
    queue = FairQueue(9)
    served(queue, [queue.join("a1", "a", "gpu")])
    again, new = queue.join("a2", "a", "gpu"), queue.join("b", "b", "gpu")
    assert served(queue, [again, new]) == [new, again]


def test_a_full_queue_rejects_with_a_message() -> None:
    (racing,) = join(queue := FairQueue(2), "r")
    assert queue.ahead(racing) == 0
    join(queue, "ab")
    with pytest.raises(QueueFullError, match="2 races are waiting"):
        join(queue, "c")


def test_one_address_cannot_fill_the_queue() -> None:
    queue = FairQueue(3)
    greedy = [queue.join(f"g{i}", "g", "gpu") for i in range(3)]
    queue.join("a", "a", "gpu")
    assert [bool(ticket.cancelled) for ticket in greedy] == [False, False, True]
    with pytest.raises(QueueFullError):
        queue.join("g4", "g", "gpu")


def test_a_race_that_leaves_gives_its_place_back() -> None:
    tickets = join(queue := FairQueue(5), "abc")
    assert queue.ahead(tickets[0]) == 0
    queue.leave(tickets[1])
    assert queue.ahead(tickets[2]) == 1, "the race that is on ends first"
    queue.leave(tickets[0])
    assert queue.ahead(tickets[2]) == 0


ACTS = st.tuples(st.sampled_from(["join", "ahead", "leave"]), st.integers(0, 5), st.integers(0, 2))


@given(st.lists(ACTS, max_size=60))
def test_at_any_time_one_race_has_the_device_and_the_queue_is_bounded(acts) -> None:
    queue, tickets = FairQueue(3), []
    for act, who, where in acts:
        if act == "join":
            try:
                tickets.append(queue.join(who, str(where), "gpu"))
            except QueueFullError:
                assert len(tickets) >= 3
        elif tickets:
            getattr(queue, act)(tickets[who % len(tickets)])
        alive = [ticket for ticket in queue._tickets if not ticket.cancelled]
        assert sum(ticket.racing for ticket in queue._tickets) <= 1
        assert sum(not ticket.racing for ticket in queue._tickets) <= 3
        assert all(a.visitor != b.visitor for a, b in itertools.combinations(alive, 2))
