"""The page's layout, and the options it is launched with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from app.page.form import PRIVATE, QUIET, SAMPLING_KNOBS, Fields, sampling_values, unchecked
from app.page.handlers import Races, address
from app.page.lane_list import lane_list
from app.page.link import Links
from app.page.model_choice import model_choice
from app.page.prompt_hints import EXAMPLES, guide, vocabulary
from app.page.results_panel import results_panel
from app.serving.api import CONCURRENCY, RACE_QUEUE, Api
from app.serving.mcp_server import McpBlocks
from app.serving.model_pool import ModelPool
from app.serving.race_stream import QueueUpdate, Snapshot
from app.serving.sessions import TOUR, RecordedRaces
from visualize.assets import markup, script, styles

STATIC = Path(__file__).parents[2] / "static"
STOP_JS = "() => { document.dispatchEvent(new Event('photo-finish-stop')); return []; }"
ROLL_JS = "() => Math.floor(Math.random() * 2 ** 31)"
LINK_JS = """(query) => {
  const link = location.origin + location.pathname + query;
  navigator.clipboard?.writeText(link).catch(() => {});
  return link;
}"""
FONTS = ["ui-sans-serif", "system-ui", "Helvetica Neue", "Arial", "sans-serif"]

HEADER = (
    '<header class="masthead"><h1>Photo<span>Finish</span></h1><p>Decoders of one autoregressive'
    " image model, racing side by side from one seed</p></header>"
)
OPTIONS = (
    '<button type="button" aria-expanded="false" aria-controls="settings">Lanes and options'
    "</button>"
)
# The settings are out of sight until they are wanted; a race folds them again.
OPTIONS_JS = """
const button = element.querySelector("button");
function show(open) {
  button.setAttribute("aria-expanded", open);
  document.body.classList.toggle("settings-shown", open);
}
button.addEventListener("click", () => show(button.getAttribute("aria-expanded") === "false"));
document.addEventListener("photo-finish-start", () => show(false));
"""
STATUS = '<p class="status" role="status">{}</p>'
ONE_AT_A_TIME = "One race runs at a time; if another visitor's is on, you wait your turn here."
LAUNCH: dict[str, Any] = {
    "max_threads": CONCURRENCY + 40,  # a waiting race holds a thread
    "theme": gr.themes.Base(primary_hue="red", neutral_hue="gray", font=FONTS, radius_size="none"),
    # with the board's: a gr.HTML's own style sheet is parsed again with every update of its value
    "css": styles(),
    "css_paths": [STATIC / "page.css"],
    "enable_monitoring": False,
    "max_file_size": "32mb",
    "mcp_server": True,
    # sessions that gradio remembers, at a quarter of a megabyte each
    "state_session_capacity": 100,
    "footer_links": [],
    "run_history": False,
    "show_error": False,
    "ssr_mode": False,
}


def serve(demo: gr.Blocks, pool: ModelPool) -> None:
    """Starts the page, and then loading its own model and the settings' default one."""
    demo.launch(**LAUNCH, prevent_thread_lock=True)
    pool.start()
    demo.block_thread()


def build(pool: ModelPool, recorded: RecordedRaces | None = None) -> gr.Blocks:
    """The page. Nothing needs to be loaded yet; `recorded` are by default the races that ship."""
    races = Races(pool, RecordedRaces() if recorded is None else recorded)
    with McpBlocks(
        title="Photo Finish", analytics_enabled=False, delete_cache=(3600, 3600), fill_width=True
    ) as demo:
        gr.HTML(HEADER, apply_default_css=False)
        prompt, seed, go, stop = _entry(races)
        with gr.Row(elem_id="ready"):
            examples = [[text] for text in EXAMPLES]
            gr.Examples(examples, [prompt], label="Prompts to try", elem_id="examples", **PRIVATE)
            idle = STATUS.format(ONE_AT_A_TIME)
            status = gr.HTML(idle, apply_default_css=False, elem_id="status")
        with gr.Column(elem_id="settings"):
            chosen, file, copy, link = _sources(races)
            form = _settings(races, prompt, seed)
        notice = gr.HTML(elem_id="notice", apply_default_css=False)
        board = _board(races)

        def race(request: gr.Request, *values: Any) -> Iterator[Any]:
            events = races.race(request.session_hash or "", address(request), form.named(values))
            with contextlib.closing(events):
                for event in events:
                    snapshot, text = gr.skip(), gr.skip()
                    if isinstance(event, Snapshot):
                        snapshot = event.board
                    elif isinstance(event, QueueUpdate):
                        text = STATUS.format(event.text or ONE_AT_A_TIME)
                    yield snapshot, text

        links, autostart, query = Links(races, form), gr.State(0), gr.Textbox(visible=False)
        starts = [go.click, prompt.submit, autostart.change]
        progress: dict[str, Any] = {"show_progress": "full", "show_progress_on": [status]}
        options = {"api_name": "board", "api_visibility": "undocumented", **RACE_QUEUE, **progress}
        running = gr.on(starts, race, form.components, [board, status], **options)
        Api(races).mount()
        ends_race = {"cancels": [running], **PRIVATE}
        stopped = stop.click(races.stop, None, None, queue=False, js=STOP_JS, **ends_race)
        opens = {**progress, **ends_race}
        opened = [
            chosen.input(races.open_recorded, chosen, board, api_name="recorded", **opens),
            file.upload(races.open_file, file, board, api_name="open", **opens),
        ]
        if TOUR in races.recorded:
            opened.append(board.tour(races.open_tour, None, board, **opens))
        # None of the recorded races is on the board then, and each can be chosen again.
        gr.on([*starts, file.upload], None, None, chosen, js="() => null", **PRIVATE)
        copied = copy.click(links.copy, form.components, [query, link, notice], **PRIVATE)
        copied.success(None, query, link, js=LINK_JS, **PRIVATE)
        linked = demo.load(links.open, None, [notice, autostart, *form.components], **PRIVATE)
        results_panel(races, [running, stopped, *opened, linked])
        demo.unload(races.leave)
    # Of all events; FairQueue bounds the races. Nothing can be called outside the queue.
    return demo.queue(max_size=CONCURRENCY + 40, api_open=False)


