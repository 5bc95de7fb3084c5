from __future__ import annotations

from visualize.board.snapshot_types import TYPES, snapshot_types


def test_the_boards_types_are_those_of_the_model() -> None:
    assert TYPES.read_text("utf-8") == snapshot_types(), (
        "run python -m visualize.board.snapshot_types"
    )
