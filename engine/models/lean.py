"""The decoder layers of a Llama-like body as one function with few operations.

transformers loads the weights and stays the reference. In transformers' modules, a window of few
rows spends as much time between operations as in them. Here one matrix product gives queries, keys
and values, and another gives gate and up. One operation computes a projection and adds it to the
residual stream. What all layers share is computed once per pass.

Shapes: R guidance rows; T rows of the window; S slots that attention reads; width D; H query heads
and Hk key heads of size d.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

_HEAD_NORM_EPS = 1e-5  # a constant in ChameleonLayerNorm


class Cache(Protocol):
    @property
    def repeats(self) -> bool:
        """True if later passes will have the shapes of this pass."""

    def update(self, k: Tensor, v: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """Write a layer's keys and values [R, Hk, T, d] of the window.

        Returns the layer's keys and values in all S slots, the window's included [R, Hk, S, d].
        """


@dataclass(frozen=True, slots=True)
class Projection:
    weight: Tensor  # [out, in]
    bias: Tensor | None  # [out]


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer's weights; the parameters of transformers' module are views of them.

    `head_norm` is Chameleon's norm of queries and keys: scale and shift [H + Hk, d].
    """

    attention_norm: Tensor
    qkv: Projection
    head_norm: tuple[Tensor, Tensor] | None
    output: Projection
    mlp_norm: Tensor
    gate_up: Projection
    down: Projection


