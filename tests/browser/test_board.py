"""The board under a visitor's hands, in a file: time, layers, lanes, tokens, and help."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.acts import at, by_passes, frames, hashes, key
from visualize.board.board import token_hash
from visualize.film.layers import LaneReplay, Layer
from visualize.pictures.recorded_race import RecordedRace

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
WINDOWS = ((1366, 768), (1280, 720), (820, 1180), (390, 844), (360, 740))


@pytest.fixture
def page(open_file, duel) -> Page:
    """A race at its start, standing still."""
    page = open_file(duel)
    key(page, "Home")
    expect(page.locator(".board")).to_have_attribute("data-t", "0")
    return page


def hashes_at(race: RecordedRace, t: int, what: str = "token") -> list[str]:
    """Of every lane's tokens on the board after so many passes, or of their statuses."""
    lanes = [LaneReplay(race.trace, i) for i in range(len(race.trace.header.lanes))]
    rows = [lane.at(lane.step_at("passes", t)).rows for lane in lanes]
    pairs = zip(lanes, rows, strict=True)
    return [token_hash(lane.table.positions[what][shown].tolist()) for lane, shown in pairs]


# The most pictures that a lane's canvas shows in one step, once there are two or four steps have
# been made.
SEEN = """() => new Promise((done) => {
  const lane = document.querySelector("[data-lane=sjd]");
  const seen = {};
  const frame = () => {
    const images = (seen[lane.dataset.step] ??= new Set());
    images.add(lane.querySelector("canvas").toDataURL());
    if (images.size < 2 && Number(lane.dataset.step) < 4) return void requestAnimationFrame(frame);
    done(images.size);
  };
  requestAnimationFrame(frame);
})"""


def test_a_recording_begins_in_sight_plays_to_its_finish_and_is_played_again(
    open_file, duel
) -> None:
    page = open_file(duel, 1100, 60)
    board, lanes, live = (page.locator(it) for it in (".board", ".lanes", ".live"))
    # It begins when its lanes fill a quarter of the window. A quarter is 15% of the lanes: between
    # 13% and 17% no round share is crossed.
    height = lanes.bounding_box()["height"]
    page.set_viewport_size({"width": 1100, "height": round(0.6 * height)})
    reach = """(lanes, visible) =>
      scrollBy(0, lanes.getBoundingClientRect().top - innerHeight + visible)"""
    lanes.evaluate(reach, 0.13 * height)
    frames(page)
    expect(board).to_have_attribute("data-playing", "0")
    lanes.evaluate(reach, 0.17 * height)
    expect(board).to_have_attribute("data-playing", "1")
    expect(page.locator(".again-slowly")).to_be_hidden()

    page.set_viewport_size({"width": 1400, "height": 1000})
    page.locator(".speed").select_option("8")
    expect(board).to_have_attribute("data-state", "finished")
    expect(page.locator(".lane .place-seconds.first")).to_have_text("1st")
    expect(page.locator(".finish")).to_be_visible()
    assert hashes(page) == hashes_at(duel, 36)
    painted = (
        "canvas => new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width,"
        " canvas.height).data).size > 4"
    )
    assert page.locator(".lane canvas").first.evaluate(painted)

    # How it came out is said once.
    expect(live).to_contain_text("The race is over. Fewest passes: SJD")
    live.evaluate("region => (region.textContent = '')")
    page.locator(".again-slowly").focus()
    page.keyboard.press("Enter")
    expect(board).to_have_attribute("data-playing", "1")
    expect(board).to_have_attribute("data-state", "replay")
    expect(page.locator(".again-slowly")).to_be_hidden()
    key(page, "End")
    expect(page.locator(".again-slowly")).to_be_visible()
    expect(live).to_have_text("")

    # What became of drafts is marked between steps, unless the visitor wants no motion.
    page.locator(".speed").select_option("0.05")
    for still, looks in ((False, 2), (True, 1)):
        page.emulate_media(reduced_motion="reduce" if still else "no-preference")
        key(page, "Home")
        expect(board).to_have_attribute("data-t", "0")
        page.locator(".play").click()
        assert page.evaluate(SEEN) == looks


