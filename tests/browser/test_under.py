"""Under the board: what decided the race, what other rules would have done, and the race to take
away."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import av
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.acts import (
    by_passes,
    finished,
    hashes,
    key,
    prompted,
    race,
    running,
    state,
    unfold,
)
from tests.browser.servers import wait_until
from visualize.figures import Figure, figures
from visualize.quality import about, quality_figures, stored
from visualize.recorded_race import RecordedRace


def choose(page: Page, field: str, option: str) -> None:
    """By the keyboard: a click can miss an option whose page scrolls or grows under it."""
    box = page.locator(f"#{field} input")
    box.fill(option)
    expect(page.get_by_role("option", name=option, exact=True)).to_be_visible()
    box.press("Enter")
    expect(box).to_have_value(option)


def download(page: Page, kind: str) -> Path:
    """Makes a file and downloads it."""
    choose(page, "take-kind", kind)
    page.locator("#make").click()
    with page.expect_download(timeout=120_000) as event:
        page.locator("#export-file a[download]").first.click(timeout=120_000)
    path = Path(event.value.path())
    return path.rename(path.with_name(event.value.suggested_filename))


@pytest.fixture
def opened(open_page):
    """Opens a page, whose visitor unfolds a section."""

    def unfolded(url: str, section: str) -> Page:
        page = open_page(url)
        prompted(page, "cactus on yellow sand")
        unfold(page, section)
        return page

    return unfolded


@pytest.fixture
def page(opened, recorded_url) -> Page:
    return opened(recorded_url, "export")


def nodes(page: Page) -> int:
    """The nodes in the page's memory."""
    browser = page.context.new_cdp_session(page)
    browser.send("Performance.enable")
    for _ in range(3):
        browser.send("HeapProfiler.collectGarbage")
    metrics = browser.send("Performance.getMetrics")["metrics"]
    return next(int(each["value"]) for each in metrics if each["name"] == "Nodes")


def drawn(recording: RecordedRace) -> list[Figure]:
    return [*figures(recording.trace), *quality_figures(stored(), recording.trace)]


def test_each_race_has_its_figures_each_with_its_sentence(recorded_url, open_page, duel) -> None:
    page = open_page(recorded_url)
    prompted(page, "cactus on yellow sand")
    expect(page.locator(".js-plotly-plot")).to_have_count(0)  # until they are asked for
    unfold(page, "decided")
    unfold(page, "cost")
    plots = page.locator(".figure .js-plotly-plot")
    sentences = [figure.sentence for figure in drawn(duel)]
    expect(page.locator(".figure p")).to_have_text(sentences)
    expect(plots).to_have_count(len(sentences))
    expect(page.locator("#cost .about p")).to_have_text(about(stored(), duel.trace))
    plots.first.hover()  # of a figure's own bar the download alone is a stop
    buttons = page.locator(".figure").first.locator(".modebar-btn:visible")
    expect(buttons).to_have_count(1)
    assert buttons.first.get_attribute("data-title").startswith("Download plot")
    expect(page.locator("h1")).to_have_text("Photo Finish")
    before = nodes(page)
    for section in ("decided", "cost"):
        unfold(page, section)
    expect(plots).to_have_count(0)
    race(page, prompt="octopus", lanes=("ar", "gsd", "gsd:G=50"))
    finished(page)
    for section in ("decided", "cost"):
        unfold(page, section)
    expect(plots).to_have_count(len(sentences))
    expect(page.locator(".figure p")).not_to_have_text(sentences)
    expect(plots.first).to_contain_text("GSD G=50")
    assert nodes(page) < before + 2000, "the charts before have gone, each with some 360"


def test_what_if_answers_for_the_lane_the_rule_and_the_knobs_of_the_race_on_the_board(
    opened, recorded_url
) -> None:
    page = opened(recorded_url, "whatif")
    answer = page.locator("#whatif-answer")
    expect(answer).to_contain_text(
        "drafts that SJD rejected first, GSD with G = 10, d = 0.5, delta = 0.15 would have accepted"
    )
    expect(answer).to_contain_text("this counts single decisions, not a race")
    drawn = page.locator("#whatif-plots .js-plotly-plot")
    expect(drawn).to_have_count(4)  # the picture, and a curve for each knob
    expect(drawn.nth(3)).to_contain_text("delta")
    page.locator("#whatif").get_by_label("number input for delta").first.fill("0")
    page.keyboard.press("Tab")
    expect(answer).to_contain_text("delta = 0 would")
    page.locator("#whatif").get_by_role("radio", name="LANTERN").check()
    expect(answer).to_contain_text("LANTERN with k = 1, delta = 0.1 would have accepted")
    expect(drawn).to_have_count(3)
    for lane, words in (
        ("ar", "No draft was rejected in this race"),
        ("gsd", "GSD rejected first"),
    ):
        race(page, lanes=(lane,))
        finished(page)
        expect(answer).to_contain_text(words)


