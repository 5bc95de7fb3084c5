"""Mean colours of things and grounds (world.json).

If a prompt names no ground, the page's prompt reader uses these colours to choose one.
"""

from __future__ import annotations

import numpy as np

from train.glyphs import glyphs
from train.scenes import GROUNDS


def mean_colours() -> dict[str, list[int]]:
    """Return the mean colour of each thing and each ground, as [red, green, blue] from 0 to 255."""
    rng = np.random.default_rng(0)
    colours = {name: ground(rng).mean((0, 1)) for name, ground in GROUNDS.items()}
    for name, glyph in glyphs().items():  # premultiplied
        colours[name] = glyph[..., :3].sum((0, 1)) / glyph[..., 3].sum()
    return {name: [round(float(part) * 255) for part in colour] for name, colour in colours.items()}
