"""What a visitor's moves come to: steps, finishes, clocks, and a way over the cells."""

from __future__ import annotations

from typing import Any

import pytest

from tests.static.driving import FRESH, Wire, node, snapshot


def lane(name: str, *micros: int, state: str = "finished") -> Wire:
    """A lane that commits one cell a step, each after so many microseconds."""
    wire = Wire(name, state)
    for nfe, time in enumerate(micros, 1):
        wire.step(nfe, 1, 1, micros=(time, 0, 0, 0)).cell(1, FRESH)
    return wire


# at 40, 80, 120, 160; and at 70, 140 microseconds
SLOW, QUICK = lane("ar", 40, 40, 40, 40), lane("sjd", 70, 70)
AGAIN = """
    const race = decodeRace(shot, null);
    race.lanes.forEach((lane) => Object.assign(lane, { seconds: clockOf(lane, "seconds"), passes: clockOf(lane, "passes") }));
    const state = { race, clock: "seconds", t: 0, hidden: new Set(hidden), stepping: null, cell: null, ...change };
"""


def ask(code: str, hidden: tuple[int, ...] = (), **change: Any) -> Any:
    return node(AGAIN + code, shot=snapshot(SLOW, QUICK), change=change, hidden=list(hidden))


def walk(back: bool, times: list[float], **change: Any) -> list[float | None]:
    code = "return times.map((t) => stepTarget({ ...state, t }, back));"
    shot = snapshot(SLOW, QUICK)
    hidden = change.pop("hidden", [])
    return node(AGAIN + code, shot=shot, change=change, hidden=hidden, times=times, back=back)


def test_step_goes_to_the_next_event_of_any_lane() -> None:
    times = [0, 0.00004, 0.00005, 0.00007, 0.00014, 0.00016]
    assert walk(False, times) == [0.00004, 0.00007, 0.00007, 0.00008, 0.00016, None]
    assert walk(True, times) == [None, 0, 0.00004, 0.00004, 0.00012, 0.00014]


def test_hidden_lanes_are_not_stepped_through() -> None:
    assert walk(False, [0, 0.00007], hidden=[0]) == [0.00007, 0.00014]
    assert walk(False, [0], hidden=[0, 1]) == [0.00004]  # with none shown there is still a race


def test_step_of_one_lane_goes_to_its_own_next_step() -> None:
    assert walk(False, [0, 0.0001], stepping=1) == [0.00007, 0.00014]
    assert walk(True, [0.0001], stepping=1) == [0.00007]
    assert walk(False, [1, 2], stepping=1, clock="passes") == [2, None]


def test_by_passes_all_lanes_go_to_the_next_pass() -> None:
    assert walk(False, [0, 0.4, 1, 3], clock="passes") == [1, 1, 2, 4]
    assert walk(True, [0, 0.4, 1, 3], clock="passes") == [0, 0, 0, 2]


def test_finishes_are_gone_to_one_by_one() -> None:
    code = "return [0, 0.00014, 0.00016].map((t) => finishTarget({ ...state, t }, back));"
    assert ask("const back = false;" + code) == [0.00014, 0.00016, 0.00016]
    assert ask("const back = true;" + code) == [0, 0, 0.00014]


@pytest.mark.parametrize(
    ("t", "cell", "passes"),
    [(0, None, 0), (0.0001, None, 2), (0.0001, {"lane": 1, "cell": 0}, 1), (0.00016, None, 4)],
)
def test_other_clock_shows_the_same_instant_of_the_lane_in_question(t, cell, passes) -> None:
    assert ask("return sameInstant(state, 'passes');", t=t, cell=cell) == passes


def test_arrows_stay_on_the_grid() -> None:
    code = (
        "return cells.map((cell) => Object.values(MOVES).map((move) => neighbour({ lane: 1, cell },"
        " move, [2, 3]).cell));"
    )
    # Left, right, up, down of the first cell, of one in the middle, and of the last.
    assert node(code, cells=[0, 4, 5]) == [[0, 1, 0, 3], [3, 5, 1, 4], [4, 5, 2, 5]]
    assert node("return neighbour({ lane: 1, cell: 0 }, [0, 1], [2, 3]);") == {
        "lane": 1,
        "cell": 1,
        "pinned": True,
    }


def test_keys_typed_into_a_field_are_not_the_boards() -> None:
    code = """
        const [scrub, field] = [{}, {}];
        const inside = (name, found, key) => typed({ key, target: { closest: (r) => (r.includes(name) ? found : null) } }, scrub);
        const at = (name, key) => inside(name, field, key);
        const onScrub = (key) => inside("input", scrub, key);
        return [
          ["input", "textarea", "select", "[contenteditable]"].map((matching) => at(matching, "l")),
          [at("button", " "), at("button", "Enter"), at("button", "l"), at("body", " ")],
          [onScrub("Home"), onScrub("ArrowLeft"), onScrub(" ")],
        ];
    """
    assert node(code) == [[True] * 4, [True, True, False, False], [True, False, False]]
