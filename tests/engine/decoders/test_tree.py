"""Trees of drafts: how many nodes they have, and that parents and children agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders.sjd_pac import PACSettings
from engine.decoders.tree import side_nodes, tree
from engine.settings import SettingError

SHAPES = [(4, 3), (2, 3), (3, 3), (5, 3), (4, 2)]  # K, D of the paper's Table 3, but for (4, 4)


@pytest.mark.parametrize(
    ("K", "D", "nodes"),
    [(K, D, n) for (K, D), n in zip([*SHAPES, (4, 4)], [20, 6, 12, 30, 4, 84], strict=True)],
)
def test_every_node_of_d_levels_has_k_candidates(K: int, D: int, nodes: int) -> None:
    assert side_nodes(K, D) + D - 1 == nodes


def test_the_papers_window_holds_21_tree_nodes_and_a_spine_of_45_drafts() -> None:
    layout = tree(64, 1000, 4, 3)
    assert layout.spine == 45
    assert layout.branching == 2
    assert len(layout.parents) == 64
    assert 1 + layout.branching + len(layout.side) == 21


def test_a_tree_larger_than_the_window_is_rejected() -> None:
    with pytest.raises(
        SettingError, match="tree of K = 4, D = 4 takes up to 86 rows, and the window has 64"
    ):
        PACSettings(K=4, D=4)
    assert PACSettings(window=2, K=1, D=5).D == 5, "without candidates there is no tree"


@pytest.mark.parametrize(("K", "D"), SHAPES)
def test_the_papers_table_fits_the_papers_window(K: int, D: int) -> None:
    assert PACSettings(K=K, D=D).window == 64


@given(
    window=st.integers(2, 96), room=st.integers(0, 100), K=st.integers(1, 8), D=st.integers(1, 5)
)
def test_parents_children_and_depths_agree(window: int, room: int, K: int, D: int) -> None:
    try:
        PACSettings(window=window, K=K, D=D)
    except SettingError:
        assert K > 1
        assert side_nodes(K, D) + D >= window
        return
    layout = tree(window, room, K, D)
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


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 8))
def test_a_node_has_k_candidates_on_the_trees_levels_and_one_below_them(
    K: int, D: int, room: int
) -> None:
    """One on the spine, that is; off it none."""
    layout = tree(2000, room, K, D)
    levels = min(D - 1, room) if K > 1 else 0
    assert layout.branching == levels
    depth = [0] * len(layout.parents)
    for row, below in enumerate(layout.children):
        depth[row] = depth[layout.parents[row]] + 1 if row else 0
        count = sum(child >= 0 for child in below)
        assert count == (K if depth[row] < levels else int(row < layout.spine))
