"""Who a request comes from."""

from __future__ import annotations

import os

import gradio as gr


def session_of(client: gr.Request) -> str:
    """The visitor's session, one a page that is open; empty for a request without one."""
    return client.session_hash or ""


def address(client: gr.Request) -> str:
    """The visitor's address; on a Space from its proxy's header."""
    forwarded = client.headers.get("x-forwarded-for", "") if "SPACE_ID" in os.environ else ""
    host = getattr(client, "client", None)
    return forwarded.split(",")[0].strip()[:64] or (host.host if host else "")
