"""Links: a race in the page's address, made from the form's fields and put back into them."""

from __future__ import annotations

import html
import itertools
from collections.abc import Sequence
from typing import Any

import gradio as gr

from app import share
from app.form import values
from app.handlers import Races, told
from engine.settings import SettingError


class Links:
    """Both ways between the form and the address of a page over `races`."""

    def __init__(self, races: Races) -> None:
        self._races = races
        self._starts = itertools.count(1)

    def copy(self, *fields: Any) -> tuple[str, Any, str]:
        """The query of a link to what the form holds, room for it, and no notice."""
        try:
            entry = self._races.entry(*fields)
        except SettingError as error:
            raise told(error) from error
        sampling = self._races.garage.offer(entry.model).facts.sampling
        return share.query(entry, sampling), gr.update(visible=True), ""

    def open(self, request: gr.Request) -> list[Any]:
        """What the address asks for: a notice, a number that changes if the race starts at once,
        and the form's fields."""
        fields = request.query_params.multi_items()
        models = {offer.name: offer.facts.sampling for offer in self._races.garage.offers}
        try:
            entry = share.entry(fields, models, self._races.usual)
            if entry is not None:
                self._races.garage.racing(entry.model)
        except SettingError as error:
            return [
                _notice(f"This link cannot be used: {error} The form keeps its own values."),
                gr.skip(),
                *self._skips(),
            ]
        if entry is None:
            return ["", gr.skip(), *self._skips()]
        start = next(self._starts) if share.starts(fields) else gr.skip()
        return ["", start, *values(entry)]

    def _skips(self) -> Sequence[Any]:
        return [gr.skip()] * len(values(self._races.usual))


def _notice(text: str) -> str:
    return f'<p class="notice" role="alert">{html.escape(text)}</p>'
