"""The menu of the board's Share button: links to a race, and files of the race."""

from __future__ import annotations

import logging
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from app.api.request_guard import without_message, words_of
from app.api.visitor import address, session_of
from app.page.form import PRIVATE, unchecked
from app.page.links import notice_of
from app.races.allowances import UNLIMITED, Allowance
from app.races.races import Races
from app.settings import SETTINGS
from app.workers.between_steps import BETWEEN_STEPS
from engine.settings import SettingError
from visualize.board.snapshot import CLOCKS
from visualize.export.standalone import standalone
from visualize.export.steps_csv import steps_csv
from visualize.film.film import FilmError, FilmFormat, film, photo
from visualize.film.layers import Layer
from visualize.pictures.recorded_race import RecordedRace

log = logging.getLogger(__name__)

SPEEDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
FILMS = {"MP4": FilmFormat.MP4, "GIF": FilmFormat.GIF, "WebP": FilmFormat.WEBP}
# Every kind of file, with its suffix.
KINDS = {name: f".{name.lower()}" for name in FILMS} | {
    "PNG of this instant": ".png",
    "Standalone HTML": ".html",
    "Trace": ".json",
    "CSV of the steps": ".csv",
}
PICTURES = ("PNG of this instant", *FILMS)  # which show what the board shows
# The race on the board, the board's speed, and what the board shows.
INSTANT_JS = """(_, kind) => {
  const { race, clock, t, seconds, layer, shown } =
    document.querySelector("#board .board").dataset;
  const [by, at] = clock === "modelled" ? ["seconds", seconds] : [clock, t]; // what is measured
  const lanes = shown ? shown.split(",").map(Number) : [];
  const dark = document.body.classList.contains("dark");
  const speed = Number(document.querySelector("#board .speed").value);
  return [race, kind, speed, { clock: by, t: Number(at), layer, lanes, dark }];
}"""
LINKS = """<div class="share-links">
<button type="button" class="moment">Copy a link to this moment<span role="status"></span></button>
<button type="button" class="send" hidden>Send a link to it<span role="status"></span></button>
<button type="button" class="embed">Copy the code that embeds it<span role="status"></span></button>
</div>"""
FOLLOWS = (
    "A PNG or a film shows the board's lanes, layer and clock, light or dark like the page, on a"
    " 16:9 slide. A film plays at the board's speed."
)


@dataclass(frozen=True, slots=True)
class Instant:
    """The board's view at an instant: clock, time, layer, lanes by index, and dark or light."""

    clock: str
    t: float
    layer: Layer
    lanes: tuple[int, ...]
    dark: bool

    @staticmethod
    def read(value: Any, count: int) -> Instant:
        """Read {clock, t, layer, lanes, dark} from a browser, for a race of `count` lanes.

        Raises SettingError.
        """
        value = value if isinstance(value, dict) else {}
        clock, t, layer = value.get("clock"), value.get("t"), value.get("layer")
        number = isinstance(t, (int, float)) and not isinstance(t, bool)
        finite = number and 0 <= t <= sys.float_info.max
        lanes, dark = value.get("lanes"), value.get("dark")
        listed = isinstance(lanes, list) and all(lane in range(count) for lane in lanes)
        known = clock in CLOCKS and layer in [each.value for each in Layer]
        if not (known and finite and listed and isinstance(dark, bool)):
            raise SettingError(
                "The page did not say what its board shows. Reload it and try again."
            )
        if not lanes:
            raise SettingError("Every lane is hidden. Show the lanes that you want in the picture.")
        shown = sorted({int(lane) for lane in lanes})
        return Instant(clock, float(t), Layer(layer), tuple(shown), dark)


def slug(prompt: str) -> str:
    """Return a prompt as part of a safe file name; static/panels/save.js has the same rule."""
    return re.sub(r"[^a-z0-9]+", "-", prompt.lower())[:60].strip("-") or "race"


def file_name(recording: RecordedRace, kind: str, instant: Any) -> str:
    """Return a file's name, from the prompt, the seed and what the file shows.

    A film's file name has the film's layer and clock; a picture's file name also has the time
    on the clock. Raises SettingError.
    """
    header, shown = recording.trace.header, ""
    if kind == "CSV of the steps":
        shown = "-steps"
    elif kind in PICTURES:
        now = Instant.read(instant, len(header.lanes))
        at = "" if kind in FILMS else f"{now.t:.6g}-"
        shown = f"-{now.layer.value}-{at}{now.clock}"
    return f"photo-finish-{slug(header.prompt)}-{header.seed}{shown}{KINDS[kind]}"


