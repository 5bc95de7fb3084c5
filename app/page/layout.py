"""The page's layout, and the options it is launched with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from app.page.form import FIELDS, KNOBS, PRIVATE, Fields, KnobField, unchecked
from app.page.handlers import Races
from app.page.link import Links
from app.page.model_choice import model_choice, sampling_values
from app.page.prompt_hints import EXAMPLES, guide, vocabulary
from app.page.results_panel import results_panel
from app.serving.api import CONCURRENCY, QUEUE_ID, Api
from app.serving.model_pool import ModelPool
from app.serving.race_stream import QueueUpdate, Snapshot
from app.serving.sessions import TOUR, RecordedRaces
from engine.decoders import DECODERS
from engine.race.request import GROUPS, SAMPLING, group_title
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
    with gr.Blocks(
        title="Photo Finish", analytics_enabled=False, delete_cache=(3600, 3600), fill_width=True
    ) as demo:
        gr.HTML(HEADER, apply_default_css=False)
        form, run, stop = _form(races)
        chosen, file, copy, link = _sources(races)
        notice = gr.HTML(elem_id="notice", apply_default_css=False)
        status = gr.HTML(STATUS.format(ONE_AT_A_TIME), apply_default_css=False, elem_id="status")
        board = _board(races)

        def race(request: gr.Request, *values: Any) -> Iterator[Any]:
            with contextlib.closing(races.race(request, form.named(values))) as events:
                for event in events:
                    if isinstance(event, Snapshot):
                        yield event.board, gr.skip()
                    elif isinstance(event, QueueUpdate):
                        yield gr.skip(), STATUS.format(event.text or ONE_AT_A_TIME)
                    else:
                        yield gr.skip(), gr.skip()

        links, autostart, query = Links(races, form), gr.State(0), gr.Textbox(visible=False)
        starts = [*run, autostart.change]
        running = gr.on(
            starts,
            race,
            form.components,
            [board, status],
            api_name="board",
            concurrency_limit=CONCURRENCY,
            concurrency_id=QUEUE_ID,
            show_progress="full",
            show_progress_on=[status],
            api_visibility="undocumented",
        )
        Api(races).mount()
        replaces_race = {
            "show_progress": "full",
            "show_progress_on": [status],
            "cancels": [running],
            "api_visibility": "private",
        }
        stopped = stop.click(
            races.stop,
            None,
            None,
            cancels=[running],
            queue=False,
            js=STOP_JS,
            api_visibility="private",
        )
        opened = [
            chosen.input(races.open_recorded, chosen, board, api_name="recorded", **replaces_race),
            file.upload(races.open_file, file, board, api_name="open", **replaces_race),
        ]
        if TOUR in races.recorded:
            opened.append(board.tour(races.open_tour, None, board, **replaces_race))
        # None of the recorded races is on the board then, and each can be chosen again.
        gr.on([*starts, file.upload], None, None, chosen, js="() => null", api_visibility="private")
        copy.click(
            links.copy, form.components, [query, link, notice], api_visibility="private"
        ).success(None, query, link, js=LINK_JS, api_visibility="private")
        linked = demo.load(
            links.open, None, [notice, autostart, *form.components], api_visibility="private"
        )
        results_panel(races, [running, stopped, *opened, linked])
        demo.unload(races.leave)
    # Of all events; FairQueue bounds the races. Nothing can be called outside the queue.
    return demo.queue(max_size=CONCURRENCY + 40, api_open=False)


def _form(races: Races) -> tuple[Fields, list[Any], gr.Button]:
    """The form's fields, the events that start a race, and the button that stops it."""
    default = races.default_values
    components: dict[str, gr.components.Component] = {}
    with gr.Row(elem_id="entry"):
        prompt = components["prompt"] = gr.Textbox(
            default["prompt"], label="Prompt", max_lines=1, scale=5, min_width=260, elem_id="prompt"
        )
        seed = components["seed"] = gr.Number(
            default["seed"], label="Seed", scale=1, min_width=130, elem_id="seed"
        )
        roll = gr.Button("Roll", scale=0, min_width=80, elem_id="roll")
        go = gr.Button("Race", variant="primary", scale=0, min_width=130, elem_id="race")
        stop = gr.Button("Stop", scale=0, min_width=90, elem_id="stop")
    with gr.Row():
        with gr.Column(scale=5, min_width=320):
            components["lanes"] = gr.CheckboxGroup(
                [(decoder.title, name) for name, decoder in DECODERS.items()],
                value=default["lanes"],
                label="Lanes",
                elem_id="lanes",
            )
        with gr.Column(scale=3, min_width=320):
            gr.Examples(
                [[text] for text in EXAMPLES],
                [prompt],
                label="Prompts to try",
                api_visibility="private",
            )
    model = components["model"] = model_choice(races.pool, default["model"])
    with gr.Row(elem_id="details"):
        with gr.Column(min_width=320):
            components |= _knobs(default)
        if words := guide(vocabulary(races.pool.own.name)):
            with (
                gr.Column(min_width=320),
                gr.Accordion("Words the model knows", open=False, elem_id="words"),
            ):
                gr.Markdown(words)
    roll.click(None, None, seed, js=ROLL_JS, api_visibility="private")
    sampling = Fields(
        {field: components[field] for field, each in KNOBS.items() if each.group == SAMPLING}
    )
    model.input(
        lambda name: sampling.updates(sampling_values(races.pool, name)),
        model,
        sampling.components,
        **PRIVATE,
    )
    return Fields({field: components[field] for field in FIELDS}), [go.click, prompt.submit], stop


