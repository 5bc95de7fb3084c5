"""The decoder and the encoder of a VQGAN (taming-transformers), written out, under the names that
two releases give their weights. Each is a list of layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Names:
    """Of the layers of `decoder`; a level's with its number, and a block's in it. Those of the
    encoder, whose levels are counted from the pixels, have `down` for `up`."""

    middle: tuple[str, str, str]
    block: str
    upsample: str
    attention: str = ""  # behind each block of the level nearest to the codes
    from_pixels: bool = False  # the decoder's levels are counted from the pixels


TAMING = Names(
    ("mid.block_1", "mid.attn_1", "mid.block_2"),
    "up.{}.block.{}",
    "up.{}.upsample.conv",
    from_pixels=True,
)
LLAMAGEN = Names(
    ("mid.0", "mid.1", "mid.2"),
    "conv_blocks.{}.res.{}",
    "conv_blocks.{}.upsample.conv",
    attention="conv_blocks.{}.attn.{}",
)

Layer = tuple[str, str, int, int]  # kind, key, channels in and out


def middle(names: Names, part: str, channels: int) -> list[Layer]:
    kinds = zip(("residual", "attention", "residual"), names.middle, strict=True)
    return [(kind, f"{part}.{name}", channels, channels) for kind, name in kinds]


def decoder(
    names: Names, code: int, latent: int, levels: Sequence[int], blocks: int
) -> list[Layer]:
    """The layers, of codes with so many channels; `levels` are the channels of each level and
    `blocks` the residual blocks, one less than a level has, as configurations count them."""
    inner = levels[0]
    layers = [
        ("conv1", "post_quant_conv", code, latent),
        ("conv3", "decoder.conv_in", latent, inner),
    ]
    layers += middle(names, "decoder", inner)
    for depth, outer in enumerate(levels):
        level = len(levels) - 1 - depth if names.from_pixels else depth
        for block in range(blocks + 1):
            layers.append(("residual", f"decoder.{names.block.format(level, block)}", inner, outer))
            if names.attention and depth == 0:
                key = f"decoder.{names.attention.format(level, block)}"
                layers.append(("attention", key, outer, outer))
            inner = outer
        if depth < len(levels) - 1:
            layers.append(("upsample", f"decoder.{names.upsample.format(level)}", outer, outer))
    return [
        *layers,
        ("norm", "decoder.norm_out", inner, inner),
        ("conv3", "decoder.conv_out", inner, 3),
    ]


def encoder(
    names: Names, code: int, latent: int, levels: Sequence[int], blocks: int
) -> list[Layer]:
    """The layers, from the pixels to the codes' vectors; `levels` are the channels of each level,
    from the pixels."""
    inner = levels[0]
    layers: list[Layer] = [("conv3", "encoder.conv_in", 3, inner)]
    for level, outer in enumerate(levels):
        for block in range(blocks):
            layers.append(("residual", f"encoder.{names.block.format(level, block)}", inner, outer))
            if names.attention and level == len(levels) - 1:
                key = f"encoder.{names.attention.format(level, block)}"
                layers.append(("attention", key, outer, outer))
            inner = outer
        if level < len(levels) - 1:
            key = f"encoder.{names.upsample.format(level)}".replace("upsample", "downsample")
            layers.append(("downsample", key, outer, outer))
    return [
        *layers,
        *middle(names, "encoder", inner),
        ("norm", "encoder.norm_out", inner, inner),
        ("conv3", "encoder.conv_out", inner, latent),
        ("conv1", "quant_conv", latent, code),
    ]


def shapes(layers: Sequence[Layer]) -> dict[str, tuple[int, ...]]:
    """The weights of the layers."""
    found: dict[str, tuple[int, ...]] = {}

    def add(key: str, *shape: int) -> None:
        found.update({f"{key}.weight": shape, f"{key}.bias": shape[:1]})

    for kind, key, inner, outer in layers:
        match kind:
            case "norm":
                add(key, inner)
            case "attention":
                add(f"{key}.norm", inner)
                for part in ("q", "k", "v", "proj_out"):
                    add(f"{key}.{part}", inner, inner, 1, 1)
            case "residual":
                add(f"{key}.norm1", inner)
                add(f"{key}.conv1", outer, inner, 3, 3)
                add(f"{key}.norm2", outer)
                add(f"{key}.conv2", outer, outer, 3, 3)
                if inner != outer:
                    add(f"{key}.nin_shortcut", outer, inner, 1, 1)
            case _:
                kernel = 1 if kind == "conv1" else 3
                add(key, outer, inner, kernel, kernel)
    return found


def run(layers: Sequence[Layer], state: dict[str, Tensor], x: Tensor) -> Tensor:
    """Codes' vectors [B, D, h, w] to pixels [B, 3, H, W], or the other way."""

    def conv(key: str, x: Tensor) -> Tensor:
        weight = state[f"{key}.weight"]
        return F.conv2d(x, weight, state[f"{key}.bias"], padding=weight.shape[-1] // 2)

    def norm(key: str, x: Tensor) -> Tensor:
        return F.group_norm(x, 32, state[f"{key}.weight"], state[f"{key}.bias"], eps=1e-6)

    for kind, key, inner, outer in layers:
        match kind:
            case "norm":
                x = F.silu(norm(key, x))
            case "attention":
                normed = norm(f"{key}.norm", x)
                q, k, v = (conv(f"{key}.{part}", normed).flatten(2).mT for part in "qkv")
                mixed = (q @ k.mT * inner**-0.5).softmax(-1) @ v
                x = x + conv(f"{key}.proj_out", mixed.mT.reshape(x.shape))
            case "residual":
                h = conv(f"{key}.conv1", F.silu(norm(f"{key}.norm1", x)))
                h = conv(f"{key}.conv2", F.silu(norm(f"{key}.norm2", h)))
                x = h + (conv(f"{key}.nin_shortcut", x) if inner != outer else x)
            case "upsample":
                x = conv(key, x.repeat_interleave(2, -1).repeat_interleave(2, -2))
            case "downsample":
                x = F.pad(x, (0, 1, 0, 1))
                x = F.conv2d(x, state[f"{key}.weight"], state[f"{key}.bias"], stride=2)
            case _:
                x = conv(key, x)
    return x
