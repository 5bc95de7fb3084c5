"""The code that the parts of the form and their events share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

# Options of an event that programs cannot call, and of one that shows no progress besides.
PRIVATE: dict[str, Any] = {"api_visibility": "private"}
QUIET = PRIVATE | {"show_progress": "hidden"}
# The race on the board, and its key where it is the visitor's own.
OWN_JS = """() => {
  const { race, key } = document.querySelector("#board .board").dataset;
  return [race, key ?? ""];
}"""
# Makes the id of the race on the board the first input.
ON_BOARD_JS = """(_, ...values) =>
  [document.querySelector("#board .board").dataset.race, ...values]"""


def unfolding(section: gr.Accordion) -> gr.State:
    """Return a state that is true while a section is unfolded; the section is folded at first."""
    unfolded = gr.State(False)
    section.expand(lambda: True, None, unfolded, **QUIET)
    section.collapse(lambda: False, None, unfolded, **QUIET)
    return unfolded


def unchecked(component: Any) -> Any:
    """Turn off gradio's checks of a component's value, and return the component.

    Handlers then get the value as it was sent. Gradio's own checks fail on wrong types without a
    message.
    """
    component.preprocess = lambda payload: payload
    return component


class Fields:
    """Components by name. Gradio passes their values by position; handlers get them by name."""

    def __init__(self, components: Mapping[str, gr.components.Component]) -> None:
        self._names = tuple(components)
        self.components = [unchecked(component) for component in components.values()]

    @property
    def initial(self) -> dict[str, Any]:
        """Return each component's value on a page that has just opened, by the component's name."""
        return {name: each.value for name, each in zip(self._names, self.components, strict=True)}

    def component(self, name: str) -> gr.components.Component:
        return self.components[self._names.index(name)]

    def named(self, values: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self._names, values, strict=True))

    def updates(self, values: Mapping[str, Any]) -> list[Any]:
        """Return an update for each component; fields that are not named stay as they are."""
        return [values.get(name, gr.skip()) for name in self._names]
