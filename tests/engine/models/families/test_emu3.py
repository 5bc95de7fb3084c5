"""What is Emu3's alone; the rest is in `test_families.py` and `test_family_files.py`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from engine.models.families import emu3
from engine.models.families.emu3 import POSITIVE
from engine.models.supply.card import CARDS, ModelError
from tests.engine.models.families import EMU3
from tests.engine.models.families.test_family_files import change_weights, linked

BEGIN, START, WRAPPER = "<|extra_203|>", "<|image start|>", "<|image token|>"


def test_a_prompt_ends_in_the_documented_words() -> None:
    """What else is in it, `test_families.py` compares with the library's."""
    assert POSITIVE == " masterpiece, film grained, best quality."


def test_the_public_grid_is_the_processors_for_720_pixels() -> None:
    card = dataclasses.replace(EMU3.card, grid=CARDS["emu3"].grid)
    square = EMU3.load(EMU3.folders, card=card)
    encoded = EMU3.processor(
        text=["a cat"], return_for_image_generation=True, ratio="1:1", image_area=518400
    )
    assert encoded.image_sizes == [[90, 90]]
    assert square.prompt_ids("a cat") == encoded.input_ids[0]
    assert square.plan.length == CARDS["emu3"].length


@pytest.mark.parametrize(
    "text",
    [
        *(WRAPPER, f"a {START}9*9{WRAPPER} b", "<image>"),
        *("<|extra_200|>" * 3, "<<|visual token 000001|>>", "<|"),
    ],
)
def test_marks_in_a_visitors_text_stay_text(text: str) -> None:
    tokenizer, ids = EMU3.model.tokenizer, EMU3.model.prompt_ids(text)
    marks = [tokenizer.convert_tokens_to_ids(mark) for mark in (BEGIN, START, WRAPPER)]
    assert [token for token in ids if token >= 256] == marks
    assert tokenizer.decode(ids) == f"{BEGIN}{text}{START}3*4{WRAPPER}"


def test_keys_as_the_classes_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers writes the body under text_model.model and its head beside it; in the classes
    they stand elsewhere."""
    keys: list[set[str]] = []

    def renamed(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        theirs = EMU3.network.state_dict()
        keys.extend({name.split(".")[0] for name in names} for names in (state, theirs))
        return theirs

    change_weights(monkeypatch, EMU3, renamed)
    again = EMU3.load(EMU3.folders)
    assert keys == [{"text_model", "vqmodel"}, {"model", "lm_head"}]
    for part in ("body", "output", "vq"):
        ours, theirs = (getattr(model, part).state_dict() for model in (again, EMU3.model))
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_a_tokenizer_without_its_configuration_is_rejected(tmp_path: Path) -> None:
    folders = linked(EMU3.folders, tmp_path)
    (folders["model"] / "tokenizer_config.json").unlink()
    with pytest.raises(ModelError, match=r"The tokenizer of .* has no b"):
        EMU3.load(folders)


def test_the_true_configuration_is_the_public_models() -> None:
    """Its sizes and ids as config.json of BAAI/Emu3-Gen-hf has them."""
    true = emu3.config(CARDS["emu3"])
    text = true.text_config
    assert (text.vocab_size, text.hidden_size, text.num_hidden_layers) == (184622, 4096, 32)
    assert (text.num_attention_heads, text.num_key_value_heads) == (32, 8)
    assert true.vocabulary_map["<|visual token 032767|>"] == 184621