def make_file(
    recording: RecordedRace,
    kind: Any,
    speed: Any,
    instant: Any,
    progress: Callable[[float], None],
    allowance: Allowance = UNLIMITED,
) -> bytes:
    """Return the content of a file of this `kind`.

    `kind`, `speed` and `instant` come from a browser, and this function checks them. A film is made
    frame by frame. Between two frames, the lanes of a running race may step, and `progress` is
    called with the fraction that is done. The seconds that it takes to make the film are subtracted
    from the visitor's `allowance`. Raises SettingError if a value is invalid, or if a film takes
    too long.
    """
    with BETWEEN_STEPS.work() as work:
        if not isinstance(kind, str) or kind not in KINDS:
            raise SettingError(f"There is no such kind of file. Choose one of: {', '.join(KINDS)}.")
        if kind == "Trace":
            return recording.dumps().encode()
        if kind == "CSV of the steps":
            return steps_csv(recording.trace).encode()
        if kind == "Standalone HTML":
            return standalone(recording).encode()
        now = Instant.read(instant, len(recording.trace.header.lanes))
        if kind == "PNG of this instant":
            return photo(recording, now.clock, now.t, now.layer, 2.0, now.lanes, dark=now.dark)
        if isinstance(speed, bool) or speed not in SPEEDS:
            raise SettingError(f"The speed must be one of {', '.join(f'{x:g}x' for x in SPEEDS)}.")

        allowance.require()
        most = min(SETTINGS.make_seconds, allowance.left)

        def go_on(fraction: float) -> None:
            work.pause()
            if work.seconds > most:
                raise SettingError(
                    f"This film takes over {most:.3g} seconds to make, which is all the time that"
                    " you have left here now. Choose a higher speed."
                )
            progress(fraction)

        try:
            return film(
                recording,
                FILMS[kind],
                speed=speed,
                clock=now.clock,
                layer=now.layer,
                lanes=now.lanes,
                dark=now.dark,
                progress=go_on,
            )
        except FilmError as error:
            raise SettingError(str(error)) from error
        finally:
            allowance.spend(work.seconds)


def share_menu(races: Races, on_board: gr.Textbox) -> None:
    """Lay out the menu of the board's Share button: links to a moment, and files of the race.

    static/controls/share.js opens the menu.
    """
    with gr.Column(elem_id="share"):
        gr.HTML(LINKS, apply_default_css=False)
        with gr.Column(elem_id="export"):
            _files(races, on_board)


def _files(races: Races, on_board: gr.Textbox) -> None:
    with gr.Row(elem_id="making"):
        kinds = list(KINDS)
        kind = gr.Dropdown(
            kinds, value="MP4", label="Kind of file", min_width=180, elem_id="take-kind"
        )
        button = gr.Button("Make the file", scale=0, min_width=140, elem_id="make")
    gr.HTML(f"<p>{FOLLOWS}</p>", apply_default_css=False)
    file = gr.File(
        label="Your file", visible=False, interactive=False, height=130, elem_id="export-file"
    )
    # what is in the way, said here: the menu lies over gradio's own messages
    refusal = gr.HTML(elem_id="export-refusal", apply_default_css=False)
    # places for what the board's element says
    speed, instant = gr.Number(visible=False), gr.JSON(visible=False)
    bar = gr.Progress()  # gradio finds it as the default of an argument
    inputs = [on_board, *(unchecked(component) for component in (kind, speed, instant))]

    def write_file(
        race_id: Any,
        kind: Any,
        speed: Any,
        instant: Any,
        request: gr.Request,
        progress: gr.Progress = bar,
    ) -> Iterator[Any]:

        def report(fraction: float) -> None:
            progress(fraction, desc="Making the file")

        allowance = races.allowances.of(address(request))
        with ExitStack() as stack:
            try:
                race = races.kept(race_id, session_of(request))
                data = make_file(race.recording, kind, speed, instant, report, allowance)
                name = file_name(race.recording, kind, instant)
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                path = Path(folder) / name
                path.write_bytes(data)
            except (SettingError, gr.Error) as error:
                words = str(getattr(error, "message", error))
                updates = gr.update(visible=False), notice_of(words, "alert")
            except OSError as error:
                log.error("a file was not made: %s", without_message(error))
                updates = gr.update(visible=False), notice_of(words_of(error), "alert")
            else:
                note = notice_of(allowance.note, "status") if kind in FILMS else ""
                updates = gr.update(value=str(path), visible=True), note
            yield updates  # gradio copies the file before the folder goes

    empty = gr.update(visible=True, value=None)
    shown = [file, refusal]
    emptied = button.click(lambda: (empty, ""), None, shown, queue=False, **PRIVATE)
    emptied.then(write_file, inputs, shown, js=INSTANT_JS, concurrency_limit=1, **PRIVATE)
