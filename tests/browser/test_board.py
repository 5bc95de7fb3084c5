"""The board under a visitor's hands, in a file: time, layers, lanes, tokens, and help."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.acts import at, by_passes, frames, key
from visualize.film.layers import Layer

# Pauses with the space bar once the race is on. Between a look from here and a key from here the
# race could end.
PAUSE = """() => {
  if (Number(document.querySelector(".board").dataset.t) === 0) return false;
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
  return true;
}"""
# The words of the page that a newcomer need not know.
WORDS = (
    *("autoregressive", "token, code", "pass", "draft", "window", "committed", "frontier"),
    *("acceptance", "rejected, resampled", "refined", "fresh", "forced", "lossless", "group"),
    *("neighbourhood", "EAGLE", "top-1", "TV", "modelled", "shift"),
)


@pytest.fixture
def page(open_file, duel) -> Page:
    """A race at its start, standing still."""
    page = open_file(duel)
    key(page, "Home")
    expect(page.locator(".board")).to_have_attribute("data-t", "0")
    return page


def test_play_pause_and_speed(page) -> None:
    by_passes(page)
    page.locator(".speed").select_option("0.25")
    key(page, " ")
    page.wait_for_function(PAUSE)
    expect(page.locator(".board")).to_have_attribute("data-playing", "0")
    stands = at(page)
    assert stands > 0
    frames(page)
    assert at(page) == stands
    page.locator(".speed").select_option("8")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")


# How many pictures a lane's canvas shows in each of its first steps, while a race is played.
SEEN = """() => new Promise((done) => {
  const lane = document.querySelector("[data-lane=sjd]");
  const seen = {};
  const frame = () => {
    const image = lane.querySelector("canvas").toDataURL();
    (seen[lane.dataset.step] ??= new Set()).add(image);
    if (Number(lane.dataset.step) < 8) return void requestAnimationFrame(frame);
    done(Object.values(seen).map((images) => images.size));
  };
  requestAnimationFrame(frame);
})"""


@pytest.mark.parametrize("still", [False, True], ids=["moving", "still"])
def test_what_became_of_drafts_is_marked_between_steps_unless_things_are_to_stand_still(
    open_file, duel, still
) -> None:
    page = open_file(duel, still=still)
    key(page, "End", "Home")
    expect(page.locator(".board")).to_have_attribute("data-t", "0")
    page.locator(".play").click()
    looks = page.evaluate(SEEN)
    assert max(looks) == (1 if still else 2)


def test_lanes_show_their_places_and_what_the_latest_step_committed(page) -> None:
    by_passes(page)
    page.locator(".scrub").fill("6")
    expect(page.locator(".board")).to_have_attribute("data-t", "6")
    lanes = page.locator(".lane")
    n = [int(lane.get_attribute("data-n")) for lane in lanes.all()]
    words = {1: "1st", 2: "2nd"}
    places = [words[1 + sum(other > mine for other in n)] for mine in n]
    expect(page.locator(".place-now")).to_have_text(places)
    assert sorted(places) == ["1st", "2nd"]
    key(page, "ArrowLeft")
    expect(page.locator(".board")).to_have_attribute("data-t", "5")
    before = [int(lane.get_attribute("data-n")) for lane in lanes.all()]
    key(page, "ArrowRight")
    gains = [f"+{mine - other}" for mine, other in zip(n, before, strict=True)]
    expect(page.locator(".gain")).to_have_text(gains)
    key(page, "End")
    expect(page.locator(".place-now")).to_have_text(["", ""])


def test_a_race_that_is_over_is_played_again_and_says_once_how_it_came_out(page) -> None:
    again, board = page.locator(".again-slowly"), page.locator(".board")
    expect(again).to_be_hidden()
    key(page, "End")
    expect(board).to_have_attribute("data-done", "1")
    expect(page.locator(".live")).to_contain_text("The race is over. Fewest passes: SJD")
    page.locator(".live").evaluate("region => (region.textContent = '')")
    again.focus()
    page.keyboard.press("Enter")
    expect(board).to_have_attribute("data-playing", "1")
    expect(board).to_have_attribute("data-state", "replay")
    expect(again).to_be_hidden()
    key(page, "End")
    expect(again).to_be_visible()
    expect(page.locator(".live")).to_have_text("")


def test_keys_step_and_jump_to_the_finishes_and_hide_lanes(page) -> None:
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
    drawn, canvas = set(), page.locator(".lane[data-lane='sjd'] canvas")
    for layer in Layer:
        expect(page.locator(".board")).to_have_attribute("data-layer", layer.value)
        button = page.locator(f"[data-layer='{layer.value}'][aria-pressed='true']")
        expect(button.last).to_be_visible()
        expect(page.locator("#board .legend")).not_to_be_empty()
        drawn.add(canvas.evaluate("canvas => canvas.toDataURL()"))
        key(page, "l")
    expect(page.locator(".board")).to_have_attribute("data-layer", "picture")
    assert len(drawn) == len(Layer)


def test_nothing_moves_while_the_pointer_goes_along_a_row(page) -> None:
    by_passes(page)
    page.locator(".scrub").fill("9")
    canvas, legend = page.locator(".lane canvas").nth(1), page.locator("#board .legend")
    canvas.scroll_into_view_if_needed()
    box, top = canvas.bounding_box(), legend.bounding_box()["y"]
    below = top + page.evaluate("scrollY")
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
    assert legend.bounding_box()["y"] + page.evaluate("scrollY") == below


def test_what_became_of_a_token_is_told_and_said_as_the_arrows_move(page) -> None:
    key(page, "End")
    canvas = page.locator(".lane canvas").first
    panel, live = page.locator(".token"), page.locator(".live")
    canvas.click(position={"x": 5, "y": 5})
    expect(live).to_contain_text("Vanilla AR, row 1, column 1: token ")
    expect(panel).to_be_visible()
    before = panel.inner_text()
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(live).to_contain_text("row 1, column 2: token ")
    expect(live).to_contain_text("fresh, final.")
    expect(panel).not_to_have_text(before, use_inner_text=True)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    key(page, "Home")
    canvas.click(position={"x": 5, "y": 5})
    expect(live).to_contain_text("not reached yet")


def test_a_picture_that_tab_reaches_pins_a_token_only_on_enter(page) -> None:
    key(page, "End")
    first, second = page.locator(".lane canvas").all()
    page.locator(".lane .number").first.focus()
    while not first.evaluate("canvas => canvas === document.activeElement"):
        page.keyboard.press("Tab")
    frames(page)
    expect(page.locator(".token")).to_be_hidden()
    before = at(page)
    page.keyboard.press("ArrowLeft")  # the race's own step, as long as no token is chosen
    expect(page.locator(".board")).not_to_have_attribute("data-t", f"{before:g}")
    key(page, "End")
    first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".live")).to_contain_text("Vanilla AR, row 1, column 2: token ")
    second.focus()
    frames(page)
    expect(page.locator(".token")).to_contain_text("Vanilla AR, row 1, column 2")
    page.keyboard.press("Enter")  # the same token in this lane
    expect(page.locator(".token")).to_contain_text("SJD, row 1, column 2")


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
    # Both at once: they are drawn a frame after what was pressed.
    stamped = """place => {
      const [stamp, seconds] = [".stamp", ".modelled"].map(
        (part) => document.querySelector(`.lane[data-lane='sjd'] ${part}`).innerText);
      return stamp === `${place}  ≈${seconds} s`;
    }"""
    page.wait_for_function(stamped, arg="1st")
    slider = panel.get_by_role("slider", name="each row of its window")
    expect(slider).to_have_attribute("aria-valuetext", "0 milliseconds")
    slider.focus()
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "100 milliseconds")
    expect(panel.get_by_role("button", pressed=True)).to_have_count(0)
    expect(order).to_have_text(["Vanilla AR", "SJD"])
    expect(panel.get_by_role("status")).to_contain_text("Slower than Vanilla AR: SJD 0.")
    page.wait_for_function(stamped, arg="2nd")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")
    page.locator(".scrub").focus()
    page.keyboard.press("Home")
    expect(page.locator(".board")).to_have_attribute("data-t", "0")
    expect(page.locator(".scrub")).to_have_attribute("aria-valuetext", "0.000 modelled seconds")
    page.locator(".clocks button", has_text="Seconds").click()
    expect(panel).to_be_hidden()
    expect(page.locator(".modelled-order")).to_be_hidden()


def test_a_recording_begins_when_its_lanes_fill_a_quarter_of_the_window(open_file, duel) -> None:
    page = open_file(duel, 1100, 60)
    board, lanes = page.locator(".board"), page.locator(".lanes")
    # A quarter is 15% of the lanes: between 13% and 17% no round share is crossed.
    height = lanes.bounding_box()["height"]
    page.set_viewport_size({"width": 1100, "height": round(0.6 * height)})
    reach = """(lanes, visible) =>
      scrollBy(0, lanes.getBoundingClientRect().top - innerHeight + visible)"""
    lanes.evaluate(reach, 0.13 * height)
    frames(page)
    expect(board).to_have_attribute("data-playing", "0")
    lanes.evaluate(reach, 0.17 * height)
    expect(board).to_have_attribute("data-playing", "1")


def test_a_row_of_buttons_is_one_stop_and_arrows_move_within_it(page) -> None:
    key(page, "Home")
    focused = page.locator(".layers :focus")
    page.locator(".layers button").first.focus()
    for pressed, name in (("ArrowRight", "Top-1 p"), ("ArrowLeft", "Picture")):
        page.keyboard.press(pressed)
        expect(focused).to_have_text(name)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.locator(".board")).to_have_attribute("data-layer", "order")
    expect(page.locator(".layers [tabindex='0']")).to_have_text("Order")
    page.keyboard.press("Tab")
    expect(focused).to_have_count(0)
    expect(page.locator(".board")).to_have_attribute("data-t", "0")
    page.locator(".layers button").first.click()  # who clicks has the board's arrows
    page.keyboard.press("ArrowRight")
    expect(page.locator(".board")).not_to_have_attribute("data-t", "0")


def test_help_keeps_the_focus_and_the_boards_keys_rest(page) -> None:
    key(page, "?")
    dialog = page.locator("dialog.keys")
    expect(dialog).to_be_visible()
    expect(dialog.locator("tr", has_text="Hide a lane")).to_be_visible()
    for word in WORDS:
        expect(dialog.locator("th", has_text=word).first).to_be_visible()
    dialog.locator("caption").first.click()
    expect(dialog).to_be_visible()
    for pressed in ("Tab", "Tab", "l", "1"):
        page.keyboard.press(pressed)
        assert page.evaluate("document.activeElement.matches('dialog *, dialog, body')")
    expect(page.locator(".board")).to_have_attribute("data-layer", "picture")
    expect(page.locator(".lane[hidden]")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.locator(".help").click()
    expect(dialog).to_be_visible()
    page.mouse.click(5, 5)
    expect(dialog).to_have_count(0)
    key(page, "?", "?")
    expect(dialog).to_have_count(0)


def test_explanations_that_a_pointer_finds_stand_in_the_help(page) -> None:
    key(page, "End", "?")
    words = page.locator(".shown-words")
    expect(words).to_contain_text("same distribution")
    expect(words).to_contain_text("TV(p, q)")
    pointed = page.locator(".layers [title], .lane .badge[title], .results th[title]")
    titles = pointed.evaluate_all("all => all.map((one) => one.title)")
    assert len(titles) > 10
    said = words.inner_text()
    assert [title for title in titles if title not in said] == []


def test_letters_rest_when_they_are_turned_off_and_stay_so(open_file, duel) -> None:
    page = open_file(duel, fresh=True)
    board = page.locator(".board")
    page.locator(".help").click()
    page.get_by_label("Use letters, digits and signs as shortcuts").uncheck()
    page.keyboard.press("Escape")
    key(page, "l", "1", "c", "f", "?")
    expect(page.locator("dialog.keys")).to_have_count(0)
    page.reload()
    page.wait_for_selector(".board .lane")
    key(page, "l", "1", "c", "f", "Home")
    for name, value in (("t", "0"), ("layer", "picture"), ("clock", "seconds"), ("present", "0")):
        expect(board).to_have_attribute(f"data-{name}", value)
    expect(page.locator(".lane:not([hidden])")).to_have_count(2)
    page.locator(".help").click()
    page.get_by_label("Use letters, digits and signs as shortcuts").check()
    page.keyboard.press("Escape")
    key(page, "l")
    expect(board).not_to_have_attribute("data-layer", "picture")


@pytest.mark.parametrize("size", [(1366, 768), (1280, 720), (820, 1180), (390, 844), (360, 740)])
def test_a_pinned_token_and_its_picture_are_both_on_the_screen(page, size) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for canvas in page.locator(".lane canvas").all():
        page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")
        canvas.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".token")).to_be_visible()
        picture, panel = canvas.bounding_box(), page.locator(".token").bounding_box()
        assert picture["y"] >= 0
        assert picture["y"] + picture["height"] <= panel["y"] < size[1]
        key(page, "Escape")


def test_the_focus_stays_on_what_is_drawn_again(page) -> None:
    page.locator(".lane canvas").last.click(position={"x": 5, "y": 5})
    before = page.locator(".token").inner_text()
    page.locator(".speed").select_option("8")
    key(page, " ")
    page.locator(".token-close").focus()
    expect(page.locator(".token")).not_to_have_text(before, use_inner_text=True)
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")
    assert page.evaluate("document.activeElement.className") == "token-close"


def test_a_table_that_scrolls_has_its_own_keys(page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    key(page, "End")
    results = page.locator(".scroll")
    results.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")
    frames(page)
    assert results.evaluate("table => table.scrollLeft") > 0
