"""The words that the model knows, as a list to search and to take prompts from. The names go to the
browser once, where static/form/word_list.js lays them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from app.models.prompt_hints import EXAMPLES, word_groups
from visualize.assets import script

MARKUP = f"""<div class="word-list">
  <p>Ask for up to four of its things on a ground, <i>{EXAMPLES[2]}</i>, one above the other,
  <i>{EXAMPLES[1]}</i>, or one at a place, <i>{EXAMPLES[3]} at the top left</i>. Click a word to use
  it.</p>
  <label>Find a word, in any language <input type="search" autocomplete="off"></label>
  <div class="word-kinds"></div>
</div>"""


def word_list(vocabulary: Mapping[str, Any]) -> gr.HTML:
    return gr.HTML(
        html_template=MARKUP,
        js_on_load=script("form/word_list.js"),
        apply_default_css=False,
        groups=word_groups(vocabulary),
    )
