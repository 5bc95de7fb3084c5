"""The board under a visitor's hands: time, layers, lanes and tokens, on live and on recorded races
alike."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from plotly.colors import sequential

from engine.race import Lane, Race
from engine.trace.shares import share_values
from tests.browser.acts import (
    PROMPT,
    at,
    by_passes,
    finished,
    hashes,
    key,
    prompted,
    race,
    show_options,
)
from visualize.layers import Layer
from visualize.look import LOOK

# Pauses with the space bar once the race is on. Between a look from here and a key from here the
# race could end.
PAUSE = """() => {
  if (Number(document.querySelector(".board").dataset.t) === 0) return false;
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
  return true;
}"""


@pytest.fixture
def page(recorded_url, open_page) -> Page:
    """A page that shows a recorded race, at its start and standing still."""
    page = open_page(recorded_url)
    prompted(page, "cactus on yellow sand")
    for _ in range(3):  # at most two finishes lie behind
        page.locator(".previous-finish").click()
    expect(page.locator(".board")).to_have_attribute("data-t", "0")
    expect(page.locator(".board")).to_have_attribute("data-playing", "0")
    return page


def test_the_page_opens_on_a_recorded_race_and_plays_it(recorded_url, open_page) -> None:
    page = open_page(recorded_url)
    prompted(page, "cactus on yellow sand")
    expect(page.locator(".board .meta")).to_contain_text("recorded")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished", timeout=60_000)
    expect(page.locator(".lane .place-seconds.first")).to_have_text("1st")


def test_play_pause_and_speed(page) -> None:
    by_passes(page)
    page.locator(".speed").select_option("0.25")
    key(page, " ")
    page.wait_for_function(PAUSE)
    expect(page.locator(".board")).to_have_attribute("data-playing", "0")
    stands = at(page)
    assert stands > 0
    page.wait_for_timeout(200)
    assert at(page) == stands
    page.locator(".speed").select_option("8")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")


def test_scrubbing_shows_every_instant_again_as_it_was(page) -> None:
    by_passes(page)
    seen = []
    for t in (3, 11, 20, 3):
        page.locator(".scrub").fill(str(t))
        expect(page.locator(".lane[data-lane='ar']")).to_have_attribute("data-step", str(t))
        expect(page.locator(".lane[data-lane='ar'] .passes")).to_have_text(str(t))
        seen.append((hashes(page), hashes(page, "marks")))
    assert seen[0] == seen[3]
    assert len({hashes[0] for hashes, _ in seen}) == 3


def test_keys_step_and_jump_to_the_finishes(page) -> None:
    by_passes(page)
    key(page, "ArrowRight", "ArrowRight")
    expect(page.locator(".board")).to_have_attribute("data-t", "2")
    key(page, "ArrowLeft")
    expect(page.locator(".board")).to_have_attribute("data-t", "1")
    key(page, "Shift+ArrowRight")
    expect(page.locator(".lane[data-state='finished']")).to_have_count(1)
    key(page, "Shift+ArrowRight")
    expect(page.locator(".lane[data-state='finished']")).to_have_count(2)
    assert at(page) == 36
    key(page, "Shift+ArrowLeft", "Shift+ArrowLeft")
    expect(page.locator(".board")).to_have_attribute("data-t", "0")


def test_a_lane_is_hidden_and_shown_by_its_number(page) -> None:
    key(page, "1")
    expect(page.locator(".lane[data-lane='ar']")).to_be_hidden()
    key(page, "1")
    expect(page.locator(".lane[data-lane='ar']")).to_be_visible()
    page.get_by_role("button", name="Show SJD").click()
    expect(page.locator(".lane[data-lane='sjd']")).to_be_hidden()


def test_l_goes_through_the_layers_and_each_has_a_legend(page) -> None:
    page.locator(".scrub").fill("0.001")
    by_passes(page)
    page.locator(".scrub").fill("12")
    drawn = set()
    for layer in Layer:
        expect(page.locator(".board")).to_have_attribute("data-layer", layer.value)
        expect(
            page.locator(f"[data-layer='{layer.value}'][aria-pressed='true']").last
        ).to_be_visible()
        expect(page.locator("#board .legend")).not_to_be_empty()
        drawn.add(
            page.eval_on_selector(".lane[data-lane='sjd'] canvas", "canvas => canvas.toDataURL()")
        )
        key(page, "l")
    expect(page.locator(".board")).to_have_attribute("data-layer", "picture")
    assert len(drawn) == len(Layer)


def test_a_token_tells_its_life(page) -> None:
    page.locator(".scrub").fill(page.locator(".scrub").get_attribute("max"))
    page.locator(".lane[data-lane='sjd'] canvas").click(position={"x": 5, "y": 5})
    panel = page.locator(".token")
    expect(panel).to_be_visible()
    first = panel.inner_text()
    page.locator(".lane[data-lane='sjd'] canvas").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "before => document.querySelector('.token').innerText !== before", arg=first
    )
    key(page, "Escape")
    expect(panel).to_be_hidden()


def test_a_live_race_is_scrubbed_like_a_recorded_one(quick, open_page) -> None:
    page = open_page(quick)
    race(page)
    finished(page)
    end = hashes(page)
    by_passes(page)
    expect(page.locator(".clock-value")).to_have_text("36")
    page.locator(".scrub").fill("5")
    expect(page.locator(".board")).to_have_attribute("data-state", "replay")
    page.locator(".scrub").fill("36")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")
    assert hashes(page) == end


MIDDLES = """canvas => [...Array(36).keys()].map(i => [...canvas.getContext('2d').getImageData(
  (i % 6 + 0.5) * canvas.width / 6, (Math.floor(i / 6) + 0.5) * canvas.height / 6, 1, 1
).data].slice(0, 3))"""


def test_heat_map_has_the_scales_colours_and_a_faint_picture(quick, quick_model, open_page) -> None:
    page = open_page(quick)
    race(page, lanes=("ar",))
    finished(page)
    picture = np.array(page.eval_on_selector(".lane canvas", MIDDLES))
    page.get_by_role("button", name="Top-1 p").click()
    expect(page.locator("#board .legend")).to_contain_text("0.25")
    drawn = page.eval_on_selector(".lane canvas", MIDDLES)
    steps = Race(quick_model, [Lane("ar")], PROMPT, 7, quick_model.sampling)
    shares = [share_values(f.step.committed["top1"])[0] for f in steps if f.step]
    stops = [[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in sequential.Viridis]
    scale = np.array(
        [
            np.interp(shares, np.linspace(0, 1, len(stops)), channel)
            for channel in zip(*stops, strict=True)
        ]
    )
    faint = LOOK["under"]["opacity"]
    assert 0.1 < faint < 0.4
    assert np.abs((1 - faint) * scale.T + faint * picture - drawn).max() < 2


def test_nothing_moves_while_the_pointer_goes_along_a_row(page) -> None:
    page.keyboard.press("End")
    by_passes(page)
    page.locator(".scrub").fill("9")
    canvas, legend = page.locator(".lane canvas").nth(1), page.locator("#board .legend")
    canvas.scroll_into_view_if_needed()
    box, top = canvas.bounding_box(), legend.bounding_box()["y"]
    words = set()
    for share in np.linspace(0.02, 0.98, 9):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.3 * box["height"])
        expect(page.locator(".peek-where")).to_be_visible()
        words.add(page.locator(".peek").inner_text())
        assert legend.bounding_box()["y"] == top
        assert canvas.bounding_box() == box
        assert page.locator(".token").is_hidden()
    assert len(words) > 3
    page.mouse.move(1, 1)
    expect(page.locator(".peek-where")).to_have_count(0)
    canvas.click(position={"x": 9, "y": 9})
    expect(page.locator(".token")).to_be_visible()
    assert legend.bounding_box()["y"] == top


def test_keyboard_reaches_everything(quick, open_page) -> None:
    page = open_page(quick)
    page.locator("#prompt input, #prompt textarea").focus()
    page.keyboard.press("Enter")
    finished(page)
    wanted = {
        "New seed",
        "Race",
        "Stop",
        "Lanes and options",
        "Duplicate",
        "Remove",
        "+ Fixed point",
        "Picture",
        "Accepted runs",
        "Seconds",
        "Passes",
        "Tour",
        "Open a trace",
        "Make",
    }
    page.locator("#export > button").click()
    show_options(page)
    seen = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.textContent.trim()"))
    assert wanted <= seen


def test_the_modelled_clock_shows_when_speculation_loses(page) -> None:
    key(page, "Shift+ArrowRight", "Shift+ArrowRight")
    expect(page.locator(".modelled-panel")).to_be_hidden()
    page.get_by_role("button", name="Modelled", exact=True).click()
    panel = page.get_by_role("region", name="Modelled clock")
    expect(panel).to_contain_text("this race by least squares")
    expect(page.locator(".clock-unit")).to_have_text("modelled seconds")
    order = page.locator(".by-modelled .name")
    panel.get_by_role("button", name="Rows cost nothing").click()
    expect(order).to_have_text(["SJD", "Vanilla AR"])
    expect(panel.get_by_role("status")).to_contain_text("None is slower than Vanilla AR.")
    expect(page.locator(".lane[data-lane='sjd'] .stamp")).to_have_text("1st  modelled")
    slider = panel.get_by_role("slider", name="each row of its window")
    expect(slider).to_have_attribute("aria-valuetext", "0 milliseconds")
    slider.focus()
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "100 milliseconds")
    expect(panel.get_by_role("button", pressed=True)).to_have_count(0)
    expect(order).to_have_text(["Vanilla AR", "SJD"])
    expect(panel.get_by_role("status")).to_contain_text("Slower than Vanilla AR: SJD 0.")
    expect(page.locator(".lane[data-lane='sjd'] .stamp")).to_have_text("2nd  modelled")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")
    page.locator(".scrub").focus()
    page.keyboard.press("Home")
    expect(page.locator(".board")).to_have_attribute("data-t", "0")
    expect(page.locator(".scrub")).to_have_attribute("aria-valuetext", "0.000 modelled seconds")
    page.locator(".clocks button", has_text="Seconds").click()
    expect(panel).to_be_hidden()
    expect(page.locator(".modelled-order")).to_be_hidden()


def test_canvases_say_what_they_show(quick, open_page) -> None:
    page = open_page(quick)
    race(page)
    finished(page)
    expect(page.locator(".lane[data-lane='sjd'] canvas")).to_have_attribute(
        "aria-label", "SJD: 100% of the picture, finished"
    )
    expect(page.locator(".live")).to_contain_text("The race is over.")
