"""A visitor's own picture to fill in: cuts the picture to a model's size, and encodes it."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from app.models.model_pool import ModelPool
from app.races.races import user_error
from app.workers.between_steps import BETWEEN_STEPS
from app.workers.upload_thread import read_upload
from engine.infilling import ORDERS
from engine.models.supply.card import ModelError
from engine.models.supply.hub import at_hand
from engine.settings import SettingError

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
MAX_MEGAPIXELS = 16  # each takes up to 8 MB while it is read
TOO_LARGE = f"The picture has more than {MAX_MEGAPIXELS} megapixels. Upload a smaller one."
WHOLE = ("RGB", "L")  # kinds of pixels that need no conversion to be made smaller


def own_picture(pool: ModelPool, path: Any, model: Any) -> dict[str, Any]:
    """Encode a visitor's picture, and return it as a value of the form's component `fill_in`.

    No token is masked yet. The value also has the picture for the browser to show. Encoding takes
    seconds on a public model. Raises gr.Error.
    """
    try:
        return read_upload(_read, pool, path, model)
    except (SettingError, ModelError) as error:
        raise user_error(error) from error


def _read(pool: ModelPool, path: Any, model: Any) -> dict[str, Any]:
    from engine.models.encoder import encode, parts, size  # which imports every family

    card = pool.require(model)
    if (needed := parts(card)) is None:
        raise SettingError(f"{card.title} has no encoder for pictures here. Choose another model.")
    folders = {part: at_hand(card.source_of(part)) for part in needed}
    here = {part: folder for part, folder in folders.items() if folder is not None}
    if len(here) < len(folders):
        raise SettingError(
            f"The files of {card.title} are not on this machine yet. Race on it once, then upload"
            " your picture."
        )
    with BETWEEN_STEPS.work():
        picture = _fitted(path, size(card))
        return {
            "known": encode(card, here, np.array(picture)),
            "order": ORDERS[0],
            "model": card.name,
            "picture": _webp(picture),
        }


def _fitted(path: Any, size: tuple[int, int]) -> Image.Image:
    """Return the middle of a file's picture, scaled to the width and height `size`.

    Transparent parts become white. To save time and memory, a large picture is first reduced to a
    few times `size`. A JPEG file is reduced already while it is decoded.
    """
    side = max(size)
    try:
        with Image.open(path, formats=FORMATS) as image:
            if image.width * image.height > MAX_MEGAPIXELS * 1e6:
                raise SettingError(TOO_LARGE)
            image.draft(None, (2 * side, 2 * side))
            whole = image if image.mode in WHOLE else image.convert("RGBA")
            smaller = whole.reduce(max(1, min(image.size) // (2 * side)))
            upright = ImageOps.exif_transpose(smaller).convert("RGBA")
    except SettingError:
        raise
    except Image.DecompressionBombError as error:
        raise SettingError(TOO_LARGE) from error
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, AttributeError) as error:
        raise SettingError(
            "This page cannot read the file as a picture. Upload a PNG, JPEG or WebP."
        ) from error
    fitted = ImageOps.fit(upright, size, Image.Resampling.LANCZOS)
    return Image.alpha_composite(Image.new("RGBA", size, "white"), fitted).convert("RGB")


def _webp(picture: Image.Image) -> str:
    """Return a picture as a WebP file in base64."""
    file = io.BytesIO()
    picture.save(file, "WEBP", quality=90)
    return base64.b64encode(file.getvalue()).decode()
