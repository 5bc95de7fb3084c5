"""The words that a model knows, as a list to search and to take prompts from.

The names go to the browser once, where static/form/word_list.js lays them out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import gradio as gr

from app.api.page_blocks import PageFile
from app.models.prompt_hints import EXAMPLES, class_groups, word_groups
from engine.reader.scene import COLOURS
from visualize.assets import script

MARKUP = """<div class="word-list">
  <p>{}</p>
  <label>Find {}, in any language <input type="search" autocomplete="off"></label>
  <div class="word-kinds"></div>
</div>"""
SCENES = MARKUP.format(
    f"Name up to four of these things on a ground (<i>{EXAMPLES[2]}</i>), one above the other"
    f" (<i>{EXAMPLES[1]}</i>), or one at a place or of another size (<i>{EXAMPLES[3]} at the top"
    f" left</i>). Most things can be {', '.join(COLOURS[:-1])} or {COLOURS[-1]}. Click a word to"
    " use it.",
    "a word",
)
CLASSES = MARKUP.format(
    "A picture shows one of ImageNet's 1,000 classes. Click one to use it.", "a class"
)


def word_list(vocabulary: Mapping[str, Any]) -> gr.HTML:
    return _list(SCENES, groups=word_groups(vocabulary))


def class_list(file: PageFile) -> gr.HTML:
    """Lay out the list of ImageNet's classes, which the browser reads from `class_file()`."""
    return _list(CLASSES, file=file.path)


def class_file() -> PageFile:
    """Return the file of classes, a quarter of a megabyte, fetched when the list is unfolded."""
    return PageFile("classes.json", json.dumps(class_groups()), "application/json")


def _list(markup: str, **names: Any) -> gr.HTML:
    return gr.HTML(
        html_template=markup,
        js_on_load=script("form/word_list.js"),
        apply_default_css=False,
        facts=json.dumps(names, ensure_ascii=False),
    )
