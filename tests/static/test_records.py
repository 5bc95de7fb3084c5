"""Reading the wire, and where every lane stood after any of its steps."""

from __future__ import annotations

import pytest

from tests.static.driving import (
    ACCEPTED,
    FRESH,
    LANE,
    REFINED,
    REJECTED,
    RESAMPLED,
    Wire,
    law,
    near,
    node,
    snapshot,
    three_steps,
)


def test_steps_are_decoded_with_what_has_come_together_by_then() -> None:
    steps = node(LANE + "return lane.steps;", shot=snapshot(three_steps()))
    names = (
        "nfe",
        "before",
        "after",
        "first",
        "touched",
        "tokens",
        "drafter",
        "passes",
        "reached",
        "drafted",
    )
    assert [tuple(step[name] for name in names) for step in steps] == [
        (1, 0, 2, 0, 3, 2, 2, 1, 2, 2),
        (3, 2, 3, 3, 3, 2, 0, 3, 4, 2),
        (4, 3, 6, 6, 3, 3, 0, 4, 7, 2),
    ]
    assert steps[0]["split"] == [0.001, 0.0002, 0.00003, 0.000004]
    assert [step["seconds"] for step in steps] == [0.001234, 0.001734, 0.002734]


def test_lane_stands_where_its_steps_left_it() -> None:
    names = ("k", "n", "window", "state", "passes", "drafter", "seconds", "compression")
    views = node(
        LANE + "return [0, 1, 2, 3].map((k) => { const { recordOf, ...view } = laneAt(lane, k);"
        " return { ...view, records: [0, 1, 2, 3, 4, 5].map(recordOf) }; });",
        shot=snapshot(three_steps()),
    )
    assert [tuple(view[name] for name in names) for view in views] == [
        (0, 0, 0, "waiting", 0, 0, 0, 0),
        (1, 2, 1, "racing", 1, 2, 0.001234, 2),
        (2, 3, 2, "racing", 3, 2, 0.001734, 4 / 3),
        (3, 6, 0, "racing", 4, 2, 0.002734, 7 / 4),
    ]
    assert [view["records"] for view in views] == [
        [-1] * 6,
        [0, 1, 2, -1, -1, -1],
        [0, 1, 3, 4, 5, -1],
        [0, 1, 3, 6, 7, 8],
    ]


def test_state_of_the_last_step_is_the_lanes_own() -> None:
    wire = three_steps()
    wire.state = "finished"
    assert node(LANE + "return [2, 3].map((k) => laneAt(lane, k).state);", shot=snapshot(wire)) == [
        "racing",
        "finished",
    ]


def test_drafts_of_a_lane_that_was_stopped_stand_no_more() -> None:
    wire = Wire(state="stopped").step(1, 3, 1).cell(5, FRESH).cell(6, REFINED).cell(7, REFINED)
    code = LANE + "const view = laneAt(lane, 1); return [view.n, view.window, view.recordOf(1)];"
    assert node(code, shot=snapshot(wire)) == [1, 0, -1]
    wire.state = "racing"
    assert node(code, shot=snapshot(wire)) == [1, 2, 1]


@pytest.mark.parametrize(
    ("clock", "at"),
    [
        ("passes", {0: 0, 0.99: 0, 1: 1, 2: 1, 3: 2, 3.5: 2, 4: 3, 99: 3}),
        ("seconds", {0: 0, 0.001233: 0, 0.001234: 1, 0.001734: 2, 0.0027: 2, 0.002734: 3, 5: 3}),
    ],
)
def test_steps_done_at_an_instant(clock, at) -> None:
    code = LANE + "return times.map((t) => stepAt(lane, clock, t));"
    assert node(code, shot=snapshot(three_steps()), clock=clock, times=list(at)) == list(
        at.values()
    )


def test_record_says_all_that_the_wire_does() -> None:
    wire = Wire("sjd-pac").step(1, 2, 1)
    wire.cell(3, FRESH, shares=(0.5,), laws=[law((3, 0.5), (4, 0.25))])
    wire.cell(8, REFINED, draft=8, kind=1, laws=[law((9, 0.75))])
    wire.step(2, 3, 1)
    wire.cell(
        8,
        ACCEPTED,
        draft=8,
        kind=2 | 4,
        shares=(0.5, 0.75, 0.25, 1, 0.125, 0.5, 0.0625),
        laws=[law((8, 0.5))],
    )
    wire.kin(40, 0.5, 0.25, 8, 11).cell(
        1, REJECTED, draft=2, kind=3 | 2 << 4, laws=[law((1, 0.5)), law((2, 0.625))]
    )
    wire.sibling(2, 0.1, 0.2, 0.3, 0.4).sibling(5, 0.5, 0.6, 0.7, 0.8)
    wire.cell(6, REFINED, draft=6, kind=4, laws=[law()]).kin(1, 0, 1, 6)
    records = node(LANE + "return [0, 1, 2, 3, 4].map((i) => lane.record(i));", shot=snapshot(wire))
    assert [(r["cell"], r["step"], r["token"], r["draft"]) for r in records] == [
        (0, 0, 3, None),
        (1, 0, 8, 8),
        (1, 1, 8, 8),
        (2, 1, 1, 2),
        (3, 1, 6, 6),
    ]
    assert records[0]["top"] == [[3, near(0.5)], [4, near(0.25)]]
    assert records[0]["topDraft"] == []
    assert records[1]["topDraft"] == [[8, 1]]
    assert records[2]["topDraft"] == [[9, near(0.75)]]  # the p of the step before
    assert records[3]["topDraft"] == [[2, near(0.625)]]
    names = ("top1", "top1Draft", "tv", "acceptance", "uniform", "p", "q")
    assert [records[2][name] for name in names] == [
        near(x) for x in (0.5, 0.75, 0.25, 1, 0.125, 0.5, 0.0625)
    ]
    assert [records[0][name] for name in names[1:]] == [None] * 6
    assert records[2]["kin"] == {"count": 40, "p": near(0.5), "q": near(0.25), "tokens": [8, 11]}
    assert records[4]["kin"] == {"count": 1, "p": 0, "q": 1, "tokens": [6]}
    assert [r["kin"] for r in (records[0], records[1], records[3])] == [None] * 3
    assert [(s["token"], s["acceptance"]) for s in records[3]["siblings"]] == [
        (2, near(0.3)),
        (5, near(0.7)),
    ]
    assert [len(r["siblings"]) for r in records] == [0, 0, 0, 2, 0]


