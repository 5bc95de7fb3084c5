"""Figures that papers report for a decoder on a public model.

A lane shows a paper's figure beside its own figure. `paper_figures.toml` lists the papers' figures
with the tables they stand in.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

Measure = Literal["passes", "tokens a pass"]
Knob = bool | int | float | str


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A mean from a paper's table.

    `value` is in the unit `measure`: "passes" of the model for one picture, or committed "tokens a
    pass". The mean holds for `decoder` on `model` (a card's name) with the settings `knobs`, as far
    as the paper names settings. Raises ValueError for another `measure` or a `value` below 1.
    """

    paper: str  # its number on arXiv
    table: str
    setting: str
    model: str
    decoder: str
    measure: Measure
    value: float
    knobs: Mapping[str, Knob] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.measure not in get_args(Measure):
            raise ValueError(f"A figure counts passes or tokens a pass, not {self.measure!r}.")
        if not self.value >= 1:
            raise ValueError(f"{self.value} {self.measure} is below 1, which no decoder takes.")

    @property
    def source(self) -> str:
        """Paper, table and setting, as in "arXiv 2508.07747, Table 1: MS-COCO 2017, top-k 2000"."""
        return f"arXiv {self.paper}, {self.table}: {self.setting}"


def _listed() -> Iterator[PaperFigure]:
    file = Path(__file__).with_suffix(".toml")
    tables: list[dict[str, Any]] = tomllib.loads(file.read_text("utf-8"))["table"]
    for table in tables:
        figures = table.pop("figures")
        yield from (PaperFigure(**table, **figure) for figure in figures)


PAPER_FIGURES = tuple(_listed())


def paper_figure(model: str, decoder: str, knobs: Mapping[str, Knob]) -> PaperFigure | None:
    """Return the figure for a lane with these settings, or None if no paper has a figure."""
    for figure in PAPER_FIGURES:
        if (figure.model, figure.decoder) == (model, decoder) and all(
            knobs.get(name) == value for name, value in figure.knobs.items()
        ):
            return figure
    return None
