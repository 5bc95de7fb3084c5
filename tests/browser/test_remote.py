"""Next and back from a phone, by the code that the stage shows."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.acts import key, prompted, wide


def test_a_phone_turns_the_stage_and_hears_when_it_has_gone(recorded_url, open_page) -> None:
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

    phone = stage.context.new_page()
    phone.set_viewport_size({"width": 390, "height": 844})
    phone.goto(address)
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
    phone.close()
