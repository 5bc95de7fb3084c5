"""The page's layout, and what it is launched with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from app.after import after
from app.api import AT_ONCE, QUEUE, Api
from app.form import GROUPS, SAMPLING
from app.garage import Garage
from app.handlers import Races
from app.links import Links
from app.model import Facts, Loader
from app.shelf import TOUR, Shelf
from app.world import EXAMPLES, guide
from engine.decoders import DECODERS
from engine.settings import Sampling, knobs
from visualize.assets import markup, script, styles

STATIC = Path(__file__).parent.parent / "static"
STOP_JS = "() => { document.dispatchEvent(new Event('photo-finish-stop')); return []; }"
ROLL_JS = "() => Math.floor(Math.random() * 2 ** 31)"
LINK_JS = """(query) => {
  const link = location.origin + location.pathname + query;
  navigator.clipboard?.writeText(link).catch(() => {});
  return link;
}"""
FONTS = ["ui-sans-serif", "system-ui", "Helvetica Neue", "Arial", "sans-serif"]

STATUS = '<p class="status" role="status">{}</p>'
TURNS = "One race runs at a time; if another visitor's is on, you wait your turn here."
LAUNCH: dict[str, Any] = {
    "max_threads": AT_ONCE + 40,  # a race that waits holds a thread
    "theme": gr.themes.Base(primary_hue="red", neutral_hue="gray", font=FONTS, radius_size="none"),
    # the board's too: what a gr.HTML brings itself is read anew with every update of its value
    "css": styles(),
    "css_paths": [STATIC / "page.css"],
    "enable_monitoring": False,
    "max_file_size": "32mb",
    "mcp_server": True,
    # sessions; each that gradio remembers takes a quarter of a megabyte
    "state_session_capacity": 100,
    "footer_links": [],
    "run_history": False,
    "show_error": False,
    "ssr_mode": False,
}


def build(
    loader: Loader, facts: Facts, shelf: Shelf | None = None, garage: Garage | None = None
) -> gr.Blocks:
    """The page over a model that need not be there yet. `shelf` are the recorded races, by default
    those that ship; `garage` has that model and others, by default none."""
    shelf = Shelf() if shelf is None else shelf
    races = Races(loader, facts, shelf, garage)
    with gr.Blocks(
        title="Photo Finish", analytics_enabled=False, delete_cache=(3600, 3600), fill_width=True
    ) as demo:
        gr.HTML(
            '<header class="masthead"><h1>Photo<span>Finish</span></h1><p>Decoders of one'
            " autoregressive image model, racing side by side from one seed</p></header>",
            apply_default_css=False,
        )
        with gr.Row(elem_id="entry"):
            usual = races.usual
            prompt = _unchecked(
                gr.Textbox(
                    usual.prompt,
                    label="Prompt",
                    max_lines=1,
                    scale=5,
                    min_width=260,
                    elem_id="prompt",
                )
            )
            seed = _unchecked(
                gr.Number(usual.seed, label="Seed", scale=1, min_width=130, elem_id="seed")
            )
            roll = gr.Button("Roll", scale=0, min_width=80, elem_id="roll")
            go = gr.Button("Race", variant="primary", scale=0, min_width=130, elem_id="race")
            stop = gr.Button("Stop", scale=0, min_width=90, elem_id="stop")
        with gr.Row():
            with gr.Column(scale=5, min_width=320):
                lanes = _unchecked(
                    gr.CheckboxGroup(
                        [(decoder.title, name) for name, decoder in DECODERS.items()],
                        value=[lane.decoder for lane in usual.lanes],
                        label="Lanes",
                        elem_id="lanes",
                    )
                )
            with gr.Column(scale=3, min_width=320):
                gr.Examples(
                    [[text] for text in EXAMPLES],
                    [prompt],
                    label="Prompts to try",
                    api_visibility="private",
                )
        model, own = _choice(races)
        with gr.Row(elem_id="details"):
            with gr.Column(min_width=320):
                turned = _knobs(usual.sampling)
            if words := guide(facts.world):
                with (
                    gr.Column(min_width=320),
                    gr.Accordion("Words the model knows", open=False, elem_id="words"),
                ):
                    gr.Markdown(words)
        with gr.Row(elem_id="bring"):
            gr.HTML(
                "<p>Or watch a recorded race:</p>",
                apply_default_css=False,
                min_width=170,
                elem_id="or",
            )
            titles = [(title, name) for name, title in shelf.titles.items()]
            recorded = gr.Dropdown(
                titles,
                value=shelf.first,
                label="Recorded races",
                container=False,
                min_width=200,
                elem_id="recorded",
            )
            file = gr.UploadButton(
                "Open a trace", size="sm", scale=0, min_width=130, elem_id="open"
            )
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
        notice = gr.HTML(elem_id="notice", apply_default_css=False)
        status = gr.HTML(STATUS.format(TURNS), apply_default_css=False, elem_id="status")
        board = _board(races)

        def racing(request: gr.Request, *values: Any) -> Iterator[Any]:
            with contextlib.closing(races.race(request, *values)) as shown:
                for each in shown:
                    queue = isinstance(each, str)
                    yield (
                        gr.skip() if queue else each,
                        STATUS.format(each or TURNS) if queue else gr.skip(),
                    )

        fields = [prompt, seed, lanes, *turned, model]
        model.input(
            own,
            model,
            turned[: len(knobs(Sampling))],
            api_visibility="private",
            show_progress="hidden",
        )
        links, begin, query = Links(races), gr.State(0), gr.Textbox(visible=False)
        starts = [go.click, prompt.submit, begin.change]
        run = gr.on(
            starts,
            racing,
            fields,
            [board, status],
            api_name="board",
            concurrency_limit=AT_ONCE,
            concurrency_id=QUEUE,
            show_progress="full",
            show_progress_on=[status],
            api_visibility="undocumented",
        )
        Api(races).mount()
        loads = {
            "show_progress": "full",
            "show_progress_on": [status],
            "cancels": [run],
            "api_visibility": "private",
        }
        halt = stop.click(
            races.stop, None, None, cancels=[run], queue=False, js=STOP_JS, api_visibility="private"
        )
        roll.click(None, None, seed, js=ROLL_JS, api_visibility="private")
        loaded = [
            _unchecked(recorded).input(races.recorded, recorded, board, **loads),
            file.upload(races.open, file, board, **loads),
        ]
        if TOUR in shelf:
            loaded.append(board.tour(races.tour, None, board, **loads))
        # The board shows none of them then; the one that it showed can be chosen again.
        gr.on(
            [*starts, file.upload], None, None, recorded, js="() => null", api_visibility="private"
        )
        copy.click(links.copy, fields, [query, link, notice], api_visibility="private").success(
            None, query, link, js=LINK_JS, api_visibility="private"
        )
        opened = demo.load(links.open, None, [notice, begin, *fields], api_visibility="private")
        after(races, [run, halt, *loaded, opened])
        demo.unload(races.leave)
    # Of everything that is asked: app.turns bounds the races. Nothing is run past the queue.
    return demo.queue(max_size=AT_ONCE + 40, api_open=False)


def _choice(races: Races) -> tuple[gr.Dropdown, Any]:
    """The field of the model, and what gives the sampling fields' values for the one that is
    chosen."""
    with gr.Row(elem_id="choice"):
        offers, usual = races.garage.offers, races.usual.model
        names = [
            (f"{offer.title} (off: {offer.brief})" if offer.off else offer.title, offer.name)
            for offer in offers
        ]
        model = _unchecked(
            gr.Dropdown(names, value=usual, label="Model", scale=1, min_width=240, elem_id="model")
        )
        about = gr.HTML(
            races.garage.about(usual),
            scale=3,
            min_width=320,
            elem_id="model-card",
            apply_default_css=False,
        )
    # Whoever changes the field: a visitor, or a link.
    model.change(races.garage.about, model, about, api_visibility="private", show_progress="hidden")

    def own(name: Any) -> list[Any]:
        known = [offer for offer in races.garage.offers if offer.name == name]
        return [
            getattr(known[0].facts.sampling, knob) if known else gr.skip()
            for knob, _, _ in knobs(Sampling)
        ]

    return model, own


def serve(demo: gr.Blocks, garage: Garage) -> None:
    """Starts the page, and behind it the loading of the embedded model, and of the one that the
    host has chosen."""
    demo.launch(**LAUNCH, prevent_thread_lock=True)
    garage.start()
    demo.block_thread()


def _board(races: Races) -> gr.HTML:
    board = gr.HTML(
        races.first(),
        html_template=markup(),
        js_on_load=script("page.js"),
        apply_default_css=False,
        elem_id="board",
        touring=TOUR in races.shelf,
    )
    # A value of gr.HTML is text unless it says otherwise.
    board.api_info = lambda: {"type": "object", "description": "a snapshot of the board"}
    board.example_payload = board.example_value = lambda: {"seq": 0, "lanes": []}
    return board


def _knobs(sampling: Sampling) -> list[gr.components.Component]:
    """The fields of every group of knobs, in the order of the form."""
    fields: list[gr.components.Component] = []
    with gr.Accordion("Knobs", open=False, elem_id="knobs"):
        for group, kind in GROUPS.items():
            title = (
                "Sampling, the same for every lane" if group == SAMPLING else DECODERS[group].title
            )
            with gr.Accordion(title, open=False), gr.Row():
                for name, knob, default in knobs(kind):
                    value = getattr(sampling, name) if group == SAMPLING else default
                    fields.append(_unchecked(_field(name, knob, value)))
    return fields


def _field(name: str, knob: Any, value: Any) -> gr.components.Component:
    if isinstance(value, bool):
        return gr.Checkbox(value, label=name, info=knob.help, min_width=220)
    if knob.choices:
        return gr.Dropdown(
            list(knob.choices), value=value, label=name, info=knob.help, min_width=220
        )
    info = f"{knob.help} From {knob.low:g} to {knob.high:g}."
    return gr.Number(value, label=name, info=info, min_width=220)


def _unchecked(component: gr.components.Component) -> gr.components.Component:
    """Hands the field's value on as it came: gradio's own checks fail without words on wrong
    types."""
    component.preprocess = lambda payload: payload
    return component
