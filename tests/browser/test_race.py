"""Races on the page as its visitors meet it."""

from __future__ import annotations

import re
import threading
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import expect

from app.models.prompt_hints import EXAMPLES
from engine.decoders.sjd_pac import SJDPAC
from tests.app.conftest import Watched, wait_until
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
    show_options,
    state,
    unhurt,
)
from tests.browser.servers import served


def test_a_live_race_says_its_finish_and_is_scrubbed_like_a_recorded_one(quick, open_page) -> None:
    page = open_page(quick)
    page.locator("#prompt input, #prompt textarea").focus()
    page.keyboard.press("Enter")
    finished(page)
    canvas = page.locator(".lane[data-lane='sjd'] canvas")
    expect(canvas).to_have_attribute("aria-label", "SJD: 100% of the picture, finished")
    expect(page.locator(".live")).to_contain_text("The race is over.")
    end = hashes(page)
    by_passes(page)
    expect(page.locator(".clock-value")).to_have_text("36")
    page.locator(".scrub").fill("5")
    expect(page.locator(".board")).to_have_attribute("data-state", "replay")
    page.locator(".scrub").fill("36")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")
    assert hashes(page) == end


def test_one_decoder_races_twice_and_each_lane_says_what_differs(quick, open_page) -> None:
    page = open_page(quick)
    set_lanes(page, "gsd", "ar")
    page.get_by_role("button", name="Duplicate lane 1").click()
    page.locator(".lane-row").nth(1).get_by_label("G", exact=True).fill("50")
    page.locator("#race").click()
    finished(page)
    names = ["GSD", "GSD G=50", "Vanilla AR"]
    expect(page.locator(".lane .title")).to_have_text(names)
    assert sorted(page.locator(".results th[scope='row']").all_inner_texts()) == names


def test_the_list_holds_one_to_eight_lanes(quick, open_page) -> None:
    page = open_page(quick)
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
    set_lanes(page)
    page.locator("#race").click()
    expect(page.get_by_text("Choose at least one lane")).to_be_visible()


def test_a_race_leaves_the_processor_to_the_lanes(held, model, open_page) -> None:
    """No style sheet is written again, or all would be styled anew; nothing moves by itself."""
    page = open_page(held)
    race(page)
    running(page)
    # what a button does under the pointer ends soon
    page.wait_for_function("document.getAnimations().length === 0")
    lasting = "all => all.filter((e) => getComputedStyle(e).transitionDuration !== '0s').length"
    assert page.locator(".board *").evaluate_all(lasting) == 0
    page.evaluate("""() => {
      window.written = 0;
      const watch = new MutationObserver((records) => (written += records.length));
      const changes = { childList: true, characterData: true };
      for (const sheet of document.querySelectorAll('style')) watch.observe(sheet, changes);
    }""")
    model.release()
    finished(page)
    assert page.evaluate("written") == 0


def test_a_race_that_is_on_is_paused_scrubbed_and_followed_again(held, model, open_page) -> None:
    page = open_page(held)
    board, scrub, live = (page.locator(it) for it in (".board", ".scrub", ".live-button"))
    race(page)
    running(page)
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
    expect(page.locator(".live")).to_contain_text("Fewest passes: ")
    assert scrub.evaluate("it => it.value === it.max")
    page.locator(".again-slowly").click()
    state(page, "replay")
    key(page, "End")
    finished(page)


def test_stop_ends_the_race_in_two_steps_and_the_next_runs(held, model, stops, open_page) -> None:
    page = open_page(held)
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
    race(page)
    finished(page)


def test_a_race_comes_back_as_it_is_after_a_reload_and_by_back(held, model, open_page) -> None:
    page = open_page(held, query="?__theme=dark")
    board, stop, go = (page.locator(part) for part in (".board", "#stop", "#race"))
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
    end = hashes(page)
    page.goto("about:blank")
    page.go_back()
    prompted(page, "octopus")
    expect(board).to_have_attribute("data-race", race_id)
    state(page, "finished")
    assert hashes(page) == end
    expect(page.locator("#recorded input")).to_have_value("Your last race: octopus")


# The prompts that the board has shown since the page was loaded.
PROMPTS = """window.prompts = [];
new MutationObserver(() => {
  const text = document.querySelector(".board .prompt")?.textContent;
  if (text && window.prompts.at(-1) !== text) window.prompts.push(text);
}).observe(document, { subtree: true, childList: true, characterData: true });"""


