"""The graphs that come with the weights, made again."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import onnx
import pytest
from transformers import LlamaConfig, LlamaModel

from engine.models.lean import LeanBody
from engine.models.onnx_body import ROWS, file_name
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
    for part in ("target", "drafter"):
        for rows in ROWS:
            made, ours = (
                onnx.load(folder / part / file_name(rows), load_external_data=False)
                for folder in (tmp_path, WEIGHTS)
            )
            assert made == ours, f"python -m train.export makes {part}/{file_name(rows)} again"
            assert f"{tmp_path / part / file_name(rows)}: " in printed


def test_they_have_no_weights() -> None:
    assert sum(file.stat().st_size for file in WEIGHTS.glob("*/*.onnx")) < 40_000


@pytest.mark.parametrize(
    "changes", [{"attention_bias": True}, {"mlp_bias": True}, {"num_key_value_heads": 2}]
)
def test_a_body_that_a_graph_would_not_be_is_rejected(changes: dict[str, object]) -> None:
    config = LlamaConfig(vocab_size=11, **(BODY | {"num_attention_heads": 4} | changes))
    module = LlamaModel(config)
    lean = LeanBody(module.layers, module.norm, module.rotary_emb)
    with pytest.raises(ValueError, match="only layers like Llama's"):
        export.graph(lean, 1)
