"""The tour: every chapter found in the race's own records, with the race's own numbers in it."""

from __future__ import annotations

from typing import Any

import pytest

from engine.decoders import DECODERS
from tests.static.driving import (
    ACCEPTED,
    FRESH,
    REFINED,
    REJECTED,
    RESAMPLED,
    Wire,
    law,
    node,
    snapshot,
)

CERTAIN, OWN, KIN = 1, 3, 4
FLAT = law((1, 0.1), (2, 0.05))


def tour(*wires: Wire, cells: int = 6) -> dict[str, Any]:
    shot = snapshot(*wires, grid=(1, cells), codes=1024)
    shot["lanes"] = [
        lane | {"title": DECODERS[lane["decoder"]].title, "drafter": 0} for lane in shot["lanes"]
    ]
    code = (
        "const { chapters, missing } = tourOf(decodeRace(shot, null)); return { missing, chapters:"
        " chapters.map((one) => ({ ...one, view: { ...one.view, hidden: [...one.view.hidden] }"
        " })) };"
    )
    told = node(code, shot=shot)
    for chapter in told["chapters"]:
        # they keep comparisons in one piece
        chapter["lines"] = [line.replace("\u00a0", " ") for line in chapter["lines"]]
    return told


def only(*wires: Wire, number: int, cells: int = 6) -> dict[str, Any]:
    (chapter,) = [one for one in tour(*wires, cells=cells)["chapters"] if one["number"] == number]
    return chapter


def ar(top1: tuple[float, ...] = (0.5, 0.5, 0.1, 0.5, 0.4, 0.5)) -> Wire:
    wire = Wire("ar", "finished")
    for nfe, share in enumerate(top1, 1):
        wire.step(nfe, 1, 1, micros=(500_000, 0, 0, 0)).cell(
            7, FRESH, shares=(share,), laws=[law((7, share))]
        )
    return wire


def jacobi() -> Wire:
    """Pass 1 repeats nothing, pass 2 two guesses and then another, pass 3 one."""
    wire = (
        Wire("jacobi", "finished")
        .step(1, 3, 1)
        .cell(1, RESAMPLED, draft=9)
        .cell(2, REFINED, draft=9)
        .cell(3, REFINED)
    )
    wire.step(2, 4, 3).cell(2, ACCEPTED, draft=2).cell(3, ACCEPTED, draft=3).cell(
        4, RESAMPLED, draft=9
    ).cell(5, REFINED)
    return wire.step(3, 2, 2).cell(5, ACCEPTED, draft=5).cell(6, FRESH)


def judged(
    wire: Wire, token: int, status: int, draft: int, p: float, q: float, uniform: float, **more: Any
) -> Wire:
    """A draft weighed: top-1 of p 0.1, of q 0.2, TV 0.75 unless `more` says otherwise."""
    shares = (
        more.get("top1", 0.1),
        more.get("top1_draft", 0.2),
        more.get("tv", 0.75),
        more.get("acceptance", min(1, p / q)),
    )
    kind = more.get("kind", OWN)
    laws = [FLAT] * (2 if kind & 3 == OWN else 1)
    return wire.cell(
        token, status, draft=draft, kind=kind, shares=(*shares, uniform, p, q), laws=laws
    )


def sjd() -> Wire:
    """Pass 1: two accepted, the third refused. Pass 2: one accepted, the next refused. Pass 3: the
    last."""
    wire = Wire("sjd", "finished").step(1, 3, 3)
    judged(wire, 1, ACCEPTED, 1, 0.5, 0.25, 0.9)
    judged(wire, 2, ACCEPTED, 2, 0.25, 0.5, 0.1, tv=0.25)
    judged(wire, 8, RESAMPLED, 3, 0.125, 0.25, 0.75)
    wire.step(2, 2, 2)
    judged(wire, 4, ACCEPTED, 4, 0.25, 0.25, 0.3, tv=0.5)
    judged(wire, 5, RESAMPLED, 6, 0.01, 0.5, 0.4, top1=0.05, top1_draft=0.05, tv=0.9)
    return wire.step(3, 1, 1).cell(6, FRESH)


def relaxed(name: str) -> Wire:
    """An acceptance that p / q would have allowed, one that needed its kin though p and q can
    hardly be read, and a plain one."""
    wire = Wire(name, "finished").step(1, 3, 3)
    judged(wire, 1, ACCEPTED, 1, 0.5, 0.5, 0.3, kind=OWN | KIN).kin(2, 0.6, 0.6, 1, 2)
    judged(wire, 2, ACCEPTED, 2, 0.0, 0.0005, 0.1, acceptance=1, kind=OWN | KIN).kin(
        5, 0.2, 0.1, 2, 3
    )
    judged(wire, 3, ACCEPTED, 3, 0.05, 0.25, 0.5, acceptance=0.75, kind=OWN | KIN).kin(
        4, 0.3, 0.4, 3, 5, 6, 7
    )
    return wire.step(2, 3, 3).cell(4, FRESH).cell(5, FRESH).cell(6, FRESH)


