"""Traces come back: from the recorded races, from a file, dropped onto the board; and files that
are none do no harm."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Page, expect

from engine.trace import Frame, LaneState
from tests.app.conftest import wait_until
from tests.browser.acts import (
    HOSTILE,
    PROMPT,
    finished,
    hashes,
    key,
    prompted,
    race,
    running,
    show_options,
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


def test_a_trace_is_played_as_it_was_raced(quick, open_page) -> None:
    page = open_page(quick)
    race(page, prompt="octopus", lanes=("ar", "sjd", "sjd-pac"))
    finished(page)
    page.locator("#export > button").click()
    page.locator("#make").click()
    with page.expect_download() as taken:
        page.locator("#export-file a[download]").click()
    trace, end = Path(taken.value.path()).read_text(), hashes(page)
    machine = json.loads(trace)["header"]["machine"]
    for bring, recorder, words in (
        (upload, machine, f" · {machine} · 6 × 6 tokens · recorded"),
        (drop, "Another, 1 core, 1 thread", " · recorded on another machine, Another, 1 core · 6 "),
    ):
        page.goto(quick)
        expect(page.locator(".board")).to_have_attribute("data-state", "waiting")
        bring(page, trace.replace(json.dumps(machine), json.dumps(recorder)))
        prompted(page, "octopus")
        expect(page.locator(".board")).to_have_attribute("data-playing", "1")
        key(page, "End")
        expect(page.locator(".board")).to_have_attribute("data-state", "finished")
        assert hashes(page) == end
        expect(page.locator(".board .meta")).to_contain_text(words)


def choose_recorded(page: Page, prompt: str) -> None:
    page.locator("#recorded input").click()
    page.get_by_role("option", name=prompt).click()
    prompted(page, prompt)
    expect(page.locator(".board .meta")).to_contain_text("recorded")


def test_a_recorded_race_is_chosen_by_its_prompt_and_again_after_a_live_one(
    recorded_url, open_page
) -> None:
    page = open_page(recorded_url)
    prompted(page, "cactus on yellow sand")
    chosen = page.locator("#recorded input")
    expect(chosen).to_have_value("cactus on yellow sand")
    show_options(page)
    choose_recorded(page, "the tour")
    race(page)
    finished(page)
    expect(chosen).to_have_value(f"Your last race: {PROMPT}")
    show_options(page)
    choose_recorded(page, "cactus on yellow sand")


def test_passing_through_the_recorded_races_with_tab_opens_none(
    held, model, stops, open_page
) -> None:
    page = open_page(held)
    race(page)
    running(page)
    show_options(page)
    page.locator("#recorded input").focus()
    page.keyboard.press("Tab")
    page.locator("#recorded input").focus()
    page.keyboard.press("Shift+Tab")
    model.release()
    finished(page)
    assert not stops


def test_a_race_that_is_on_gives_way_to_a_file(held, model, stops, open_page, races_folder) -> None:
    page = open_page(held)
    race(page)
    running(page)
    upload(page, (races_folder / "duel.json").read_text())
    prompted(page, "cactus on yellow sand")
    assert stops
    model.release()
    wait_until(lambda: model.open == 0)
    key(page, "End")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")
    prompted(page, "cactus on yellow sand")
    page.locator("#export > button").click()
    page.locator("#make").click()  # what can be taken away is that race
    expect(page.locator("#export-file")).to_contain_text("cactus-on-yellow-sand")


FORMAT = '{"format": "photo-finish-trace"'
NO_TRACES = [
    ("", "not JSON|empty"),
    ("<img src=x onerror=window.hit=1>", "not JSON"),
    (b"\x89PNG\r\n\x1a\n" + bytes(200), "not JSON"),
    (f'{FORMAT}, "version": 99}}', "version 99"),
    (f'{FORMAT}, "version": 4, "header": {{"prompt": "<svg onload=window.hit=1>"}}}}', "damaged"),
]


def test_what_is_no_trace_gets_a_message_and_leaves_the_board(recorded_url, open_page) -> None:
    page = open_page(recorded_url)
    prompted(page, "cactus on yellow sand")
    message = page.locator(".toast-body")
    for text, words in NO_TRACES:
        upload(page, text)
        expect(message).to_contain_text(re.compile(words))
        page.locator(".toast-close").click()
        expect(message).to_have_count(0)
    drop(page, "nonsense", "nonsense.exe")
    expect(message).to_contain_text("not JSON")
    prompted(page, "cactus on yellow sand")
    unhurt(page)


def test_a_file_dropped_before_the_button_is_there_is_not_lost(recorded_url, open_page) -> None:
    page = open_page(recorded_url)
    page.wait_for_selector("#bring input[type=file]", state="attached")
    page.evaluate(
        "window.bring = document.querySelector('#bring'); bring.before(window.place = new Text());"
        " bring.remove()"
    )
    drop(page, "nonsense", "nonsense.exe")
    page.evaluate("place.replaceWith(bring)")
    expect(page.locator(".toast-body")).to_contain_text("not JSON")


def hostile(text: str) -> RecordedRace:
    """A race whose texts are `text`, or as much of it as a name may have."""
    race = recorded("x", ("ar", "sjd"))
    header = replace(race.trace.header, prompt=text, model=text[:200], machine=text[-200:])
    failed = Frame(1, LaneState.FAILED, error=text)
    frames = [f for f in race.trace.frames if f.lane == 0 or f.state is LaneState.RACING]
    return RecordedRace(replace(race.trace, header=header, frames=(*frames, failed)), race.pictures)


def test_texts_of_a_file_are_shown_as_text_whatever_they_hold(recorded_url, open_page) -> None:
    page = open_page(recorded_url)
    upload(page, hostile(HOSTILE).dumps())
    prompted(page, HOSTILE)
    error = page.locator(".lane[data-lane='sjd'] .error")
    expect(error).to_contain_text(HOSTILE, use_inner_text=True)
    meta = page.locator(".board .meta")
    expect(meta).to_contain_text(f"model {HOSTILE[:200].rstrip()}", use_inner_text=True)
    unfold(page, "decided")
    expect(page.locator("#decided .js-plotly-plot").first).to_be_visible()
    file = json.loads(recorded("x", ("ar",)).dumps())
    file["header"]["lanes"][0]["decoder"] = "<img src=x onerror=window.hit=1>"
    upload(page, json.dumps(file))
    words = "decoder that is not known here: '<img src=x onerror="
    expect(page.locator(".toast-body")).to_contain_text(words)
    unhurt(page)
