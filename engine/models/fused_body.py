"""A LeanBody's layers on a CUDA device, with the kernels of `engine.kernels`.

A layer takes ten launches, four of PyTorch's matrix products and six others. In the LeanBody it
takes some seventeen.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from engine import kernels
from engine.models.cache import WindowCache
from engine.models.lean import LeanBody, Projection, attention_kernels

_TRIED = 1, 16, 48  # numbers of rows in the windows that are compared
_MOST_OFF = 0.15  # largest error, as a share of the largest number; bfloat16 rounding stays below


class FusedBody:
    """Runs a LeanBody's layers with fused kernels.

    The body must have its norms before attention and MLP, and no norm of queries and keys.
    """

    def __init__(self, lean: LeanBody) -> None:
        """Wrap a lean body, and compare its hidden states with those of the fused kernels.

        Raises ValueError where the kernels do not support the body, or the states differ.
        """
        self._lean, self.runtime = lean, f"Triton {kernels.VERSION}"
        if lean.norm_after or any(layer.head_norm is not None for layer in lean.layers):
            raise ValueError("its norms stand where the fused kernels have none")
        self._compare()

    @torch.no_grad()
    def __call__(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        position_ids: Tensor,
        cache: WindowCache,
        query_ids: Tensor | None = None,
        text: int = 0,
    ) -> Tensor:
        """Run the layers as LeanBody does."""
        lean = self._lean
        (rows, length, _), width = inputs.shape, len(lean.norm)
        heads, kv_heads, dim = lean.heads, lean.kv_heads, lean.head_dim
        if mask is not None and heads > kv_heads:
            mask = mask.repeat(1, 1, heads // kv_heads, 1)
        angles = _angles(lean, inputs, position_ids)
        query_angles = angles if query_ids is None else _angles(lean, inputs, query_ids)
        x = lean.stream(inputs)
        with attention_kernels(inputs, cache):
            for layer, (keys, values) in zip(lean.layers, cache.layers, strict=True):
                qkv = self._projected(x, layer.qkv, layer.attention_norm)
                queries = kernels.rotate(
                    qkv.view(rows, length, -1, dim),
                    angles,
                    query_angles,
                    cache.window,
                    keys,
                    values,
                )
                there = keys[:, :, : cache.end], values[:, :, : cache.end]
                if queries.shape[2] <= kernels.MOST_QUERIES:
                    mixed = kernels.attention(queries, *there, mask, length)
                else:
                    mixed = F.scaled_dot_product_attention(queries, *there, attn_mask=mask)
                    mixed = mixed.reshape(rows, heads, length, dim).transpose(1, 2)
                lean.add(x, mixed.reshape(len(x), -1), layer.output)
                inner = self._projected(x, layer.gate_up, layer.mlp_norm)
                lean.add(x, kernels.gated(inner), layer.down)
        return kernels.normed(x, lean.norm, lean.eps).view(rows, length, width)

    def _projected(self, x: Tensor, projection: Projection, norm: Tensor) -> Tensor:
        """Normalise the rows `x` with `norm`, and return their projection."""
        inner = kernels.normed(x, norm, self._lean.eps)
        return F.linear(inner, projection.weight, projection.bias)

    @torch.inference_mode()
    def _compare(self) -> None:
        """Raise ValueError if random inputs give other states here than in the lean body."""
        lean = self._lean
        device, dtype, width = lean.norm.device, lean.norm.dtype, len(lean.norm)
        some = torch.Generator(device).manual_seed(0)
        for length in _TRIED:
            size = width if lean.join is None else lean.join.weight.shape[1]
            x = torch.randn(2, length, size, generator=some, device=device).to(dtype)
            ids = torch.arange(length, device=device).expand(2, -1)
            least = torch.finfo(dtype).min
            mask = torch.full((length, length), least, device=device, dtype=dtype).triu(1)
            states = []
            for body in (lean, self):
                cache = WindowCache(
                    len(lean.layers), 2, lean.kv_heads, length, lean.head_dim, dtype, device
                )
                cache.open(length)
                states.append(body(x, mask.expand(2, 1, -1, -1), ids, cache).double())
            one, other = states
            off, most = float((one - other).abs().max()), float(one.abs().max())
            if not off <= _MOST_OFF * most:
                raise ValueError(f"its states are off by {off:.2g}, the largest being {most:.3g}")


def _angles(lean: LeanBody, inputs: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosines and sines [R, T, d] of position ids [R, T]."""
    cos, sin = lean.rotary(inputs, ids)
    shape = *ids.shape, lean.head_dim
    return cos.expand(shape).contiguous(), sin.expand(shape).contiguous()
