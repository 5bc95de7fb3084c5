"""The page as its visitors meet it."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from plotly.colors import sequential

from app.handlers import load_model
from engine.decoders import DECODERS
from engine.race import Lane, Race
from tests.browser.conftest import wait_until
from visualize.board import token_hash

INJECTIONS = (
    "<img src=x onerror=window.hit=1>",
    "<script>window.hit=1</script>",
    "${window.hit=1}",
    "`${window.hit=1}`",
    "{{constructor.constructor('window.hit=1')()}}",
    "{{{window.hit=1}}}",
    "\\` ' \" </p><svg onload=window.hit=1>",
    "javascript:window.hit=1",
)


def race(page: Page, prompt: str = "red apple on sky clouds", seed: int = 7, lanes: tuple[str, ...] = ("ar", "sjd")) -> None:
    """Fills in the form and presses Race."""
    page.locator("#prompt input, #prompt textarea").fill(prompt)
    page.locator("#seed input").fill(str(seed))
    for name, decoder in DECODERS.items():
        page.get_by_role("checkbox", name=decoder.title, exact=True).set_checked(name in lanes)
    page.locator("#race").click()


def state(page: Page, name: str) -> None:
    expect(page.locator(".board")).to_have_attribute("data-state", name, timeout=180_000)


def finished(page: Page) -> None:
    expect(page.locator(".board")).to_have_attribute("data-done", "1", timeout=180_000)
    state(page, "finished")


def running(page: Page) -> None:
    """Waits until a race is on and has shown its first steps."""
    state(page, "racing")
    expect(page.locator(".lane .passes").first).not_to_have_text("0", timeout=20_000)


def wide(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_race_draws_what_the_decoders_decode(real, open_page) -> None:
    page = open_page(real)
    race(page, lanes=("sjd", "sjd-pac"))
    finished(page)
    model = load_model()
    for name in ("sjd", "sjd-pac"):
        tokens = DECODERS[name](model, None, model.sampling).generate("red apple on sky clouds", 7)
        expect(page.locator(f".lane[data-lane='{name}']")).to_have_attribute("data-hash", token_hash(tokens))
    expect(page.locator(".results tr")).to_have_count(3)
    expect(page.locator(".by-seconds li .rank").first).to_have_text("1")
    expect(page.locator(".why")).to_contain_text("Fewer passes are not proportionally fewer seconds")


def test_stop_ends_the_race_within_two_steps_and_the_next_one_runs(held, held_model, stops, open_page) -> None:
    page = open_page(held)
    race(page)
    running(page)
    before = held_model.passes
    page.locator("#stop").click()
    wait_until(lambda: len(stops) > 0)
    held_model.release()
    state(page, "stopped")
    wait_until(lambda: held_model.open == 0)
    assert held_model.passes - before <= 6 + 2  # six were let through before the race was held
    expect(page.locator(".lane[data-state='stopped']")).to_have_count(2)
    race(page)
    finished(page)


def test_closed_tab_ends_the_race_within_two_steps(held, held_model, stops, open_page) -> None:
    page = open_page(held)
    race(page)
    running(page)
    before = held_model.passes
    page.close()
    wait_until(lambda: len(stops) > 0)
    held_model.release()
    wait_until(lambda: held_model.open == 0)
    assert held_model.passes - before <= 6 + 2


def test_second_visitor_waits_sees_it_and_is_served(held, held_model, open_page) -> None:
    first, second = open_page(held), open_page(held)
    race(first)
    running(first)
    race(second, lanes=("sjd",))
    expect(second.locator("#status")).to_contain_text("queue", timeout=20_000)
    held_model.release()
    finished(first)
    finished(second)


def test_empty_prompt_gets_a_message_and_leaves_the_page_usable(quick, open_page) -> None:
    page = open_page(quick)
    race(page, prompt="")
    expect(page.get_by_text("the prompt is empty")).to_be_visible()
    race(page)
    finished(page)


def test_prompts_are_shown_as_text_whatever_they_hold(quick, open_page) -> None:
    page = open_page(quick)
    for seed, prompt in enumerate(INJECTIONS):
        race(page, prompt=prompt, seed=seed, lanes=("sjd",))
        expect(page.locator(".board .prompt")).to_have_text(prompt, use_inner_text=True)
        expect(page.locator(".board .meta")).to_contain_text(f"seed {seed} ")
        finished(page)
    assert page.evaluate("window.hit") is None
    assert page.locator(".board .head img, .board .head svg, .board .head script").count() == 0


def test_failed_lane_says_so_and_the_others_finish(quick, quick_model, open_page, monkeypatch) -> None:
    class Broken:
        def extend(self, *_):
            raise RuntimeError("<b>no drafter today</b>")

    monkeypatch.setattr(quick_model, "drafter", Broken())
    page = open_page(quick)
    race(page, lanes=("sjd", "lantern"))
    finished(page)
    expect(page.locator(".lane[data-lane='lantern'] .error")).to_contain_text("<b>no drafter today</b>")
    expect(page.locator(".lane[data-lane='sjd']")).to_have_attribute("data-state", "finished")


def test_race_is_played_again(quick, open_page) -> None:
    page = open_page(quick)
    race(page)
    finished(page)
    hashes = page.eval_on_selector_all(".lane", "lanes => lanes.map(lane => lane.dataset.hash)")
    page.get_by_role("button", name="Passes").click()
    expect(page.locator(".clock-value")).to_have_text("36")
    during = page.evaluate(
        """async () => {
            const [board, again] = [document.querySelector(".board"), document.querySelector(".again")];
            again.click();
            while (board.dataset.state !== "replay") await new Promise(requestAnimationFrame);
            const seen = [again.textContent, document.querySelector(".finish").hidden];
            again.click();
            return seen;
        }"""
    )
    assert during == ["Skip to the finish", True]
    finished(page)
    expect(page.locator(".finish")).to_be_visible()
    assert page.eval_on_selector_all(".lane", "lanes => lanes.map(lane => lane.dataset.hash)") == hashes


def test_heat_map_has_the_scales_colours(quick, quick_model, open_page) -> None:
    page = open_page(quick)
    race(page, lanes=("ar",))
    finished(page)
    page.get_by_role("button", name="Top-1").click()
    expect(page.locator(".legend")).to_contain_text("0.25")
    drawn = page.eval_on_selector(
        ".lane canvas",
        "canvas => [...Array(36).keys()].map(i => [...canvas.getContext('2d').getImageData("
        "(i % 6 + 0.5) * canvas.width / 6, (Math.floor(i / 6) + 0.5) * canvas.height / 6, 1, 1).data].slice(0, 3))",
    )
    steps = Race(quick_model, [Lane("ar")], "red apple on sky clouds", 7, quick_model.sampling)
    shares = [frame.step.committed[0].top1 for frame in steps if frame.step]
    stops = [[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in sequential.Viridis]
    scale = np.array([np.interp(shares, np.linspace(0, 1, len(stops)), channel) for channel in zip(*stops, strict=True)])
    assert np.abs(scale.T - drawn).max() < 2  # a share travels as one of 255 steps


def test_marks_come_with_a_legend(quick, open_page) -> None:
    page = open_page(quick)
    race(page)
    finished(page)
    plain = page.eval_on_selector(".lane canvas", "canvas => canvas.toDataURL()")
    page.get_by_role("button", name="What happened").click()
    expect(page.locator(".legend-marks li")).to_have_count(5)
    page.wait_for_function("plain => document.querySelector('.lane canvas').toDataURL() !== plain", arg=plain)


def test_keyboard_reaches_everything(quick, open_page) -> None:
    page = open_page(quick)
    page.locator("#prompt input, #prompt textarea").focus()
    page.keyboard.press("Enter")
    finished(page)
    wanted = {"Roll", "Race", "Stop", "Picture", "Top-1", "TV(p, q)", "What happened", "Seconds", "Passes", "Play again"}
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.textContent.trim()"))
        if wanted <= seen:
            break
    assert wanted <= seen
    page.get_by_role("button", name="TV(p, q)").focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="TV(p, q)")).to_have_attribute("aria-pressed", "true")


def test_canvases_say_what_they_show(quick, open_page) -> None:
    page = open_page(quick)
    race(page)
    finished(page)
    expect(page.get_by_role("img", name="SJD: 100% of the picture, finished")).to_be_visible()
    expect(page.locator(".live")).to_contain_text("The race is over.")


def test_the_die_rolls_another_seed(quick, open_page) -> None:
    page = open_page(quick)
    before = page.locator("#seed input").input_value()
    page.locator("#roll").click()
    expect(page.locator("#seed input")).not_to_have_value(before)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_in_both_themes(quick, open_page, theme) -> None:
    page = open_page(quick, query=f"?__theme={theme}")
    ink, ground = page.eval_on_selector(
        ".board",
        """board => {
            const sum = colour => colour.match(/[0-9.]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);
            let ground = board;
            while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
            return [sum(getComputedStyle(board).color), sum(getComputedStyle(ground).backgroundColor)];
        }""",
    )
    assert abs(ink - ground) > 500
    assert (ink > ground) == (theme == "dark")


def test_phone_shows_all_without_sideways_scrolling(quick, open_page) -> None:
    page = open_page(quick, width=390, height=844)
    assert wide(page) <= 0
    race(page, lanes=("ar", "sjd", "gsd", "lantern", "sjd-pac"))
    finished(page)
    assert wide(page) <= 0
    race(page, prompt="x" * 900)
    finished(page)
    assert wide(page) <= 0
