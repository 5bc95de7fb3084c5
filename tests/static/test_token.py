"""The life of a token: its records found, and told in words, for every decoder and status."""

from __future__ import annotations

from typing import Any

import pytest

from tests.static.driving import (
    ACCEPTED,
    FORCED,
    FRESH,
    REFINED,
    REJECTED,
    RESAMPLED,
    Wire,
    law,
    node,
    snapshot,
    three_steps,
)

Life = list[dict[str, Any]]


def record(status: int, *, at: int = 14, **known: Any) -> dict[str, Any]:
    """A record as lifeOf gives it, of token 77 drafted as 77, committed unless its status says
    otherwise."""
    return {
        "status": status,
        "pass": at + 1,
        "at": at,
        "ahead": 0,
        "committed": status not in (REFINED, REJECTED),
        "draft": 77,
        "token": 77,
        "top1": 0.4,
        "top1Draft": None,
        "tv": None,
        "acceptance": None,
        "uniform": None,
        "p": None,
        "q": None,
        "top": [],
        "topDraft": [],
        "kin": None,
        "siblings": [],
    } | known


def weighed(status: int, p: float, q: float, uniform: float, **known: Any) -> dict[str, Any]:
    return record(
        status, **{"p": p, "q": q, "acceptance": min(1.0, p / q), "uniform": uniform} | known
    )


def refined(passes: int) -> Life:
    """Drafted at pass 12, and refined as often."""
    return [
        record(REFINED, at=11, draft=None),
        *[record(REFINED, at=12 + i, draft=50 + i) for i in range(passes)],
    ]


def why(decoder: str, *life: dict[str, Any]) -> str:
    return plain(node("return whyToken(decoder, life);", decoder=decoder, life=list(life)))


def plain(text: str) -> str:
    """A comparison is kept in one piece by spaces that do not break."""
    return text.replace("\u00a0", " ")


def test_numbers_have_two_or_three_digits() -> None:
    values = [None, 0, 1, 0.5, 0.314159, 0.99, 0.9969, 0.9999, 0.0421, 0.00123, 0.00001]
    assert node("return values.map(chance);", values=values) == [
        "–",
        "0",
        "1",
        "0.5",
        "0.31",
        "0.99",
        "0.997",
        "1",
        "0.042",
        "0.0012",
        "<0.0001",
    ]


def test_comparison_has_the_digits_that_tell_its_sides_apart() -> None:
    pairs = [(0.31, 0.74), (0.91, 0.35), (0.5, 0.5), (0.7751, 0.7782), (0.99011, 0.99002)]
    assert [
        plain(text) for text in node("return pairs.map(([a, b]) => versus(a, b));", pairs=pairs)
    ] == ["0.31 < 0.74", "0.91 ≥ 0.35", "0.5 ≥ 0.5", "0.775 < 0.778", "0.9901 ≥ 0.9900"]


def test_life_is_every_record_of_the_cell_up_to_a_step() -> None:
    code = "return lifeOf(decodeRace(shot, null).lanes[0], cell, until);"
    life = node(code, shot=snapshot(three_steps()), cell=3, until=3)
    assert [
        (one["pass"], one["at"], one["ahead"], one["committed"], one["status"]) for one in life
    ] == [(3, 1, 1, False, REJECTED), (4, 2, 0, True, ACCEPTED)]
    assert [one["token"] for one in life] == [1, 1]
    assert len(node(code, shot=snapshot(three_steps()), cell=3, until=2)) == 1
    assert node(code, shot=snapshot(three_steps()), cell=0, until=3)[0]["pass"] == 1
    assert node(code, shot=snapshot(three_steps()), cell=5, until=2) == []


