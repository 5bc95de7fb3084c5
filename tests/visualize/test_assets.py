from __future__ import annotations

import re

from visualize.assets import SCRIPTS, STATIC, STYLES, markup, script, styles


def test_nothing_of_the_board_is_left_out() -> None:
    """page.js and page.css are of the page around it."""
    assert {*SCRIPTS, "page.js"} == {path.name for path in STATIC.glob("*.js")}
    assert {*STYLES, "page.css"} == {path.name for path in STATIC.glob("*.css")}


def test_files_stand_in_order() -> None:
    text, at = script(), -1
    for name in SCRIPTS:
        at = text.index((STATIC / name).read_text("utf-8"), at + 1)
    assert text.index("function mountBoard") > 0
    assert 'class="board"' in markup()
    assert styles().count("{") == styles().count("}") > 10


def test_a_name_is_given_once() -> None:
    """The files are pasted together, so a top-level name that two of them give would break all."""
    names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", script(), re.M)
    assert len(names) > 10
    assert sorted(names) == sorted(set(names))
