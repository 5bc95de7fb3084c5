"""Makes the ONNX graphs with which ONNX Runtime runs the layers of target and drafter.

`python -m train.export` writes the graphs into the networks' folders. A graph has no weights:
`engine/models/onnx_body.py` gives it the loaded weights. So the graphs must be made again only if
the sizes of a network change.

`python -m train.export --inputs` draws some pictures, and writes how large the inputs of the
target's products are, which sets the scales of 8 bits. It must run again after every training of
the target.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from safetensors.torch import save_file
from torch import Tensor
from torch.overrides import TorchFunctionMode
from transformers import LlamaConfig

from engine.decoders.ar import VanillaAR
from engine.models.eight_bits import INPUTS, LARGEST, PRODUCT, PRODUCTS, quantised
from engine.models.embedded.model import EmbeddedModel
from engine.models.embedded.networks import EmbeddedDrafter, EmbeddedTarget
from engine.models.lean import LeanBody
from engine.models.onnx_body import ROWS, digest, file_name, initializers

# Pictures whose inputs set the scales of 8 bits: prompts, drawn from the seeds 1, 2, ..
PICTURES = (
    "red apple on sky clouds",
    "dog and cat on green grass",
    "rocket on night stars at the top right",
    "three penguins on white snow",
    "purple cat and blue car on yellow sand",
    "guitar, drum, violin and trumpet on red",
    "tiny fox",
    "huge pizza on orange",
    "woman, man, girl and boy on yellow stripes",
    "astronaut above rocket on night stars",
    "woman and girl on blue",
    "boy and man on green grass",
    "fruit: apple, pear and banana on sky clouds",
    "panda on green grass",
    "sailboat on sunset clouds",
    "a green dragon and a pink flower on black",
)
MICROSOFT = {"domain": "com.microsoft"}  # ONNX Runtime's own operators


def graph(lean: LeanBody, rows: int, bits: int = 32) -> ModelProto:
    """Return the graph of a body's layers and final norm.

    `rows` is the number of guidance rows: 2 with guidance, 1 without. With 8 `bits` the products'
    inputs are quantised, and their weights are integers (`engine.models.eight_bits`). OnnxBody
    binds the graph's inputs and outputs. Raises ValueError for a body with biases, head norms,
    norms after the layers, or keys that several heads share.
    """
    layers = lean.layers
    biased = any(p.bias is not None for y in layers for p in (y.qkv, y.output, y.gate_up, y.down))
    normed = lean.norm_after or any(layer.head_norm for layer in layers)
    if biased or normed or lean.heads != lean.kv_heads:
        raise ValueError(
            "these layers cannot be exported: only layers like Llama's can be, without biases,"
            " further norms and shared keys"
        )
    heads = rows * lean.heads
    nodes: list[NodeProto] = []

    def add(kind: str, inputs: list[str], outputs: list[str], **values: Any) -> None:
        nodes.append(helper.make_node(kind, inputs, outputs, **values))

    def product(inputs: str, weight: str, output: str) -> None:
        if bits == 32:
            add("MatMul", [inputs, weight], [output])
            return
        scales = f"{weight}.input", f"{weight}.scale"
        add("QuantizeLinear", [inputs, scales[0], "zero"], [f"{inputs}.whole"])
        add(
            "MatMulIntegerToFloat",
            [f"{inputs}.whole", weight, *scales, "zero"],
            [output],
            **MICROSOFT,
        )

    epsilon = {"epsilon": lean.eps}
    stream = "x" if lean.join is None else "joined"
    if lean.join is not None:
        add("Gemm", ["x", "join", "join_bias"], [stream])
    add("SimplifiedLayerNormalization", [stream, "0.attention_norm"], ["0.inner"], **epsilon)
    for i in range(len(layers)):
        product(f"{i}.inner", f"{i}.qkv", f"{i}.qkv.out")
        # [T R, 3 H d] to [1, T, 3 R H d]: rows are heads, and all queries come before all keys.
        add("Reshape", [f"{i}.qkv.out", "apart"], [f"{i}.apart"])
        add("Transpose", [f"{i}.apart"], [f"{i}.together"], perm=[0, 2, 1, 3])
        add("Reshape", [f"{i}.together", "packed"], [f"{i}.packed"])
        shared = "last_slot", "end", "cos", "sin", "position_ids", "mask"
        add(
            "GroupQueryAttention",
            [f"{i}.packed", "", "", f"{i}.past_keys", f"{i}.past_values", *shared],
            [f"{i}.heads", f"{i}.keys", f"{i}.values"],
            num_heads=heads,
            kv_num_heads=heads,
            do_rotary=1,
            causal=0,  # the mask alone says what is seen
            **MICROSOFT,
        )
        add("Reshape", [f"{i}.heads", "flat"], [f"{i}.mixed"])
        product(f"{i}.mixed", f"{i}.output", f"{i}.output.out")
        add(
            "SkipSimplifiedLayerNormalization",
            [stream, f"{i}.output.out", f"{i}.mlp_norm"],
            [f"{i}.mlp_inner", "", "", f"{i}.stream"],
            **epsilon,
            **MICROSOFT,
        )
        product(f"{i}.mlp_inner", f"{i}.gate_up", f"{i}.gate_up.out")
        add("Split", [f"{i}.gate_up.out"], [f"{i}.gate", f"{i}.up"], axis=-1, num_outputs=2)
        add("QuickGelu", [f"{i}.gate"], [f"{i}.silu"], alpha=1.0, **MICROSOFT)
        add("Mul", [f"{i}.silu", f"{i}.up"], [f"{i}.gated"])
        add("MatMul", [f"{i}.gated", f"{i}.down"], [f"{i}.down.out"])
        last, stream = i + 1 == len(layers), f"{i + 1}.stream_before"
        add(
            "SkipSimplifiedLayerNormalization",
            [f"{i}.stream", f"{i}.down.out", "norm" if last else f"{i + 1}.attention_norm"],
            ["hidden"] if last else [f"{i + 1}.inner", "", "", stream],
            **epsilon,
            **MICROSOFT,
        )
    return _model(lean, rows, nodes, bits)


def _model(lean: LeanBody, rows: int, nodes: list[NodeProto], bits: int) -> ModelProto:
    width, inner, heads = len(lean.norm), lean.heads * lean.head_dim, rows * lean.heads

    def value(name: str, *shape: int | str, kind: int = TensorProto.FLOAT) -> ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, shape)

    shapes = {
        "flat": [-1, inner],
        "apart": [-1, rows, 3, inner],
        "packed": [1, -1, 3 * rows * inner],
    }
    tensors = [helper.make_tensor(n, TensorProto.INT64, [len(s)], s) for n, s in shapes.items()]
    every = initializers(lean)
    if bits == 8:
        tensors.append(helper.make_tensor("zero", TensorProto.UINT8, [], [128]))
        names = [f"{i}.{part}" for i in range(len(lean.layers)) for part in PRODUCTS]
        every = quantised(lean, {name: torch.ones(len(every[name])) for name in names})
    for name, weight in every.items():
        # The data are external: OnnxBody gives them, and no file is read.
        kind = TensorProto.INT8 if weight.dtype == torch.int8 else TensorProto.FLOAT
        tensor = TensorProto(name=name, data_type=kind, dims=weight.shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="weights")
        tensors.append(tensor)
    parts = [f"{i}.{part}" for i in range(len(lean.layers)) for part in ("keys", "values")]
    inputs = [
        value("x", "T R", width if lean.join is None else lean.join.weight.shape[1]),
        value("mask", 1, 1, "T", "S"),
        value("position_ids", 1, "T", kind=TensorProto.INT64),
        value("last_slot", 1, kind=TensorProto.INT32),
        value("end", 1, kind=TensorProto.INT32),
        *(value(part.replace(".", ".past_"), 1, heads, "slots", lean.head_dim) for part in parts),
    ]
    outputs = [
        value("hidden", "T R", width),
        *(value(part, 1, heads, "slots", lean.head_dim) for part in parts),
    ]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT["domain"], 1)]
    layers = helper.make_graph(nodes, "layers", inputs, outputs, tensors)
    model = helper.make_model(layers, opset_imports=opsets, ir_version=10)
    helper.set_model_props(model, {"body": digest(lean)})
    return model


def bodies(weights: Path) -> dict[str, LeanBody]:
    """Return lean bodies of target and drafter, in the sizes saved in `weights`.

    Their weights are random, since a graph has no weights.
    """
    target = EmbeddedTarget(LlamaConfig.from_pretrained(weights / "target")).model
    drafter = EmbeddedDrafter(LlamaConfig.from_pretrained(weights / "drafter"))
    return {
        "target": LeanBody(target.layers, target.norm, target.rotary_emb),
        "drafter": LeanBody([drafter.layer], drafter.norm, drafter.rotary, drafter.join),
    }


class LargestInputs(TorchFunctionMode):
    """Collects the largest absolute value of each channel that a body's products read.

    `skipped` first rows of each guidance row are left out. `found` has the values [in] by name.
    """

    def __init__(self, lean: LeanBody, rows: int, skipped: int) -> None:
        super().__init__()
        self.found: dict[str, Tensor] = {}
        self._rows, self._skipped = rows, skipped
        self._names = {
            getattr(layer, part).weight.data_ptr(): f"{i}.{part}"
            for i, layer in enumerate(lean.layers)
            for part in PRODUCTS
        }

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        if function in (F.linear, Tensor.addmm_):
            inputs, weight = args[-2:] if function is Tensor.addmm_ else args[:2]
            if name := self._names.get(weight.data_ptr()):
                rows = inputs.reshape(self._rows, -1, inputs.shape[-1])[:, self._skipped :]
                largest = rows.abs().amax((0, 1))
                self.found[name] = largest.maximum(self.found.get(name, largest))
        return function(*args, **(kwargs or {}))


@torch.inference_mode()
def largest_inputs(model: EmbeddedModel) -> dict[str, Tensor]:
    """Return the largest inputs of the target's products in PICTURES, captions left out."""
    model.graphs, found = None, dict[str, Tensor]()  # PyTorch runs the layers
    for seed, prompt in enumerate(PICTURES, 1):
        tokens = torch.tensor(VanillaAR(model).generate(prompt, seed))
        ctx = model.start(prompt, model.sampling.guidance)
        with LargestInputs(model.lean, ctx.batch, ctx.text) as inputs:
            model.forward(ctx, torch.cat([tokens[:1], tokens[:-1]]))
        found = {
            name: largest.maximum(found.get(name, largest))
            for name, largest in inputs.found.items()
        }
        ctx.close()
    return found


