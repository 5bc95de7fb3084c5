"""The handlers of the page's events.

A visitor races, watches, stops, opens a file or uses a race's settings.
"""

from __future__ import annotations

import itertools
from typing import Any

import gradio as gr

from app.api.visitor import address, session_of
from app.models.prompt_hints import LISTED, typed_hint
from app.page.form import Fields
from app.page.links import notice_of
from app.races.fork import fork_of
from app.races.races import Races, board_value, user_error
from app.races.request_values import recorded_values, request_values
from app.workers.between_steps import BETWEEN_STEPS
from engine.models.supply.card import Prompts
from engine.settings import SettingError


class Events:
    """Handlers of gradio's events.

    Handlers take the values of `form`, by position. They return values of the board or updates
    of the form, and raise gr.Error.
    """

    def __init__(self, races: Races, form: Fields) -> None:
        self._races, self._form = races, form
        self._uses = itertools.count(1)

    def read(self, *values: Any) -> str:
        """Return a note on how the model reads the prompt, as HTML; "" if there is none."""
        form = self._form.named(values)
        card = self._races.pool.find(form["model"])
        notice = notice_of(typed_hint(form["prompt"], card), "status")
        section = "classes" if card and card.prompts is Prompts.CLASSES else "words"
        return notice.replace(LISTED, f'<a href="#{section}">{LISTED}</a>')

    def race(self, client: gr.Request, *values: Any) -> dict[str, Any]:
        request = self._races.read(self._form.named(values))
        race = self._races.start(session_of(client), address(client), request)
        return board_value(race, own=True)

    def show_asked(self, event: gr.EventData, client: gr.Request) -> dict[str, Any]:
        """Return the board's value with the race that the board's script asks for.

        The visitor's own race in progress is stopped if it is another one (`Races.show`).
        """
        return self._races.show(getattr(event, "race", ""), session_of(client))

    def stop(self, race_id: Any, key: Any, client: gr.Request) -> None:
        self._races.stop(race_id, key, session_of(client))

    def open_file(self, path: Any, client: gr.Request) -> dict[str, Any]:
        return self._races.open_file(path, session_of(client), address(client))

    def use(self, event: gr.EventData, client: gr.Request) -> list[Any]:
        """Return updates that give the form the settings of the race on the board."""
        return self._all(self._settings(event, client))

    def fork(self, event: gr.EventData, client: gr.Request) -> list[Any]:
        """Return updates that give the form the settings of a fork.

        A fork is a race that keeps the start of a picture on the board and draws the rest.
        """
        race = self._races.kept(getattr(event, "race", ""), session_of(client))
        values = (getattr(event, name, None) for name in ("lane", "cell", "token"))
        try:
            with BETWEEN_STEPS.work():
                request = fork_of(race, *values)
            self._races.require(request)
        except SettingError as error:
            raise user_error(error) from error
        return self._all(request_values(request))

    def _all(self, values: dict[str, Any]) -> list[Any]:
        """Return updates that set the form's fields to `values`; other fields stay as they are."""
        if values.get("infilling"):  # the browser hears of a value only if it is another
            values["infilling"] |= {"use": next(self._uses)}
        return self._form.updates(values)

    def fill(self, event: gr.EventData, client: gr.Request) -> list[Any]:
        """Return updates that copy a race's settings into the form, once Fill in is pressed.

        The board has a button Fill in on each finished picture of a race. These updates leave the
        form's seed and lanes as they are. The browser itself sets the picture to fill in, and
        replaces the lanes if they were for another kind of race.
        """
        values, own = self._settings(event, client), {"seed", "lanes", "infilling"}
        return self._form.updates({name: values[name] for name in values.keys() - own})

    def _settings(self, event: gr.EventData, client: gr.Request) -> dict[str, Any]:
        """Return the form's values for a race that is over.

        The model is missing if it cannot race here. The picture to fill in is None if the model
        cannot fill in here.
        """
        pool = self._races.pool
        race = self._races.kept(getattr(event, "race", ""), session_of(client))
        header = race.recording.trace.header
        card = pool.find(header.model)
        known = card is not None and pool.availability(card.name).available
        model = {"model": header.model} if known else {}
        whole = {} if header.model in pool.fillable() else {"infilling": None}
        return recorded_values(header) | model | whole
