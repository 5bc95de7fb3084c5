"""Copies the form into a link, and opens a link in the form."""

from __future__ import annotations

import html
import json
from typing import Any
from urllib.parse import parse_qsl

import gradio as gr

from app.api.visitor import session_of
from app.page.form import Fields
from app.races.link import read_link, starts_at_once, write_link
from app.races.races import Races, board_value
from app.races.request_values import request_values
from engine.settings import SettingError

WAITS = "Your link has filled in the form. Press Race to start."
NOT_HERE = (
    "This page no longer has the race that this frame should show. To keep a race for good, save"
    " it as HTML in the Share menu."
)
GONE = "This race is no longer kept here. Its settings are in the form: press Race to run it again."

# Safari lets a page write to the clipboard while a click is handled: the text follows.
COPY_JS = """(...values) => {
  const copy = document.querySelector("#copy");
  const text = new Promise((resolve) => (copy.resolve = resolve));
  const written = () => navigator.clipboard.write([new ClipboardItem({ "text/plain": text })]);
  copy.written = Promise.resolve().then(written).then(() => true, () => false);
  return values;
}"""
LINK_JS = """async (query) => {
  const link = location.origin + location.pathname + query;
  const copy = document.querySelector("#copy");
  copy.resolve(new Blob([link], { type: "text/plain" }));
  const copied = await copy.written;
  const words = copied ? "Copied." : "Your browser blocked the clipboard. Copy it from the field.";
  return [link, `<p class="notice" role="status">${words}</p>`];
}"""

# static/opening.js has the rest.
QUERY_JS = "() => [window.photoFinish.query]"
FILL_JS = "(answer, ...values) => window.photoFinish.fill(answer, %s, values)"
OPEN_JS = "(answer) => { window.photoFinish.open(answer); return []; }"


class Links:
    """Copies the form into a link, and opens a link in the form."""

    def __init__(self, races: Races, form: Fields) -> None:
        self._races, self._form = races, form

    def copy(self, *values: Any) -> tuple[str, Any, str]:
        """Return the link's query, an update that shows the link's field, and an empty notice.

        Raises gr.Error.
        """
        request = self._races.read(self._form.named(values))
        sampling = self._races.pool.card(request.model).sampling
        return write_link(request, sampling), gr.update(visible=True), ""

    def open(self, address: Any, client: gr.Request) -> tuple[str, dict[str, Any]]:
        """Return two values for a page that opens: its notice, and the answer to its link.

        `address` is the query with which the page was opened. The page's address may have changed
        since, because it names the race on the board. The answer has the form's values (`form`),
        whether the race starts at once (`go`), and the visitor's session (`session`). If the link
        names the visitor's own race in progress, the answer also has the race's id and key (`race`,
        `key`); otherwise these two are "".
        """
        query = parse_qsl(str(address).lstrip("?"), keep_blank_values=True)
        fields, session = dict(query), session_of(client)
        models = {card.name: card.sampling for card in self._races.pool.cards}
        embedded = fields.get("embed") == "1"
        notice, starts = "" if embedded else notice_of(self._races.model_note, "status"), False
        values: dict[str, Any] = {}
        race_id = fields.get("recorded") or fields.get("race")
        kept = self._races.find(race_id, session)
        try:
            if kept is None and "recorded" in fields:
                raise SettingError("There is no such recorded race.")
            default = self._races.default_on(fields.get("model"))
            linked = read_link(query, models, default)
            if linked is not None:
                self._races.require(linked)
                values = request_values(linked)
            if kept is None and linked is not None:
                starts = starts_at_once(query)
                if not starts:
                    waits = NOT_HERE if embedded else GONE if race_id else WAITS
                    notice += notice_of(waits, "status")
            elif kept is None and race_id:
                raise SettingError("The race of the link is no longer kept here.")
        except SettingError as error:
            text = f"This link cannot be used, so the form keeps its own values. {error}"
            notice += notice_of(text, "alert")
        answer = {"form": values, "go": starts, "session": session, "race": "", "key": ""}
        if kept is not None and self._races.owns(kept, session):
            answer |= board_value(kept, own=True)
        return notice, answer

    @property
    def fill_js(self) -> str:
        """The script that fills the form in from the answer that `open` gives."""
        return FILL_JS % json.dumps(self._form.initial)


def notice_of(text: str, role: str) -> str:
    """Return a text as a paragraph that the page shows and a screen reader says; "" if empty."""
    return f'<p class="notice" role="{role}">{html.escape(text)}</p>' if text else ""
