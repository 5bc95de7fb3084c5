"""What the board's files share with python, and that they are fit to be pasted."""

from __future__ import annotations

import json
import subprocess

import pytest
from plotly.colors import sequential

from engine.trace import Status
from tests.static.driving import node
from visualize.assets import STATIC, STYLES, script
from visualize.board import token_hash
from visualize.layers import MARKS, Layer
from visualize.swatches import COLUMNS, SIDE


def test_scales_are_those_of_the_library() -> None:
    scales = {
        "viridis": sequential.Viridis,
        "cividis": sequential.Cividis,
        "magma": sequential.Magma,
    }
    assert node("return SCALES;") == scales


@pytest.mark.parametrize("scale", ["viridis", "cividis", "magma"])
def test_colours_run_from_dark_to_light(scale) -> None:
    colours = node(
        "return [-1, 0, 0.2, 0.4, 0.6, 0.8, 1, 2].map((share) => colourOf(scale, share));",
        scale=scale,
    )
    assert colours[0] == colours[1]
    assert colours[-1] == colours[-2]
    lightness = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in colours[1:-1]]
    assert lightness == sorted(lightness)


def test_layers_are_pythons() -> None:
    assert node("return LAYERS.map((layer) => layer.name);") == [layer.value for layer in Layer]


def test_statuses_stand_in_the_engines_order_each_with_a_shape_and_a_colour_of_its_own() -> None:
    statuses = node("return STATUSES;")
    assert [status["name"] for status in statuses] == [status.name.lower() for status in Status]
    assert [(status["shape"], status["colour"]) for status in statuses] == [
        MARKS[status] for status in Status
    ]
    for what in ("shape", "colour"):
        assert len({status[what] for status in statuses}) == len(Status)
    assert set(node("return Object.keys(SHAPES);")) == {status["shape"] for status in statuses}


def test_swatches_are_cut_where_python_puts_them() -> None:
    assert node("return SWATCH;") == {"side": SIDE, "columns": COLUMNS}


def test_hash_agrees_with_python() -> None:
    tokens = [0, 1, 255, 256, 1023, 65535, 0xFFFFF]
    assert node("return hashText(tokens.reduce(hashOn, FNV));", tokens=tokens) == token_hash(tokens)


def test_cells_in_raster_order_are_few_rectangles() -> None:
    got = node("return [[0, 0], [0, 8], [2, 14], [1, 3]].map(([from, to]) => runs(from, to, 4));")
    assert got == [[], [[0, 0, 4, 2]], [[2, 0, 2, 1], [0, 1, 4, 2], [0, 3, 2, 1]], [[1, 0, 2, 1]]]


def test_legends_of_counts_name_integers_from_the_least_to_the_greatest() -> None:
    few, many, two = node("return [[1, 5], [0, 60], [1, 2]].map(ticksOf);")
    assert few == [1, 2, 3, 4, 5]
    assert two == [1, 2]
    assert (many[0], many[-1]) == (0, 60)
    assert len(many) <= 9
    assert many == sorted(set(many))


def test_the_pasted_text_is_one_script_that_parses() -> None:
    code = (
        f"new Function('element', 'props', 'watch', {json.dumps(script())}); console.log('parsed')"
    )
    done = subprocess.run(
        ["node", "-e", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "parsed", done.stderr


def test_the_templates_hold_nothing_that_gradio_would_evaluate() -> None:
    for name in ("board.html", *STYLES):
        text = (STATIC / name).read_text("utf-8")
        assert not any(mark in text for mark in ("{{", "${", "`", "\\")), name