def test_life_keeps_the_evidence_that_came_over_the_wire() -> None:
    wire = Wire("gsd").step(1, 1, 1)
    wire.cell(
        4,
        ACCEPTED,
        draft=4,
        kind=0b101,
        shares=(0.5, 1, 0.5, 0.9, 0.8, 0.25, 1),
        laws=[law((4, 0.25), (2, 0.125))],
    )
    wire.kin(3, 0.9, 1.0, 4, 2)
    (one,) = node("return lifeOf(decodeRace(shot, null).lanes[0], 0, 1);", shot=snapshot(wire))
    assert one["kin"]["tokens"] == [4, 2]
    assert one["uniform"] == pytest.approx(0.8, abs=1e-4)
    assert one["topDraft"] == [[4, 1]]
    assert node("return savedByKin(one);", one=one) is True


def test_nothing_is_told_of_a_cell_that_no_step_has_reached() -> None:
    assert why("sjd") == "No step has reached this cell yet."


def test_vanilla_ar_says_what_the_law_gave() -> None:
    told = why("ar", record(FRESH, draft=None, top=[[3, 0.5], [77, 0.25]]))
    assert (
        told
        == "Drawn at pass 15 from p, which gave it 0.25. Vanilla AR has no drafts: each pass draws"
        " one token."
    )
    assert "gave it" not in why("ar", record(FRESH, draft=None))


def test_sjd_accepts_with_both_masses_and_the_number_drawn() -> None:
    assert (
        why("sjd", *refined(3), weighed(ACCEPTED, 0.12, 0.16, 0.31))
        == "Drafted at pass 12, refined 3 times, accepted at pass 15: p gave the draft 0.12 and q"
        " 0.16, and the number drawn was below their ratio, 0.31 < 0.75."
    )
    assert "which is sure to pass" in why("sjd", *refined(1), weighed(ACCEPTED, 0.5, 0.25, 0.999))


def test_sjd_refuses_and_says_what_came_in_its_place() -> None:
    assert (
        why("sjd", *refined(1), weighed(RESAMPLED, 0.05, 0.16, 0.91, token=8))
        == "Drafted at pass 12, refined once, refused at pass 15: p gave the draft 0.05 and q 0.16,"
        " and the number drawn was not below their ratio, 0.91 ≥ 0.31. Token 8 was drawn in its"
        " place, from what p has more of than q."
    )


def test_fresh_guess_is_called_one() -> None:
    assert why("sjd", weighed(ACCEPTED, 0.4, 1.0, 0.1, topDraft=[[77, 1]])).startswith(
        "A fresh guess, accepted at pass 15: "
    )


def test_bonus_says_that_all_before_it_were_accepted() -> None:
    lives = [[record(FRESH, draft=None, ahead=ahead)] for ahead in (0, 1, 4)]
    assert node("return lives.map((life) => whyToken('sjd', life));", lives=lives) == [
        "Drawn at pass 15 from p: that pass had no draft to test here.",
        (
            "Drawn at pass 15 from p: the draft before it was accepted, and the pass gave one token"
            " more."
        ),
        (
            "Drawn at pass 15 from p: all 4 drafts before it were accepted, and the pass gave one"
            " token more."
        ),
    ]


def test_gsd_tells_of_the_group_and_whether_it_was_needed() -> None:
    kin = {"count": 9, "tokens": [77, 3], "p": 0.42, "q": 0.4}
    told = why("gsd", *refined(3), weighed(ACCEPTED, 0.01, 0.1, 0.31, acceptance=1.0, kin=kin))
    assert (
        told
        == "Drafted at pass 12, refined 3 times, accepted at pass 15: its group of 9 tokens held"
        " 0.42 of p and 0.4 of q, which is sure to pass. Alone, with 0.01 of p and 0.1 of q, it"
        " would have been refused."
    )
    assert "Alone" not in why(
        "gsd", *refined(3), weighed(ACCEPTED, 0.09, 0.1, 0.31, acceptance=1.0, kin=kin)
    )
    alone = {"count": 1, "tokens": [77], "p": 0.09, "q": 0.1}
    assert "p gave the draft 0.09 and q 0.1" in why(
        "gsd", weighed(ACCEPTED, 0.09, 0.1, 0.31, kin=alone)
    )