def test_a_visitor_moves_through_time_lanes_and_layers(page, duel) -> None:
    board, lanes = page.locator(".board"), page.locator(".lane")
    page.locator(".scrub").fill("0.001")
    by_passes(page)
    page.locator(".speed").select_option("0.25")
    key(page, "Home", " ")
    page.wait_for_function(PAUSE)
    expect(board).to_have_attribute("data-playing", "0")
    stands = at(page)
    assert stands > 0
    assert at(page) == stands
    page.locator(".speed").select_option("8")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(board).to_have_attribute("data-state", "finished")

    # At a step: the tokens, the places, and what the step committed.
    page.locator(".scrub").fill("6")
    expect(board).to_have_attribute("data-t", "6")
    assert hashes(page) == hashes_at(duel, 6)
    assert hashes(page, "marks") == hashes_at(duel, 6, "status")
    n = [int(lane.get_attribute("data-n")) for lane in lanes.all()]
    words = {1: "1st", 2: "2nd"}
    places = [words[1 + sum(other > mine for other in n)] for mine in n]
    expect(page.locator(".place-now")).to_have_text(places)
    assert sorted(places) == ["1st", "2nd"]
    key(page, "ArrowLeft")
    expect(board).to_have_attribute("data-t", "5")
    before = [int(lane.get_attribute("data-n")) for lane in lanes.all()]
    key(page, "ArrowRight")
    gains = [f"+{mine - other}" for mine, other in zip(n, before, strict=True)]
    expect(page.locator(".gain")).to_have_text(gains)
    key(page, "End")
    expect(page.locator(".place-now")).to_have_text(["", ""])

    # From finish to finish; lanes are hidden and shown.
    key(page, "Home", "Shift+ArrowRight")
    expect(page.locator(".lane[data-state='finished']")).to_have_count(1)
    key(page, "Shift+ArrowRight")
    expect(page.locator(".lane[data-state='finished']")).to_have_count(2)
    assert at(page) == 36
    key(page, "Shift+ArrowLeft", "Shift+ArrowLeft")
    expect(board).to_have_attribute("data-t", "0")
    key(page, "1")
    expect(page.locator(".lane[data-lane='ar']")).to_be_hidden()
    key(page, "1")
    expect(page.locator(".lane[data-lane='ar']")).to_be_visible()
    page.get_by_role("button", name="Show SJD").click()
    expect(page.locator(".lane[data-lane='sjd']")).to_be_hidden()
    page.get_by_role("button", name="Show SJD").click()

    # Every layer is drawn and has a legend.
    page.locator(".scrub").fill("12")
    drawn, canvas = set(), page.locator(".lane[data-lane='sjd'] canvas")
    for layer in Layer:
        expect(board).to_have_attribute("data-layer", layer.value)
        group = layer.look.get("group", layer.look["title"])
        expect(page.locator(".layers [aria-pressed='true']")).to_have_text(group)
        if group != layer.look["title"]:
            expect(page.locator(".member")).to_have_value(layer.value)
        expect(page.locator("#board .legend")).not_to_be_empty()
        drawn.add(canvas.evaluate("canvas => canvas.toDataURL()"))
        key(page, "l")
    expect(board).to_have_attribute("data-layer", "picture")
    assert len(drawn) == len(Layer)

    # A row of buttons is one stop of Tab, and arrows move within it.
    key(page, "Home")
    focused = page.locator(".layers :focus")
    page.locator(".layers button").first.focus()
    for pressed, name in (("ArrowRight", "Confidence"), ("ArrowLeft", "Picture")):
        page.keyboard.press(pressed)
        expect(focused).to_have_text(name)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(board).to_have_attribute("data-layer", "waiting")
    expect(page.locator(".layers [tabindex='0']")).to_have_text("When")
    page.keyboard.press("Tab")
    expect(focused).to_have_count(0)
    expect(page.locator(".member:focus option")).to_have_count(3)
    expect(board).to_have_attribute("data-t", "0")
    page.locator(".layers button").first.click()  # who clicks has the board's arrows
    page.keyboard.press("ArrowRight")
    expect(board).to_have_attribute("data-t", "1")

    # A table that scrolls has its own keys.
    page.set_viewport_size({"width": 390, "height": 844})
    key(page, "End")
    results = page.locator(".scroll")
    results.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.scroll').scrollLeft > 0")
    expect(board).to_have_attribute("data-state", "finished")


