"""The page's layout."""

from __future__ import annotations

import html
import os
from functools import partial
from random import Random
from typing import Any

import gradio as gr

from app.api.api import Api, calls_at_once
from app.api.page_blocks import PAGES, PageBlocks, PageFile
from app.api.remote_routes import remote_routes
from app.api.remotes import Remotes
from app.models.model_pool import ModelPool
from app.models.prompt_hints import examples, surprise, vocabulary
from app.page.board import board_of, race_files, script_file
from app.page.events import Events
from app.page.fill_in import fill_in
from app.page.form import OWN_JS, PRIVATE, QUIET, Fields, unchecked
from app.page.lane_list import lane_list
from app.page.links import COPY_JS, LINK_JS, OPEN_JS, QUERY_JS, Links
from app.page.model_choice import choices, model_choice
from app.page.own_picture import own_picture
from app.page.results_panel import results_panel
from app.page.word_list import class_file, class_list, word_list
from app.races.race_events import race_routes
from app.races.races import Races
from app.races.recorded_races import RecordedRaces
from app.races.request_values import SAMPLING_KNOBS, request_values, sampling_values
from engine.models.supply.card import ModelCard, Prompts
from visualize.assets import script

ASKED_JS = """(...values) => {
  document.dispatchEvent(new Event("photo-finish-asked"));
  return values;
}"""
RACE_JS = "() => { document.querySelector('#race').click(); return []; }"
ROLL_JS = "() => Math.floor(Math.random() * 2 ** 31)"

HEADER = (
    '<header class="masthead"><a class="skip" href="#pictures">Skip to the pictures</a>'
    "<h1>Photo <span>Finish</span></h1><p>An image model runs once"
    " for every token it draws, which is slow. Here decoders that need fewer runs race side by"
    " side from one seed.</p>{links}</header>"
)
# On a Space, whose files the hub shows; elsewhere the page does not know where they are to be seen.
LINKS = (
    '<nav aria-label="Sources">'
    '<a href="https://huggingface.co/spaces/{space}/tree/main" target="_blank"'
    ' rel="noopener">Code</a>'
    ' <a href="https://huggingface.co/spaces/{space}/blob/main/weights/README.md" target="_blank"'
    ' rel="noopener">Model card</a></nav>'
)
DRAWS = "<p>The model draws emoji: animals, things, colours and grounds.</p>"
OPTIONS = (
    '<button type="button" aria-expanded="false" aria-controls="settings">Lanes and options'
    "</button>"
)
# The settings are out of sight until they are wanted; a race folds them again. A link to the words
# that the model knows shows those.
OPTIONS_JS = """
const button = element.querySelector("button");
function show(open) {
  button.setAttribute("aria-expanded", open);
  document.body.classList.toggle("settings-shown", open);
}
button.addEventListener("click", () => show(button.getAttribute("aria-expanded") === "false"));
document.addEventListener("photo-finish-start", () => show(false));
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href='#words'], a[href='#classes']");
  if (!link) return;
  event.preventDefault();
  show(true);
  const section = document.querySelector(`${link.hash} > button`);
  if (!section.classList.contains("open")) section.click();
  section.focus();
});
"""
BET = "<label>Bet on <select><option value=''>no lane</option></select></label>"


