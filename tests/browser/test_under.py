"""Under the board: what decided the race, what other rules would have done, and the race to take
away."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import av
from PIL import Image
from playwright.sync_api import Page, expect

from app.page.export import slug
from tests.app.conftest import wait_until
from tests.browser.acts import (
    by_passes,
    finished,
    hashes,
    key,
    open_share,
    prompted,
    race,
    running,
    state,
    take_away,
    unfold,
    unfolded,
)
from tests.engine.trace.reread import reread
from visualize.figures.figures import Figure, figures
from visualize.figures.measures import runners
from visualize.figures.quality import about, quality_figures, stored
from visualize.pictures.recorded_race import RecordedRace

SVG = "{http://www.w3.org/2000/svg}"


def choose(page: Page, field: str, option: str) -> None:
    """By the keyboard: a click can miss an option whose page scrolls or grows under it."""
    box = unfolded(page, f"#{field} input")
    box.fill(option)
    expect(page.get_by_role("option", name=option, exact=True)).to_be_visible()
    box.press("Enter")
    expect(box).to_have_value(option)


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


def saved(page: Page, within: str, kind: str) -> Path:
    """What a part's button saves, under the name that it suggests."""
    with page.expect_download() as event:
        page.locator(within).get_by_role("button", name=kind, exact=True).click()
    path = Path(event.value.path())
    return path.rename(path.with_name(event.value.suggested_filename))