def test_tokens_are_pointed_at_pinned_and_said(page) -> None:
    board, panel, live = (page.locator(it) for it in (".board", ".token", ".live"))
    first, second = page.locator(".lane canvas").all()
    by_passes(page)
    page.locator(".scrub").fill("9")

    # Nothing moves while the pointer goes along a row.
    legend = page.locator("#board .legend")
    second.scroll_into_view_if_needed()
    box, top = second.bounding_box(), legend.bounding_box()["y"]
    below = top + page.evaluate("scrollY")
    words = set()
    for share in np.linspace(0.02, 0.98, 9):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.3 * box["height"])
        expect(page.locator(".peek-where")).to_be_visible()
        words.add(page.locator(".peek").inner_text())
        assert legend.bounding_box()["y"] == top
        assert second.bounding_box() == box
        assert panel.is_hidden()
    assert len(words) > 3
    page.mouse.move(1, 1)
    expect(page.locator(".peek-where")).to_have_count(0)
    second.click(position={"x": 9, "y": 9})
    expect(panel).to_be_visible()
    assert legend.bounding_box()["y"] + page.evaluate("scrollY") == below
    # swatches are images that the script makes: the file's policy lets them be
    assert panel.locator(".swatch").first.evaluate("""async (element) => {
      const image = new Image();
      image.src = getComputedStyle(element).backgroundImage.slice(5, -2);
      await image.decode();
      return image.width > 0;
    }""")
    key(page, "Escape")

    # What became of it is told, and said as the arrows move.
    key(page, "End")
    first.click(position={"x": 5, "y": 5})
    expect(live).to_contain_text("Vanilla AR, row 1, column 1: token ")
    expect(panel).to_be_visible()
    before = panel.inner_text()
    first.focus()
    page.keyboard.press("ArrowRight")
    expect(live).to_contain_text("row 1, column 2: token ")
    expect(live).to_contain_text("fresh, final.")
    expect(panel).not_to_have_text(before, use_inner_text=True)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    key(page, "Home")
    first.click(position={"x": 5, "y": 5})
    expect(live).to_contain_text("not reached yet")
    key(page, "Escape")

    # A picture that Tab reaches pins a token only on Enter.
    key(page, "End")
    page.locator(".lane .number").first.focus()
    while not first.evaluate("canvas => canvas === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")  # the race's own step, as long as no token is chosen
    expect(board).to_have_attribute("data-t", "35")
    expect(panel).to_be_hidden()
    key(page, "End")
    first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    expect(live).to_contain_text("Vanilla AR, row 1, column 2: token ")
    second.focus()
    frames(page)
    expect(panel).to_contain_text("Vanilla AR, row 1, column 2")
    page.keyboard.press("Enter")  # the same token in this lane
    expect(panel).to_contain_text("SJD, row 1, column 2")

    # The focus stays on what is drawn again.
    key(page, "Home")
    expect(board).to_have_attribute("data-t", "0")
    before = panel.inner_text()
    page.locator(".speed").select_option("8")
    key(page, " ")
    page.locator(".token-close").focus()
    expect(panel).not_to_have_text(before, use_inner_text=True)
    expect(board).to_have_attribute("data-state", "finished")
    assert page.evaluate("document.activeElement.className") == "token-close"
    key(page, "Escape")

    # The panel and the picture of its token are both on the screen.
    for width, height in WINDOWS:
        page.set_viewport_size({"width": width, "height": height})
        for canvas in (first, second):
            page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")
            canvas.focus()
            page.keyboard.press("Enter")
            expect(panel).to_be_visible()
            picture, told = canvas.bounding_box(), panel.bounding_box()
            assert picture["y"] >= 0
            assert picture["y"] + picture["height"] <= told["y"] < height
            key(page, "Escape")
            expect(panel).to_be_hidden()


