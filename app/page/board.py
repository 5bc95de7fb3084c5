"""The board as a component of the page: its value is a snapshot, and its script has events of its
own."""

from __future__ import annotations

from typing import Any

import gradio as gr

EVENTS = {"use", "fill", "show", "over"}


class Board(gr.HTML):
    """Gradio builds it anew with every update, also one that leaves it as it is, and asks it for a
    dozen attributes that it does not have. `gr.HTML` looks for each in the script, in 40 ms an
    update; only those that are events need it."""

    def __getattr__(self, name: str) -> Any:
        if name in EVENTS:
            return super().__getattr__(name)
        raise AttributeError(name)

    def api_info(self) -> dict[str, Any]:
        return {"type": "object", "description": "a snapshot of the board"}

    def example_payload(self) -> Any:
        return {"id": "", "lanes": []}

    example_value = example_payload
