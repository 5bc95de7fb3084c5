"""Under the board: what decided the race, what other rules would have done, and the race to take
away."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import av
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from app.page.export import slug
from tests.app.conftest import wait_until
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
from tests.engine.trace.reread import reread
from visualize.figures.figures import Figure, figures
from visualize.figures.measures import runners
from visualize.figures.quality import about, quality_figures, stored
from visualize.pictures.recorded_race import RecordedRace

SVG = "{http://www.w3.org/2000/svg}"


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
    with page.expect_download() as event:
        page.locator("#export-file a[download]").first.click()
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
    expect(page.locator(".figure p:not(.save)")).to_have_text(sentences)
    expect(plots).to_have_count(len(sentences))
    expect(page.locator("#cost .about p")).to_have_text(about(stored(), duel.trace))
    plots.first.hover()  # of a figure's own bar the download alone is a stop
    buttons = page.locator(".figure").first.locator(".modebar-btn:visible")
    expect(buttons).to_have_count(1)
    assert buttons.first.get_attribute("data-title").startswith("Download plot")
    expect(page.locator("h1")).to_have_text("Photo Finish")
    before = nodes(page)
    race(page, prompt="octopus", lanes=("ar", "gsd", "gsd:G=50"))
    finished(page)
    expect(page.locator(".figure p:not(.save)")).not_to_have_text(sentences)
    expect(plots.first).to_contain_text("GSD G=50")
    assert nodes(page) < before + 2000, "the charts before have gone, each with some 360"
    for section in ("decided", "cost"):
        unfold(page, section)
    expect(plots).to_have_count(0)


def saved(page: Page, within: str, kind: str) -> Path:
    """What a part's button saves, under the name that it suggests."""
    with page.expect_download() as event:
        page.locator(within).get_by_role("button", name=kind, exact=True).click()
    path = Path(event.value.path())
    return path.rename(path.with_name(event.value.suggested_filename))


def test_figures_and_tables_are_saved_for_a_paper(opened, recorded_url, duel) -> None:
    page = opened(recorded_url, "decided")
    for figure in figures(duel.trace):
        within = f".figure:has(#figure-{figure.name})"
        expect(page.locator(within).get_by_role("button", name="CSV")).to_be_visible()
        if figure.name not in ("acceptance", "time"):
            continue
        rows = list(csv.reader(saved(page, within, "CSV").read_text().splitlines()))
        traces = [trace for trace in figure.plot.data if trace.x[0] is not None]
        expected = [(t.name, x, y) for t in traces for x, y in zip(t.x, t.y, strict=True)]
        assert [row[0] for row in rows[1:]] == [name for name, *_ in expected]
        for column in (1, 2):
            values = [each[column] for each in expected]
            texts = [row[column] for row in rows[1:]]
            assert [type(value)(text) for value, text in zip(values, texts, strict=True)] == values
        assert rows[0][3:] == (["low", "high"] if figure.name == "acceptance" else [])
        svg = saved(page, within, "SVG")
        assert svg.name.startswith(f"photo-finish-cactus-on-yellow-sand-7-{slug(figure.title)}")
        drawn = ElementTree.parse(svg).getroot()
        texts = {"".join(text.itertext()) for text in drawn.iter(f"{SVG}text")}
        assert {lane.name for lane in runners(duel.trace)} & texts
        assert len(list(drawn.iter(f"{SVG}path"))) > 5
        patterns = {f"url(#{pattern.get('id')})" for pattern in drawn.iter(f"{SVG}pattern")}
        used = set(re.findall(r"fill: (url\(.+?\))", svg.read_text()))
        assert used <= patterns
        assert bool(used) == (figure.name == "time")
    rows = list(csv.DictReader(saved(page, ".finish", "CSV").read_text().splitlines()))
    assert {row["Lane"] for row in rows} == {lane.name for lane in runners(duel.trace)}
    passes = {str(lane.table.steps["nfe"][-1]) for lane in runners(duel.trace)}
    assert {row["Passes"] for row in rows} == passes
    drawn = ElementTree.parse(saved(page, ".finish", "SVG")).getroot()
    shown = page.locator(".results th, .results td").all_text_contents()
    assert [text.text for text in drawn.iter(f"{SVG}text")] == " ".join(shown).split()
    unfold(page, "whatif")
    expect(page.locator("#whatif-plots").get_by_role("button", name="CSV")).to_have_count(4)


def test_what_if_answers_for_the_lane_the_rule_and_the_knobs_of_the_race_on_the_board(
    opened, recorded_url
) -> None:
    page = opened(recorded_url, "whatif")
    answer = page.locator("#whatif-answer")
    asked = "GSD with G = 10, d = 0.5, delta = 0.15 would have accepted"
    expect(answer).to_contain_text(f"drafts that SJD rejected first, {asked}")
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
    said = {"ar": "No draft was rejected in this race", "gsd": "GSD rejected first"}
    for lane, words in said.items():
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