def test_the_modelled_clock_shows_when_speculation_loses(page) -> None:
    key(page, "Shift+ArrowRight", "Shift+ArrowRight")
    expect(page.locator(".modelled-panel")).to_be_hidden()
    page.get_by_role("button", name="Modelled", exact=True).click()
    panel = page.get_by_role("region", name="Modelled clock")
    expect(panel).to_contain_text("passes of this race")
    expect(page.locator(".clock-unit")).to_have_text("modelled seconds")
    order = page.locator(".by-modelled .name")
    panel.get_by_role("button", name="Rows cost nothing").click()
    expect(order).to_have_text(["SJD", "Vanilla AR"])
    expect(panel.get_by_role("status")).to_contain_text("No lane is slower than Vanilla AR.")
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
    expect(panel.get_by_role("status")).to_contain_text("Slower than Vanilla AR: SJD at 0.")
    page.wait_for_function(stamped, arg="2nd")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")
    page.locator(".scrub").focus()
    page.keyboard.press("Home")
    expect(page.locator(".board")).to_have_attribute("data-t", "0")
    expect(page.locator(".scrub")).to_have_attribute("aria-valuetext", "0.000 modelled seconds")
    page.locator(".clocks button", has_text="Seconds").click()
    expect(panel).to_be_hidden()
    expect(page.locator(".modelled-order")).to_be_hidden()


def test_the_help_explains_keeps_the_focus_and_turns_letters_off(open_file, duel) -> None:
    page = open_file(duel, fresh=True)
    board, dialog = page.locator(".board"), page.locator("dialog.keys")
    key(page, "End", "?")
    expect(dialog).to_be_visible()
    expect(dialog.locator("tr", has_text="Hide or show a lane")).to_be_visible()
    for word in WORDS:
        expect(dialog.locator("th", has_text=word).first).to_be_visible()

    # Explanations that a pointer finds stand in it.
    words = page.locator(".shown-words")
    expect(words).to_contain_text("same distribution")
    expect(words).to_contain_text("TV(p, q)")
    pointed = page.locator(".member, .lane .badge[title], .results th[title]")
    titles = pointed.evaluate_all("all => all.map((one) => one.title)")
    assert len(titles) > 10
    said = words.inner_text()
    assert [title for title in titles if title not in said] == []

    # It keeps the focus, and the board's keys rest.
    dialog.locator("caption").first.click()
    expect(dialog).to_be_visible()
    for pressed in ("Tab", "Tab", "l", "1"):
        page.keyboard.press(pressed)
        assert page.evaluate("document.activeElement.matches('dialog *, dialog, body')")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(board).to_have_attribute("data-layer", "picture")
    expect(page.locator(".lane[hidden]")).to_have_count(0)
    page.locator(".help").click()
    expect(dialog).to_be_visible()
    page.mouse.click(5, 5)
    expect(dialog).to_have_count(0)
    key(page, "?", "?")
    expect(dialog).to_have_count(0)

    # A term of a sentence opens it at its row, and gets the focus back.
    term = page.locator(".legend .term").first
    term.click()
    expect(dialog.locator(".asked th")).to_have_text("frontier")
    expect(dialog.locator(".asked")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(term).to_be_focused()

    # Letters rest once they are turned off, also after a reload.
    page.locator(".help").click()
    letters = page.get_by_label("Use letters, digits and signs as shortcuts")
    letters.uncheck()
    page.keyboard.press("Escape")
    page.reload()
    page.wait_for_selector("html[data-opened]")
    key(page, "l", "1", "c", "f", "?", "Home")
    for name, value in (("t", "0"), ("layer", "picture"), ("clock", "seconds"), ("present", "0")):
        expect(board).to_have_attribute(f"data-{name}", value)
    expect(page.locator(".lane:not([hidden])")).to_have_count(2)
    expect(dialog).to_have_count(0)
    page.locator(".help").click()
    letters.check()
    page.keyboard.press("Escape")
    key(page, "l")
    expect(board).not_to_have_attribute("data-layer", "picture")