class LeanBody:
    """Decoder layers of transformers' Llama, Qwen2, Emu3 or Chameleon, and the final norm.

    The modules' parameters become views of the fused weights. So no weight is stored twice, and the
    modules stay usable. Moving or casting the modules afterwards would separate their parameters
    from the fused weights.
    """

    runtime = ""  # stands for PyTorch

    @torch.inference_mode(False)
    @torch.no_grad()
    def __init__(
        self, layers: Iterable[nn.Module], norm: Any, rotary: nn.Module, join: Any = None
    ) -> None:
        """Fuse the layers' weights.

        Args:
            layers: the decoder layers.
            norm: the final norm.
            rotary: `rotary(x, position_ids)` returns cosines and sines [R, T, d] in the dtype of x.
            join: a linear module that maps wider inputs to the width D, as in a drafter.

        Raises:
            ValueError: an activation is not SiLU.
        """
        modules: list[Any] = list(layers)
        attention = modules[0].self_attn
        if attention.config.hidden_act != "silu":
            raise ValueError(f"the activation is {attention.config.hidden_act}, not silu")
        # Chameleon's "swin norm" comes after attention and MLP instead of before them.
        self.norm_after = bool(getattr(attention.config, "swin_norm", False))
        self.head_dim = attention.head_dim
        self.heads = attention.q_proj.out_features // self.head_dim
        self.kv_heads = attention.k_proj.out_features // self.head_dim
        self.rotary = rotary
        self.norm: Tensor = norm.weight.detach()
        self.eps: float = norm.variance_epsilon
        half = self.norm.new_ones(self.head_dim // 2)
        self._sign = torch.cat([-half, half])
        self.layers = []
        for module in modules:
            self.layers.append(_layer(module))
            if self.norm.is_cuda:
                torch.cuda.empty_cache()  # no fused matrix fits into the separate ones' blocks
        self.join = None if join is None else _projection(join)

    @torch.no_grad()  # works in place on views
    def __call__(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        position_ids: Tensor,
        cache: Cache,
        query_ids: Tensor | None = None,
        text: int = 0,
    ) -> Tensor:
        """Return hidden states [R, T, D] after the final norm.

        Args:
            inputs: embeddings [R, T, D], or the inputs of `join`.
            mask: [R, 1, T, S], to add to the attention scores; None hides nothing.
            position_ids: position ids of the inputs [R, T].
            cache: the keys and values.
            query_ids: other position ids for the queries [R, T]; None for `position_ids`.
            text: unused; a body in 8 bits computes so many first rows in float32.
        """
        (rows, length, _), width = inputs.shape, len(self.norm)
        heads, kv_heads, dim = self.heads, self.kv_heads, self.head_dim
        groups = heads // kv_heads
        if mask is not None and groups > 1:
            mask = mask.repeat(1, 1, groups, 1)
        cos, sin = (table.unsqueeze(2) for table in self.rotary(inputs, position_ids))
        if query_ids is not None:
            both = zip(self.rotary(inputs, query_ids), (cos, sin), strict=True)
            cos, sin = (
                torch.cat(
                    [q.unsqueeze(2).expand(-1, -1, heads, -1), k.expand(-1, -1, kv_heads, -1)], 2
                )
                for q, k in both
            )
        sin = sin * self._sign
        x = self.stream(inputs)
        with attention_kernels(inputs, cache):
            for index, layer in enumerate(self.layers):
                inner = x if self.norm_after else self._normed(x, layer.attention_norm)
                qkv = F.linear(inner, layer.qkv.weight, layer.qkv.bias).view(rows, length, -1, dim)
                qk, v = qkv.split_with_sizes((heads + kv_heads, kv_heads), 2)
                if layer.head_norm is not None:
                    scale, shift = layer.head_norm
                    qk = torch.addcmul(shift, F.layer_norm(qk, (dim,), eps=_HEAD_NORM_EPS), scale)
                swapped = qk.roll(dim // 2, -1)  # halves (x2, x1); the minus of (-x2, x1) is in sin
                qk = qk.mul_(cos).addcmul_(swapped, sin)
                q, k = qk.transpose(1, 2).split_with_sizes((heads, kv_heads), 1)
                keys, values = cache.update(k, v.transpose(1, 2), index)
                # Heads that share a key become rows of one head. Repeating keys and values would
                # copy them in every layer, and torch's `enable_gqa` with a mask has no fast kernel.
                mixed = F.scaled_dot_product_attention(
                    q.reshape(rows, kv_heads, groups * length, dim), keys, values, attn_mask=mask
                )
                mixed = mixed.reshape(rows, heads, length, dim).transpose(1, 2)
                self._add(x, mixed.reshape(len(x), -1), layer.output, layer.attention_norm)
                inner = x if self.norm_after else self._normed(x, layer.mlp_norm)
                gate, up = F.linear(inner, layer.gate_up.weight, layer.gate_up.bias).chunk(2, -1)
                self._add(x, F.silu(gate, inplace=True).mul_(up), layer.down, layer.mlp_norm)
        return self._normed(x, self.norm).view(rows, length, width)

    def stream(self, inputs: Tensor) -> Tensor:
        """Return the residual stream before the first layer, [R * T, D], from inputs [R, T, ..].

        It is a new tensor, to which the layers add in place.
        """
        width = len(self.norm)
        if self.join is None:
            return inputs.reshape(-1, width).clone()
        return F.linear(inputs, self.join.weight, self.join.bias).view(-1, width)

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, weight.shape, weight, self.eps)

    def _add(self, x: Tensor, inner: Tensor, projection: Projection, norm: Tensor) -> None:
        """Add a projection of `inner` to the residual stream `x`.

        If the body's norms come after attention and MLP, the projection is normalised first.
        """
        if self.norm_after:
            x += self._normed(F.linear(inner, projection.weight, projection.bias), norm)
        else:
            self.add(x, inner, projection)

    def add(self, x: Tensor, inner: Tensor, projection: Projection) -> None:
        """Add a projection of `inner` to the residual stream `x`, without a norm after it."""
        x.addmm_(inner, projection.weight.t())
        if projection.bias is not None:
            x += projection.bias


def attention_kernels(inputs: Tensor, cache: Cache) -> AbstractContextManager[None]:
    """Return a context manager that chooses attention's kernels for a pass.

    On a GPU PyTorch prefers cuDNN's kernels, which are the fastest but take 80 ms to set up for new
    shapes. So cuDNN's kernels are excluded if the shapes will not come again. The choice holds for
    the whole process, so it may also affect a pass on another thread.
    """
    if inputs.is_cuda and not cache.repeats:
        return sdpa_kernel(
            [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
        )
    return nullcontext()


def _layer(module: Any) -> Layer:
    attention, mlp = module.self_attn, module.mlp
    head_norm = None
    if hasattr(attention, "q_norm"):
        norms = attention.q_norm, attention.k_norm
        head_norm = _fused([norm.weight for norm in norms]), _fused([norm.bias for norm in norms])
    return Layer(
        attention_norm=module.input_layernorm.weight.detach(),
        qkv=_projection(attention.q_proj, attention.k_proj, attention.v_proj),
        head_norm=head_norm,
        output=_projection(attention.o_proj),
        mlp_norm=module.post_attention_layernorm.weight.detach(),
        gate_up=_projection(mlp.gate_proj, mlp.up_proj),
        down=_projection(mlp.down_proj),
    )


def _projection(*modules: Any) -> Projection:
    biased = modules[0].bias is not None
    return Projection(
        _fused([module.weight for module in modules]),
        _fused([module.bias for module in modules]) if biased else None,
    )


def _fused(parameters: list[nn.Parameter]) -> Tensor:
    """Concatenate parameters along their first axis, and make them views of the result."""
    fused = torch.cat([parameter.detach() for parameter in parameters])
    fused = fast_layout(fused)
    parts = fused.split_with_sizes([len(parameter) for parameter in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.data = part
    return fused


def fast_layout(weight: Tensor) -> Tensor:
    """Return a weight, of any shape, in its fastest memory layout.

    On a CPU, products of few rows with a matrix [out, in] are faster if the outputs of each input
    are contiguous, provided that out > in. Any other weight is returned as it is.
    """
    if weight.device.type == "cpu" and weight.dim() == 2 and len(weight) > weight.shape[1]:
        return weight.t().contiguous().t()
    return weight
