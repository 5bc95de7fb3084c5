from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.turns import FullError, Place, Turns


def served(turns: Turns, places: list[Place]) -> list[Place]:
    """The order in which places that wait come to race, each leaving before the next."""
    order = []
    while left := [place for place in places if place not in order]:
        now = [place for place in left if turns.ahead(place) == 0]
        assert len(now) == 1, "one race at a time"
        turns.leave(now[0])
        order += now
    return order


def test_one_race_at_a_time_and_the_others_know_their_place() -> None:
    turns = Turns(5)
    places = [turns.take(name, name, "gpu") for name in "abc"]
    assert [turns.ahead(place) for place in places] == [0, 1, 2]
    assert [turns.ahead(place) for place in places] == [0, 1, 2]
    turns.leave(places[0])
    assert [turns.ahead(place) for place in places[1:]] == [0, 1]


def test_devices_do_not_wait_for_each_other() -> None:
    turns = Turns(5, {"zero": 2})
    first = [turns.take(name, name, "cpu") for name in "ab"]
    second = [turns.take(name, name, "zero") for name in "cde"]
    assert [turns.ahead(place) for place in [*first, *second]] == [0, 1, 0, 0, 2]


def test_a_second_race_takes_the_place_of_the_first() -> None:
    turns = Turns(5)
    holder, first, other = (
        turns.take("h", "h", "gpu"),
        turns.take("a", "a", "gpu"),
        turns.take("b", "b", "gpu"),
    )
    assert turns.ahead(holder) == 0
    second = turns.take("a", "a", "gpu")
    assert "later race" in first.lost
    assert not second.lost
    turns.leave(holder)
    assert served(turns, [other, second]) == [other, second]


def test_a_second_race_waits_for_the_first_to_end() -> None:
    turns = Turns(5)
    first = turns.take("a", "a", "gpu")
    assert turns.ahead(first) == 0
    second = turns.take("a", "a", "gpu")
    assert "later race" in first.lost
    assert turns.ahead(second) == 1
    turns.leave(first)
    turns.leave(first)
    assert turns.ahead(second) == 0


def test_many_races_of_one_address_wait_for_their_own() -> None:
    turns = Turns(9)
    greedy = [turns.take(f"g{i}", "g", "gpu") for i in range(4)]
    modest = [turns.take(name, name, "gpu") for name in "ab"]
    assert served(turns, [*greedy, *modest]) == [greedy[0], *modest, *greedy[1:]]


def test_who_has_just_raced_comes_after_who_has_not() -> None:
    turns = Turns(9)
    served(turns, [turns.take("a1", "a", "gpu")])
    again, new = turns.take("a2", "a", "gpu"), turns.take("b", "b", "gpu")
    assert served(turns, [again, new]) == [new, again]


def test_a_full_queue_refuses_in_words() -> None:
    turns = Turns(2)
    racing = turns.take("r", "r", "gpu")
    assert turns.ahead(racing) == 0
    for name in "ab":
        turns.take(name, name, "gpu")
    with pytest.raises(FullError, match="2 races are waiting"):
        turns.take("c", "c", "gpu")


def test_a_full_queue_is_nobodys_own() -> None:
    turns = Turns(3)
    greedy = [turns.take(f"g{i}", "g", "gpu") for i in range(3)]
    turns.take("a", "a", "gpu")
    assert [bool(place.lost) for place in greedy] == [False, False, True]
    with pytest.raises(FullError):
        turns.take("g4", "g", "gpu")


def test_who_leaves_gives_the_place_back() -> None:
    turns = Turns(5)
    places = [turns.take(name, name, "gpu") for name in "abc"]
    assert turns.ahead(places[0]) == 0
    turns.drop("a")
    turns.drop("b")
    assert places[0].lost
    assert turns.ahead(places[2]) == 1, "the race that is on ends first"
    turns.leave(places[0])
    assert turns.ahead(places[2]) == 0


ACTS = st.tuples(
    st.sampled_from(["take", "ahead", "leave", "drop"]), st.integers(0, 5), st.integers(0, 2)
)


@given(st.lists(ACTS, max_size=60))
def test_whatever_happens_the_device_is_one_races_and_the_queue_is_bounded(acts) -> None:
    turns, places = Turns(3), []
    for act, who, where in acts:
        if act == "take":
            try:
                places.append(turns.take(who, str(where), "gpu"))
            except FullError:
                assert len(places) >= 3
        elif act == "drop":
            turns.drop(who)
        elif places:
            getattr(turns, act)(places[who % len(places)])
        alive = [place for place in turns._places if not place.lost]
        assert sum(place.racing for place in turns._places) <= 1
        assert sum(not place.racing for place in turns._places) <= 3
        assert all(a.visitor != b.visitor for a, b in itertools.combinations(alive, 2))
