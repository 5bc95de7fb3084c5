"""The choice of a model, with its licence, its sampling and whether it can race here."""

from __future__ import annotations

import html
from typing import Any

import gradio as gr

from app.models.model_pool import Device, ModelPool
from app.page.form import QUIET
from app.workers import zerogpu
from engine.decoders import DEFAULT
from engine.models.supply.card import ModelCard, ModelError
from engine.models.supply.hub import at_hand


def model_choice(pool: ModelPool, default: str) -> gr.Dropdown:
    """Lay out the dropdown of models and the chosen model's card; return the dropdown."""
    with gr.Row(elem_id="choice"):
        model = gr.Dropdown(
            choices(pool),
            value=default,
            label="Model",
            info=pool.opening[1] or None,
            scale=1,
            min_width=240,
            elem_id="model",
        )
        about = gr.HTML(
            describe(pool, default),
            scale=3,
            min_width=320,
            elem_id="model-card",
            apply_default_css=False,
        )
    # on a change by a visitor or by a link
    model.change(lambda name: describe(pool, name), model, about, **QUIET)
    return model


def choices(pool: ModelPool) -> list[tuple[str, str]]:
    """Return each model's label in the list, and its name; models that can race here come first."""
    labels, off = [], []
    for card in pool.cards:
        here = pool.availability(card.name)
        if not here.available:
            off.append((f"{card.title} (off: {here.short_reason})", card.name))
        else:
            absent = "" if _at_hand(card) else " (not downloaded)"
            labels.append((card.title + absent, card.name))
    return labels + off


def describe(pool: ModelPool, name: Any) -> str:
    """Return a model's card as HTML; "" for an unknown name.

    The card gives the model's size and licence, the reason if the model cannot race here, and the
    source of its sampling values. It also says if the model's true weights have never raced.
    """
    card = pool.find(name)
    if card is None:
        return ""
    here = pool.availability(card.name)
    off = "" if here.available else f"<p class='off'>Off: {html.escape(here.reason)}</p>"
    parameters, unit = card.parameters / 1e6, "million"
    if parameters >= 1000:
        parameters, unit = parameters / 1e3, "billion"
    cost = ""
    if here.available and pool.device(card.name) is Device.ZEROGPU:
        seconds = zerogpu.cost(card.name, DEFAULT)
        cost = (
            f" A race of {len(DEFAULT)} lanes takes up to {seconds:g} seconds of your daily"
            " GPU time, which is two minutes without an account and five with a free one."
        )
    download = (
        "" if _at_hand(card) else f" Its first race downloads about {card.download / 1e9:.1f} GB."
    )
    weights = (
        f" {_link(f'https://huggingface.co/{card.repos[0].repo}', 'Model card')}"
        if card.repos
        else ""
    )
    raced = (
        " We have never raced it with its true weights: tell us how it goes."
        if card.repos and not card.raced
        else ""
    )
    slow = f"<p>{html.escape(here.note)}</p>" if here.note else ""
    return (
        f"{off}{slow}<p>{card.grid[0]} × {card.grid[1]} tokens of {card.codes:,} codes,"
        f" {parameters:.3g} {unit} parameters.{download}{cost} Licence: {html.escape(card.licence)}"
        f" ({_link(card.licence_url, 'text')}).{weights}{raced}</p>"
        f"<p>Sampling settings from {html.escape(card.source)}.</p>"
    )


def _at_hand(card: ModelCard) -> bool:
    """Return whether a model's files are on this machine.

    Returns False also if this cannot be found out; the model's first race then says why.
    """
    try:
        return all(map(at_hand, card.repos))
    except ModelError:
        return False


def _link(url: str, text: str) -> str:
    return f'<a href="{html.escape(url)}" target="_blank" rel="noopener noreferrer">{text}</a>'
