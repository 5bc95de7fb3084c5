"""A counterexample as an SVG file."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from engine.decoders.sjd import SJD
from engine.decoders.verdict import Counterexample, Number, Outcome, Pass, Way
from tests.verdicts import verdict
from visualize.figures.counterexample import counterexample_svg

SVG = "{http://www.w3.org/2000/svg}"


def example(statuses: list[str]) -> Counterexample:
    """Two tokens of two codes, the first an accepted draft, with a way for each status."""
    number = Number(purpose="verify", position=0, index=0, low=0.0, high=0.4)
    step = Pass(
        start=0,
        drafts=(1,),
        p=((0.6, 0.4), (0.5, 0.5)),
        q=((0.25, 0.75),),
        numbers=(number,),
        committed=(1, 0),
        statuses=("accepted", "fresh"),
        chance=0.125,
    )
    return Counterexample(
        model="two tokens of two codes <&>",
        settings={"window": 2},
        total_variation=0.1,
        prefix=(),
        token=1,
        p=0.4,
        found=0.5,
        sequence=(1, 0),
        sequence_p=0.2,
        sequence_found=0.25,
        ways=tuple(Way(status=each, chance=0.125, passes=(step,)) for each in statuses),
    )


@pytest.mark.parametrize("statuses", [["accepted"], ["accepted", "resampled", "fresh"], []])
def test_it_is_drawn_within_its_frame(statuses: list[str]) -> None:
    drawn = counterexample_svg(verdict(SJD, Outcome.CHANGED, counterexample=example(statuses)))
    root = ElementTree.fromstring(drawn)
    width, height = (float(root.get(side)) for side in ("width", "height"))
    for box in root.iter(f"{SVG}rect"):
        x, y, wide, tall = (float(box.get(key, 0)) for key in ("x", "y", "width", "height"))
        assert 0 <= x <= x + wide <= width
        assert 0 <= y <= y + tall <= height
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert "0.4000 vanilla AR" in words
    assert "0.5000 this decoder" in words
    assert words.count("draft 1: 1 accepted") == len(statuses)
    # The committed token's bar is as high as its p, the draft's frame as its q.
    bars = [box for box in root.iter(f"{SVG}rect") if box.get("class") == "same"]
    frames = [box for box in root.iter(f"{SVG}rect") if box.get("class") == "frame"]
    assert len(bars) == len(frames) == len(statuses)
    for bar, frame in zip(bars, frames, strict=True):
        assert float(frame.get("height")) / float(bar.get("height")) == pytest.approx(
            0.75 / 0.4, 0.01
        )


def test_a_verdict_without_one_is_not_drawn() -> None:
    with pytest.raises(ValueError, match="has no counterexample"):
        counterexample_svg(verdict(SJD))
