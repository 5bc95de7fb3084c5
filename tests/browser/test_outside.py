"""A decoder from outside on the page: its badge and the token panel, with and without a verdict."""

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


@pytest.mark.parametrize(
    ("outcome", "badge", "shift", "says"),
    [
        (None, "not judged", "not judged", "judge it with photo-finish judge FILE"),
        (
            Outcome.CHANGED,
            "changed distribution",
            "0 claimed",
            "Its author's badge, same distribution, does not hold.",
        ),
        (Outcome.LOSSLESS, "same distribution", "exactly 0", "no difference from vanilla AR's."),
    ],
)
def test_a_lane_from_outside_says_what_was_proved_and_what_was_recorded(
    open_file, race, file, monkeypatch, outcome, badge, shift, says
) -> None:
    rule = DECODERS[NAME]
    if outcome is not None:
        write_verdicts(file, [verdict(rule, outcome)])
    monkeypatch.setitem(VERDICTS, NAME, verdict_on(rule))
    page = open_file(race, 1400, 1200)
    key(page, "End")
    lane = page.locator(f".lane[data-lane='{NAME}']")
    expect(lane.locator(".badge")).to_have_text(badge)
    assert says in lane.locator(".badge").get_attribute("title")
    expect(lane.locator(".shift")).to_have_text(shift)
    expect(page.locator(".promises")).to_contain_text(says)
    expect(page.locator(".results")).to_contain_text(badge)

    accepted = pin(page, race, Status.ACCEPTED)
    assert "p gave the draft" in accepted
    assert "the number drawn was below their ratio, " in accepted
    rejected = pin(page, race, Status.RESAMPLED)
    assert "the number drawn was not below their ratio, " in rejected
    assert "was committed in its place" in rejected
    fresh = pin(page, race, Status.FRESH)
    assert "without a draft" in fresh
    for words in (accepted, rejected, fresh):
        assert "has more of than q" not in words
        assert "drawn in its place" not in words
    exact = "exactly the model's distribution p"
    assert (exact in accepted) is (outcome is Outcome.LOSSLESS)
    assert ("Shift 0 is its author's claim" in rejected) is (outcome is not Outcome.LOSSLESS)
