"""What each layer shows of each cell, and on which range."""

from __future__ import annotations

from tests.static.driving import (
    ACCEPTED,
    FRESH,
    LANE,
    REFINED,
    REJECTED,
    RESAMPLED,
    Wire,
    near,
    node,
    snapshot,
    three_steps,
)


def test_layers_say_what_became_of_each_cell() -> None:
    code = (
        LANE + "return [1, 2, 3].map((k) => { const view = laneAt(lane, k);"
        " return [0, 1, 2, 3, 4, 5].map((cell) => layerValue(lane, view, cell, layer)); });"
    )
    shot = snapshot(three_steps())
    assert node(code, shot=shot, layer="status") == [
        [FRESH, ACCEPTED, REFINED, None, None, None],
        [FRESH, ACCEPTED, RESAMPLED, REJECTED, REFINED, None],
        [FRESH, ACCEPTED, RESAMPLED, ACCEPTED, ACCEPTED, FRESH],
    ]
    # The third cell was refined once before it was committed, as were the fourth and the fifth; a
    # draft counts this pass.
    assert node(code, shot=shot, layer="waiting") == [
        [0, 0, 1, None, None, None],
        [0, 0, 1, 1, 1, None],
        [0, 0, 1, 1, 1, 0],
    ]
    # A run is as long as the tokens that the step committed, a forced one included.
    assert node(code, shot=shot, layer="strips") == [
        [2, 2, None, None, None, None],
        [2, 2, 2, None, None, None],
        [2, 2, 2, 3, 3, 3],
    ]
    for layer, value in {"top1": 0.25, "top1_draft": 0.5, "tv": 0.75, "acceptance": 0.125}.items():
        assert node(code, shot=shot, layer=layer)[1][2] == near(value)
    assert node(code, shot=shot, layer="tv")[1][0] is None
    assert node(code, shot=shot, layer="picture")[2] == [None] * 6


def test_counts_stand_on_the_races_own_range() -> None:
    code = (
        "const race = decodeRace(shot, null); return ['waiting', 'strips'].map((layer) =>"
        " rangeOf(race, layer));"
    )
    assert node(code, shot=snapshot(three_steps())) == [[0, 1], [1, 3]]
    wire = three_steps()
    wire.step(5, 6, 0)
    for _ in range(6):
        wire.cell(1, REFINED)
    longer = Wire("gsd").step(1, 6, 6)
    for _ in range(6):
        longer.cell(1, FRESH)
    assert node(code, shot=snapshot(three_steps(), longer)) == [[0, 1], [1, 6]]
    shares = node("return [1, 2, 5].map((count) => countShare(count, [1, 5]));")
    assert shares[0] == 0
    assert shares[2] == 1
    assert 0 < shares[1] < 0.5