def _knobs(default: Mapping[str, Any]) -> dict[str, gr.components.Component]:
    components: dict[str, gr.components.Component] = {}
    with gr.Accordion("Knobs", open=False, elem_id="knobs"):
        for group in GROUPS:
            title = group_title(group) + ", the same for every lane" * (group == SAMPLING)
            with gr.Accordion(title, open=False), gr.Row():
                for field, each in KNOBS.items():
                    if each.group == group:
                        components[field] = _knob(each, default[field])
    return components


def _knob(field: KnobField, value: Any) -> gr.components.Component:
    knob = field.knob
    if isinstance(value, bool):
        return gr.Checkbox(value, label=field.name, info=knob.help, min_width=220)
    if knob.choices:
        return gr.Dropdown(
            list(knob.choices), value=value, label=field.name, info=knob.help, min_width=220
        )
    info = f"{knob.help} From {knob.low:g} to {knob.high:g}."
    return gr.Number(value, label=field.name, info=info, min_width=220)


def _sources(races: Races) -> tuple[gr.Dropdown, gr.UploadButton, gr.Button, gr.Textbox]:
    """The recorded races, a visitor's file, and a link to the form."""
    with gr.Row(elem_id="bring"):
        gr.HTML(
            "<p>Or watch a recorded race:</p>", apply_default_css=False, min_width=170, elem_id="or"
        )
        chosen = gr.Dropdown(
            [(title, name) for name, title in races.recorded.titles.items()],
            value=races.recorded.first,
            label="Recorded races",
            container=False,
            min_width=200,
            elem_id="recorded",
        )
        file = gr.UploadButton("Open a trace", size="sm", scale=0, min_width=130, elem_id="open")
        copy = gr.Button(
            "Copy link to these settings", size="sm", scale=0, min_width=210, elem_id="copy"
        )
        link = gr.Textbox(
            label="A link to these settings",
            visible=False,
            container=False,
            max_lines=1,
            min_width=200,
            elem_id="link",
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
    board.api_info = lambda: {"type": "object", "description": "a snapshot of the board"}
    board.example_payload = board.example_value = lambda: {"seq": 0, "lanes": []}
    return board