def test_the_race_on_the_board_has_figures_what_if_and_tables_to_save(
    recorded_url, open_page, duel
) -> None:
    page = open_page(recorded_url)
    prompted(page, "cactus on yellow sand")
    expect(page.locator(".js-plotly-plot")).to_have_count(0)  # until they are asked for
    unfold(page, "decided")
    unfold(page, "cost")
    plots, said = page.locator(".figure .js-plotly-plot"), page.locator(".figure p:not(.save)")
    sentences = [figure.sentence for figure in drawn(duel)]
    expect(said).to_have_text(sentences)
    expect(plots).to_have_count(len(sentences))
    expect(page.locator("#cost .about p")).to_have_text(about(stored(), duel.trace))
    plots.first.hover()  # of a figure's own bar the download alone is a stop
    buttons = page.locator(".figure").first.locator(".modebar-btn:visible")
    expect(buttons).to_have_count(1)
    assert buttons.first.get_attribute("data-title").startswith("Download plot")
    expect(page.locator("h1")).to_have_text("Photo Finish")

    # A figure's points, to their last digit, and its drawing.
    found = {figure.name: figure for figure in figures(duel.trace)}
    for name in found:
        save = page.locator(f".figure:has(#figure-{name})").get_by_role("button", name="CSV")
        expect(save).to_be_visible()
    for name, pattern in (("acceptance", False), ("time", True)):
        figure, within = found[name], f".figure:has(#figure-{name})"
        rows = list(csv.reader(saved(page, within, "CSV").read_text().splitlines()))
        traces = [trace for trace in figure.plot.data if trace.x[0] is not None]
        expected = [(t.name, x, y) for t in traces for x, y in zip(t.x, t.y, strict=True)]
        assert [row[0] for row in rows[1:]] == [name for name, *_ in expected]
        for column in (1, 2):
            values = [each[column] for each in expected]
            texts = [row[column] for row in rows[1:]]
            assert [type(value)(text) for value, text in zip(values, texts, strict=True)] == values
        assert rows[0][3:] == ([] if pattern else ["low", "high"])
        svg = saved(page, within, "SVG")
        assert svg.name.startswith(f"photo-finish-cactus-on-yellow-sand-7-{slug(figure.title)}")
        tree = ElementTree.parse(svg).getroot()
        assert tree.get("width") == "720"  # whatever the window
        texts = {"".join(text.itertext()) for text in tree.iter(f"{SVG}text")}
        assert {lane.name for lane in runners(duel.trace)} & texts
        assert {figure.title, *figure.sentence.split()} <= {*texts, *" ".join(texts).split()}
        assert "cactus on yellow sand · seed 7" in " ".join(texts)
        assert len(list(tree.iter(f"{SVG}path"))) > 5
        patterns = {each.get("id") for each in tree.iter(f"{SVG}pattern")}
        used = set(re.findall(r"fill: url\(\W*#([\w-]+)", svg.read_text()))
        assert used <= patterns
        assert bool(used) == pattern
    rows = list(csv.DictReader(saved(page, ".finish", "CSV").read_text().splitlines()))
    assert {row["Lane"] for row in rows} == {lane.name for lane in runners(duel.trace)}
    passes = {str(lane.table.steps["nfe"][-1]) for lane in runners(duel.trace)}
    assert {row["Passes"] for row in rows} == passes
    tree = ElementTree.parse(saved(page, ".finish", "SVG")).getroot()
    shown = page.locator(".results th, .results td").all_text_contents()
    texts, words = [text.text for text in tree.iter(f"{SVG}text")], " ".join(shown).split()
    assert (texts[0], texts[-len(words) :]) == ("The finish", words)

    # All figures with their captions in one file, and each explained by a chapter on this race.
    page.locator("[data-save-all]").click(trial=True)
    with page.expect_download() as event:
        page.locator("[data-save-all]").click()
    with ZipFile(event.value.path()) as whole:
        names = whole.namelist()
        captions = whole.read("captions.txt").decode()
    assert names == [
        *(
            f"{i:02}-{slug(each.title)}.{kind}"
            for i, each in enumerate(found.values(), 1)
            for kind in ("svg", "csv")
        ),
        "captions.txt",
    ]
    assert all(each.sentence in captions for each in found.values())
    page.locator(".figure:has(#figure-acceptance) .why-figure").click()
    expect(page.locator(".chapter-title")).to_have_text("What p and q share")
    prompted(page, "cactus on yellow sand")
    key(page, "Escape")

    # What another rule would have done with its drafts.
    unfold(page, "whatif")
    answer = page.locator("#whatif-answer")
    asked = "GSD with G = 10, d = 0.5, delta = 0.15 would have accepted"
    expect(answer).to_contain_text(asked)
    expect(answer).to_contain_text("drafts that SJD rejected first")
    expect(answer).to_contain_text("this counts single decisions, not a race")
    curves = page.locator("#whatif-plots .js-plotly-plot")
    expect(curves).to_have_count(4)  # the picture, and a curve for each knob
    expect(curves.nth(3)).to_contain_text("delta")
    expect(page.locator("#whatif-plots").get_by_role("button", name="CSV")).to_have_count(4)
    page.locator("#whatif").get_by_label("number input for delta").first.fill("0")
    page.keyboard.press("Tab")
    expect(answer).to_contain_text("delta = 0 would")
    page.locator("#whatif").get_by_role("radio", name="LANTERN").check()
    expect(answer).to_contain_text("LANTERN with k = 1, delta = 0.1 would have accepted")
    expect(curves).to_have_count(3)
    unfold(page, "whatif")
    expect(curves).to_have_count(0)

    # All are of the race on the board; the charts before have gone.
    before = nodes(page)
    race(page, prompt="octopus", lanes=("ar", "gsd", "gsd:G=50"))
    finished(page)
    expect(said).not_to_have_text(sentences)
    expect(plots.first).to_contain_text("GSD G=50")
    # They go one after another, behind the first chart of the new race.
    shed = any(nodes(page) < before + 2000 for _ in range(100))
    assert shed, "the charts before have gone, each with some 360"
    for section in ("decided", "cost"):
        unfold(page, section)
    expect(plots).to_have_count(0)
    unfold(page, "whatif")
    expect(answer).to_contain_text("GSD rejected first")


