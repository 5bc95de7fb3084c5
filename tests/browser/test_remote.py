"""Next and back from a phone, by the code that the stage shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, expect

from app.api import remotes
from tests.browser.acts import PATIENCE, key, prompted, wide


@pytest.fixture(autouse=True)
def patient_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """A press waits as long as these pages take."""
    monkeypatch.setattr(remotes, "HEARD_SECONDS", PATIENCE / 1000)


@pytest.fixture
def phone_of(browser: Browser) -> Iterator[Callable[[str], Page]]:
    """Opens a link on a phone, which shares no connections with the stage's browser."""
    contexts: list[BrowserContext] = []

    def opened(address: str) -> Page:
        context = browser.new_context(viewport={"width": 390, "height": 844})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        phone = context.new_page()
        phone.goto(address)
        return phone

    yield opened
    for context in contexts:
        context.close()


def test_a_phone_turns_the_stage_and_hears_when_it_has_gone(
    recorded_url, open_page, phone_of
) -> None:
    stage = open_page(recorded_url, 1280, 720, "?present=1")
    prompted(stage, "cactus on yellow sand")
    other = stage.context.new_page()  # another stage of the browser, which has no code
    other.goto(f"{recorded_url}?present=1&tour=3")
    expect(other.locator(".chapter-number")).to_have_text("3")
    expect(stage.locator(".remote-open")).not_to_have_attribute("hidden", "")
    key(stage, "m")
    link = stage.locator(".remote-link")
    expect(link).to_contain_text("/remote/")
    expect(stage.locator(".remote-local")).to_contain_text("not localhost")
    address = f"http://{link.inner_text()}"
    assert address.startswith(recorded_url)

    phone = phone_of(address)
    said = phone.locator("p[role=status]")
    buttons = phone.get_by_role("button")
    assert buttons.all_inner_texts() == ["Next", "Back"]
    assert all(button.bounding_box()["height"] > 200 for button in buttons.all())
    assert wide(phone) <= 0
    number = stage.locator(".chapter-number")
    for name, chapter in (("Next", "1"), ("Next", "2"), ("Back", "1")):
        phone.get_by_role("button", name=name).click()
        expect(number).to_have_text(chapter)
    expect(other.locator(".chapter-number")).to_have_text("3")
    other.close()
    key(stage, "m")
    expect(stage.locator(".remote")).to_be_hidden()
    stage.reload()  # the code outlives it
    stage.wait_for_selector("html[data-opened]")
    prompted(stage, "the tour")
    expect(said).to_be_empty()
    phone.get_by_role("button", name="Next").click()
    expect(number).to_have_text("1")
    expect(said).to_be_empty()
    key(stage, "f")
    expect(said).to_contain_text("No stage has this code")
    key(stage, "f")
    expect(said).to_be_empty()


def test_a_proxy_that_answers_for_the_server_loses_no_press(recorded_url, browser) -> None:
    context = browser.new_context()  # whose console may say what the proxy answers
    stage, phone = context.new_page(), context.new_page()
    stage.set_default_timeout(PATIENCE)
    stage.goto(f"{recorded_url}?present=1")
    stage.wait_for_selector("html[data-opened]")
    key(stage, "m")
    expect(stage.locator(".remote-link")).to_contain_text("/remote/")
    phone.goto(f"http://{stage.locator('.remote-link').inner_text()}")
    sent: list[str] = []

    def is_next(request: Request) -> bool:
        return '"by":1' in (request.post_data or "")

    def pass_on(route: Route) -> None:
        if is_next(route.request):
            sent.append(route.request.post_data or "")
        if len(sent) != 1:
            return route.continue_()
        assert route.fetch().ok
        route.fulfill(status=502, body="<html>Bad gateway</html>")

    phone.route("**/remotes/presses", pass_on)
    stage.route("**/remotes/*/heard", lambda route: route.fulfill(status=502), times=1)
    with phone.expect_response(lambda answer: answer.ok and is_next(answer.request)):
        phone.get_by_role("button", name="Next").click()
    assert [sent[0], sent[0]] == sent
    expect(stage.locator(".chapter-number")).to_have_text("1")
    expect(phone.locator("p[role=status]")).to_be_empty()
    context.close()


HOSTILE = "<img src=x onerror=window.hit=1> red cat"


def test_the_hall_proposes_prompts_and_the_speaker_picks_one(quick, open_page, phone_of) -> None:
    stage = open_page(quick, 1280, 720, "?present=1")
    key(stage, "m")
    expect(stage.locator(".hall-link")).to_be_empty()  # nobody proposes until the speaker asks
    stage.get_by_role("button", name="Take prompts from the hall").click()
    link = stage.locator(".hall-link")
    expect(link).to_contain_text("/hall/")
    expect(stage.locator(".remote-link")).to_be_hidden()  # whoever reads it could turn the stage
    address = f"http://{link.inner_text().removeprefix('Prompts: ')}"
    phones = [phone_of(address) for _ in range(2)]
    for phone, prompt in zip(phones, (HOSTILE, "blue dog"), strict=True):
        phone.get_by_label("What should be drawn?").fill(prompt)
        phone.get_by_role("button", name="Propose it").click()
        expect(phone.locator("p")).to_contain_text("The speaker has your prompt")
    expect(stage.locator(".hall-count")).to_contain_text("2 prompts")
    key(stage, "/")
    proposed = stage.get_by_role("group", name="From the hall").get_by_role("button")
    expect(proposed).to_have_text([HOSTILE, "blue dog"])
    assert stage.evaluate("window.hit") is None
    proposed.nth(1).click()
    expect(stage.get_by_role("textbox", name="Prompt").last).to_have_value("blue dog")
    stage.keyboard.press("Enter")  # the field has the focus
    prompted(stage, "blue dog")
    expect(stage.locator(".hall-count")).to_contain_text("1 prompt")
    stage.locator(".hall-open").click()
    expect(stage.locator(".hall-link")).to_be_empty()
    phones[0].get_by_role("button", name="Propose it").click()
    expect(phones[0].locator("p")).to_contain_text("No stage takes prompts")
