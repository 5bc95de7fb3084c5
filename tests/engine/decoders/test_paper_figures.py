"""The figures that papers give: each has a source, and a model and a decoder that are here."""

from __future__ import annotations

import dataclasses
import re

import pytest

from engine.decoders import DECODERS
from engine.decoders.paper_figures import PAPER_FIGURES, PaperFigure, paper_figure
from engine.models.supply.card import CARDS

LUMINA = {"G": 10, "d": 0.5, "delta": 0.15, "window": 16}


def named(figure: PaperFigure) -> str:
    return f"{figure.model}, {figure.decoder}, {figure.value}"


def settings_of(name: str, **knobs) -> dict:
    return dataclasses.asdict(DECODERS[name].Settings(**knobs))


@pytest.mark.parametrize("figure", PAPER_FIGURES, ids=named)
def test_a_figure_has_a_source_a_model_and_a_decoder_with_these_settings(figure) -> None:
    assert re.fullmatch(r"\d{4}\.\d{5}", figure.paper)
    assert re.fullmatch(r"Table \d+", figure.table)
    assert "MS-COCO" in figure.setting
    assert CARDS[figure.model].repos, "a public model"
    knobs = settings_of(figure.decoder, **figure.knobs)  # which raises for a bad one
    assert figure.knobs.items() <= knobs.items()
    found = paper_figure(figure.model, figure.decoder, knobs)
    assert found is figure, "no other is of the same lane"


def test_a_figure_is_of_the_papers_settings_alone() -> None:
    figure = paper_figure("lumina-768", "gsd", LUMINA)
    assert (figure.measure, figure.value) == ("passes", 701.35)
    assert figure.source == "arXiv 2508.07747, Table 1: MS-COCO 2017, top-k 2000"
    assert paper_figure("lumina-768", "gsd", LUMINA | {"G": 11}) is None
    assert paper_figure("emu3", "gsd", LUMINA) is None


def test_a_public_models_own_lanes_have_figures_and_the_embedded_ones_none() -> None:
    own = {name: settings_of(name) for name in DECODERS}
    found = {name for name in own if paper_figure("lumina-768", name, own[name])}
    assert found >= {"ar", "jacobi", "sjd", "gsd", "sjd-pac"}
    assert not any(paper_figure("embedded", name, own[name]) for name in own)


@pytest.mark.parametrize(("measure", "value"), [("seconds", 2.0), ("passes", 0.5)])
def test_a_figure_that_cannot_be_is_none(measure, value) -> None:
    with pytest.raises(ValueError, match=r"passes"):
        PaperFigure("2508.07747", "Table 1", "MS-COCO", "emu3", "sjd", measure, value)
