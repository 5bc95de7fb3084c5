"""`python app.py`, with the model and the recorded races that ship: what it decodes, which words it
knows, and that its first race fits the screens that it is met on."""

from __future__ import annotations

import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from app.models.model_loader import load_embedded
from app.models.prompt_hints import EXAMPLES
from engine.decoders import DECODERS
from tests.browser.acts import finished, key, lanes_by_event, prompted, race
from tests.browser.test_screens import BEYOND
from visualize.board.board import token_hash

PROMPT = "red apple on sky clouds"


@pytest.fixture
def opened(real, open_page):
    """Opens the page, which shows the finish of its first race."""

    def first(width: int = 1400, height: int = 1000, query: str = "") -> Page:
        page = open_page(real, width, height, query)
        prompted(page, EXAMPLES[0])
        return page

    return first


def over(page: Page) -> None:
    key(page, "End")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")


def test_race_draws_what_the_decoders_decode(opened) -> None:
    page = opened()
    race(page, lanes=("sjd", "sjd-pac"))
    finished(page)
    model = load_embedded()
    for name in ("sjd", "sjd-pac"):
        tokens = DECODERS[name](model, None, model.sampling).generate(PROMPT, 7)
        expect(page.locator(f".lane[data-lane='{name}']")).to_have_attribute(
            "data-hash", token_hash(tokens)
        )
    expect(page.locator(".results tr")).to_have_count(3)
    expect(page.locator(".by-seconds li .rank").first).to_have_text("1")
    expect(page.locator(".why")).to_contain_text(
        "Fewer passes are not proportionally fewer seconds"
    )


def test_words_are_found_and_used_and_a_surprise_is_of_them(opened) -> None:
    page = opened()
    prompt = page.locator("#prompt :is(input, textarea)")
    expect(prompt).to_have_value(EXAMPLES[0])
    prompt.fill("")
    prompt.fill("xylophone")
    page.locator("#reading a").click()  # nothing that it knows: to the list of what it does
    words = page.locator(".word-kind button:visible")
    page.get_by_label("Find a word").fill("Осьминог")
    expect(words).to_have_text(["🐙octopus"])
    for before, after in (
        ("nothing known on sky clouds", "octopus on sky clouds"),
        (PROMPT, "red apple and octopus on sky clouds"),
        ("cat, dog, fox and pear", "cat, dog, fox and octopus"),
    ):
        prompt.fill(before)
        words.first.click()
        expect(prompt).to_have_value(after)
    prompt.fill("octopus on sky clouds")
    page.get_by_label("Find a word").fill("top left")
    words.first.click()
    expect(prompt).to_have_value("octopus on sky clouds at the top left")
    prompt.fill("octopus on sky clouds playing the xylophone")
    reading = page.locator("#reading")
    expect(reading).to_have_text(re.compile(r"octopus on sky clouds; not drawn: .*xylophone"))
    prompt.fill("octopus on sky clouds")
    expect(reading).to_have_text("")
    page.locator("#surprise").click()
    expect(prompt).not_to_have_value("octopus on sky clouds")
    expect(prompt).to_have_value(re.compile(" on "))
    page.locator("#stop").click()
    expect(page.locator(".board")).to_have_attribute("data-state", "stopped")


def test_a_picture_of_ones_own_is_filled_in(opened, tmp_path) -> None:
    page = opened()
    model = load_embedded()
    cells = model.grid[0] * model.grid[1]
    codes = np.array(DECODERS["ar"](model, None, model.sampling).generate(PROMPT, 7))
    Image.fromarray(model.pixels(codes.reshape(model.grid))).save(tmp_path / "mine.png")
    page.locator("#bring input[type=file]").last.set_input_files(tmp_path / "mine.png")
    count = page.locator(".fill-count")
    expect(count).to_have_text(f"0 of {cells} tokens to fill in.")
    expect(page.locator(".fill-in canvas")).to_be_focused()
    shown = page.locator(".fill-in canvas").evaluate(
        "it => [...it.getContext('2d').getImageData(it.width / 2, it.height / 2, 1, 1).data]"
    )
    assert shown[0] > 1.5 * shown[2], "the apple's red"
    page.locator(".fill-in").get_by_role("button", name="Scatter").click()
    expect(count).to_have_text(f"{cells // 8} of {cells} tokens to fill in.")
    lanes_by_event(page, "ar", "sjd")
    page.locator(".fill-race").click()
    finished(page)
    expect(page.locator(".board .meta")).to_contain_text(f"{cells // 8} filled in")
    page.locator("#bring input[type=file]").last.set_input_files(
        {"name": "mine.png", "mimeType": "image/png", "buffer": b"no picture"}
    )
    expect(page.locator(".toast-body")).to_contain_text("no picture that this page can read")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_first_row_with_its_figures_is_on_a_laptops_screen(opened, theme) -> None:
    page = opened(1366, 768, f"?__theme={theme}")
    over(page)
    tops = page.locator(".lane").evaluate_all(
        "lanes => lanes.map((lane) => lane.getBoundingClientRect().y)"
    )
    assert len(tops) >= 5
    assert len(set(tops)) == 1  # one row
    parts = page.locator(".lane .frame, .lane dl")
    assert max(parts.evaluate_all(f"parts => parts.map({BEYOND})")) <= 0
    for stamp in page.locator(".lane .stamp").all():
        stamp.evaluate("stamp => stamp.textContent = '2nd  12.345 s'")
        assert stamp.evaluate("stamp => stamp.scrollWidth - stamp.clientWidth") <= 0
    assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("size", [(390, 844), (360, 740)])
def test_first_picture_is_on_a_phones_screen_and_plays(opened, size) -> None:
    page = opened(*size)
    expect(page.locator(".board")).to_have_attribute("data-playing", "1")
    assert page.locator(".lane .frame").first.evaluate(BEYOND) <= 0
    tops = [page.locator(f"#{name}").bounding_box()["y"] for name in ("prompt", "seed", "race")]
    assert len(set(tops)) == 1
    assert page.evaluate("scrollY") == 0
    for button in page.locator("#entry button:visible").all():
        assert button.evaluate("it => it.scrollWidth <= it.clientWidth"), button.inner_text()
    over(page)
    for stamp in page.locator(".lane .stamp").all():
        stamp.evaluate("stamp => stamp.textContent = '6th  3.505 s'")
        assert stamp.evaluate("stamp => stamp.scrollWidth - stamp.clientWidth") <= 0


def test_prompt_and_all_controls_fit_a_tablet(opened) -> None:
    page = opened(820, 1180)
    for name in ("prompt", "seed", "race", "stop", "roll", "options", "surprise", "bet"):
        assert page.locator(f"#{name}").evaluate(BEYOND) <= 0
    assert page.locator("#prompt input, #prompt textarea").bounding_box()["width"] > 300
    over(page)
    verdict = page.locator(".pace")
    assert verdict.evaluate("line => line.scrollWidth - line.clientWidth") <= 0