def build(pool: ModelPool, recorded: RecordedRaces | None = None) -> PageBlocks:
    """Return the page.

    No model needs to be loaded yet. `recorded` are by default the recorded races that come with
    the page.
    """
    races = Races(pool, RecordedRaces() if recorded is None else recorded)
    api = Api(races)
    board_script, shipped, classes = script_file(), race_files(races), class_file()
    with PageBlocks(
        routes=[
            *(file.route() for file in (board_script, classes, *shipped.values())),
            *race_routes(races.find, races.replay, races.leave),
            *remote_routes(Remotes()),
        ],
        calls=api.calls(),
        at_once=calls_at_once(pool),
        title="Photo Finish",
        analytics_enabled=False,
        delete_cache=(3600, 3600),
        fill_width=True,
    ) as demo:
        _masthead()
        prompt, seed, go, stop = _entry(races)
        tried, any_prompt = _prompts_and_bet(races, prompt)
        # how the model reads the prompt, while it is typed
        reading = gr.HTML(elem_id="reading", apply_default_css=False)
        infilling = fill_in(pool)
        with gr.Column(elem_id="settings"):
            file, own, copy, link = _sources()
            form = _settings(races, prompt, seed, infilling, tried, classes)
            drawn = any_prompt.click(
                partial(_surprise, races.pool), form.component("model"), prompt, **QUIET
            )
            drawn.then(None, None, None, js=RACE_JS, **PRIVATE)
        notice = gr.HTML(elem_id="notice", apply_default_css=False)
        board = board_of(races, board_script, shipped)

        # a place for the id of the race on the board, which its own script knows
        on_board = unchecked(gr.Textbox(visible=False))
        race_and_key = [on_board, unchecked(gr.Textbox(visible=False))]

        events, links = Events(races, form), Links(races, form)
        board.use(events.use, None, form.components, **QUIET)
        board.fill(events.fill, None, form.components, **QUIET)
        forked = board.fork(events.fork, None, form.components, **QUIET)
        forked.success(None, None, None, js=RACE_JS, **PRIVATE)
        query = gr.Textbox(visible=False)
        starts = [go.click, prompt.submit]
        # A race runs in a thread of its own, so none of these takes long, and none waits for
        # another: a hall of visitors may open a link at once.
        at_once: dict[str, Any] = {"concurrency_limit": None, "show_progress": "hidden"}
        options = at_once | {"api_name": "board", "api_visibility": "undocumented"}
        # Once a race begins or a file is opened, what the notice said of a link or of the page's
        # model has been read. Gradio clears it before it calls what follows only if that is said
        # first.
        begins = [*starts, file.upload]
        gr.on(begins, None, None, [notice, reading], js="() => ['', '']", **PRIVATE)
        gr.on(starts, events.race, form.components, board, js=ASKED_JS, **options)
        api.mount()
        stop.click(events.stop, race_and_key, None, queue=False, js=OWN_JS, **PRIVATE)
        opens = PRIVATE | at_once
        file.upload(events.open_file, file, board, api_name="open", **QUIET)
        brought = [own, form.component("model")]
        reads = PRIVATE | {"api_name": "own_picture", "concurrency_limit": 1}
        own.upload(partial(own_picture, pool), brought, infilling, **reads)
        board.show(events.show_asked, None, board, trigger_mode="multiple", **opens)
        prompt.change(events.read, form.components, reading, trigger_mode="always_last", **QUIET)
        shown = [query, link, notice]
        copied = copy.click(links.copy, form.components, shown, js=COPY_JS, **PRIVATE)
        copied.success(None, query, [link, notice], js=LINK_JS, **PRIVATE)
        # a model may have been downloaded since the last page was opened
        model = form.component("model")
        demo.load(lambda: gr.update(choices=choices(races.pool)), None, model, **opens)
        opened_at, answer = unchecked(gr.Textbox(visible=False)), gr.JSON(visible=False)
        loaded = demo.load(links.open, opened_at, [notice, answer], js=QUERY_JS, **opens)
        fields = form.components
        filled = loaded.then(None, [answer, *fields], fields, js=links.fill_js, **PRIVATE)
        filled.then(None, answer, None, js=OPEN_JS, **PRIVATE)
        results_panel(races, board, race_and_key)
    # Of all events: at the end of a race that they watch, all pages ask for four things at once.
    # FairQueue bounds the races. Nothing can be called outside the queue.
    demo.queue(max_size=4 * PAGES, api_open=False)
    return demo


def _masthead() -> None:
    space = os.environ.get("SPACE_ID", "")
    sources = LINKS.format(space=html.escape(space)) if space else ""
    gr.HTML(HEADER.format(links=sources), apply_default_css=False)


def _prompts_and_bet(races: Races, prompt: gr.Textbox) -> tuple[gr.Dataset, gr.Button]:
    """Lay out suggested prompts, which race at a click, and a bet on a lane.

    Returns the suggested prompts, and the button that draws a random prompt.
    """
    with gr.Row(elem_id="ready"):
        tried = gr.Examples(
            _samples(races.pool.opening[0]),
            [prompt],
            label="Prompts to try",
            elem_id="examples",
            **PRIVATE,
        )
        tried.load_input_event.then(None, None, None, js=RACE_JS, **PRIVATE)
        any_prompt = gr.Button("Surprise me", size="sm", scale=0, elem_id="surprise")
        gr.HTML(BET, js_on_load=script("form/bet_form.js"), apply_default_css=False, elem_id="bet")
    return tried.dataset, any_prompt


def _surprise(pool: ModelPool, name: Any) -> str:
    return surprise((pool.find(name) or pool.opening[0]).prompts, Random())


def _samples(card: ModelCard) -> list[list[str]]:
    return [[prompt] for prompt in examples(card)]