def test_a_stopped_race_can_be_taken_away(held, model, stops, open_page) -> None:
    page = open_page(held)
    unfold(page, "export")
    race(page, lanes=("ar", "sjd"))
    running(page)
    page.locator("#stop").click()
    wait_until(lambda: len(stops) > 0)
    model.release()
    state(page, "stopped")
    trace = RecordedRace.loads(download(page, "Trace").read_bytes()).trace
    assert {frame.state.value for frame in trace.frames[-2:]} == {"stopped"}


def test_each_kind_of_file_is_what_it_says(page, duel) -> None:
    name = "photo-finish-cactus-on-yellow-sand-7"
    file = download(page, "Trace")
    assert file.name == f"{name}.json"
    assert RecordedRace.loads(file.read_bytes()) == duel
    file = download(page, "CSV of the steps")
    assert file.name == f"{name}.csv"
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert len(rows) == sum(frame.step is not None for frame in duel.trace.frames)
    file = download(page, "PNG of this instant")
    with Image.open(file) as image:
        assert (file.name, image.format) == (f"{name}.png", "PNG")
    for kind, codec in (("MP4", "h264"), ("GIF", "gif")):
        file = download(page, kind)
        assert file.name == f"{name}.{kind.lower()}"
        with av.open(file) as film:
            stream = film.streams.video[0]
            assert stream.codec_context.name == codec
            assert sum(1 for _ in film.decode(stream)) > 1
    file = download(page, "WebP")
    with Image.open(file) as image:
        assert (file.name, image.format, image.is_animated) == (f"{name}.webp", "WEBP", True)


def test_the_png_is_of_the_instant_and_the_layer_on_the_board(page) -> None:
    by_passes(page)
    pictures = []
    for t, layer in (("4", "Picture"), ("20", "Picture"), ("20", "Status"), ("4", "Picture")):
        page.locator(".scrub").fill(t)
        page.get_by_role("button", name=layer, exact=True).click()
        with Image.open(download(page, "PNG of this instant")) as image:
            pictures.append(image.tobytes())
    assert pictures[0] == pictures[3]
    assert len(set(pictures)) == 3


def test_the_html_file_plays_without_a_server(page, open_page, tmp_path) -> None:
    file = download(page, "Standalone HTML")
    assert file.name == "photo-finish-cactus-on-yellow-sand-7.html"
    alone = open_page(file.as_uri())
    prompted(alone, "cactus on yellow sand")
    for one in (alone, page):
        key(one, "End")
        expect(one.locator(".board")).to_have_attribute("data-state", "finished")
    assert hashes(alone) == hashes(page)


def test_five_seeds_are_raced_and_compared(quick, open_page) -> None:
    page = open_page(quick)
    race(page, seed=7)
    finished(page)
    page.locator("#five-seeds").click()
    table = page.locator("#seeds-table")
    expect(table).to_contain_text("from seeds 7 to 11: mean", timeout=120_000)
    expect(table.locator("tr th[scope=row]")).to_have_text(["Vanilla AR", "SJD"])
    finished(page)
    expect(page.locator(".board .meta")).to_contain_text("seed 11")


def test_stop_ends_the_five_seeds(model, quick, open_page) -> None:
    page = open_page(quick)
    model.release()
    race(page)
    finished(page)
    model.hold()
    page.locator("#five-seeds").click()
    expect(page.locator("#seeds-table")).to_have_text("Race 1 of 5, from seed 7…")
    running(page)
    page.locator("#stop").click()
    model.release()
    state(page, "stopped")


def test_before_any_race_there_is_nothing_to_take(quick, open_page) -> None:
    page = open_page(quick)
    unfold(page, "export")
    page.locator("#make").click()
    expect(page.locator(".toast-body")).to_contain_text("never began")
