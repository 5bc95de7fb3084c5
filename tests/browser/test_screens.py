"""The page as a whole: on a stage, on a phone, in the dark, on a tour."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.acts import finished, key, prompted, race, wide

INK_AND_GROUND = """element => {
  const sum = colour => colour.match(/[0-9.]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);
  let ground = element;
  while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
  return [sum(getComputedStyle(element).color), sum(getComputedStyle(ground).backgroundColor)];
}"""


def alone(page: Page) -> None:
    """The board is all that there is to see, and it fills the window."""
    expect(page.locator("#prompt input, #prompt textarea")).to_be_hidden()
    for section in ("#race", "#lanes", "#decided", "#takeaway", ".masthead"):
        expect(page.locator(section)).to_be_hidden()
    box = page.locator(".board").bounding_box()
    size = page.viewport_size
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, size["width"], size["height"])
    assert page.evaluate("getComputedStyle(document.body).overflow") == "hidden"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def inside(page: Page) -> list[str]:
    """What of the board reaches beyond the window."""
    return page.eval_on_selector_all(
        ".board .head, .board .lane, .board .legend, .board .talk",
        """parts => parts.filter(part => {
            const box = part.getBoundingClientRect();
            return box.width && (box.left < -1 || box.top < -1 || box.right > innerWidth + 1 || box.bottom > innerHeight + 1);
        }).map(part => part.className)""",
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1920, 1080), (1024, 768)])
def test_talk_mode_shows_the_board_alone(shelved, open_page, theme, size) -> None:
    page = open_page(shelved, *size, query=f"?present=1&__theme={theme}")
    prompted(page, "cactus on yellow sand")
    expect(page.locator(".board")).to_have_attribute("data-present", "1")
    alone(page)
    assert inside(page) == []
    ink, ground = page.eval_on_selector(".board", INK_AND_GROUND)
    assert (ink > ground) == (theme == "dark")


def test_talk_mode_comes_and_goes_by_a_key(shelved, open_page) -> None:
    page = open_page(shelved)
    prompted(page, "cactus on yellow sand")
    key(page, "f")
    alone(page)
    key(page, "f")
    expect(page.locator("#race")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).overflow") != "hidden"


def test_the_tour_fetches_its_race_and_goes_through_its_chapters(shelved, open_page) -> None:
    page = open_page(shelved)
    prompted(page, "cactus on yellow sand")
    page.get_by_role("button", name="Tour").click()
    prompted(page, "the tour")
    titles = []
    count = int(page.locator(".chapter-count").inner_text().split(" of ")[1])
    assert count >= 5
    for number in range(1, count + 1):
        expect(page.locator(".chapter-count")).to_have_text(f"{number} of {count}")
        titles.append(page.locator(".chapter h3").inner_text())
        expect(page.locator(".chapter-reference")).not_to_be_empty()
        if number < count:
            key(page, "PageDown")
    assert len(set(titles)) == count
    key(page, "Escape")
    expect(page.locator(".chapter")).to_have_count(0)


def test_the_tour_runs_on_the_stage(shelved, open_page) -> None:
    page = open_page(shelved, 1920, 1080, query="?present=1")
    prompted(page, "cactus on yellow sand")
    key(page, "PageDown")
    prompted(page, "the tour")
    expect(page.locator(".chapter")).to_be_visible()
    alone(page)
    assert inside(page) == []


def test_help_names_the_keys(shelved, open_page) -> None:
    page = open_page(shelved)
    prompted(page, "cactus on yellow sand")
    key(page, "?")
    expect(page.get_by_role("dialog")).to_contain_text("Play, or pause")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("part", [".board", ".masthead p", "#status p", ".figure p", "#whatif-answer p"])
def test_text_stands_out_in_both_themes(shelved, open_page, theme, part) -> None:
    page = open_page(shelved, query=f"?__theme={theme}")
    prompted(page, "cactus on yellow sand")
    if part.startswith((".figure", "#whatif")):
        for section in ("decided", "whatif"):
            page.locator(f"#{section} > button").click()
    ink, ground = page.locator(part).first.evaluate(INK_AND_GROUND)
    assert abs(ink - ground) > 300
    assert (ink > ground) == (theme == "dark")


def test_phone_shows_all_without_sideways_scrolling(shelved, open_page) -> None:
    page = open_page(shelved, width=390, height=844)
    prompted(page, "cactus on yellow sand")
    assert wide(page) <= 0
    for section in ("decided", "whatif", "takeaway", "knobs"):
        page.locator(f"#{section} > button").click()
    expect(page.locator(".figure .js-plotly-plot").first).to_be_visible()
    page.locator("#copy").click()
    expect(page.locator("#link")).to_be_visible()
    page.locator(".lane[data-lane='sjd'] canvas").click(position={"x": 9, "y": 9})
    expect(page.locator(".token")).to_be_visible()
    assert wide(page) <= 0
    race(page, lanes=("ar", "sjd", "gsd", "lantern", "sjd-pac"))
    finished(page)
    assert wide(page) <= 0
    race(page, prompt="x" * 900)
    prompted(page, "x" * 900)
    assert wide(page) <= 0
