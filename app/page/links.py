"""What the page does with links: copies the form into one, and opens one in the form."""

from __future__ import annotations

import html
import itertools
from typing import Any

import gradio as gr

from app.page.form import Fields, form_values
from app.page.handlers import Races, user_error
from app.page.link import read_link, starts_at_once, write_link
from engine.settings import SettingError


class Links:
    """Copies the form into a link, and opens one in the form."""

    def __init__(self, races: Races, form: Fields) -> None:
        self._races, self._form = races, form
        self._starts = itertools.count(1)

    def copy(self, *values: Any) -> tuple[str, Any, str]:
        """Updates of the link's query, the field that shows it, and the notice."""
        try:
            request = self._races.read(self._form.named(values))
        except SettingError as error:
            raise user_error(error) from error
        sampling = self._races.pool.card(request.model).sampling
        return write_link(request, sampling), gr.update(visible=True), ""

    def open(self, request: gr.Request) -> list[Any]:
        """Updates of the notice, of a number that changes if the race starts at once, of the board
        and of the form's fields, from the page's address."""
        query = request.query_params.multi_items()
        models = {card.name: card.sampling for card in self._races.pool.cards}
        notice, start, board = _notice(self._races.model_note, "status"), gr.skip(), gr.skip()
        values: dict[str, Any] = {}
        try:
            if recorded := request.query_params.get("recorded"):
                if recorded not in self._races.recorded:
                    raise SettingError("There is no such recorded race.")
                board = self._races.open_recorded(recorded, request)
            linked = read_link(query, models, self._races.default)
            if linked is not None:
                self._races.require(linked)
                values = form_values(linked)
                if starts_at_once(query):
                    start = next(self._starts)
                else:
                    notice += _notice("The form is filled in from your link: press Race.", "status")
        except SettingError as error:
            text = f"This link cannot be used: {error} The form keeps its own values."
            notice += _notice(text, "alert")
        return [notice, start, board, *self._form.updates(values)]


def _notice(text: str, role: str) -> str:
    return f'<p class="notice" role="{role}">{html.escape(text)}</p>' if text else ""
