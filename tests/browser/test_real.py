"""`python app.py`, with the model and the recorded races that ship: what it decodes, which words it
knows, and that its first race fits the screens that it is met on."""

from __future__ import annotations

import re

import numpy as np
from PIL import Image
from playwright.sync_api import expect

from app.models.model_loader import load_embedded
from app.models.prompt_hints import EXAMPLES
from engine.decoders import DECODERS
from tests.browser.acts import finished, key, lanes_by_event, prompted, race
from visualize.board.board import token_hash

PROMPT = "red apple on sky clouds"


def test_race_draws_what_the_decoders_decode_and_a_picture_of_ones_own_is_filled_in(
    real, open_page, tmp_path
) -> None:
    page = open_page(real)
    prompted(page, EXAMPLES[0])
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
    expect(page.locator(".why")).to_contain_text("Half the passes does not mean half the seconds")

    cells = model.grid[0] * model.grid[1]
    Image.fromarray(model.pixels(np.array(tokens).reshape(model.grid))).save(tmp_path / "mine.png")
    bring = page.locator("#bring input[type=file]").last
    bring.set_input_files(tmp_path / "mine.png")
    count = page.locator(".fill-count")
    expect(count).to_have_text(f"0 of {cells} tokens to fill in.")
    expect(page.locator(".fill-in canvas")).to_be_focused()
    expect(page.locator(".fill-own")).to_contain_text("describe yours there")
    expect(page.locator(".fill-caption")).to_be_hidden()
    shown = page.locator(".fill-in canvas").evaluate(
        "it => [...it.getContext('2d').getImageData(it.width / 2, it.height / 2, 1, 1).data]"
    )
    assert shown[0] > 1.5 * shown[2], "the apple's red"
    page.locator(".fill-in").get_by_role("button", name="Scatter").click()
    expect(count).to_have_text(f"{cells // 8} of {cells} tokens to fill in.")
    lanes_by_event(page, "ar", "sjd")
    page.locator(".fill-race").click()
    expect(page.locator(".board .meta")).to_contain_text(f"{cells // 8} filled in")
    finished(page)
    bring.set_input_files({"name": "mine.png", "mimeType": "image/png", "buffer": b"no picture"})
    expect(page.locator(".toast-body")).to_contain_text("cannot read the file as a picture")


# Whether the board stands as it is to in a window: parts that are to be seen are in it, those of a
# row are in one, and no text is cut off.
STANDS = """({ stamp, whole, seen, row }) => {
  const all = (parts) => [...document.querySelectorAll(parts)].filter((it) => it.checkVisibility());
  const stamps = all(".lane .stamp");
  for (const it of stamps) it.textContent = stamp;
  const cut = [...stamps, ...all(whole)].filter((it) => it.scrollWidth > it.clientWidth);
  const boxes = all(seen).map((part) => part.getBoundingClientRect());
  const beyond = boxes.filter(({ left, top, right, bottom }) =>
    Math.min(left, top) < 0 || right > innerWidth || bottom > innerHeight);
  const rows = new Set(all(row).map((part) => part.getBoundingClientRect().y));
  return scrollY === 0 && !cut.length && !beyond.length && rows.size === 1;
}"""
ENTRY = "#prompt, #seed, #race"
PHONE = {
    **{"stamp": "6th  3.505 s", "whole": "#entry button"},
    **{"seen": ".lanes > :first-child .frame", "row": ENTRY},
}
PHONES = {(390, 844): PHONE, (360, 740): PHONE}
LARGER = {
    (820, 1180): {
        **{"stamp": "6th  3.505 s", "whole": ".pace", "row": "#prompt, #seed"},
        "seen": f"{ENTRY}, #stop, #roll, #options, #surprise, #bet",
    },
    (1366, 768): {
        **{"stamp": "2nd  12.345 s", "whole": ".pace"},
        **{"seen": ".lane .frame, .lane dl", "row": ".lane"},
    },
}


def test_the_first_race_fits_every_window_and_words_are_found_and_used(real, open_page) -> None:
    page = open_page(real, 390, 844)
    prompted(page, EXAMPLES[0])
    expect(page.locator(".board")).to_have_attribute("data-playing", "1")
    key(page, "Home")
    expect(page.locator(".board")).to_have_attribute("data-t", "0")
    assert page.locator(".lane").count() >= 5

    def stands(windows: dict[tuple[int, int], dict[str, str]]) -> None:
        for (width, height), expected in windows.items():
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_function(STANDS, arg=expected)

    stands(PHONES)
    key(page, "End")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")
    for window, expected in LARGER.items():
        stands({window: expected})
        assert page.locator("#prompt :is(input, textarea)").bounding_box()["width"] > 300

    # Words are found, in any language, and used; a surprise is of them.
    prompt = page.locator("#prompt :is(input, textarea)")
    expect(prompt).to_have_value(EXAMPLES[0])
    seed = page.locator("#seed input").input_value()
    expect(page.locator(".meta")).to_contain_text(f"seed {seed} ·")  # of the picture that is seen
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

    # The stage says it, too, before a prompt is raced.
    key(page, "f", "/")
    page.keyboard.type("octopus playing the xylophone")
    expect(page.locator(".ask-reads")).to_contain_text("not drawn: ")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
