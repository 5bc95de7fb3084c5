from __future__ import annotations

import numpy as np

from visualize.strips import Strips


def picture(value: int, rows: int = 2) -> np.ndarray:
    return np.full((8 * rows, 16, 3), value, np.uint8)


def shown(*rows: int) -> np.ndarray:
    """A mask of two columns with the first `count` cells of each row reached."""
    return np.array([[count > 0, count > 1] for count in rows])


def test_only_rows_that_were_reached_travel() -> None:
    strips = Strips(2)
    strips.update(picture(9), shown(1, 0), exact=False)
    assert strips.files[0]
    assert strips.files[1] == ""


def test_a_row_travels_again_when_it_changed_visibly_and_not_before() -> None:
    strips = Strips(2)
    strips.update(picture(100), shown(2, 2), exact=False)
    first = list(strips.files)
    strips.update(picture(103), shown(2, 2), exact=False)
    assert strips.files == first
    changed = picture(100)
    changed[8:, 8:] = 140
    strips.update(changed, shown(2, 2), exact=False)
    assert strips.files[0] == first[0]
    assert strips.files[1] != first[1]


def test_small_changes_add_up() -> None:
    strips = Strips(1)
    strips.update(picture(100, 1), shown(2), exact=False)
    first = strips.files[0]
    for value in (102, 104, 106):
        strips.update(picture(value, 1), shown(2), exact=False)
    assert strips.files[0] != first


def test_changes_where_nothing_is_shown_do_not_travel() -> None:
    strips = Strips(1)
    strips.update(picture(100, 1), shown(1), exact=False)
    first = strips.files[0]
    changed = picture(100, 1)
    changed[:, 8:] = 200
    strips.update(changed, shown(1), exact=False)
    assert strips.files[0] == first
    strips.update(changed, shown(2), exact=False)
    assert strips.files[0] != first