def test_the_race_on_the_board_is_taken_away_as_files(recorded_url, open_page, duel) -> None:
    """Every kind is made in tests/app/page/test_export.py."""
    page = open_page(recorded_url)
    prompted(page, "cactus on yellow sand")
    page.locator(".board .speed").select_option("0.5")
    open_share(page)
    name = "photo-finish-cactus-on-yellow-sand-7"
    file = take_away(page, "Trace")
    assert file.name == f"{name}.json"
    assert RecordedRace.loads(file.read_bytes()) == replace(duel, trace=reread(duel.trace))
    file = take_away(page, "GIF")
    assert file.name == f"{name}-picture-seconds.gif"
    with av.open(file) as film:
        assert sum(1 for _ in film.decode(film.streams.video[0])) > 1

    # A picture is of the instant and the layer that are on the board.
    key(page, "Escape")
    expect(page.locator("#share")).to_be_hidden()
    by_passes(page)
    pictures = []
    for t, layer in (("4", "Picture"), ("20", "Status"), ("4", "Picture")):
        page.locator(".scrub").fill(t)
        page.get_by_role("button", name=layer, exact=True).click()
        open_share(page)
        file = take_away(page, "PNG of this instant")
        key(page, "Escape")
        assert file.name == f"{name}-{layer.lower()}-{t}-passes.png"
        with Image.open(file) as image:
            pictures.append(image.tobytes())
    assert pictures[0] == pictures[2] != pictures[1]

    open_share(page)
    file = take_away(page, "Standalone HTML")
    key(page, "Escape")
    assert file.name == f"{name}.html"
    alone = open_page(file.as_uri())
    prompted(alone, "cactus on yellow sand")
    for one in (alone, page):
        key(one, "End")
        expect(one.locator(".board")).to_have_attribute("data-state", "finished")
    assert hashes(alone) == hashes(page)
    # The model draws whole pictures only: none is offered to be filled in.
    expect(page.locator(".lane .fill:not([hidden])")).to_have_count(0)


def test_a_race_is_filmed_repeated_from_other_seeds_and_swept(
    held, model, stops, open_page
) -> None:
    model.release()
    page = open_page(held)
    expect(page.locator(".share")).to_be_hidden()  # before any race there is nothing to share
    race(page, seed=7)
    finished(page)
    open_share(page)
    file = take_away(page, "MP4")
    assert file.name.endswith("-7-picture-seconds.mp4")
    # What is in the way is said in the menu, which lies over all else.
    page.locator("#share").evaluate("it => it.hidePopover()")
    key(page, "1", "2")
    open_share(page)
    page.locator("#make").click()
    expect(page.locator("#export-refusal")).to_contain_text("Every lane is hidden")
    expect(page.locator("#export-file")).to_be_hidden()
    key(page, "Escape", "1", "2")
    with av.open(file) as film:
        assert film.streams.video[0].codec_context.name == "h264"
        assert sum(1 for _ in film.decode(film.streams.video[0])) > 1

    # A knob is swept.
    unfold(page, "seeds")
    expect(page.locator("#sweep-lane input")).to_have_value("SJD")
    unfolded(page, "#sweep-values textarea, #sweep-values input").fill("2, 8")
    unfolded(page, "#sweep-seeds input").fill("2")
    page.locator("#race-sweep").click()
    expect(page.locator("#sweep h3")).to_have_text(["Passes over window", "Seconds over window"])
    command = "--lanes sjd:window=2,sjd:window=8 --seed 7 --seeds 2"
    expect(page.locator("#sweep-table code")).to_contain_text(command)
    expect(page.locator("#sweep .figure .save")).to_have_count(2)
    file = saved(page, "#sweep .figure >> nth=0", "CSV")
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [(row["name"], row["window"]) for row in rows] == [("SJD", "2"), ("SJD", "8")]
    assert all(float(row["low"]) <= float(row["passes"]) <= float(row["high"]) for row in rows)

    # Several seeds are raced and compared; Stop ends them.
    race(page, prompt="octopus", seed=7)
    prompted(page, "octopus")
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
    expect(page.locator(".board .meta")).to_contain_text("seed 9")
    finished(page)
    model.hold()
    page.locator("#race-seeds").click()
    expect(table).to_have_text("Race 1 of 3, from seed 9…")
    running(page)
    page.locator("#stop").click()
    wait_until(lambda: stops)
    model.release()
    state(page, "stopped")
