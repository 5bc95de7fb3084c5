"""The file on its own, opened from disk: no server, and no request but for the file itself."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from engine.models.supply.card import CARDS
from tests.browser.acts import HOSTILE, PATIENCE, by_passes, hashes, key, wide
from visualize.board.board import token_hash
from visualize.export.standalone import standalone
from visualize.film.layers import LaneReplay
from visualize.pictures.recorded_race import RecordedRace


def hashes_at(race: RecordedRace, t: int, what: str = "token") -> list[str]:
    """Of every lane's tokens on the board after so many passes, or of their statuses."""
    lanes = [LaneReplay(race.trace, i) for i in range(len(race.trace.header.lanes))]
    rows = [lane.at(lane.step_at("passes", t)).rows for lane in lanes]
    pairs = zip(lanes, rows, strict=True)
    return [token_hash(lane.table.positions[what][shown].tolist()) for lane, shown in pairs]


def test_it_plays_to_the_finish_that_was(open_file, duel) -> None:
    page = open_file(duel)
    expect(page.locator(".board")).to_have_attribute("data-playing", "1")  # by itself
    page.locator(".speed").select_option("8")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished")
    expect(page.locator(".lane .place-seconds.first")).to_have_text("1st")
    assert hashes(page) == hashes_at(duel, 36)
    expect(page.locator(".finish")).to_be_visible()
    painted = (
        "canvas => new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width,"
        " canvas.height).data).size > 4"
    )
    assert page.locator(".lane canvas").first.evaluate(painted)


def test_a_lane_of_a_public_model_has_its_papers_figure(open_file, duel) -> None:
    lumina = CARDS["lumina-768"]
    header = replace(duel.trace.header, model=lumina.name, sampling=lumina.sampling)
    page = open_file(replace(duel, trace=replace(duel.trace, header=header)))
    figures = page.locator(".lane .published a")
    expect(figures).to_have_text(["2379 passes", "1058.6 passes"])
    assert figures.first.is_visible()
    for figure in figures.all():
        expect(figure).to_have_attribute("href", "https://arxiv.org/abs/2508.07747")
        expect(figure).to_have_attribute("title", re.compile(r"arXiv 2508.07747, Table 1: MS-COCO"))


def test_it_scrubs_to_any_step_and_says_why(open_file, toured) -> None:
    page = open_file(toured)
    by_passes(page)
    for t in (5, 2, 9):
        page.locator(".scrub").fill(str(t))
        expect(page.locator(".lane[data-lane='ar']")).to_have_attribute("data-step", str(t))
        expect(page.locator(".lane[data-lane='ar'] .passes")).to_have_text(str(t))
        assert hashes(page) == hashes_at(toured, t)
        assert hashes(page, "marks") == hashes_at(toured, t, "status")
    key(page, "ArrowLeft")
    expect(page.locator(".board")).to_have_attribute("data-t", "8")
    key(page, "End")
    page.locator(".lane[data-lane='gsd'] canvas").click(position={"x": 40, "y": 12})
    expect(page.locator(".token")).to_contain_text("Why token")
    # swatches are images that the script makes: the policy lets them be
    swatch = page.locator(".token .swatch").first
    assert swatch.evaluate("""async (element) => {
      const image = new Image();
      image.src = getComputedStyle(element).backgroundImage.slice(5, -2);
      await image.decode();
      return image.width > 0;
    }""")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_follows_the_system_and_fits_a_phone(open_file, duel, dark) -> None:
    page = open_file(duel, 390, dark=dark)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.locator(".prompt").evaluate("it => getComputedStyle(it).color")
    ground, ink = (sum(map(int, re.findall(r"\d+", it)[:3])) / 3 for it in (ground, ink))
    assert (ground < 60 and ink > 200) if dark else (ground > 240 and ink < 60)
    assert wide(page) <= 0
    page.emulate_media(color_scheme="light" if dark else "dark")
    follows = "dark => document.body.classList.contains('dark') === dark"
    page.wait_for_function(follows, arg=not dark)


def test_what_a_visitor_wrote_is_plain_text(open_file, duel) -> None:
    header = replace(duel.trace.header, prompt=HOSTILE, machine=HOSTILE[-200:])
    page = open_file(replace(duel, trace=replace(duel.trace, header=header)))
    assert page.title() == " ".join(f"{HOSTILE} · Photo Finish".split())
    assert page.evaluate("window.hit") is None
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    made = ".board img, .board .head svg, .board script, .board iframe, body > b, title ~ b"
    assert page.locator(made).count() == 0


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
