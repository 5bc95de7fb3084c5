"""A visitor's own picture: which files are read, how they are cut, and its codes."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import gradio as gr
import numpy as np
import pytest
from PIL import Image, ImageOps
from PIL.JpegImagePlugin import JpegImageFile

from app.models.model_pool import Availability, ModelPool
from app.page import own_picture as module
from app.page.own_picture import own_picture
from app.races.request_values import read_infilling
from engine.infilling import Infilling
from engine.models.encoder import encode, size
from engine.models.supply.card import CARDS
from engine.settings import SettingError

EMBEDDED = CARDS["embedded"]
WIDTH, HEIGHT = size(EMBEDDED)


@pytest.fixture
def pool() -> ModelPool:
    public = {CARDS[name]: Availability() for name in ("janus-pro-1b", "emu3")}
    return ModelPool(lambda: None, EMBEDDED, public)  # nothing here loads a model


def file(tmp_path: Path, image: Image.Image, name: str = "x.png", **options: object) -> Path:
    image.save(tmp_path / name, **options)
    return tmp_path / name


def shown(value: dict) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(value["picture"]))).convert("RGB"))


def halves(width: int, height: int) -> Image.Image:
    """Red on the left, blue on the right."""
    image = Image.new("RGB", (width, height), "blue")
    image.paste("red", (0, 0, width // 2, height))
    return image


def test_its_codes_and_what_the_browser_shows(pool, tmp_path) -> None:
    value = own_picture(pool, file(tmp_path, halves(WIDTH, HEIGHT)), "embedded")
    assert value["known"] == encode(EMBEDDED, {}, np.array(halves(WIDTH, HEIGHT)))
    assert value["model"] == "embedded"
    assert np.abs(shown(value)[:, 4] - np.array([255, 0, 0.0])).max() < 12
    with pytest.raises(SettingError, match="Mask what is to be filled in"):
        read_infilling(value, "embedded")
    value["known"][5] = -1
    assert isinstance(read_infilling(value, "embedded"), Infilling)


@pytest.mark.parametrize("name", ["x.png", "x.jpg", "x.webp", "x.gif", "x.bmp"])
def test_the_middle_of_every_format_is_taken(pool, tmp_path, name) -> None:
    """A wide picture's ends are cut off, a yellow frame here."""
    wide = Image.new("RGB", (3 * WIDTH, HEIGHT), "yellow")
    wide.paste(halves(WIDTH, HEIGHT), (WIDTH, 0))
    found = shown(own_picture(pool, file(tmp_path, wide, name), "embedded"))
    assert found.shape == (HEIGHT, WIDTH, 3)
    assert np.abs(found[:, [8, -8]] - np.array([[255, 0, 0], [0, 0, 255.0]])).max() < 16


def test_what_is_transparent_is_white_and_what_lies_is_turned(pool, tmp_path) -> None:
    clear = Image.new("RGBA", (9, 9), (255, 0, 0, 0))
    assert shown(own_picture(pool, file(tmp_path, clear), "embedded")).min() > 250
    exif = Image.Exif()
    exif[0x0112] = 6  # lies on its side: the left half is the upper one
    turned = file(tmp_path, halves(WIDTH, HEIGHT), "x.jpg", exif=exif)
    found = shown(own_picture(pool, turned, "embedded"))
    assert found[8, :, 0].min() > 230 > 25 > found[-8, :, 0].max()


@pytest.fixture(scope="module")
def unreadable(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("unreadable")
    (folder / "text.png").write_text("no picture")
    (folder / "vector.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    file(folder, halves(40, 40), "good.png")
    noise = np.random.default_rng(1).integers(0, 256, (60, 60, 3), dtype=np.uint8)
    cut = file(folder, Image.fromarray(noise), "cut.png")
    cut.write_bytes(cut.read_bytes()[:900])
    Image.new("1", (4000, 4001)).save(folder / "large.png")
    Image.new("1", (20_000, 20_000)).save(folder / "bomb.png")  # PIL's own limit is below it
    return folder


@pytest.mark.parametrize(
    ("path", "model", "message"),
    [
        ("text.png", "embedded", "cannot read the file as a picture"),
        ("missing.png", "embedded", "cannot read the file as a picture"),
        (None, "embedded", "cannot read the file as a picture"),
        ({"path": 3}, "embedded", "cannot read the file as a picture"),
        ("cut.png", "embedded", "cannot read the file as a picture"),
        ("vector.svg", "embedded", "cannot read the file as a picture"),
        ("good.png", "imagen", "model must be one of"),
        ("good.png", ["embedded"], "model must be one of"),
        ("good.png", "emu3", "Emu3-Gen has no encoder"),
        ("good.png", "janus-pro-1b", "Janus-Pro 1B are not on this machine yet"),
        ("large.png", "embedded", "more than 16 megapixels"),
        ("bomb.png", "embedded", "more than 16 megapixels"),
    ],
)
def test_what_cannot_be_read_is_said(pool, unreadable, path, model, message) -> None:
    with pytest.raises(gr.Error, match=message):
        own_picture(pool, unreadable / path if isinstance(path, str) else path, model)
    assert (unreadable / "good.png").exists()


@pytest.mark.parametrize("name", ["x.png", "x.jpg", "x.webp"])
def test_a_large_picture_is_made_small_before_anything_else(
    pool, tmp_path, monkeypatch, name
) -> None:
    """What it shows stays what it was."""
    sizes = []
    fit = ImageOps.fit
    monkeypatch.setattr(
        ImageOps, "fit", lambda image, *size: sizes.append(image.size) or fit(image, *size)
    )
    small, large = (
        shown(own_picture(pool, file(tmp_path, halves(n * WIDTH, n * HEIGHT), name), "embedded"))
        for n in (1, 17)
    )
    assert sizes[1] < (4 * WIDTH, 4 * HEIGHT)
    assert np.abs(small.astype(int) - large).mean() < 3


def test_a_jpeg_is_made_small_by_its_decoder(pool, tmp_path, monkeypatch) -> None:
    decoded = []
    load = JpegImageFile.load
    monkeypatch.setattr(
        JpegImageFile, "load", lambda image: decoded.append(image.size) or load(image)
    )
    own_picture(pool, file(tmp_path, halves(16 * WIDTH, 16 * HEIGHT), "x.jpg"), "embedded")
    assert set(decoded) == {(2 * WIDTH, 2 * HEIGHT)}


def test_files_that_do_not_fit_are_said_to(pool, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "at_hand", lambda source: tmp_path)
    with pytest.raises(gr.Error, match=r"missing|cannot be read"):
        own_picture(pool, file(tmp_path, halves(40, 40)), "janus-pro-1b")