def _words(pool: ModelPool, model: gr.Dropdown, tried: gr.Dataset, classes: PageFile) -> None:
    """Lay out the words that the chosen model knows, and update the list of suggested prompts."""
    card = pool.opening[0]
    shown = {kind: card.prompts is kind for kind in Prompts}
    with gr.Accordion(
        "Words the model knows", open=False, elem_id="words", visible=shown[Prompts.SCENES]
    ) as words:
        word_list(vocabulary(Prompts.SCENES))
    with gr.Accordion(
        "Classes the model draws", open=False, elem_id="classes", visible=shown[Prompts.CLASSES]
    ) as listed:
        class_list(classes)

    def update(name: Any) -> list[Any]:
        prompts = model_card.prompts if (model_card := pool.find(name)) else card.prompts
        return [
            gr.Dataset(samples=_samples(model_card or card)),
            gr.Accordion(visible=prompts is Prompts.SCENES),
            gr.Accordion(visible=prompts is Prompts.CLASSES),
        ]

    # on a change by a visitor or by a link
    model.change(update, model, [tried, words, listed], **QUIET)


def _entry(races: Races) -> tuple[gr.Textbox, gr.Number, gr.Button, gr.Button]:
    """Lay out the prompt, the seed, and the buttons that start and stop a race."""
    values = request_values(races.default)
    with gr.Row(elem_id="entry"):
        prompt = gr.Textbox(
            values["prompt"], label="Prompt", max_lines=1, scale=5, min_width=120, elem_id="prompt"
        )
        seed = gr.Number(values["seed"], label="Seed", scale=0, min_width=80, elem_id="seed")
        go = gr.Button("Race", variant="primary", scale=0, min_width=80, elem_id="race")
        stop = gr.Button("Stop", scale=0, min_width=70, elem_id="stop")
        if races.pool.opening[0].prompts is Prompts.SCENES:
            gr.HTML(DRAWS, apply_default_css=False, elem_id="draws")
        roll = gr.Button("New seed", scale=0, min_width=104, elem_id="roll")
        gr.HTML(OPTIONS, js_on_load=OPTIONS_JS, apply_default_css=False, elem_id="options")
    roll.click(None, None, seed, js=ROLL_JS, **PRIVATE)
    return prompt, seed, go, stop


def _settings(
    races: Races,
    prompt: gr.Textbox,
    seed: gr.Number,
    infilling: gr.HTML,
    tried: gr.Dataset,
    classes: PageFile,
) -> Fields:
    """Lay out the rest of the form, and return the fields of the whole form.

    `tried` shows the prompts that are suggested for the chosen model; `classes` is the file of
    ImageNet's classes.
    """
    values = request_values(races.default)
    lanes = lane_list(values["lanes"])
    model = model_choice(races.pool, values["model"])
    with gr.Row(elem_id="sampling"):
        gr.HTML("<p>Sampling, the same for every lane</p>", apply_default_css=False)
        sampling = {
            field: gr.Number(
                values[field],
                label=each.name,
                info=f"{each.knob.help} From {each.knob.low:g} to {each.knob.high:g}.",
                min_width=220,
            )
            for field, each in SAMPLING_KNOBS.items()
        }
    _words(races.pool, model, tried, classes)
    first = {"prompt": prompt, "seed": seed, "lanes": lanes}
    form = Fields({**first, **sampling, "model": model, "infilling": infilling})

    def update(name: Any, texts: Any) -> list[Any]:
        """Return updates of sampling and lanes for a model; lanes that a visitor chose stay."""
        pool = races.pool
        if (card := pool.find(name)) is None:
            return form.updates({})
        usual = [list(pool.lanes(each.name)) for each in pool.cards]
        chosen = {"lanes": list(pool.lanes(card.name))} if texts in usual else {}
        return form.updates(sampling_values(card.sampling) | chosen)

    model.input(update, [model, lanes], form.components, **QUIET)
    return form


def _sources() -> tuple[gr.UploadButton, gr.UploadButton, gr.Button, gr.Textbox]:
    """Lay out the buttons that open a trace, upload a picture, and copy a link to the settings.

    Returns the three buttons, and the field that shows the link.
    """
    with gr.Row(elem_id="bring"):
        small: dict[str, Any] = {"size": "sm", "scale": 0}
        file = gr.UploadButton("Open a trace", min_width=130, elem_id="open", **small)
        own = gr.UploadButton("Fill in your picture", min_width=170, elem_id="own", **small)
        copy = gr.Button("Copy link to these settings", min_width=210, elem_id="copy", **small)
        link = gr.Textbox(
            label="A link to these settings",
            visible=False,
            max_lines=1,
            elem_id="link",
            container=False,
            min_width=260,
        )
    return file, own, copy, link
