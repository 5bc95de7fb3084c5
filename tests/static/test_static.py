"""What the board's files share with Python, and that they are fit for the page."""

from __future__ import annotations

import json

from plotly.colors import sequential

from engine.decoders import DECODERS
from engine.decoders.base import Badge
from engine.trace import Status
from tests.static.node import report
from visualize.assets import STATIC, STYLES, script
from visualize.board.board import token_hash
from visualize.film.layers import Layer
from visualize.look import LOOK
from visualize.pictures.swatches import COLUMNS, SIDE


def test_scales_are_those_of_the_library() -> None:
    scales = sequential.Viridis, sequential.Cividis, sequential.Magma
    assert LOOK["scales"] == dict(zip(("viridis", "cividis", "magma"), scales, strict=True))


def test_layers_and_statuses_stand_in_pythons_order() -> None:
    assert [layer["name"] for layer in LOOK["layers"]] == [layer.value for layer in Layer]
    names = [status["name"] for status in LOOK["statuses"]]
    assert names == [status.name.lower() for status in Status]


def test_every_badge_has_a_colour_and_a_shape_of_its_own() -> None:
    assert set(LOOK["badges"]) == {badge.value.split()[0] for badge in Badge}
    for what in ("colour", "shape"):
        assert len({badge[what] for badge in LOOK["badges"].values()}) == len(LOOK["badges"])
    for colours in LOOK["colours"].values():
        assert {badge["colour"] for badge in LOOK["badges"].values()} <= set(colours)


def test_the_tour_names_decoders_that_there_are() -> None:
    outline = json.loads((STATIC / "tour" / "outline.json").read_text("utf-8"))
    assert len(outline) == 11
    for chapter in outline:
        assert {*chapter["decoders"], *chapter["beside"]} <= set(DECODERS)


def test_the_help_explains_the_words_that_the_page_uses() -> None:
    words = set(json.loads((STATIC / "panels" / "glossary.json").read_text("utf-8")))
    assert {"speculation", "seed", "distribution", "target", "draft", "pass"} <= words
    assert {"log p, nats", "tokens a pass", "acceptance length", "depth"} <= words


def test_results_know_the_embedded_models_layers() -> None:
    config = json.loads((STATIC.parent / "weights" / "target" / "config.json").read_text("utf-8"))
    results = (STATIC / "panels" / "results.js").read_text("utf-8")
    assert f"embedded: {config['num_hidden_layers']}," in results


def test_swatches_are_cut_where_python_puts_them() -> None:
    assert LOOK["swatches"] == {"side": SIDE, "columns": COLUMNS}


def test_hash_agrees_with_python() -> None:
    tokens = [0, 1, 255, 256, 1023, 65535, 0xFFFFF]
    assert report("hash", tokens) == token_hash(tokens)


def test_the_assembled_texts_are_scripts_that_parse() -> None:
    entries = ("page.js", "form/fill_in.js", "standalone.js")
    assert report("parse", [script(entry) for entry in entries]) == "parsed"


def test_the_templates_hold_nothing_that_gradio_would_evaluate() -> None:
    for name in ("board/board.html", "form/fill_in.html", *STYLES):
        text = (STATIC / name).read_text("utf-8")
        assert not any(mark in text for mark in ("{{", "${", "`", "\\")), name