def test_lantern_tells_of_its_neighbours_and_of_drafts_that_were_dropped() -> None:
    dropped = [record(REJECTED, at=at, draft=5, token=5) for at in (12, 13)]
    kin = {"count": 4, "tokens": [77, 1, 2, 3], "p": 0.12, "q": 0.16}
    assert (
        why("lantern", *dropped, weighed(ACCEPTED, 0.02, 0.16, 0.5, acceptance=0.75, kin=kin))
        == "2 earlier drafts were dropped untested, because one before them was refused; drafted"
        " anew and accepted at pass 15: with 3 neighbours it held 0.12 of p, against 0.16 of q"
        " by itself, and the number drawn was below their ratio, 0.5 < 0.75. Alone, with 0.02 of"
        " p and 0.16 of q, it would have been refused."
    )
    refused = why("lantern", weighed(RESAMPLED, 0.02, 0.16, 0.9, token=6, kin=kin))
    assert refused.endswith(
        "Token 6 was drawn in its place, from what p, its neighbours' mass counted with the"
        " draft's, has more of than q."
    )
    assert (
        why("lantern", *dropped[:1])
        == "Not committed yet: an earlier draft was dropped untested, because one before it was"
        " refused. The next pass drafts it anew."
    )


def candidates(*tried: tuple[float, float, float]) -> Life:
    return [
        {"token": 70 + i, "p": p, "q": q, "acceptance": min(1.0, p / q), "uniform": u}
        for i, (p, q, u) in enumerate(tried)
    ]


def test_pac_tells_which_candidate_passed() -> None:
    kept = [
        record(REFINED, at=11, draft=None),
        record(REFINED, at=12, uniform=0.1, acceptance=0.5),
        record(REJECTED, at=13, token=9, uniform=0.9, acceptance=0.5),
    ]
    second = candidates((0.1, 0.5, 0.6), (0.2, 0.4, 0.3))
    assert (
        why("sjd-pac", *kept, record(ACCEPTED, siblings=second))
        == "Drafted at pass 12, kept once, redrawn once; at pass 15 the draft was refused and"
        " candidate 2 accepted: what the others left of p gave it 0.2 and q 0.4, and the number"
        " drawn was below their ratio, 0.3 < 0.5."
    )
    third = candidates((0.1, 0.5, 0.6), (0, 0.4, 0.3), (0.2, 0.4, 0.3))
    assert "2 candidates were refused and candidate 3 accepted" in why(
        "sjd-pac", record(ACCEPTED, siblings=third)
    )


def test_pac_tells_that_all_candidates_failed_or_that_the_first_passed() -> None:
    failed = candidates((0.1, 0.5, 0.6), (0.1, 0.4, 0.3))
    assert (
        why("sjd-pac", record(RESAMPLED, token=8, siblings=failed))
        == "At pass 15 all 2 candidates were refused, the last one with 0.3 ≥ 0.25. Token 8 was"
        " drawn from what they left of p."
    )
    first = weighed(ACCEPTED, 0.3, 0.5, 0.2, siblings=candidates((0.3, 0.5, 0.2)))
    assert why("sjd-pac", first).startswith(
        "Drafted and accepted at pass 15: p gave the draft 0.3 and q 0.5"
    )


def test_pac_tells_of_a_branch_that_ended() -> None:
    life = [record(REFINED, at=11, draft=None), record(REFINED, at=12, uniform=0.1, acceptance=0.5)]
    assert (
        why("sjd-pac", *life, record(FRESH, draft=None, ahead=2, top=[[77, 0.3]]))
        == "Drafted at pass 12, kept once; then a cell before it took another candidate, whose"
        " branch ended here, and pass 15 drew token 77 from p, which gave it 0.3."
    )


