"""The legend of a still: words about the still's layer, and marks, boxes or a scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from engine.trace import Header, Status
from visualize.film.cells import mark
from visualize.film.layers import COUNTS, MARKS, Layer, colours, reference_lane, shares
from visualize.film.typeface import Scale


@dataclass(frozen=True, slots=True)
class Legend:
    """The legend of a layer. `names` are the names of the race's lanes.

    `most` is the number at the end of the scale, for the layers in `layers.COUNTED`.
    """

    layer: Layer
    header: Header
    names: Sequence[str]
    most: float
    scale: Scale
    palette: Mapping[str, str]

    def draw(self, image: Image.Image, left: int, right: int, top: int) -> None:
        """Draw the legend on the image, below `top` and from `left` to `right`."""
        face = self.scale.face(14)
        low, high = top + self.scale.px(20), top + self.scale.px(46)  # baselines
        word = self.scale.face(15, True)
        word.draw(image, (right, high), "Photo Finish", self.palette["ink"], right=True)
        width = right - left - word.length("Photo Finish") - self.scale.px(40)
        title = self.layer.look["title"]
        if self.layer is Layer.DIFFERS:
            title = title.replace("…", self.names[reference_lane(self.header)])
        look = self.layer.look
        filling = look.get("filling") if self.header.infilling else None
        words = f"{title}. {filling or look['words']}"
        for line, text in enumerate(face.wrap(words, width, 2)):
            face.draw(image, (left, low + self.scale.px(19) * line), text, self.palette["soft"])
        if self.layer is Layer.STATUS:
            self._marks(image, left, high, width)
        elif self.layer is Layer.DIFFERS:
            self._boxes(image, left, high)
        elif self.layer is not Layer.PICTURE:
            self._scale_bar(image, left, high)

    def _marks(self, image: Image.Image, x: float, baseline: int, width: float) -> None:
        face = self.scale.face(14)
        side = self.scale.px(20)
        step = min(self.scale.px(130), width / (len(MARKS) - 1))
        forced = min(self.header.cells) < 0
        for status in (status for status in MARKS if forced or status is not Status.FORCED):
            image.paste(mark(status, side, side), (round(x), baseline - self.scale.px(15)))
            face.draw(
                image,
                (x + side + self.scale.px(6), baseline),
                face.fit(status.name.lower(), step - side - self.scale.px(8)),
                self.palette["ink"],
            )
            x += step

    def _boxes(self, image: Image.Image, x: float, baseline: int) -> None:
        """Draw a box and words for each of the two colours of the layer DIFFERS."""
        face = self.scale.face(14)
        side = self.scale.px(14)
        pen = ImageDraw.Draw(image)
        for share, text in enumerate(("the same token", "another token")):
            colour = tuple(colours(self.layer, np.array(float(share))).tolist())
            left, top = round(x), baseline - self.scale.px(12)
            pen.rectangle((left, top, left + side - 1, top + side - 1), colour)
            face.draw(image, (x + side + self.scale.px(6), baseline), text, self.palette["ink"])
            x += side + face.length(text) + self.scale.px(30)

    def _scale_bar(self, image: Image.Image, left: int, baseline: int) -> None:
        """Draw the scale with its numbers."""
        face = self.scale.face(14)
        width, height = self.scale.px(300), self.scale.px(12)
        bar = colours(self.layer, np.tile(np.linspace(0, 1, width), (height, 1)))
        image.paste(Image.fromarray(bar), (left, baseline - height))
        low = COUNTS.get(self.layer, 0)
        end = self.layer.look.get("most", 1)
        high = max(low + 1, self.most) if self.layer in COUNTS else end
        middle = np.unique(np.geomspace(1, 1 + high - low, 5).round()) + low - 1
        ticks = middle if self.layer in COUNTS else np.linspace(0, high, 5)
        if self.layer is Layer.ORDER:
            high = self.most
            ticks = np.unique(np.linspace(1, high, 5).round())
        for tick, share in zip(ticks, shares(self.layer, ticks, high), strict=True):
            text = f"{tick:g} or more" if share == 1 and end < 1 else f"{tick:g}"
            face.draw(
                image,
                (left + share * (width - face.length(text)), baseline + self.scale.px(17)),
                text,
                self.palette["soft"],
            )
