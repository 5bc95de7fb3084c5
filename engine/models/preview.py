"""The preview decoder, which draws pictures of half-made grids of codes.

It is much cheaper than the VQ decoder and nearly as good. `engine/models/distil.py` distils it from
a model's own VQ decoder, in the way of Stable Diffusion's tiny autoencoders
(github.com/madebyollin/taesd). `train/preview.py` distils the embedded model's preview decoder.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

from engine.models.supply.card import ModelError
from engine.models.supply.weights import fill, read_weights

WIDTH, LAYERS = 64, 4  # the convolutions' channels, and how many tokens away they see
FILE = "model.safetensors"


class PreviewDecoder(nn.Module):
    """Draws grids of codes with a table of patches, corrected by convolutions.

    Each code has a patch of pixels and a vector of features. 3 x 3 convolutions of the features
    over the grid, then a linear map, give a correction that is added to the patches. No statistic
    of the whole picture is used: a token's pixels depend only on tokens at most LAYERS rows and
    columns away.
    """

    def __init__(self, codes: int, scale: int) -> None:
        """Make a network for `codes` codes; `scale` is the side of a token in pixels."""
        super().__init__()
        self.scale = scale
        self.patches = nn.Embedding(codes, 3 * scale**2)
        self.features = nn.Embedding(codes, WIDTH)
        layers = [nn.Conv2d(WIDTH, WIDTH, 3, padding=1) for _ in range(LAYERS)]
        self.layers = nn.ModuleList(layers)
        self.head = nn.Conv2d(WIDTH, 3 * scale**2, 1)
        # A look-up puts channels last, and on a CPU convolutions are fastest in that layout.
        for layer in layers:
            layer.weight.data = layer.weight.data.contiguous(memory_format=torch.channels_last)

    def forward(self, codes: Tensor) -> Tensor:
        """Turn codes [B, h, w] into pixels [B, 3, s h, s w], about -1 .. 1; s is the scale."""
        x = self.features(codes).movedim(-1, 1)
        for layer in self.layers:
            x = x + F.relu(layer(x))
        return F.pixel_shuffle(self.head(x) + self.patches(codes).movedim(-1, 1), self.scale)

    @torch.inference_mode()
    def pictures(self, tokens: np.ndarray) -> np.ndarray:
        """Return pictures uint8 [s h, s w, 3] of codes int [h, w], or a batch of both.

        s is the scale. Shapes and types are those of `ImageModel.pixels`.
        """
        codes = torch.as_tensor(tokens, dtype=torch.long, device=self.head.weight.device)
        drawn = self(codes if codes.dim() == 3 else codes[None])
        shown = ((drawn.clamp(-1, 1) + 1) * 127.5).round().byte().cpu().permute(0, 2, 3, 1).numpy()
        return shown if codes.dim() == 3 else shown[0]

    def save(self, file: Path, metadata: dict[str, str] | None = None) -> None:
        """Write the weights in float16. Raises OSError or SafetensorError."""
        weights = {key: value.half().contiguous() for key, value in self.state_dict().items()}
        save_file(weights, file, metadata)

    @classmethod
    def load(cls, file: Path, device: torch.device) -> PreviewDecoder:
        """Read the weights, in float32, from a file that `save` wrote.

        The shapes in the file give the number of codes and the scale. Raises ModelError where the
        file is missing, broken or another network's.
        """
        state = read_weights(file)
        try:
            codes, size = state["patches.weight"].shape
        except (KeyError, ValueError) as error:
            raise ModelError(f"{file.name} holds no preview decoder.") from error
        network = cls(codes, math.isqrt(size // 3))
        fill(network, state)
        return network.to(device).eval().requires_grad_(False)