@pytest.mark.parametrize("kept", [True, False])
def test_back_to_a_race_shows_no_other_before_it(recorded_url, open_page, kept) -> None:
    page = open_page(recorded_url, fresh=True)
    race(page, prompt="octopus")
    finished(page)
    page.add_init_script(PROMPTS)
    race_id = page.locator(".board").get_attribute("data-race")
    page.goto(page.url if kept else page.url.replace(race_id, "gone"))
    prompted(page, "octopus" if kept else "cactus on yellow sand")  # or what the page opens with
    shown = page.evaluate("window.prompts")
    assert shown == ["Type a prompt, press Race.", page.locator(".board .prompt").inner_text()]


def test_a_race_in_the_queue_empties_the_board_and_stop_clears_the_line(
    held, model, open_page
) -> None:
    first, second = open_page(held), open_page(held)
    model.release()
    race(second, prompt="octopus")
    finished(second)
    model.hold()
    race(first)
    running(first)
    race(second, prompt="rocket", lanes=("sjd",))
    note, pace = second.locator(".board .note"), second.locator(".pace")
    prompted(second, "rocket")
    expect(note).to_have_text(re.compile("In the queue: 1 race comes before yours"))
    assert hashes(second, "state") == ["waiting"]
    second.locator("#stop").click()
    state(second, "stopped")
    expect(note).to_be_hidden()
    expect(pace).to_have_text("Stopped before it began.")
    race(second, prompt="rocket", lanes=("sjd",))
    expect(note).to_be_visible()
    model.release()
    finished(first)
    finished(second)
    expect(note).to_be_hidden()


def test_what_is_about_another_race_rests_while_one_is_on(held, model, stops, open_page) -> None:
    page = open_page(held, query="?seed=3")
    page.locator("#export > button").click()
    expect(page.locator("#notice")).to_contain_text("press Race")
    page.set_viewport_size({"width": 1366, "height": 600})
    race(page)
    running(page)
    expect(page.locator("#notice")).to_have_text("")
    assert page.evaluate("scrollY") > 0
    form, board = (page.locator(it).bounding_box() for it in ("#entry", ".board"))
    assert form["y"] + form["height"] <= board["y"] + 1, "it hides no heading"
    for part in ("#bet", "#export", "#whatif", "#decided", "#race-seeds"):
        expect(page.locator(part)).to_have_js_property("inert", True)
    expect(page.locator(".tour")).to_be_disabled()
    for width in (1366, 820, 390, 360):
        page.set_viewport_size({"width": width, "height": 740})
        for y in (0, 700):
            page.evaluate(f"scrollTo(0, {y})")
            expect(page.locator("#stop")).to_be_in_viewport(ratio=1)
        prompt, meta = (page.locator(it).bounding_box() for it in (".prompt", ".meta"))
        assert prompt["width"] > 150, width
        assert prompt["y"] + prompt["height"] <= meta["y"] + 1, "what was raced stands below"
    page.locator("#stop").click()
    wait_until(lambda: len(stops) > 0)
    model.release()
    state(page, "stopped")
    expect(page.locator(".pace")).to_have_text(re.compile(r"Stopped at \d+\.\d+ s\."))
    expect(page.locator(".live")).to_contain_text("Stopped at")
    expect(page.locator("#export")).to_have_js_property("inert", False)
    expect(page.locator(".tour")).to_be_enabled()


def test_a_race_that_is_not_kept_any_more_leaves_its_settings_and_says_so(quick, open_page) -> None:
    page = open_page(quick, query="?race=gone&prompt=octopus&seed=5&lanes=ar&model=toy")
    expect(page.locator("#notice")).to_contain_text("no longer kept here. Its settings are in the")
    expect(page.locator("#prompt :is(input, textarea)")).to_have_value("octopus")
    page.locator("#race").click()
    prompted(page, "octopus")
    finished(page)
    page.locator("#export > button").click()
    page.locator(".board").evaluate("(board) => (board.dataset.race = 'gone')")
    page.locator("#make").click()
    expect(page.locator(".toast-body")).to_contain_text("no longer kept")


def test_a_race_that_is_asked_for_offline_waits_for_the_connection_and_says_so(
    recorded_url, browser
) -> None:
    page = browser.new_page()  # whose console may say that there is no connection
    page.set_default_timeout(PATIENCE)
    page.goto(recorded_url)
    prompted(page, "cactus on yellow sand")
    field = page.locator("#prompt :is(input, textarea)")
    expect(field).to_have_value(EXAMPLES[0])
    page.context.set_offline(True)
    page.locator("#race").click()
    field.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="You are offline")).to_have_count(1)
    prompted(page, "cactus on yellow sand")
    page.context.set_offline(False)
    prompted(page, EXAMPLES[0])
    finished(page)
    expect(page.get_by_text("You are offline")).to_have_count(0)
    page.close()