def pac() -> Wire:
    """Pass 1: a second candidate taken, no refusal. Pass 2: a third one taken, then a refusal with
    three tested behind it."""
    wire = Wire("sjd-pac", "finished").step(1, 1, 1)
    wire.cell(1, ACCEPTED, draft=1, kind=2 << 4).sibling(9, 0, 0.5, 0, 0.2).sibling(
        1, 0.2, 0.25, 0.8, 0.1
    )
    wire.step(2, 5, 2)
    wire.cell(2, ACCEPTED, draft=2, kind=3 << 4, shares=(0.5, 0.5, 0.5, 0.5, 0.25, 0.1, 0.2))
    wire.sibling(8, 0, 0.5, 0, 0.2).sibling(9, 0, 0.5, 0, 0.3).sibling(2, 0.25, 0.5, 0.5, 0.25)
    judged(wire, 3, RESAMPLED, 7, 0.1, 0.2, 0.9)
    judged(wire, 4, REFINED, 4, 0.2, 0.2, 0.5)
    judged(wire, 5, REFINED, 5, 0.2, 0.2, 0.5)
    judged(wire, 6, REJECTED, 9, 0.0, 0.2, 0.5)
    return wire.step(3, 3, 3).cell(4, ACCEPTED, draft=4).cell(5, ACCEPTED, draft=5).cell(6, FRESH)


def test_seven_chapters_in_order_each_with_a_paper_and_lines() -> None:
    found = tour(ar(), jacobi(), sjd(), relaxed("gsd"), relaxed("lantern"), pac())
    assert [one["number"] for one in found["chapters"]] == [1, 2, 3, 4, 5, 6, 7]
    assert found["missing"] == []
    for one in found["chapters"]:
        assert one["title"]
        assert any(venue in one["reference"] for venue in ("ICLR", "ICCV", "ICML", "arXiv")), one[
            "reference"
        ]
        assert 1 <= len(one["lines"]) <= 3
        assert not any(
            hole in line for line in one["lines"] for hole in ("undefined", "null", "NaN", "–")
        ), one["lines"]
        assert one["view"]["playing"] is False


def test_chapters_whose_decoder_does_not_race_are_left_out_and_named() -> None:
    found = tour(ar(), sjd(), Wire("gsd", "failed"))
    assert [one["number"] for one in found["chapters"]] == [1, 3, 4]
    assert [one["number"] for one in found["missing"]] == [2, 5, 6, 7]
    assert found["missing"][0]["title"] == "Guess in parallel"


def test_lanes_that_a_chapter_is_not_about_are_hidden() -> None:
    views = {
        one["number"]: one["view"]
        for one in tour(sjd(), jacobi(), ar(), relaxed("gsd"))["chapters"]
    }
    assert (views[1]["lane"], views[1]["hidden"]) == (2, [0, 1, 3])
    assert (views[2]["lane"], views[2]["hidden"]) == (1, [0, 3])
    assert (views[5]["lane"], views[5]["hidden"]) == (3, [1, 2])
    assert (views[4]["layer"], views[3]["layer"]) == ("tv", "picture")


def test_one_token_at_a_time_shows_a_usual_pass_in_the_middle() -> None:
    one = only(ar(), number=1)
    # the third is sure of nothing, and the ends are left out
    assert (one["view"]["step"], one["view"]["cell"]["cell"]) == (2, 1)
    assert "6 tokens in 6 passes, 1.00 a pass, 3.000 s" in one["lines"][0]
    assert "over all 1,024 codes" in one["lines"][1]
    assert one["lines"][2].startswith(
        "At pass 2 the likeliest code had a probability of 0.5; token 7 was drawn, with 0.5."
    )


def test_guess_in_parallel_shows_the_pass_that_repeated_most() -> None:
    one = only(jacobi(), number=2)
    assert (one["view"]["step"], one["view"]["cell"]["cell"]) == (2, 2)
    assert "up to 4 positions" in one["lines"][0]
    assert "3 of the 5 guesses tested were repeated (60%)" in one["lines"][1]
    assert (
        "pass 2, its best, with 2 repeated. In all 6 tokens in 3 passes, 2.00 a pass."
        in one["lines"][2]
    )


