"""The graphs that come with the weights, made again."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import onnx
import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaModel

from engine.models.eight_bits import INPUTS, PRODUCTS
from engine.models.embedded.model import EmbeddedModel
from engine.models.lean import LeanBody
from engine.models.onnx_body import ROWS
from engine.models.supply.card import WEIGHTS
from tests.engine.models.families.tiny import BODY
from train import export


def test_the_graphs_that_come_with_the_weights_are_those_of_their_networks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in ("target", "drafter"):
        (tmp_path / part).mkdir()
        shutil.copy(WEIGHTS / part / "config.json", tmp_path / part)
    monkeypatch.setattr(sys, "argv", ["export", "--weights", str(tmp_path)])
    export.main()
    printed = capsys.readouterr().out
    names = sorted(str(file.relative_to(WEIGHTS)) for file in WEIGHTS.glob("*/*.onnx"))
    assert names == sorted(str(file.relative_to(tmp_path)) for file in tmp_path.glob("*/*.onnx"))
    assert len(names) == 3 * len(ROWS) + 1
    for name in names:
        made, ours = (
            onnx.load(folder / name, load_external_data=False) for folder in (tmp_path, WEIGHTS)
        )
        assert made == ours, f"python -m train.export makes {name} again"
        assert f"{tmp_path / name}: " in printed


def test_they_have_no_weights() -> None:
    assert sum(file.stat().st_size for file in WEIGHTS.glob("*/*.onnx")) < 64_000


def test_inputs_are_as_large_as_when_the_pictures_were_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the pictures has no larger ones than all, and hardly smaller ones."""
    monkeypatch.setattr(export, "PICTURES", export.PICTURES[:1])
    ours = load_file(WEIGHTS / "target" / INPUTS)
    (tmp_path / "target").mkdir()
    monkeypatch.setattr(export, "EmbeddedModel", lambda _: EmbeddedModel())
    monkeypatch.setattr(sys, "argv", ["export", "--inputs", "--weights", str(tmp_path)])
    export.main()
    found = load_file(tmp_path / "target" / INPUTS)
    assert set(found) == set(ours) == {f"{i}.{part}" for i in range(6) for part in PRODUCTS}
    for name, largest in ours.items():
        assert largest.max() / 4 < found[name].max() <= largest.max() * 1.01


def test_rows_that_are_skipped_do_not_count() -> None:
    lean = export.bodies(WEIGHTS)["drafter"]
    weight = lean.layers[0].qkv.weight
    rows = torch.zeros(2, 3, weight.shape[1])
    rows[:, 0], rows[1, 2, 5], rows[0, 1, 5], rows[0, 2, 6] = 9, -4, 3, 2
    with export.LargestInputs(lean, 2, 1) as inputs:
        torch.nn.functional.linear(rows.view(6, -1), weight)
        torch.nn.functional.linear(rows.view(6, -1), torch.ones(1, weight.shape[1]))
    assert set(inputs.found) == {"0.qkv"}
    expected = torch.zeros(weight.shape[1])
    expected[5], expected[6] = 4, 2
    assert torch.equal(inputs.found["0.qkv"], expected)


@pytest.mark.parametrize(
    "changes", [{"attention_bias": True}, {"mlp_bias": True}, {"num_key_value_heads": 2}]
)
def test_a_body_that_a_graph_would_not_be_is_rejected(changes: dict[str, object]) -> None:
    config = LlamaConfig(vocab_size=11, **(BODY | {"num_attention_heads": 4} | changes))
    module = LlamaModel(config)
    lean = LeanBody(module.layers, module.norm, module.rotary_emb)
    with pytest.raises(ValueError, match="only layers like Llama's"):
        export.graph(lean, 1)
