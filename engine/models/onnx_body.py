"""A LeanBody's layers run by ONNX Runtime, whose kernels take less CPU time.

The graph is a file without weights, which `python -m train.export` makes. A session gets the lean
body's weights when it is made. Only this module imports ONNX Runtime; without that package the
layers run in PyTorch.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from engine.models.cache import WindowCache
from engine.models.lean import LeanBody

log = logging.getLogger(__name__)
# Turns off ONNX Runtime's telemetry, which looks up a host and writes an identifier into the home
# folder. The variable is read at the first import.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

ROWS = 1, 2  # numbers of guidance rows; each has its own graph
PLACES = 1024  # number of position ids in the rotation's tables


class Body(Protocol):
    """Runs a body's layers.

    `runtime` is the name and version of what runs them; "" for PyTorch.
    """

    @property
    def runtime(self) -> str: ...

    def __call__(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        position_ids: Tensor,
        cache: WindowCache,
        query_ids: Tensor | None = None,
        text: int = 0,
    ) -> Tensor:
        """Run the layers as LeanBody does.

        In the first pass the first `text` rows are the prompt's text.
        """


def fastest_body(lean: LeanBody, graphs: Path | None) -> Body:
    """Return the fastest body for the device of `lean`.

    On a CUDA device that is a body with fused kernels. Elsewhere, if a folder of `graphs` is given,
    it is ONNX Runtime with these graphs; otherwise it is the lean body. The lean body is also
    returned, with a warning, where a package or a file is missing, does not fit or computes
    something else.
    """
    try:
        if lean.norm.is_cuda:
            from engine.models.fused_body import FusedBody

            return FusedBody(lean)
        return OnnxBody(lean, graphs) if graphs else lean
    except Exception as error:  # whatever the fault is, the lean body runs
        log.warning("the layers of %s run in PyTorch: %s", graphs or "a GPU's body", error)
        return lean


class OnnxBody:
    """Runs a LeanBody's layers with ONNX Runtime, in float32 on a CPU.

    The layers must have no biases; only the linear map before them (`join`) has one. All R guidance
    rows must have the same mask and position ids, as rows of prompts without padding do. Attention
    is ONNX Runtime's GroupQueryAttention, which rotates queries and keys, and writes the window's
    keys and values into the cache. This operator takes only a batch of one, so the R rows are
    passed as heads: [R, H, slots, d] is [1, R H, slots, d] without a copy. A session computes with
    as many threads as torch had when the session was made.
    """

    def __init__(self, lean: LeanBody, graphs: Path) -> None:
        """Make the sessions.

        Raises ImportError if ONNX Runtime is not installed, ValueError if a graph is another
        body's, and ONNX Runtime's own errors if a graph cannot be read.
        """
        self._make(lean, initializers(lean), graphs)

    def _make(
        self, lean: LeanBody, tensors: dict[str, Tensor], graphs: Path, bits: int = 32
    ) -> None:
        """Make the sessions of the graphs in `bits` bits, and give them the `tensors`."""
        import onnxruntime

        self.runtime = f"ONNX Runtime {onnxruntime.__version__}"
        self._lean = lean
        # Kept as long as the sessions, which are not documented to copy the arrays.
        self._arrays = {name: t.contiguous().numpy() for name, t in tensors.items()}
        self._sessions = {rows: self._session(graphs / file_name(rows, bits)) for rows in ROWS}
        # Bindings by cache and number of rows; a binding has the cache's addresses.
        self._bindings: WeakKeyDictionary[WindowCache, dict[int, Any]] = WeakKeyDictionary()

    def __call__(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        position_ids: Tensor,
        cache: WindowCache,
        query_ids: Tensor | None = None,
        text: int = 0,
    ) -> Tensor:
        """Run the layers as LeanBody does.

        The graph supports neither queries that are rotated differently from keys, nor attended
        slots after the window. LeanBody itself runs such passes.
        """
        if query_ids is not None or cache.bucket > 1:
            return self._lean(inputs, mask, position_ids, cache, query_ids)
        return self._read(inputs, mask, position_ids, cache, text)

    def _read(
        self, inputs: Tensor, mask: Tensor | None, ids: Tensor, cache: WindowCache, text: int
    ) -> Tensor:
        """Return the hidden states of a pass that the graph supports."""
        return self._run(inputs, mask, ids, cache, cache.end)

    def _run(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        position_ids: Tensor,
        cache: WindowCache,
        end: int,
    ) -> Tensor:
        """Run the graph over the rows that stand in the cache's slots before `end`."""
        rows, length, width = inputs.shape
        x = inputs.transpose(0, 1).contiguous()
        if mask is None:
            mask = torch.zeros(1, 1, length, end)
        mask, ids = mask[:1].contiguous(), position_ids[:1].contiguous()
        lengths = torch.tensor([end - 1, end], dtype=torch.int32)
        hidden = x.new_empty(length, rows, len(self._lean.norm))
        binding = self._binding(cache, rows)
        for name, kind, shape, address in (
            ("x", np.float32, (length * rows, width), x.data_ptr()),
            ("mask", np.float32, tuple(mask.shape), mask.data_ptr()),
            ("position_ids", np.int64, (1, length), ids.data_ptr()),
            ("last_slot", np.int32, (1,), lengths.data_ptr()),
            ("end", np.int32, (1,), lengths.data_ptr() + lengths.element_size()),
        ):
            binding.bind_input(name, "cpu", 0, kind, shape, address)
        shape = length * rows, hidden.shape[2]
        binding.bind_output("hidden", "cpu", 0, np.float32, shape, hidden.data_ptr())
        self._sessions[rows].run_with_iobinding(binding)
        return hidden.transpose(0, 1)

    def _session(self, graph: Path) -> Any:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = torch.get_num_threads(), 1
        # A spinning thread would take a core from the page.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3  # errors
        values = [ort.OrtValue.ortvalue_from_numpy(array) for array in self._arrays.values()]
        options.add_external_initializers(list(self._arrays), values)
        session = ort.InferenceSession(str(graph), options, ["CPUExecutionProvider"])
        if session.get_modelmeta().custom_metadata_map.get("body") != digest(self._lean):
            raise ValueError(
                f"{graph.name} is of another body; python -m train.export makes it again"
            )
        return session

    def _binding(self, cache: WindowCache, rows: int) -> Any:
        bindings = self._bindings.setdefault(cache, {})
        if rows not in bindings:
            bindings[rows] = binding = self._sessions[rows].io_binding()
            for layer, (keys, values) in enumerate(cache.layers):
                _, heads, slots, dim = keys.shape
                for name, part in (("keys", keys), ("values", values)):
                    place = "cpu", 0, np.float32, (1, rows * heads, slots, dim), part.data_ptr()
                    binding.bind_input(f"{layer}.past_{name}", *place)
                    binding.bind_output(f"{layer}.{name}", *place)
        return bindings[rows]


