"""Traces come back: from the recorded races, from a file, dropped onto the board; and files that
are none do no harm."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from engine.trace import Frame, LaneState
from tests.app.conftest import wait_until
from tests.browser.acts import (
    HOSTILE,
    finished,
    hashes,
    key,
    open_share,
    prompted,
    race,
    running,
    show_options,
    take_away,
    unfold,
    unhurt,
)
from tests.browser.servers import recorded
from visualize.pictures.recorded_race import RecordedRace

DROP = """([text, name]) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name));
  const target = document.querySelector(".board .lanes");
  for (const kind of ["dragenter", "dragover", "drop"]) {
    const event = { dataTransfer: transfer, bubbles: true, cancelable: true };
    target.dispatchEvent(new DragEvent(kind, event));
  }
}"""


def upload(page: Page, text: str | bytes, name: str = "race.json") -> None:
    data = text.encode() if isinstance(text, str) else text
    page.locator("#bring input[type=file]").first.set_input_files(
        {"name": name, "mimeType": "application/json", "buffer": data}
    )


def drop(page: Page, text: str | bytes, name: str = "race.json") -> None:
    data = text.encode() if isinstance(text, str) else text
    page.evaluate(DROP, [base64.b64encode(data).decode(), name])


FORMAT = '{"format": "photo-finish-trace"'
NO_TRACES = [
    ("", "not JSON|empty"),
    ("<img src=x onerror=window.hit=1>", "not JSON"),
    (b"\x89PNG\r\n\x1a\n" + bytes(200), "not JSON"),
    (f'{FORMAT}, "version": 99}}', "version 99"),
    (f'{FORMAT}, "version": 4, "header": {{"prompt": "<svg onload=window.hit=1>"}}}}', "damaged"),
]


def hostile(text: str) -> RecordedRace:
    """A race whose texts are `text`, or as much of it as a name may have."""
    race = recorded("x", ("ar", "sjd"))
    header = replace(race.trace.header, prompt=text, model=text[:200], machine=text[-200:])
    failed = Frame(1, LaneState.FAILED, error=text)
    frames = [f for f in race.trace.frames if f.lane == 0 or f.state is LaneState.RACING]
    return RecordedRace(replace(race.trace, header=header, frames=(*frames, failed)), race.pictures)


def test_a_trace_is_played_as_it_was_raced_and_what_is_none_leaves_the_board(
    quick, open_page
) -> None:
    page = open_page(quick)
    board, meta, message = (page.locator(it) for it in (".board", ".board .meta", ".toast-body"))
    race(page, prompt="octopus", lanes=("ar", "sjd", "sjd-pac"))
    finished(page)
    open_share(page)
    trace, end = take_away(page, "Trace").read_text(), hashes(page)
    key(page, "Escape")
    machine = json.loads(trace)["header"]["machine"]
    page.evaluate("scrollTo(0, 0)")  # what is recorded plays once it is seen
    # A slow page plays so short a race between two looks at it.
    page.evaluate(
        "() => { window.played = 0; const board = document.querySelector('.board');"
        " new MutationObserver(() => (played += board.dataset.playing === '1'))"
        ".observe(board, { attributes: true, attributeFilter: ['data-playing'] }) }"
    )
    for bring, prompt, recorder, words in (
        (upload, "one", machine, f" · {machine} · 6 × 6 tokens · recorded"),
        (
            drop,
            "two",
            "Another, 1 core, 1 thread",
            " · recorded on another machine, Another, 1 core · 6 ",
        ),
    ):
        text = trace.replace(json.dumps(machine), json.dumps(recorder))
        bring(page, text.replace('"octopus"', json.dumps(prompt)))
        prompted(page, prompt)
        page.wait_for_function("played > 0")
        key(page, "End")
        page.evaluate("played = 0")
        expect(board).to_have_attribute("data-state", "finished")
        assert hashes(page) == end
        expect(meta).to_contain_text(words)

    def said(words: str) -> None:
        expect(message).to_contain_text(re.compile(words))
        page.locator(".toast-close").click()
        expect(message).to_have_count(0)

    # A file that is no trace brings a message, and the board stays as it was.
    for text, words in NO_TRACES:
        upload(page, text)
        said(words)
    prompted(page, "two")
    # A file that is dropped before the button is there is not lost.
    page.evaluate(
        "window.bring = document.querySelector('#bring'); bring.before(window.place = new Text());"
        " bring.remove()"
    )
    drop(page, "nonsense", "nonsense.exe")
    page.evaluate("place.replaceWith(bring)")
    said("not JSON")
    prompted(page, "two")
    unhurt(page)

    # Texts of a file are shown as text, whatever they hold.
    upload(page, hostile(HOSTILE).dumps())
    prompted(page, HOSTILE)
    error = page.locator(".lane[data-lane='sjd'] .error")
    expect(error).to_contain_text(HOSTILE, use_inner_text=True)
    expect(meta).to_contain_text(f"model {HOSTILE[:200].rstrip()}", use_inner_text=True)
    unfold(page, "decided")
    expect(page.locator("#decided .js-plotly-plot").first).to_be_visible()
    file = json.loads(recorded("x", ("ar",)).dumps())
    file["header"]["lanes"][0]["decoder"] = "<img src=x onerror=window.hit=1>"
    upload(page, json.dumps(file))
    said("decoder that is not known here: '<img src=x onerror=")
    unhurt(page)


def choose_recorded(page: Page, prompt: str) -> None:
    key(page, "e")
    page.get_by_role("dialog", name="Races").get_by_role("button", name=prompt).click()
    prompted(page, prompt)
    expect(page.locator(".board .meta")).to_contain_text("recorded")


@pytest.mark.usefixtures("held")
def test_a_race_that_is_on_gives_way_to_what_its_visitor_opens(
    recorded_url, model, stops, open_page, races_folder
) -> None:
    page = open_page(recorded_url)
    prompted(page, "cactus on yellow sand")
    # The settings of a recorded race come into the form.
    page.get_by_role("button", name="Use these settings").click()
    expect(page.locator("#prompt :is(input, textarea)")).to_have_value("cactus on yellow sand")
    expect(page.locator("#seed input")).to_have_value("7")
    show_options(page)
    expect(page.locator(".lane-row .lane-what select")).to_have_count(2)
    choose_recorded(page, "the tour")

    race(page)
    running(page)
    expect(page.locator(".races")).to_be_disabled()
    model.release()
    finished(page)
    assert not stops
    expect(page.locator(".use-settings")).to_be_hidden()
    choose_recorded(page, "cactus on yellow sand")

    model.hold()
    race(page)
    running(page)
    upload(page, (races_folder / "tour.json").read_text())
    prompted(page, "the tour")
    wait_until(lambda: len(stops) > 0)
    model.release()
    wait_until(lambda: model.open == 0)
    key(page, "End")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")
    prompted(page, "the tour")
    open_share(page)  # what can be taken away is that race
    assert "the-tour" in take_away(page, "Trace").name