def test_records_can_be_asked_for_in_any_order() -> None:
    code = LANE + "const ask = (i) => JSON.stringify(lane.record(i)); const all = order.map(ask);"
    code += (
        "return order.map((i, at) => all[at] === JSON.stringify(decodeRace(shot,"
        " null).lanes[0].record(i)));"
    )
    wire = Wire().step(1, 4, 1)
    for token in range(4):
        wire.cell(
            token,
            FRESH,
            draft=token,
            kind=3 | 4 | 1 << 4,
            laws=[law((token, 0.5)), law((token + 4, 0.5))],
        )
        wire.kin(1, 0.5, 0.5, token).sibling(token, 0.1, 0.2, 0.3, 0.4)
    assert node(code, shot=snapshot(wire), order=[3, 0, 2, 1, 3, 3, 0]) == [True] * 7


def test_only_the_tail_of_a_growing_wire_is_decoded() -> None:
    early = Wire().step(1, 2, 1).cell(5, FRESH).cell(6, REFINED)
    code = """
        const decoded = [];
        const whole = atob;
        globalThis.atob = (text) => { decoded.push(text.length); return whole(text); };
        const first = decodeRace(early, null);
        const lane = first.lanes[0];
        decoded.length = 0;
        const second = decodeRace(late, first);
        return [second.fresh, second.lanes[0] === lane, lane.count, lane.state, decoded];
    """
    late = (
        Wire(state="finished")
        .step(1, 2, 1)
        .cell(5, FRESH)
        .cell(6, REFINED)
        .step(2, 1, 1)
        .cell(7, RESAMPLED)
    )
    fresh, same, count, state, decoded = node(
        code, early=snapshot(early), late=snapshot(late, seq=2)
    )
    assert (fresh, same, count, state) == (False, True, 2, "finished")
    # one step of 30 bytes, one cell of 21; laws, kin and siblings wait until they are asked for
    assert decoded == [40, 28]


@pytest.mark.parametrize(
    "change",
    [
        {"seq": 0},
        {"seq": 4},
        {"seed": 8},
        {"prompt": "another"},
        {"model": "big"},
        {"grid": [3, 2]},
        {"recorded": True},
    ],
)
def test_another_race_begins_afresh(change) -> None:
    code = "const first = decodeRace(one, null); const second = decodeRace(two, first);"
    code += "return [first.fresh, second.fresh, second.lanes[0].count];"
    one, two = snapshot(three_steps(), seq=5), snapshot(three_steps(), seq=6)
    assert node(code, one=one, two=two) == [True, False, 3]
    assert node(code, one=one, two=two | change) == [True, True, 3]


def test_another_race_begins_afresh_when_its_lanes_are_others() -> None:
    code = "return decodeRace(two, decodeRace(one, null)).fresh;"
    one = snapshot(three_steps(), seq=5)
    shorter = Wire().step(1, 1, 1).cell(5, FRESH)
    other = three_steps()
    other.name = "gsd"
    for lanes in ([shorter], [other], [three_steps(), three_steps()]):
        assert node(code, one=one, two=snapshot(*lanes, seq=6)) is True


def test_clock_of_a_race_is_that_of_the_running_lane_furthest_behind() -> None:
    ahead = three_steps()
    behind = Wire("ar").step(1, 1, 1, micros=(100, 0, 0, 0)).cell(5, FRESH)
    code = (
        "const race = decodeRace(shot, null); return [raceClock(race, 'seconds'), raceClock(race,"
        " 'passes'), "
    )
    code += "lengthOf(race, 'seconds'), lengthOf(race, 'passes')];"
    assert node(code, shot=snapshot(ahead, behind)) == [0.0001, 1, 0.002734, 4]
    ahead.state = behind.state = "finished"
    assert node(code, shot=snapshot(ahead, behind)) == [0.002734, 4, 0.002734, 4]
    assert node(code, shot=snapshot(Wire(state="waiting"))) == [0, 0, 0, 0]


def test_finishers_come_in_the_order_of_a_clock() -> None:
    lanes = [{"state": "finished", "seconds": s, "passes": p} for s, p in ((3, 9), (1, 12), (2, 4))]
    lanes.append({"state": "failed", "seconds": 0, "passes": 0})
    assert node(
        "return ['seconds', 'passes'].map((clock) => finishers(lanes, clock));", lanes=lanes
    ) == [[1, 2, 0], [2, 0, 1]]


def test_places_are_written_as_people_say_them() -> None:
    said = node("return [1, 2, 3, 4, 11, 12, 13, 21].map(ordinal);")
    assert said == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st"]
