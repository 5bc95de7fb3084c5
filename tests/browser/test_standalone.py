"""The file on its own, opened from disk: no server, and no request but for the file itself."""

from __future__ import annotations

import re
from dataclasses import replace

from playwright.sync_api import expect

from engine.models.supply.card import CARDS
from tests.browser.acts import HOSTILE, PATIENCE, wide
from visualize.export.standalone import standalone


def test_it_follows_the_system_fits_a_phone_and_shows_as_text_what_a_visitor_wrote(
    open_file, duel
) -> None:
    lumina = CARDS["lumina-768"]
    header = replace(
        duel.trace.header,
        **{"prompt": HOSTILE, "machine": HOSTILE[-200:]},
        **{"model": lumina.name, "sampling": lumina.sampling},
    )
    page = open_file(replace(duel, trace=replace(duel.trace, header=header)), 390, dark=True)
    assert page.title() == " ".join(f"{HOSTILE} · Photo Finish".split())
    assert page.evaluate("window.hit") is None
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    made = (
        ".board img:not([class]), .board .head svg, .board script, .board iframe, body > b,"
        " title ~ b"
    )
    assert page.locator(made).count() == 0

    assert wide(page) <= 0
    for dark in (True, False):
        page.emulate_media(color_scheme="dark" if dark else "light")
        follows = "dark => document.body.classList.contains('dark') === dark"
        page.wait_for_function(follows, arg=dark)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        ink = page.locator(".prompt").evaluate("it => getComputedStyle(it).color")
        ground, ink = (sum(map(int, re.findall(r"\d+", it)[:3])) / 3 for it in (ground, ink))
        assert (ground < 60 and ink > 200) if dark else (ground > 240 and ink < 60)

    # A lane of a public model has its paper's figure.
    figures = page.locator(".lane .published a")
    expect(figures).to_have_text(["2379 passes", "1058.6 passes"])
    expect(figures.first).to_be_visible()
    for figure in figures.all():
        expect(figure).to_have_attribute("href", "https://arxiv.org/abs/2508.07747")
        expect(figure).to_have_attribute("title", re.compile(r"arXiv 2508.07747, Table 1: MS-COCO"))


def test_its_policy_stops_what_is_not_its_own(browser, duel, tmp_path) -> None:
    file = tmp_path / "race.html"
    file.write_text(standalone(duel), "utf-8")
    page = browser.new_page()  # whose console may complain
    page.set_default_timeout(PATIENCE)
    page.goto(file.as_uri())
    page.evaluate("""() => {
      window.stopped = [];
      const stop = (event) => window.stopped.push(event.effectiveDirective);
      document.addEventListener("securitypolicyviolation", stop);
      const script = document.createElement("script");
      script.textContent = "window.hit = 1";
      const image = new Image();
      image.src = "http://127.0.0.1:9/x.png";
      document.body.append(script, image);
    }""")
    page.wait_for_function("() => window.stopped.length > 1")
    assert page.evaluate("window.hit") is None
    assert sorted(page.evaluate("window.stopped")) == ["img-src", "script-src-elem"]
    page.close()
