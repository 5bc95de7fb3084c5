"""Makes the ONNX graphs with which ONNX Runtime runs the layers of target and drafter.

`python -m train.export` writes the graphs into the networks' folders. A graph has no weights:
`engine/models/onnx_body.py` gives it the loaded weights. So the graphs must be made again only if
the sizes of a network change.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper
from transformers import LlamaConfig

from engine.models.embedded.networks import EmbeddedDrafter, EmbeddedTarget
from engine.models.lean import LeanBody
from engine.models.onnx_body import ROWS, digest, file_name, initializers

MICROSOFT = {"domain": "com.microsoft"}  # ONNX Runtime's own operators


def graph(lean: LeanBody, rows: int) -> ModelProto:
    """Return the graph of a body's layers and final norm.

    `rows` is the number of guidance rows: 2 with guidance, 1 without. OnnxBody binds the graph's
    inputs and outputs. Raises ValueError for a body with biases, head norms, norms after the
    layers, or keys that several heads share.
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

    epsilon = {"epsilon": lean.eps}
    stream = "x" if lean.join is None else "joined"
    if lean.join is not None:
        add("Gemm", ["x", "join", "join_bias"], [stream])
    add("SimplifiedLayerNormalization", [stream, "0.attention_norm"], ["0.inner"], **epsilon)
    for i in range(len(layers)):
        add("MatMul", [f"{i}.inner", f"{i}.qkv"], [f"{i}.qkv.out"])
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
        add("MatMul", [f"{i}.mixed", f"{i}.output"], [f"{i}.output.out"])
        add(
            "SkipSimplifiedLayerNormalization",
            [stream, f"{i}.output.out", f"{i}.mlp_norm"],
            [f"{i}.mlp_inner", "", "", f"{i}.stream"],
            **epsilon,
            **MICROSOFT,
        )
        add("MatMul", [f"{i}.mlp_inner", f"{i}.gate_up"], [f"{i}.gate_up.out"])
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
    return _model(lean, rows, nodes)


def _model(lean: LeanBody, rows: int, nodes: list[NodeProto]) -> ModelProto:
    width, inner, heads = len(lean.norm), lean.heads * lean.head_dim, rows * lean.heads

    def value(name: str, *shape: int | str, kind: int = TensorProto.FLOAT) -> ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, shape)

    shapes = {
        "flat": [-1, inner],
        "apart": [-1, rows, 3, inner],
        "packed": [1, -1, 3 * rows * inner],
    }
    tensors = [helper.make_tensor(n, TensorProto.INT64, [len(s)], s) for n, s in shapes.items()]
    for name, weight in initializers(lean).items():
        # The data are external: OnnxBody gives them, and no file is read.
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=weight.shape)
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


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m train.export", description=__doc__.partition("\n\n")[0]
    )
    parser.add_argument("--weights", type=Path, default=Path("weights"))
    args = parser.parse_args()
    for folder, lean in bodies(args.weights).items():
        for rows in ROWS:
            path = args.weights / folder / file_name(rows)
            path.write_bytes(graph(lean, rows).SerializeToString())
            print(f"{path}: {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
