"""A LeanBody's layers in 8 bits, run by ONNX Runtime on a processor.

Weights and inputs of three of a layer's four matrix products are 8-bit integers, and their sums are
exact. Everything else is float32: attention, norms, the residual stream, the cache, and the product
after the activation, whose inputs have too long tails for one scale. The weights are quantised when
the body is made, each output channel by a scale of its own. An input has one scale for all of its
channels. It follows from the largest inputs in some pictures (`python -m train.export --inputs`).
Channels with large inputs are first scaled down, and their weights up (Xiao et al., "SmoothQuant",
ICML 2023, Eq. 4).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from engine.models.cache import WindowCache
from engine.models.lean import LeanBody
from engine.models.onnx_body import OnnxBody, initializers

LARGEST = 127  # an integer's largest absolute value
INPUTS = "inputs.safetensors"  # the largest absolute value of each product's input channels
PRODUCT = "product.onnx"  # one product, of which every sum is as large as it can be
PRODUCTS = "qkv", "output", "gate_up"  # of a layer, those in 8 bits
_SHARE = 0.8  # of an input's range that goes into the weights: alpha of Eq. 4


class EightBitBody(OnnxBody):
    """Runs a LeanBody's layers in 8 bits.

    The rows of a prompt's text are computed by the lean body in float32: some of their inputs are
    hundreds of times larger than those of image tokens. No pass has fewer than two rows, because
    one row is multiplied by another kernel. Its attention is rounded otherwise, and after the next
    quantisation that is a whole step. So a token's states do not depend on how many rows a pass
    has, and vanilla AR and the fixed point draw the same tokens.
    """

    def __init__(self, lean: LeanBody, graphs: Path) -> None:
        """Quantise the weights and make the sessions.

        Raises what OnnxBody raises, OSError where the file of inputs cannot be read, and
        ArithmeticError if this processor's sums of 8-bit products overflow.
        """
        check_products(graphs)
        self._make(lean, quantised(lean, load_file(graphs / INPUTS)), graphs, 8)
        self.runtime += ", 8 bits"

    def _read(
        self, inputs: Tensor, mask: Tensor | None, ids: Tensor, cache: WindowCache, text: int
    ) -> Tensor:
        if text:
            return self._with_text(inputs, mask, ids, cache, text)
        if inputs.shape[1] > 1:
            return self._run(inputs, mask, ids, cache, cache.end)
        # The second row stands behind the first, in a slot that the next window overwrites.
        wide = inputs.new_zeros(1, 1, 2, cache.end + 1)
        if mask is not None:
            wide[..., :-1] = mask[:1]
        wide[:, :, 0, -1] = -torch.inf
        twice, both = inputs.expand(-1, 2, -1), torch.cat([ids, ids + 1], 1)
        return self._run(twice, wide, both, cache, cache.end + 1)[:, :1]

    def _with_text(
        self, inputs: Tensor, mask: Tensor | None, ids: Tensor, cache: WindowCache, text: int
    ) -> Tensor:
        """Return the hidden states of a first pass, whose first `text` rows are a prompt's text."""
        length = inputs.shape[1]
        cache.open(text)
        seen = None if mask is None else mask[:, :, :text, :text]
        hidden = self._lean(inputs[:, :text], seen, ids[:, :text], cache)
        cache.open(length)
        if text == length:
            return hidden
        seen = None if mask is None else mask[:, :, text:]
        return torch.cat([hidden, self._read(inputs[:, text:], seen, ids[:, text:], cache, 0)], 1)


@torch.no_grad()
def quantised(lean: LeanBody, largest: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors of a graph in 8 bits by name.

    Of a product these are its integers [in, out], the scale of each output [out] and the scale of
    its input. `largest` has the largest absolute value of each channel of each product's input.
    """
    tensors = {name: tensor.clone() for name, tensor in initializers(lean).items()}
    for i in range(len(lean.layers)):
        # The norm before a product makes its inputs smaller. Attention's results stay as they are,
        # because the cache holds the values.
        norms = {"qkv": tensors[f"{i}.attention_norm"], "gate_up": tensors[f"{i}.mlp_norm"]}
        for part in PRODUCTS:
            name, norm = f"{i}.{part}", norms.get(part)
            weight, inputs = tensors[name], largest[name].clamp_min(1e-5)
            if norm is not None:
                smooth = inputs**_SHARE / weight.abs().amax(1).clamp_min(1e-5) ** (1 - _SHARE)
                norm.div_(smooth)
                weight.mul_(smooth[:, None])
                inputs = inputs / smooth
            scale = (weight.abs().amax(0) / LARGEST).clamp_min(1e-12)
            tensors[f"{name}.input"] = inputs.max() / LARGEST
            tensors[f"{name}.scale"] = scale
            tensors[name] = (weight / scale).round().to(torch.int8)
    return tensors


def check_products(graphs: Path) -> None:
    """Raise ArithmeticError if this processor's sums of 8-bit products overflow.

    Without instructions for sums of 8-bit products (VNNI), ONNX Runtime adds products in 16 bits.
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(
        str(graphs / PRODUCT), providers=["CPUExecutionProvider"]
    )
    shape = session.get_inputs()[0].shape
    [found] = session.run(None, {"inputs": np.full(shape, 255, np.uint8)})
    expected = (255 - 128) * LARGEST * shape[1]
    if (found != expected).any():
        raise ArithmeticError("this processor's sums of 8-bit products overflow")