def test_guess_with_a_law_selects_the_refused_cell_behind_acceptances() -> None:
    one = only(ar(), sjd(), number=3)
    assert (one["view"]["step"], one["view"]["cell"]["cell"], one["view"]["cell"]["lane"]) == (
        1,
        2,
        1,
    )
    assert (
        one["lines"][1]
        == "At pass 1, 2 drafts were accepted and the next, token 3, refused: p gave it 0.13 and q"
        " 0.25, and 0.75 ≥ 0.5. Token 8 took its place."
    )
    assert (
        one["lines"][2]
        == "In all 6 tokens in 3 passes, 2.00 a pass; Vanilla AR took 6 passes for 6."
    )


def test_why_tokens_are_hard_has_the_races_own_medians() -> None:
    one = only(sjd(), number=4)
    assert one["view"]["step"] == 3
    assert one["view"]["cell"]["cell"] == 4  # both laws flat, and far apart
    assert "probability of 0.1 or less" in one["lines"][0]
    assert "a median TV of 0.75 apart" in one["lines"][1]
    assert "on average 0.37." in one["lines"][1]
    assert one["lines"][2] == "The chosen token: top-1 of p 0.05, of q 0.05, yet TV 0.9."


def test_fresh_guesses_do_not_count_as_laws_far_apart() -> None:
    wire = Wire("sjd", "finished").step(1, 2, 2)
    wire.cell(1, RESAMPLED, draft=3, kind=CERTAIN, shares=(0.1, 1, 1, 0, 0.5, 0, 1))
    judged(wire, 2, ACCEPTED, 2, 0.25, 0.5, 0.1, tv=0.25)
    assert "a median TV of 0.25 apart" in only(wire, number=4)["lines"][1]


@pytest.mark.parametrize(
    ("name", "number", "middle", "whom"),
    [
        (
            "gsd",
            5,
            "Its group of 4 held 0.3 of p and 0.4 of q: accepted, by 0.5 < 0.75.",
            "their group",
        ),
        (
            "lantern",
            6,
            "With 3 neighbours it held 0.3 of p: accepted, by 0.5 < 0.75.",
            "a neighbour",
        ),
    ],
)
def test_relaxed_rules_show_an_acceptance_that_needed_them(name, number, middle, whom) -> None:
    one = only(sjd(), relaxed(name), number=number)
    assert (one["view"]["step"], one["view"]["cell"]["cell"]) == (1, 2)
    assert (
        "token 3 had 0.05 of p and 0.25 of q by itself: refused, by 0.5 ≥ 0.2. " + middle
        in one["lines"][1]
    )
    assert one["lines"][2].startswith(f"2 of its 3 acceptances needed {whom}. ")
    assert "SJD took 3 passes for 6" in one["lines"][2]


def test_tree_shows_a_later_candidate_in_a_step_that_kept_drafts_behind_its_refusal() -> None:
    one = only(sjd(), pac(), number=7)
    assert (one["view"]["step"], one["view"]["cell"]["cell"]) == (2, 1)
    assert (
        "At pass 2 candidate 3 passed here (0.25 < 0.5) after the first 2 had failed"
        in one["lines"][0]
    )
    assert "a later candidate was taken twice in this race" in one["lines"][0]
    assert one["lines"][1].endswith("At this pass 2 of 3 did; in the whole race 67% did.")


def test_race_without_evidence_is_toured_without_numbers_that_it_does_not_have() -> None:
    """An older trace: statuses, but neither uniforms nor kin nor candidates."""
    wires = []
    for name in ("sjd", "gsd", "lantern", "sjd-pac"):
        wire = (
            Wire(name, "finished")
            .step(1, 3, 3)
            .cell(1, ACCEPTED, draft=1)
            .cell(2, ACCEPTED, draft=2)
        )
        wires.append(
            wire.cell(3, RESAMPLED, draft=9)
            .step(2, 3, 3)
            .cell(4, FRESH)
            .cell(5, FRESH)
            .cell(6, FRESH)
        )
    lines = {one["number"]: one["lines"] for one in tour(*wires)["chapters"]}
    assert (
        lines[3][1]
        == "At pass 1, 2 drafts were accepted and the next, token 9, refused. Token 3 took its"
        " place."
    )
    assert len(lines[4]) == 1
    assert lines[5][1] == "No acceptance of this race is known to have needed their group."
    assert lines[6][1] == "No acceptance of this race is known to have needed a neighbour."
    assert lines[7][0].endswith("In this race no later candidate is known to have been taken.")
    assert lines[7][1].endswith("In this race no draft is known to have been tested behind one.")


def test_race_of_which_nothing_happened_has_no_chapter() -> None:
    found = tour(Wire("ar", "waiting"), Wire("sjd", "waiting"))
    assert found["chapters"] == []
    assert len(found["missing"]) == 7
