"""Distilling a preview decoder: grids to fit on, the fit, and the file that keeps it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import SafetensorError
from torch import Tensor

from engine.models import distil
from engine.models.body import BodyModel
from engine.models.distil import Fit, fit, fitted, half_made, random_grids
from engine.models.preview import PreviewDecoder
from tests.engine.models.families import JANUS, TINY
from visualize.pictures.picture import canvas


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit takes a second."""
    monkeypatch.setattr(distil, "WHOLE", Fit(16, 24, 40))
    monkeypatch.setattr(distil, "SHORT", Fit(8, 3, 20))


def grids(model: BodyModel, count: int) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(model.vocab_size, (count, 6, 6), generator=generator)


def means(pictures: np.ndarray, side: int) -> np.ndarray:
    """The mean colour of each cell of pictures [B, H, W, 3]: [B, h, w, 3]."""
    count, height, width, _ = pictures.shape
    return pictures.reshape(count, height // side, side, width // side, side, 3).mean((2, 4))


@pytest.mark.parametrize("count", [1, 2, 4, 7, 11, 19, 20])
def test_half_made_grids_are_filled_as_for_drawing(count: int) -> None:
    codes = torch.randint(9, (2, 5, 4))
    filled, known = half_made(codes, count)
    for grid, shown, cells in zip(codes, filled, known, strict=True):
        assert cells.sum() == count
        tokens = grid.flatten().numpy().copy()
        tokens[count:] = -1
        np.testing.assert_array_equal(shown, canvas(tokens, (5, 4)))


def test_a_fit_is_nearer_than_a_colour_for_each_code() -> None:
    """Half of its squared error. Of the tiny VQGANs with random weights a code's pixels depend on
    statistics of the whole picture: there is little to fit."""
    tiny = TINY["embedded"]
    model = tiny.model
    seen, unseen = grids(model, 160).split([144, 16])
    network = fit(model.pixels, model.codebook.float(), seen, steps=150)
    assert network.scale == tiny.side
    patches = means(model.pixels(seen.numpy()), tiny.side)
    colours = np.stack([patches[seen == code].mean(0) for code in range(model.vocab_size)])
    flat = colours[unseen].repeat(tiny.side, 1).repeat(tiny.side, 2)
    true = model.pixels(unseen.numpy()).astype(float)
    fit_error, flat_error = (
        np.square(true - drawn).mean() for drawn in (network.pictures(unseen.numpy()), flat)
    )
    assert fit_error < 0.8 * flat_error


def test_random_grids_have_a_models_codes_and_smooth_places() -> None:
    model = TINY["embedded"].model
    found = random_grids(model, Fit(40, 24, 0), torch.Generator().manual_seed(0))
    assert found.shape == (40, *model.grid)
    assert len(found.unique()) > model.vocab_size / 2
    assert found.max() < model.vocab_size
    assert (found[:, 1:] == found[:, :-1]).float().mean() > 2 / model.vocab_size


def test_a_fit_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, reports = JANUS.model, []
    codes = grids(model, 1).numpy()
    first = fitted(model, tmp_path / "previews", reports.append)
    fractions = [progress.fraction for progress in reports]
    assert fractions == sorted(fractions)
    assert fractions[:3] == [0.0, 0.25, 0.5]
    assert fractions[3:] == pytest.approx(0.5 + np.arange(1, 41) / 80)
    assert len(list((tmp_path / "previews").iterdir())) == 1
    with monkeypatch.context() as patched:
        patched.setattr(distil, "fit_random", lambda *_: pytest.fail("there is a file"))
        again = fitted(model, tmp_path / "previews")
    # A file is in float16, and half of a grey level may be rounded either way.
    np.testing.assert_allclose(first.pictures(codes).astype(int), again.pictures(codes), atol=2)


def test_where_pictures_are_slow_the_fit_is_a_short_one_with_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted(JANUS.model, tmp_path)
    monkeypatch.setattr(JANUS.model, "slow_pixels", True)
    drawn = []
    draw = JANUS.model.pixels
    monkeypatch.setattr(JANUS.model, "pixels", lambda grid: drawn.append(grid.shape) or draw(grid))
    reports = []
    fitted(JANUS.model, tmp_path, reports.append)
    assert drawn == [(8, 3, 3)]
    assert len(reports) == 22
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("damage", ["cut", "of another model", "empty"])
def test_a_damaged_or_foreign_file_is_written_anew(damage: str, tmp_path: Path) -> None:
    model = JANUS.model
    fitted(model, tmp_path)
    (file,) = tmp_path.iterdir()
    good = file.read_bytes()
    if damage == "of another model":
        PreviewDecoder(model.vocab_size, JANUS.side).save(file, {"identity": "another"})
    else:
        file.write_bytes(good[: len(good) // 2 if damage == "cut" else 0])
    assert fitted(model, tmp_path) is not None
    assert [x.name for x in tmp_path.iterdir()] == [file.name]
    assert file.stat().st_size == len(good)


def test_other_weights_have_a_file_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted(JANUS.model, tmp_path)
    monkeypatch.setattr(JANUS.model, "weights", "others")
    fitted(JANUS.model, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("error", [PermissionError, SafetensorError])
def test_a_folder_that_cannot_be_written_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """Tests may run as root, for whom every folder can be written."""

    def save(*_: object) -> None:
        raise error("no room")

    (tmp_path / "file").write_text("not a folder")
    assert fitted(JANUS.model, tmp_path / "file") is not None
    monkeypatch.setattr(PreviewDecoder, "save", save)
    assert fitted(JANUS.model, tmp_path / "folder") is not None


def test_without_memory_there_is_no_preview(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(distil, "fit_random", full)
    assert fitted(JANUS.model, tmp_path) is None