def test_each_kind_of_file_is_what_it_says(page, open_page, duel) -> None:
    name = "photo-finish-cactus-on-yellow-sand-7"
    file = download(page, "Trace")
    assert file.name == f"{name}.json"
    assert RecordedRace.loads(file.read_bytes()) == replace(duel, trace=reread(duel.trace))
    file = download(page, "CSV of the steps")
    assert file.name == f"{name}-steps.csv"
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert len(rows) == sum(frame.step is not None for frame in duel.trace.frames)
    file = download(page, "PNG of this instant")
    with Image.open(file) as image:
        assert re.fullmatch(rf"{name}-picture-[\d.]+-seconds\.png", file.name)
        assert image.format == "PNG"
    page.locator(".board .speed").select_option("0.5")
    for kind, codec in (("MP4", "h264"), ("GIF", "gif")):
        file = download(page, kind)
        expect(page.locator("#take-speed input")).to_have_value("0.5x")  # as the board plays
        assert file.name == f"{name}-picture-seconds.{kind.lower()}"
        with av.open(file) as film:
            stream = film.streams.video[0]
            assert stream.codec_context.name == codec
            assert sum(1 for _ in film.decode(stream)) > 1
    file = download(page, "WebP")
    with Image.open(file) as image:
        assert (image.format, image.is_animated) == ("WEBP", True)
    # A picture is of the instant and the layer that are on the board.
    by_passes(page)
    pictures = []
    for t, layer in (("4", "Picture"), ("20", "Picture"), ("20", "Status"), ("4", "Picture")):
        page.locator(".scrub").fill(t)
        page.get_by_role("button", name=layer, exact=True).click()
        with Image.open(download(page, "PNG of this instant")) as image:
            pictures.append(image.tobytes())
    assert pictures[0] == pictures[3]
    assert len(set(pictures)) == 3
    file = download(page, "Standalone HTML")
    assert file.name == "photo-finish-cactus-on-yellow-sand-7.html"
    alone = open_page(file.as_uri())
    prompted(alone, "cactus on yellow sand")
    for one in (alone, page):
        key(one, "End")
        expect(one.locator(".board")).to_have_attribute("data-state", "finished")
    assert hashes(alone) == hashes(page)


def test_a_film_takes_two_clicks(quick, open_page) -> None:
    page = open_page(quick)
    race(page, prompt="octopus", seed=7)
    finished(page)
    page.locator(".board .film").click()
    with page.expect_download() as event:
        page.locator("#export-file a").first.click()
    assert event.value.suggested_filename == "photo-finish-octopus-7-picture-seconds.mp4"
    with av.open(event.value.path()) as film:
        assert sum(1 for _ in film.decode(film.streams.video[0])) > 1


def test_several_seeds_are_raced_and_compared(quick, open_page) -> None:
    page = open_page(quick)
    race(page, seed=7)
    finished(page)
    page.locator("#seeds-number input").fill("3")
    expect(page.locator("#seeds-time")).to_contain_text("3 such races take")
    page.locator("#race-seeds").click()
    table = page.locator("#seeds-table")
    expect(table).to_contain_text("from seeds 7 to 9: mean")
    expect(table.locator("code")).to_contain_text("--seed 7 --seeds 3 --model toy")
    expect(table.locator("tr th[scope=row]")).to_have_text(["SJD", "Vanilla AR"])
    rows = list(csv.DictReader(saved(page, "#seeds-table", "CSV").read_text().splitlines()))
    assert [row["Lane"] for row in rows] == ["SJD", "Vanilla AR"]
    assert all(float(row[column]) >= 0 for row in rows for column in ("Seconds", "Seconds ±"))
    finished(page)
    expect(page.locator(".board .meta")).to_contain_text("seed 9")


def test_stop_ends_the_seeds(model, quick, open_page) -> None:
    page = open_page(quick)
    model.release()
    race(page)
    finished(page)
    model.hold()
    page.locator("#race-seeds").click()
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


def test_a_knob_is_swept_and_its_figures_are_saved(quick, open_page) -> None:
    page = open_page(quick)
    race(page, seed=7)
    finished(page)
    unfold(page, "sweep")
    expect(page.locator("#sweep-lane input")).to_have_value("SJD")
    page.locator("#sweep-values textarea, #sweep-values input").fill("2, 8")
    page.locator("#sweep-seeds input").fill("2")
    page.locator("#race-sweep").click()
    expect(page.locator("#sweep h3")).to_have_text(["Passes over window", "Seconds over window"])
    command = "--lanes sjd:window=2,sjd:window=8 --seed 7 --seeds 2"
    expect(page.locator("#sweep-table code")).to_contain_text(command)
    expect(page.locator("#sweep .figure .save")).to_have_count(2)
    rows = list(
        csv.DictReader(saved(page, "#sweep .figure >> nth=0", "CSV").read_text().splitlines())
    )
    assert [(row["name"], row["window"]) for row in rows] == [("SJD", "2"), ("SJD", "8")]
    assert all(float(row["low"]) <= float(row["passes"]) <= float(row["high"]) for row in rows)
