"""Trees of drafts: how many nodes each reading has, and that parents and children agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders.sjd_pac import PACSettings
from engine.decoders.tree import READINGS, side_nodes, tree
from engine.settings import SettingError

SHAPES = [(4, 3), (2, 3), (3, 3), (5, 3), (4, 2), (4, 4)]  # K, D of the paper's Table 3


@pytest.mark.parametrize(
    ("reading", "below_the_root"),
    [
        ("full", [20, 6, 12, 30, 4, 84]),
        ("deep", [84, 14, 39, 155, 20, 340]),
        ("spine", [12, 6, 9, 15, 8, 16]),
        ("lanes", [12, 6, 9, 15, 8, 16]),
    ],
)
def test_a_tree_has_as_many_nodes_as_its_reading_says(
    reading: str, below_the_root: list[int]
) -> None:
    for (K, D), nodes in zip(SHAPES, below_the_root, strict=True):
        levels = D - 1 if reading == "full" else D
        assert side_nodes(K, D, reading) + levels == nodes


def test_the_papers_window_holds_21_tree_nodes_and_a_spine_of_45_drafts() -> None:
    layout = tree(64, 1000, 4, 3, "full")
    assert layout.spine == 45
    assert layout.branching == 2
    assert len(layout.parents) == 64
    assert 1 + layout.branching + len(layout.side) == 21


@pytest.mark.parametrize("reading", ["spine", "lanes"])
def test_twelve_nodes_leave_a_longer_spine(reading: str) -> None:
    assert tree(64, 1000, 4, 3, reading).spine == 54
    assert len(tree(64, 1000, 4, 3, reading).parents) == 64


@pytest.mark.parametrize(
    ("K", "D", "reading"), [(4, 4, "full"), (4, 3, "deep"), (5, 3, "deep"), (4, 4, "deep")]
)
def test_a_tree_larger_than_the_window_is_rejected(K: int, D: int, reading: str) -> None:
    with pytest.raises(
        SettingError, match=r"tree of K = \d, D = \d takes up to \d+ rows, and the window has 64"
    ):
        PACSettings(K=K, D=D, tree=reading)
    assert PACSettings(K=K, D=D, tree=reading, PD=False).K == K


@pytest.mark.parametrize("reading", ["full", "spine", "lanes"])
@pytest.mark.parametrize(("K", "D"), SHAPES[:5])
def test_the_papers_table_fits_the_papers_window(K: int, D: int, reading: str) -> None:
    assert PACSettings(K=K, D=D, tree=reading).window == 64


def test_side_nodes_and_their_parents() -> None:
    full = tree(20, 9, 2, 3, "full")
    assert full.side == ((1, 1), (2, 1), (2, 0), (2, 1))
    lanes = tree(20, 9, 3, 2, "lanes")
    assert lanes.side == ((1, 1), (1, 2), (2, 1), (2, 2))
    spine = tree(20, 9, 3, 2, "spine")
    assert [spine.parents[spine.spine + 1 + i] for i in range(4)] == [0, 0, 1, 1]


@given(
    window=st.integers(2, 96),
    room=st.integers(0, 100),
    K=st.integers(1, 8),
    D=st.integers(1, 5),
    reading=st.sampled_from(READINGS),
)
def test_parents_children_and_depths_agree(
    window: int, room: int, K: int, D: int, reading: str
) -> None:
    try:
        PACSettings(window=window, K=K, D=D, tree=reading)
    except SettingError:
        assert side_nodes(K, D, reading) + D >= window
        return
    layout = tree(window, room, K, D, reading)
    rows, H = len(layout.parents), layout.spine
    assert rows == 1 + H + len(layout.side) <= window
    assert layout.branching <= H <= room
    assert layout.parents[: H + 1] == (0, *range(H))
    depth = [0] * rows
    for row in range(1, rows):
        assert layout.parents[row] < row
        depth[row] = depth[layout.parents[row]] + 1
    assert tuple(depth[H + 1 :]) == tuple(d for d, _ in layout.side)
    assert max(depth) == H
    places = {
        child: (row, k)
        for row, below in enumerate(layout.children)
        for k, child in enumerate(below)
        if child >= 0
    }
    assert sorted(places) == list(range(1, rows))
    for child, (row, k) in places.items():
        assert layout.parents[child] == row
        assert k == (0 if child <= H else layout.side[child - H - 1][1])
    assert sum(child >= 0 for below in layout.children for child in below) == rows - 1


@given(st.integers(1, 5), st.integers(1, 4), st.sampled_from(READINGS), st.integers(0, 8))
def test_each_reading_branches_where_it_says(K: int, D: int, reading: str, room: int) -> None:
    """On or off the spine, how many candidates a node has below it."""
    layout = tree(2000, room, K, D, reading)
    levels = min(D - 1 if reading == "full" else D, room) if K > 1 else 0
    assert layout.branching == levels
    depth = [0] * len(layout.parents)
    for row, below in enumerate(layout.children):
        depth[row] = depth[layout.parents[row]] + 1 if row else 0
        count = sum(child >= 0 for child in below)
        if row <= layout.spine:
            branches = depth[row] < levels and (reading != "lanes" or row == 0)
            assert count == (K if branches else int(row < layout.spine))
        else:
            below_it = {"full": K, "deep": K, "spine": 0, "lanes": 1}[reading]
            assert count == (depth[row] < levels) * below_it