def test_jacobi_compares_two_draws_and_fixed_point_the_same_dice() -> None:
    assert (
        why("jacobi", *refined(2), record(ACCEPTED, acceptance=0.25))
        == "Drafted at pass 12, refined twice, accepted at pass 15: a second, independent draw gave"
        " the same token, and would repeat the draft with probability 0.25."
    )
    assert (
        why("jacobi", *refined(2), record(RESAMPLED, token=8))
        == "Drafted at pass 12, refined twice, refused at pass 15: a second, independent draw gave"
        " token 8 instead. That draw stays: it comes from the exact law."
    )
    assert why("fpi", *refined(2), record(RESAMPLED, token=8)).endswith(
        "the same dice, under the newer law, gave token 8 instead. That one stays: it is vanilla"
        " AR's own token."
    )
    assert why("fpi", *refined(2), record(ACCEPTED)).endswith(
        "the same dice, under the newer law, gave the same token."
    )


def test_draft_that_stands_is_not_committed_yet() -> None:
    assert (
        why("sjd", *refined(2))
        == "Not committed yet: drafted at pass 12, refined twice. After pass 14 the guess is token"
        " 77; a later pass will test it."
    )
    assert why("sjd", record(FORCED)) == "Fixed by the model's layout: no decoder samples it."


def test_missing_evidence_leaves_words_out_and_never_a_hole() -> None:
    lives = [
        (decoder, [*before, record(status, draft=draft)])
        for decoder in ("ar", "jacobi", "fpi", "sjd", "gsd", "lantern", "sjd-pac")
        for status in (ACCEPTED, RESAMPLED, FRESH, FORCED, REFINED, REJECTED)
        for draft in (None, 5)
        for before in ([], [record(REFINED, at=11)])
    ]
    code = (
        "return lives.map(([decoder, life]) => [whyToken(decoder, life), judgedInWords(decoder,"
        " life.at(-1))]);"
    )
    for (decoder, life), told in zip(lives, node(code, lives=lives), strict=True):
        for text in told:
            assert text, (decoder, life)
            assert not any(hole in text for hole in ("undefined", "null", "NaN", "–")), (
                decoder,
                text,
            )


def test_each_step_is_told_in_a_few_words() -> None:
    steps = [
        ("ar", record(FRESH, draft=None), "drawn from p, no draft"),
        ("sjd", record(REFINED, draft=None), "first drafted"),
        ("sjd", record(REFINED), "refined"),
        ("sjd", weighed(ACCEPTED, 0.37, 0.5, 0.31), "accepted, 0.31 < 0.74"),
        ("sjd", weighed(ACCEPTED, 0.5, 0.25, 0.31), "accepted, certain"),
        ("sjd", weighed(RESAMPLED, 0.1, 0.5, 0.91), "refused, 0.91 ≥ 0.2"),
        ("jacobi", record(ACCEPTED), "the same again"),
        ("fpi", record(RESAMPLED, token=8), "then 8"),
        ("lantern", record(REJECTED), "dropped untested"),
        ("sjd-pac", record(REFINED, uniform=0.1, acceptance=0.5), "kept, 0.1 < 0.5"),
        ("sjd-pac", record(REJECTED, token=8, uniform=0.6, acceptance=0.5), "redrawn, 0.6 ≥ 0.5"),
        (
            "sjd-pac",
            record(ACCEPTED, siblings=candidates((0, 1, 0.2), (0.4, 0.8, 0.2))),
            "candidate 2 accepted, 0.2 < 0.5",
        ),
        (
            "sjd-pac",
            record(RESAMPLED, siblings=candidates((0, 1, 0.2), (0.1, 0.8, 0.2))),
            "2 candidates refused",
        ),
    ]
    code = "return steps.map(([decoder, one]) => judgedInWords(decoder, one));"
    assert [plain(text) for text in node(code, steps=steps)] == [words for _, _, words in steps]


def test_rounding_on_the_wire_never_makes_a_draft_needy() -> None:
    """p and q are known to half a share; only what no rounding could have turned is said."""
    close = weighed(ACCEPTED, 3 / 65534, 4 / 65534, 0.76, acceptance=1.0)
    clear = weighed(ACCEPTED, 3 / 65534, 400 / 65534, 0.76, acceptance=1.0)
    assert node("return [close, clear].map(savedByKin);", close=close, clear=clear) == [False, True]
