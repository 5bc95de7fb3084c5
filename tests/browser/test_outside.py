"""A decoder from outside on the board: its badge, what is said of it, and its token panel. What the
badge says with each verdict and without one is tested in tests/visualize/board/test_outside.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from engine.decoders import DECODERS, VERDICTS
from engine.decoders.outside import classes_of
from engine.decoders.verdict import Outcome, verdict_on, write_verdicts
from engine.trace import Status
from tests.browser.acts import key
from tests.browser.servers import recorded
from tests.verdicts import verdict
from visualize.pictures.recorded_race import RecordedRace

EXAMPLE = Path(__file__).parents[2] / "examples" / "decoders" / "wrong_rule.py"
NAME = "wrong-rule"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    copy = tmp_path / EXAMPLE.name
    copy.write_text(EXAMPLE.read_text("utf-8"), "utf-8")
    return copy


@pytest.fixture
def race(file: Path, monkeypatch: pytest.MonkeyPatch) -> RecordedRace:
    (rule,) = classes_of(file)
    monkeypatch.setitem(DECODERS, NAME, rule)
    return recorded("cactus on yellow sand", ("ar", NAME))


def cell_of(race: RecordedRace, status: Status) -> int:
    """The first cell whose token was committed so; its test, if any, was not certain to pass."""
    table = race.trace.table(1)
    rows = table.positions
    some = table.committed & (rows["status"] == status)
    if status is not Status.FRESH:
        some &= (rows["acceptance"] > 0) & (rows["acceptance"] < 65534)
    return int(race.trace.header.cells[table.position[some][0]])


def pin(page: Page, race: RecordedRace, status: Status) -> str:
    """What the token panel says of such a cell."""
    columns, cell = race.trace.header.grid[1], cell_of(race, status)
    canvas = page.locator(f".lane[data-lane='{NAME}'] canvas")
    side = canvas.bounding_box()["width"] / columns
    place = {"x": (cell % columns + 0.5) * side, "y": (cell // columns + 0.5) * side}
    canvas.click(position=place)
    expect(page.locator(".token-where")).to_have_text(
        f"Wrong rule, row {cell // columns + 1}, column {cell % columns + 1}"
    )
    return page.locator(".token").inner_text().replace("\u00a0", " ")


def test_a_lane_from_outside_says_what_was_proved_and_what_was_recorded(
    open_file, race, file, monkeypatch
) -> None:
    rule = DECODERS[NAME]
    write_verdicts(file, [verdict(rule, Outcome.CHANGED)])
    monkeypatch.setitem(VERDICTS, NAME, verdict_on(rule))
    page = open_file(race, 1400, 1200)
    key(page, "End")
    lane = page.locator(f".lane[data-lane='{NAME}']")
    says = "Its author's badge, same distribution, does not hold."
    expect(lane.locator(".badge")).to_have_text("changed distribution")
    assert says in lane.locator(".badge").get_attribute("title")
    expect(lane.locator(".shift")).to_have_text("0 claimed")
    expect(page.locator(".promises")).to_contain_text(says)
    expect(page.locator(".results")).to_contain_text("changed distribution")

    accepted = pin(page, race, Status.ACCEPTED)
    assert "p gave the draft" in accepted
    assert "the number drawn was below their ratio, " in accepted
    rejected = pin(page, race, Status.RESAMPLED)
    assert "the number drawn was not below their ratio, " in rejected
    assert "was committed in its place" in rejected
    assert "Shift 0 is the claim of the decoder's author" in rejected
    fresh = pin(page, race, Status.FRESH)
    assert "without a draft" in fresh
    for words in (accepted, rejected, fresh):  # which are true of rules that are known here
        assert "the part of p that exceeds q" not in words
        assert "drawn in its place" not in words
        assert "exactly the model's distribution p" not in words
