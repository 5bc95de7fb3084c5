"""The status line beside the Race button, and what a race's events change on the page."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import gradio as gr

from app.serving.race_stream import Events, QueueUpdate, Snapshot

IDLE = "Races wait their turn here."


def status_line(text: str) -> str:
    return f'<p class="status" role="status">{text}</p>'


def updates(events: Events) -> Generator[tuple[Any, Any], None, None]:
    """Values of the board and the status line for each event. Closed, it closes the events."""
    with contextlib.closing(events):
        for event in events:
            board, text = gr.skip(), gr.skip()
            if isinstance(event, Snapshot):
                board = event.board
            elif isinstance(event, QueueUpdate):
                text = status_line(event.text or IDLE)
            yield board, text
