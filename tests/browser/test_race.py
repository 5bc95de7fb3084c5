"""Races on the page as its visitors meet it."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from playwright.sync_api import Route, expect

from app.models.prompt_hints import EXAMPLES
from engine.decoders.sjd_pac import SJDPAC
from tests.app.conftest import wait_until
from tests.browser.acts import (
    HOSTILE,
    PATIENCE,
    at,
    by_passes,
    finished,
    frames,
    hashes,
    key,
    prompted,
    race,
    running,
    set_lanes,
    state,
    unhurt,
)


def comes_when_over(route: Route) -> None:
    httpx.get(route.request.url, timeout=PATIENCE)  # which ends with the race
    route.continue_()


def test_a_race_is_raced_from_the_form_and_says_its_finish_and_what_fails(
    quick, model, open_page, monkeypatch
) -> None:
    page = open_page(quick, 1000, 500)
    board, live = page.locator(".board"), page.locator(".live")
    # All of the first race comes at once, when it is over.
    page.route("**/races/*/events", comes_when_over)
    page.locator("#prompt input, #prompt textarea").focus()
    page.keyboard.press("Enter")
    finished(page)
    canvas = page.locator(".lane[data-lane='sjd'] canvas")
    expect(canvas).to_have_attribute("aria-label", "SJD: 100% of the picture, finished")
    expect(live).to_contain_text(re.compile(r"SJD finished.* The race is over\."))
    page.wait_for_function("scrollY > 0")  # to its lanes
    page.unroute("**/races/*/events")

    # It is scrubbed as a recorded one is.
    end = hashes(page)
    by_passes(page)
    expect(page.locator(".clock-value")).to_have_text("36")
    page.locator(".scrub").fill("5")
    expect(board).to_have_attribute("data-state", "replay")
    page.locator(".scrub").fill("36")
    expect(board).to_have_attribute("data-state", "finished")
    assert hashes(page) == end

    # An example races at once, and the die rolls another seed.
    before = page.locator("#seed input").input_value()
    page.locator("#roll").click()
    expect(page.locator("#seed input")).not_to_have_value(before)
    page.locator("#ready").get_by_text(EXAMPLES[1]).click()
    prompted(page, EXAMPLES[1])
    finished(page)
    expect(live).to_contain_text("The race is over.")

    # An empty prompt gets a message. Prompts and errors are shown as text, and where a lane fails
    # the others finish.
    class Broken:
        def extend(self, *_):
            raise RuntimeError("<b>no drafter today</b>")

    monkeypatch.setattr(model, "drafter", Broken())
    race(page, prompt="", lanes=("sjd",))
    expect(page.get_by_text("the prompt is empty")).to_be_visible()
    race(page, prompt=HOSTILE, lanes=("sjd", "lantern"))
    prompted(page, HOSTILE)
    finished(page)
    error = page.locator(".lane[data-lane='lantern'] .error")
    expect(error).to_contain_text("<b>no drafter today</b>")
    expect(page.locator(".lane[data-lane='sjd']")).to_have_attribute("data-state", "finished")
    unhurt(page)


def test_lanes_are_listed_race_under_their_names_and_are_bet_on(quick, open_page) -> None:
    page = open_page(quick)
    set_lanes(page)
    page.locator("#race").click()
    expect(page.get_by_text("Choose at least one lane")).to_be_visible()
    set_lanes(page, *["gsd"] * 7)
    page.get_by_role("button", name="Duplicate lane 7").click()
    expect(page.locator(".lane-row")).to_have_count(8)
    expect(page.get_by_role("button", name="Add SJD", exact=True)).to_be_disabled()
    expect(page.get_by_role("button", name="Duplicate lane 8")).to_be_disabled()
    expect(page.locator(".lane-more")).to_contain_text("at most 8 lanes")
    page.get_by_label("Decoder of lane 8").select_option("ar")
    expect(page.locator(".lane-row").nth(7)).to_contain_text("One token at a time")
    expect(page.get_by_label("Decoder of lane 8")).to_be_focused()
    page.get_by_label("Decoder of lane 8").select_option("sjd-pac")
    window = page.locator(".lane-row").nth(7).get_by_label("window", exact=True)
    for title, settings in SJDPAC.presets.items():
        page.get_by_role("button", name=f"{title}, lane 8").click()
        expect(window).to_have_value(str(settings.window))

    # A decoder races twice, each lane says what differs, and the bet is judged at the finish.
    set_lanes(page, "ar", "sjd", "gsd")
    page.get_by_role("button", name="Duplicate lane 3").click()
    page.locator(".lane-row").nth(3).get_by_label("G", exact=True).fill("50")
    names = ["Vanilla AR", "SJD", "GSD", "GSD G=50"]
    bet, pace = page.locator("#bet select"), page.locator(".pace")
    bet.focus()
    listed = ["no lane", "1 Vanilla AR", "2 SJD", "3 GSD", "4 GSD G=50"]
    expect(bet.locator("option")).to_have_text(listed)
    bet.select_option("1")
    page.locator("#race").click()
    finished(page)
    expect(page.locator(".lane .title")).to_have_text(names)
    assert sorted(page.locator(".results th[scope='row']").all_inner_texts()) == sorted(names)
    came = r" You bet on SJD: it came \d.. by passes and \d.. by seconds\.$"
    expect(pace).to_have_text(re.compile(came))
    page.set_viewport_size({"width": 700, "height": 900})
    two_lines = """() => {
      const pace = document.querySelector(".pace");
      return pace.getBoundingClientRect().height > 24 && pace.scrollWidth <= pace.clientWidth;
    }"""
    page.wait_for_function(two_lines)  # none of it is cut off
    tall = page.locator(".peek").bounding_box()["height"]
    page.locator(".lane canvas").first.hover(position={"x": 20, "y": 20})
    expect(page.locator(".peek-where")).to_be_visible()
    expect(pace).to_be_hidden()
    assert page.locator(".peek").bounding_box()["height"] == tall
    page.set_viewport_size({"width": 1400, "height": 1000})
    set_lanes(page, "ar", "gsd")  # the lane is gone, and with it the bet
    page.locator("#race").click()
    expect(page.locator(".lane")).to_have_count(2)
    finished(page)
    expect(pace).not_to_contain_text("You bet")
    expect(bet).to_have_value("")


# Whether the form stands above the board, and what was raced below the prompt and not beside it.
STANDS = """() => {
  const box = (part) => document.querySelector(part).getBoundingClientRect();
  const [prompt, meta] = [box(".prompt"), box(".meta")];
  return prompt.width > 150 && prompt.bottom <= meta.top + 1;
}"""
BELOW_THE_FORM = """() => {
  const box = (part) => document.querySelector(part).getBoundingClientRect();
  return scrollY > 0 && box("#entry").bottom <= box(".board").top + 1;
}"""


def test_a_race_that_is_on_is_followed_or_stopped_and_all_else_rests(
    held, model, stops, open_page
) -> None:
    page = open_page(held, 1366, 600, query="?seed=3")
    board, scrub, live = (page.locator(it) for it in (".board", ".scrub", ".live-button"))
    expect(page.locator("#notice")).to_contain_text("Press Race")
    race(page)
    running(page)

    # What is about another race rests. The board is in sight, and so is Stop in every window.
    expect(page.locator("#notice")).to_have_text("")
    page.wait_for_function(BELOW_THE_FORM)
    for part in ("#bet", "#export", "#whatif", "#decided", "#seeds"):
        expect(page.locator(part)).to_have_js_property("inert", True)
    expect(page.locator(".tour")).to_be_disabled()
    for width in (1366, 820, 390, 360):
        page.set_viewport_size({"width": width, "height": 740})
        for y in (0, 700):
            page.evaluate(f"scrollTo(0, {y})")
            expect(page.locator("#stop")).to_be_in_viewport(ratio=1)
        page.wait_for_function(STANDS)
    page.set_viewport_size({"width": 1400, "height": 1000})

    # The processor is left to the lanes: no style sheet is written again, or all would be styled
    # anew; nothing moves by itself.
    page.wait_for_function("document.getAnimations().length === 0")
    lasting = "all => all.filter((e) => getComputedStyle(e).transitionDuration !== '0s').length"
    assert page.locator(".board *").evaluate_all(lasting) == 0
    page.evaluate("""() => {
      window.written = 0;
      const watch = new MutationObserver((records) => (written += records.length));
      const changes = { childList: true, characterData: true };
      for (const sheet of document.querySelectorAll('style')) watch.observe(sheet, changes);
    }""")

    # It is paused, scrubbed and followed again.
    page.locator(".play").click()
    state(page, "replay")
    expect(live).to_be_visible()
    stands, shown = at(page), hashes(page)
    assert stands > 0
    frames(page)
    assert (at(page), hashes(page)) == (stands, shown)
    share = scrub.evaluate("it => it.value / it.max")
    assert 0 < share < 0.5, "so much of the picture is drawn in the lane that is furthest"
    key(page, "ArrowLeft")
    expect(board).not_to_have_attribute("data-t", f"{stands:g}")
    assert at(page) < stands
    key(page, "Home")
    expect(board).to_have_attribute("data-t", "0")
    live.click()
    state(page, "racing")
    assert at(page) >= stands
    model.release()
    finished(page)
    assert page.evaluate("written") == 0
    expect(page.locator(".live")).to_contain_text("Fewest passes: ")
    assert scrub.evaluate("it => it.value === it.max")
    page.locator(".again-slowly").click()
    state(page, "replay")
    key(page, "End")
    finished(page)
    expect(page.locator("#export")).to_have_js_property("inert", False)

    # Stop ends it in two steps, and the next runs.
    model.hold()
    race(page)
    running(page)
    before = model.passes
    page.locator("#stop").click()
    wait_until(lambda: len(stops) > 0)
    model.release()
    state(page, "stopped")
    wait_until(lambda: model.open == 0)
    assert model.passes - before <= 6 + 2  # six were let through before the race was held
    expect(page.locator(".lane[data-state='stopped']")).to_have_count(2)
    expect(page.locator(".pace")).to_have_text(re.compile(r"Stopped at \d+\.\d+ s\."))
    expect(page.locator(".live")).to_contain_text("Stopped at")
    expect(page.locator(".tour")).to_be_enabled()
    race(page)
    finished(page)


# The prompts that the board has shown since the page was loaded, but for that of the waiting board.
PROMPTS = """window.prompts = [];
new MutationObserver(() => {
  const text = document.querySelector(".board .prompt")?.textContent;
  if (text && text !== "Type a prompt and press Race." && window.prompts.at(-1) !== text)
    window.prompts.push(text);
}).observe(document, { subtree: true, childList: true, characterData: true });"""


@pytest.mark.usefixtures("held")
def test_a_race_comes_back_as_it_is_and_shows_no_other_before_it(
    recorded_url, model, open_page
) -> None:
    """After a reload and by Back. Once it is not kept any more its settings are left."""
    page = open_page(recorded_url, query="?__theme=dark", fresh=True)
    board, stop, go = (page.locator(part) for part in (".board", "#stop", "#race"))
    page.add_init_script(PROMPTS)
    race(page, prompt="octopus", lanes=("ar", "gsd:G=50"))
    running(page)
    race_id = board.get_attribute("data-race")
    here = dict(parse_qsl(urlsplit(page.url).query))
    assert here["race"] == race_id
    assert (here["prompt"], here["__theme"]) == ("octopus", "dark")
    assert "go" not in here
    page.reload()
    prompted(page, "octopus")
    expect(board).to_have_attribute("data-race", race_id)
    running(page)
    expect(page.locator("#prompt :is(input, textarea)")).to_have_value("octopus")
    expect(page.locator("#seed input")).to_have_value("7")
    expect(stop).to_be_visible()
    expect(go).to_be_hidden()
    model.release()
    finished(page)
    expect(go).to_be_visible()
    assert page.evaluate("prompts") == ["octopus"]
    end = hashes(page)

    page.goto("about:blank")
    page.go_back()
    prompted(page, "octopus")
    expect(board).to_have_attribute("data-race", race_id)
    state(page, "finished")
    assert hashes(page) == end
    assert page.evaluate("prompts") == ["octopus"]

    page.goto(page.url.replace(race_id, "gone"))
    prompted(page, "cactus on yellow sand")  # what the page opens with
    expect(page.locator("#notice")).to_contain_text("no longer kept here. Its settings are in the")
    expect(page.locator("#prompt :is(input, textarea)")).to_have_value("octopus")
    assert page.evaluate("prompts") == ["cactus on yellow sand"]

    # The list of races remembers it, and the server has it.
    key(page, "e")
    page.get_by_role("dialog", name="Races").get_by_role("button", name="octopus").click()
    prompted(page, "octopus")
    assert hashes(page) == end


def test_a_race_that_is_asked_for_while_the_server_is_away_waits_for_it_and_says_so(
    recorded_url, browser
) -> None:
    page = browser.new_page()  # whose console may say that there is no connection
    page.set_default_timeout(PATIENCE)
    page.goto(recorded_url)
    page.wait_for_selector("html[data-opened]")
    prompted(page, "cactus on yellow sand")
    page.evaluate("() => { window.same = true }")
    field = page.locator("#prompt :is(input, textarea)")
    field.fill("two owls")
    page.context.set_offline(True)
    page.locator("#race").click()
    waits = page.get_by_role("alert").filter(has_text="The server does not answer")
    expect(waits).to_have_count(1)
    prompted(page, "cactus on yellow sand")
    page.context.set_offline(False)
    prompted(page, "two owls")
    finished(page)
    expect(waits).to_have_count(0)
    assert page.evaluate("same"), "the page was not loaded again"
    page.close()


def test_a_proxy_that_reaches_no_server_for_a_moment_loses_no_race(recorded_url, browser) -> None:
    page = browser.new_page()  # whose console may say what the proxy answers
    page.set_default_timeout(PATIENCE)
    page.goto(recorded_url)
    page.wait_for_selector("html[data-opened]")
    answers = [502, 504, 502]
    page.route(
        "**/queue/join*",
        lambda route: route.fulfill(status=answers.pop()) if answers else route.continue_(),
    )
    page.locator("#prompt :is(input, textarea)").fill("two owls")
    page.locator("#race").click()
    prompted(page, "two owls")
    finished(page)
    assert not answers
    page.close()


def test_a_browser_without_any_network_races_on_a_server_of_its_own_machine(
    recorded_url, browser
) -> None:
    context = browser.new_context()
    context.add_init_script("Object.defineProperty(navigator, 'onLine', { get: () => false })")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(recorded_url)
    page.wait_for_selector("html[data-opened]")
    page.locator("#prompt :is(input, textarea)").fill("two owls")
    page.locator("#race").click()
    prompted(page, "two owls")
    finished(page)
    context.close()