def file_name(rows: int, bits: int = 32) -> str:
    """Return the name of the file with the graph for `rows` guidance rows in 32 or 8 bits."""
    return f"layers-{rows}.onnx" if bits == 32 else f"layers-{rows}-{bits}-bits.onnx"


def initializers(lean: LeanBody) -> dict[str, Tensor]:
    """Return the graph's tensors by name.

    There are matrices [in, out], norms and a bias [D], and cosines and sines [PLACES, d / 2].
    """
    cos, sin = lean.rotary(lean.norm.new_empty(1), torch.arange(PLACES)[None])
    half = lean.head_dim // 2
    tensors = {"norm": lean.norm, "cos": cos[0, :, :half], "sin": sin[0, :, :half]}
    if lean.join is not None:
        assert lean.join.bias is not None, "a drafter's has one"
        tensors |= {"join": lean.join.weight.t(), "join_bias": lean.join.bias}
    for index, layer in enumerate(lean.layers):
        tensors |= {
            f"{index}.attention_norm": layer.attention_norm,
            f"{index}.qkv": layer.qkv.weight.t(),
            f"{index}.output": layer.output.weight.t(),
            f"{index}.mlp_norm": layer.mlp_norm,
            f"{index}.gate_up": layer.gate_up.weight.t(),
            f"{index}.down": layer.down.weight.t(),
        }
    return tensors


def digest(lean: LeanBody) -> str:
    """Hash the shapes and constants that a graph is made for; return 16 hexadecimal digits.

    The hash covers the shapes of the weights and of the rotation's tables, the numbers and size
    of the heads, and the norm's epsilon.
    """
    shapes = {name: list(tensor.shape) for name, tensor in initializers(lean).items()}
    text = json.dumps([shapes, lean.heads, lean.kv_heads, lean.head_dim, lean.eps])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
