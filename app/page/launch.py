"""Launches the page, with its options for gradio."""

from __future__ import annotations

import logging
import signal
from pathlib import Path
from typing import Any

import gradio as gr
from gradio import http_server

from app.api.own_folder import end_at_once
from app.api.page_blocks import PAGES
from app.models.model_pool import Device, ModelPool
from app.workers import zerogpu
from engine.models.supply.card import ModelError
from visualize.assets import script, styles

log = logging.getLogger(__name__)

STATIC = Path(__file__).parents[2] / "static"
HEAD = f"<script>{{\n{script('opening.js')}}}</script>"
FONTS = ["ui-sans-serif", "system-ui", "Helvetica Neue", "Arial", "sans-serif"]
LAUNCH: dict[str, Any] = {
    "i18n": gr.I18n(en={"common.complete": "Done"}),  # gradio says it and has no word for it
    # the theme's own greys have too little contrast for text
    "theme": gr.themes.Base(
        primary_hue="red", neutral_hue="gray", font=FONTS, radius_size="none"
    ).set(
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_300",
        block_title_text_color="*neutral_600",
        block_title_text_color_dark="*neutral_300",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_300",
        input_placeholder_color="*neutral_500",
    ),
    # with the board's: a gr.HTML's own style sheet is parsed again with every update of its value
    "css": styles(),
    "css_paths": [STATIC / "page.css"],
    "head": HEAD,
    "enable_monitoring": False,
    "max_file_size": "32mb",
    "state_session_capacity": PAGES,
    "footer_links": [],
    "run_history": False,
    "show_error": False,
    "ssr_mode": False,
    # Gradio checks that its page answers within three seconds, and else ends, asking for a
    # shareable link: a busy machine takes longer.
    "_frontend": False,
}


def serve(demo: gr.Blocks, pool: ModelPool) -> None:
    """Serve the page, and load its own model and the model with which it opens.

    Raises SystemExit if the page cannot be served at its address; gradio would look for another
    port.
    """
    signal.signal(signal.SIGTERM, end_at_once)
    name = pool.opening[0].name
    if pool.device(name) is Device.ZEROGPU:
        try:
            zerogpu.place(name)
        except ModelError as error:
            log.warning("%s is read from the disk by each race: %s", name, error)
    host, port = http_server.LOCALHOST_NAME, http_server.INITIAL_PORT_VALUE
    try:
        demo.launch(**LAUNCH, server_port=port, prevent_thread_lock=True)
    except OSError as error:
        raise SystemExit(
            f"Photo Finish cannot start: {host} port {port} is in use, or not this machine's to"
            " serve. End what uses it, or choose another port: GRADIO_SERVER_PORT="
            f"{port + 1 if port < 65535 else 7860}."
        ) from error
    pool.start()
    demo.block_thread()
