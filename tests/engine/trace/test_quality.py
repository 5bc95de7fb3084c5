"""The quality file: what is saved is read back, and a measurement goes on only as it was begun."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from engine.settings import Sampling
from engine.trace.quality import Judge, Picture, Point, Quality

PICTURE = Picture(passes=90, shift=0.125, log_p=-512.345, cut=1, right=True)


def quality(*lanes: str, judge: Judge | None = None, pictures: int = 0) -> Quality:
    points = tuple(Point(lane, (PICTURE,) * pictures) for lane in lanes)
    return Quality(
        model="toy",
        weights="w",
        sampling=Sampling(top_k=3),
        tokens=64,
        captions="some",
        judge=judge,
        commit="abc",
        machine="here",
        date="2026-01-01",
        points=points,
    )


@pytest.mark.parametrize("judge", [None, Judge(100, 306, 96)])
@pytest.mark.parametrize("pictures", [0, 3])
def test_a_file_is_read_back(tmp_path: Path, judge: Judge | None, pictures: int) -> None:
    file, measured = tmp_path / "quality.json", quality("ar", "gsd:G=3", judge=judge)
    for i in range(pictures):
        row = [replace(PICTURE, passes=i, right=bool(i % 2) if judge else None), PICTURE]
        measured = measured.extended(row)
    measured.save(file)
    assert Quality.load(file) == measured
    assert len(measured) == pictures
    assert [entry.name for entry in tmp_path.iterdir()] == ["quality.json"]
    stored = json.loads(file.read_text())["points"][1]["pictures"]
    assert stored["passes"] == [90] * pictures, "numbers stand field by field"


def test_every_point_has_a_picture_of_every_caption() -> None:
    with pytest.raises(ValueError, match="every point"):
        replace(quality("ar"), points=(Point("ar", (PICTURE,)), Point("sjd")))


def test_a_measurement_goes_on_only_as_it_was_begun() -> None:
    begun = quality("ar", "sjd")
    assert quality("ar", "sjd", pictures=5).continues(begun)
    assert replace(begun, date="2026-02-02", machine="another").continues(begun)
    others = {"sampling": Sampling(top_k=4), "judge": Judge(100, 1, 1), "tokens": 65}
    for field in fields(Quality):
        if field.name not in ("date", "machine", "points"):
            changed = {field.name: others.get(field.name, "another")}
            assert not replace(begun, **changed).continues(begun), field.name
    assert not quality("ar", "scd").continues(begun)
    assert not quality("sjd", "ar").continues(begun)
