"""The decoder of Chameleon's VQGAN; transformers has only the encoder."""

from __future__ import annotations

import re

import torch
from torch import Tensor, nn
from transformers import ChameleonVQVAEConfig, JanusVQVAEConfig
from transformers.models.janus.modeling_janus import JanusVQVAEDecoder

from engine.models.supply.weights import fill


class ChameleonDecoder(nn.Module):
    """Turns codes [B, h, w] into pixels, for any h x w.

    The layers are those of Janus' decoder (taming-transformers), without attention in the lowest
    level of `up`. The codebook is not normalised.
    """

    def __init__(self, config: ChameleonVQVAEConfig) -> None:
        super().__init__()
        same = (
            "embed_dim",
            "num_embeddings",
            "latent_channels",
            "base_channels",
            "channel_multiplier",
            "num_res_blocks",
        )
        self.embedding = nn.Embedding(config.num_embeddings, config.embed_dim)
        self.post_quant_conv = nn.Conv2d(config.embed_dim, config.latent_channels, 1)
        self.decoder = JanusVQVAEDecoder(
            JanusVQVAEConfig(**{name: getattr(config, name) for name in same})
        )
        self.decoder.up[0].attn = nn.ModuleList()

    def load(self, state: dict[str, Tensor]) -> None:
        """Load the VQGAN's weights, except the encoder's.

        Raises ModelError if a weight is missing, unexpected or of another shape.
        """
        fill(self, state, self._key)

    def reorder(self, order: Tensor) -> None:
        """Permute the codebook by `order` [V]: code i gets the vector of code order[i]."""
        with torch.no_grad():
            self.embedding.weight.copy_(self.embedding.weight[order])

    def forward(self, codes: Tensor) -> Tensor:
        """Turn codes [B, h, w] into pixels [B, 3, H, W], about -1..1."""
        return self.decoder(self.post_quant_conv(self.embedding(codes).permute(0, 3, 1, 2)))

    def _key(self, stored: str) -> str | None:
        key = stored.removeprefix("model.vqmodel.")
        if key.startswith(("encoder.", "quant_conv.")):
            return None
        if key == "quantize.embedding.weight":
            return "embedding.weight"
        # taming-transformers counts the levels from the picture down, Janus from the codes up.
        top = len(self.decoder.up) - 1
        return re.sub(
            r"^decoder\.up\.(\d+)\.", lambda level: f"decoder.up.{top - int(level[1])}.", key
        )