def test_an_empty_prompt_gets_a_message_and_prompts_are_shown_as_text_whatever_they_hold(
    quick, open_page
) -> None:
    page = open_page(quick)
    race(page, prompt="", lanes=("sjd",))
    expect(page.get_by_text("the prompt is empty")).to_be_visible()
    race(page, prompt=HOSTILE, lanes=("sjd",))
    prompted(page, HOSTILE)
    finished(page)
    unhurt(page)


def test_failed_lane_says_so_and_the_others_finish(quick, model, open_page, monkeypatch) -> None:
    class Broken:
        def extend(self, *_):
            raise RuntimeError("<b>no drafter today</b>")

    monkeypatch.setattr(model, "drafter", Broken())
    page = open_page(quick)
    race(page, lanes=("sjd", "lantern"))
    finished(page)
    error = page.locator(".lane[data-lane='lantern'] .error")
    expect(error).to_contain_text("<b>no drafter today</b>")
    expect(page.locator(".lane[data-lane='sjd']")).to_have_attribute("data-state", "finished")


def test_a_bet_is_judged_at_the_finish(quick, open_page) -> None:
    page = open_page(quick)
    set_lanes(page, "ar", "sjd", "gsd")
    bet = page.locator("#bet select")
    bet.focus()
    expect(bet.locator("option")).to_have_text(["no lane", "1 Vanilla AR", "2 SJD", "3 GSD"])
    bet.select_option("1")
    page.locator("#race").click()
    finished(page)
    outcome = re.compile(r" You bet on SJD: \d.. by passes, \d.. by seconds\.$")
    pace = page.locator(".pace")
    expect(pace).to_have_text(outcome)
    page.set_viewport_size({"width": 700, "height": 900})
    assert pace.bounding_box()["height"] > 24, "in two lines, none of it cut off"
    assert pace.evaluate("it => it.scrollWidth <= it.clientWidth")
    board, tall = page.locator(".lane canvas").first, page.locator(".peek").bounding_box()
    board.hover(position={"x": 20, "y": 20})
    expect(page.locator(".peek-where")).to_be_visible()
    expect(pace).to_be_hidden()
    assert page.locator(".peek").bounding_box()["height"] == tall["height"]
    page.set_viewport_size({"width": 1400, "height": 1000})
    set_lanes(page, "ar", "gsd")  # the lane is gone, and with it the bet
    page.locator("#race").click()
    expect(page.locator(".lane")).to_have_count(2)
    finished(page)
    expect(page.locator(".pace")).not_to_contain_text("You bet")
    expect(bet).to_have_value("")


def test_an_example_races_at_once_and_the_die_rolls_another_seed(quick, open_page) -> None:
    page = open_page(quick)
    before = page.locator("#seed input").input_value()
    page.locator("#roll").click()
    expect(page.locator("#seed input")).not_to_have_value(before)
    page.locator("#ready").get_by_text(EXAMPLES[1]).click()
    prompted(page, EXAMPLES[1])
    finished(page)


def test_the_settings_of_a_recorded_race_come_into_the_form(recorded_url, open_page) -> None:
    page = open_page(recorded_url)
    prompted(page, "cactus on yellow sand")
    page.get_by_role("button", name="Use these settings").click()
    expect(page.locator("#prompt :is(input, textarea)")).to_have_value("cactus on yellow sand")
    expect(page.locator("#seed input")).to_have_value("7")
    show_options(page)
    expect(page.locator(".lane-row .lane-what select")).to_have_count(2)
    page.locator("#race").click()
    finished(page)
    expect(page.locator(".use-settings")).to_be_hidden()


def test_a_race_before_the_model_is_there_says_so_can_be_stopped_and_goes_on(
    races_folder, open_page
) -> None:
    may_load = threading.Event()
    with served(Watched(), races_folder, may_load) as url:
        page, note = open_page(url), "Loading the model…"
        prompted(page, "cactus on yellow sand")
        key(page, "End")
        expect(page.locator(".board")).to_have_attribute("data-state", "finished")
        race(page, prompt="octopus")
        expect(page.locator(".board .note")).to_have_text(note)
        page.locator("#stop").click()
        state(page, "stopped")
        race(page, prompt="rocket")
        prompted(page, "rocket")
        expect(page.locator(".board .note")).to_have_text(note)
        may_load.set()
        finished(page)
        expect(page.locator(".board .note")).to_be_hidden()
        page.close()