def largest_product(width: int = 64) -> ModelProto:
    """Return a graph of one product of 8-bit integers, whose weights are all LARGEST."""
    weights = numpy_helper.from_array(np.full((width, width), LARGEST, np.int8), "weights")
    one = helper.make_tensor("one", TensorProto.FLOAT, [], [1])
    zero = helper.make_tensor("zero", TensorProto.UINT8, [], [128])
    node = helper.make_node(
        "MatMulIntegerToFloat", ["inputs", "weights", "one", "one", "zero"], ["sums"], **MICROSOFT
    )
    inputs = helper.make_tensor_value_info("inputs", TensorProto.UINT8, [2, width])
    sums = helper.make_tensor_value_info("sums", TensorProto.FLOAT, [2, width])
    made = helper.make_graph([node], "product", [inputs], [sums], [weights, one, zero])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT["domain"], 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=10)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m train.export", description=__doc__.partition("\n\n")[0]
    )
    parser.add_argument("--weights", type=Path, default=Path("weights"))
    parser.add_argument(
        "--inputs", action="store_true", help="draw pictures and write how large inputs are instead"
    )
    args = parser.parse_args()
    if args.inputs:
        save_file(largest_inputs(EmbeddedModel(args.weights)), args.weights / "target" / INPUTS)
        return
    made = {}
    for folder, lean in bodies(args.weights).items():
        for rows in ROWS:
            made[f"{folder}/{file_name(rows)}"] = graph(lean, rows)
            if folder == "target":
                made[f"{folder}/{file_name(rows, 8)}"] = graph(lean, rows, 8)
    made[f"target/{PRODUCT}"] = largest_product()
    for name, model in made.items():
        path = args.weights / name
        path.write_bytes(model.SerializeToString())
        print(f"{path}: {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
