"""The speaker's view, a second window: it follows the stage, turns it, outlives a reload of either,
and says when there is no stage."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.acts import key, prompted, wide

# A busy browser tells of a full screen late: when the speaker's view is being opened.
LATE = """() => {
  const view = window.open;
  window.open = (...values) => {
    document.dispatchEvent(new Event("fullscreenchange"));
    window.open = view;
    return view(...values);
  };
}"""


def speaker_of(stage: Page) -> Page:
    """Opens the speaker's view."""
    with stage.expect_popup() as opened:
        key(stage, "w")
    view = opened.value
    expect(view.locator(".speaker-view")).to_be_visible()
    return view


def shows(view: Page, title: str, upcoming: str) -> None:
    expect(view.locator(".speaker-title")).to_have_text(title)
    expect(view.locator(".speaker-next")).to_have_text(upcoming)


def test_the_speakers_view_follows_the_stage_and_turns_it(recorded_url, open_page) -> None:
    stage = open_page(recorded_url, 1280, 720, "?present=1")
    prompted(stage, "cactus on yellow sand")
    view = speaker_of(stage)
    shows(view, "cactus on yellow sand", "Next: the tour.")
    number = stage.locator(".chapter-number")
    # either window turns both
    view.keyboard.press("PageDown")
    expect(number).to_have_text("1")
    shows(view, "One token at a time", "Next: Guess in parallel.")
    lines = stage.locator(".chapter-text p").all_inner_texts()
    assert view.locator(".speaker-text p").all_inner_texts() == lines
    expect(view.locator(".speaker-say")).to_contain_text("Ask the hall")
    view.get_by_role("button", name="Next").click()
    expect(number).to_have_text("2")
    key(stage, "n")
    shows(view, "The same noise", "Next: Guess with a distribution.")
    expect(view.locator(".speaker-count")).to_have_text(re.compile(r"Chapter 3 of \d+"))
    view.get_by_role("button", name="Back").click()
    expect(number).to_have_text("2")
    # a reload of either
    view.reload()
    shows(view, "Guess in parallel", "Next: The same noise.")
    stage.reload()
    stage.wait_for_selector("html[data-opened]")
    prompted(stage, "the tour")
    shows(view, "the tour", "Next: the tour.")
    view.keyboard.press("n")
    expect(number).to_have_text("1")
    # the stage is left, entered again, and gone
    gone = view.locator(".speaker-gone")
    expect(gone).to_be_empty()
    key(stage, "Escape", "f")
    expect(gone).to_contain_text("No stage is open in this browser.")
    expect(view.get_by_role("button", name="Next")).to_be_disabled()
    expect(view.locator(".speaker-notes")).to_be_hidden()
    key(stage, "f")
    expect(gone).to_be_empty()
    expect(view.get_by_role("button", name="Next")).to_be_enabled()
    stage.goto(f"{recorded_url}theme.css")  # another page of the same site
    expect(gone).to_contain_text("Press f on the page")
    view.close()


def test_a_file_has_a_speakers_view_of_its_own(open_file, duel) -> None:
    stage = open_file(duel, 1280, 720)
    # it ends the full screen, and not the stage
    full = "(is) => (document.fullscreenElement !== null) === is"
    key(stage, "f")
    stage.wait_for_function(full, arg=True)
    stage.evaluate(LATE)
    view = speaker_of(stage)
    expect(view.get_by_role("button", name="Next")).to_be_enabled()
    stage.wait_for_function(full, arg=False)
    expect(stage.locator("body")).to_have_class(re.compile("present"))
    key(stage, "f")
    stage.wait_for_function(full, arg=True)
    expect(stage.locator("body")).to_have_class(re.compile("present"))
    key(stage, "f")
    expect(stage.locator("body")).not_to_have_class(re.compile("present"))
    stage.wait_for_function(full, arg=False)
    view.close()
    # the strip opens it, too, and it fits a phone
    key(stage, "f")
    stage.wait_for_function(full, arg=True)
    stage.locator(".board").hover()
    with stage.expect_popup() as opened:
        stage.locator(".strip .speaker-open").click(force=True)
    view = opened.value
    view.get_by_role("button", name="Next").click()
    expect(stage.locator(".chapter-number")).to_have_text("1")
    shows(view, "One token at a time", "Next: Guess with a distribution.")
    for width, height in ((1280, 720), (390, 844)):
        view.set_viewport_size({"width": width, "height": height})
        expect(view.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
        assert wide(view) <= 0
    view.close()
    # the talk's time outlives a reload, and begins again; the clock goes on meanwhile
    view = stage.context.new_page()
    view.clock.install(time=0)
    view.goto(f"{stage.url.split('?')[0]}?speaker=1")
    time = view.get_by_role("timer")
    minutes, hours = re.compile(r"^\d:\d\d$"), re.compile(r"^1:0\d:\d\d$")
    expect(time).to_have_text(minutes)
    view.clock.fast_forward(3_723_000)
    expect(time).to_have_text(hours)
    view.reload()
    expect(time).to_have_text(hours)
    view.get_by_role("button", name="Reset the time").click()
    expect(time).to_have_text(minutes)
    view.close()