def _entry(races: Races) -> tuple[gr.Textbox, gr.Number, gr.Button, gr.Button]:
    """All that it takes to race: the prompt, the seed, and the buttons that start and stop."""
    values = races.default_values
    with gr.Row(elem_id="entry"):
        prompt = gr.Textbox(
            values["prompt"], label="Prompt", max_lines=1, scale=5, min_width=120, elem_id="prompt"
        )
        seed = gr.Number(values["seed"], label="Seed", scale=0, min_width=80, elem_id="seed")
        go = gr.Button("Race", variant="primary", scale=0, min_width=80, elem_id="race")
        stop = gr.Button("Stop", scale=0, min_width=70, elem_id="stop")
        roll = gr.Button("Roll", scale=0, min_width=70, elem_id="roll")
        gr.HTML(OPTIONS, js_on_load=OPTIONS_JS, apply_default_css=False, elem_id="options")
    roll.click(None, None, seed, js=ROLL_JS, **PRIVATE)
    return prompt, seed, go, stop


def _settings(races: Races, prompt: gr.Textbox, seed: gr.Number) -> Fields:
    """The rest of the form."""
    values = races.default_values
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
    if words := guide(vocabulary(races.pool.own.name)):
        with gr.Accordion("Words the model knows", open=False, elem_id="words"):
            gr.Markdown(words)
    form = Fields({"prompt": prompt, "seed": seed, "lanes": lanes, **sampling, "model": model})

    def update_sampling(name: Any) -> list[Any]:
        card = races.pool.find(name)
        return form.updates(sampling_values(card.sampling) if card else {})

    model.input(update_sampling, model, form.components, **QUIET)
    return form


def _sources(races: Races) -> tuple[gr.Dropdown, gr.UploadButton, gr.Button, gr.Textbox]:
    """The recorded races, a visitor's file, and a link to the form."""
    with gr.Row(elem_id="bring"):
        label = "<p>Or watch a recorded race:</p>"
        gr.HTML(label, apply_default_css=False, min_width=170, elem_id="or")
        titles = [(title, name) for name, title in races.recorded.titles.items()]
        plain: dict[str, Any] = {"container": False, "min_width": 200}
        chosen = gr.Dropdown(
            titles, value=races.recorded.first, label="Recorded races", elem_id="recorded", **plain
        )
        small: dict[str, Any] = {"size": "sm", "scale": 0}
        file = gr.UploadButton("Open a trace", min_width=130, elem_id="open", **small)
        copy = gr.Button("Copy link to these settings", min_width=210, elem_id="copy", **small)
        link = gr.Textbox(
            label="A link to these settings", visible=False, max_lines=1, elem_id="link", **plain
        )
    return unchecked(chosen), file, copy, link


def _board(races: Races) -> gr.HTML:
    board = gr.HTML(
        races.first_board(),
        html_template=markup(),
        js_on_load=script("page.js"),
        apply_default_css=False,
        elem_id="board",
        touring=TOUR in races.recorded,
    )
    # gr.HTML describes its value as text
    described: Any = board
    described.api_info = lambda: {"type": "object", "description": "a snapshot of the board"}
    described.example_payload = described.example_value = lambda: {"seq": 0, "lanes": []}
    return board
