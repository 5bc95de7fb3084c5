"""The board's JavaScript under node, and what it shares with python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from plotly.colors import sequential

from app.ui import JOIN, SCRIPTS, STATIC
from engine.records import Status
from visualize.board import token_hash

HERE = Path(__file__).parent


def node(code: str) -> object:
    """What a piece of JavaScript prints as JSON; `records` is the module."""
    records = f"const records = require({json.dumps(str(STATIC / 'records.js'))});"
    done = subprocess.run(["node", "-e", records + code], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_pure_parts_under_node() -> None:
    done = subprocess.run(
        ["node", "--test", str(HERE / "test_records.mjs")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_scales_are_those_of_the_library() -> None:
    scales = node("console.log(JSON.stringify(records.SCALES))")
    assert scales == {"top1": sequential.Viridis, "tv": sequential.Cividis}


def test_statuses_stand_in_the_engines_order() -> None:
    names = node("console.log(JSON.stringify(records.STATUSES.map((status) => status.name)))")
    assert names == [status.name.lower() for status in Status]


def test_hash_agrees_with_python() -> None:
    tokens = [0, 1, 255, 256, 1023, 65535, 0xFFFFF]
    text = "".join(f"{token:05x}" for token in tokens)
    assert node(f"console.log(JSON.stringify(records.hashTokens('{text}', 5, 7)))") == token_hash(tokens)


def test_the_pasted_text_is_one_script_that_parses() -> None:
    text = "\n".join((STATIC / name).read_text() for name in SCRIPTS) + JOIN
    code = f"new Function('element', 'props', 'watch', {json.dumps(text)}); console.log('true')"
    assert node(code) is True


def test_the_templates_hold_nothing_that_gradio_would_evaluate() -> None:
    for name in ("board.html", "board.css"):
        text = (STATIC / name).read_text()
        assert not any(mark in text for mark in ("{{", "${", "`", "\\"))
