"""LlamaGen B, L, XL, XXL and 3B, class to image (Sun et al. 2024, arXiv:2406.06525).

The models draw 256 px (16 x 16 codes) or 384 px (24 x 24). The first slot holds one of ImageNet's
classes, and its row predicts the picture's first token. In the unconditional row this slot holds
the class number that stands for no class. RoPE makes the first slot's query and key zero, as it
does for the caption slots of LlamaGen's text-to-image models (`Rope2D`). The weights are the
authors' `c2i_B_256.pt` and so on, and `vq_ds16_c2i.pt`.
"""

from __future__ import annotations

import torch

from engine.models.context import Prompt
from engine.models.families.llamagen import LlamaGenBody
from engine.models.families.llamagen_weights import CLASSES, LlamaGenClassNetwork
from engine.reader.classes import read_class


class LlamaGenClassModel(LlamaGenBody):
    """LlamaGen with a class as its condition; a code stands for 16 x 16 pixels.

    The sampling is that of the authors' `sample_c2i.py`: guidance 4, top-k 2000, temperature 1.
    """

    network_type: type[LlamaGenClassNetwork] = LlamaGenClassNetwork

    def check_prompt(self, text: str) -> None:
        """Raise SettingError for a prompt that names no class."""
        read_class(text)

    def prompt(self, text: str, guided: bool) -> Prompt:
        numbers = torch.tensor([[read_class(text).number], [CLASSES]], device=self.device)
        rows = self.network.classes(numbers[: 1 + guided])
        return Prompt(rows, (0,) * len(rows))
