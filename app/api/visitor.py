"""Who a request comes from."""

from __future__ import annotations

import gradio as gr


def session_of(client: gr.Request) -> str:
    """The visitor's session, one a page that is open; empty for a request without one."""
    return client.session_hash or ""


def address(client: gr.Request) -> str:
    """The visitor's address, behind the proxies that FORWARDED_ALLOW_IPS names."""
    host = getattr(client, "client", None)
    return host.host[:64] if host else ""
