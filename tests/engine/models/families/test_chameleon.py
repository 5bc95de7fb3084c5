"""What is the Chameleon family's alone; the rest is in `test_families.py` and
`test_family_files.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from torch import Tensor

from engine.models.families import chameleon
from engine.models.supply.card import CARDS, ModelError
from tests.engine.models.families import ANOLE, LUMINA, Tiny
from tests.engine.models.families.chameleon import END_OF_LINE, MAP
from tests.engine.models.families.test_family_files import change_weights, rewritten

every_model = pytest.mark.parametrize("tiny", [ANOLE, LUMINA], ids=lambda tiny: tiny.card.name)


def test_the_names_of_sizes() -> None:
    names = [chameleon.size_token(side) for side in (32, 48, 64)]
    assert names == ["<reserved08816>", "<reserved08824>", "<reserved08832>"]


@every_model
def test_the_true_vocabulary_has_the_documented_ids(tiny: Tiny) -> None:
    settings = chameleon.config(CARDS[tiny.card.name])
    documented = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<eoss>": 8196}
    documented |= {"<racm3:break>": 8197, "<reserved08706>": 8710, "<image>": 8711}
    documented |= {"<reserved08799>": 8803, "<reserved08816>": 8820, "<reserved08824>": 8828}
    assert documented.items() <= settings.vocabulary_map.items()
    mapping = chameleon._empty(settings).model.vocabulary_mapping
    assert sorted(mapping.bpe2img) == list(range(4, 8196))


@every_model
def test_the_prompt_of_random_weights_is_the_documented_one(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chameleon, "config", lambda card: tiny.small)
    model = tiny.load(None)
    conditional, unconditional = model.ids("ż")
    sized = [] if tiny is ANOLE else [8806, 8807]
    text = tiny.template.format("ż").encode()
    words = conditional[1 : -2 - len(sized)]
    assert conditional == [0, *words, 8710, 8197, *sized]
    assert len(words) == len(text)
    assert all(8900 <= byte < 9156 for byte in words)
    assert unconditional == ([0, 8197] if tiny is ANOLE else [8197, *sized])
    assert model.output.std() == pytest.approx(0.02, rel=0.05)
    assert {float(weight) for weight in model.body.norm.weight} == {1.0}


def test_the_decoders_weights_may_have_the_whole_models_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def renamed(state: dict[str, Tensor]) -> dict[str, Tensor]:
        names = "quantize.embedding.weight" in state
        return {f"model.vqmodel.{key}" if names else key: each for key, each in state.items()}

    change_weights(monkeypatch, ANOLE, renamed)
    codes = np.arange(6).reshape(2, 3)
    found = ANOLE.load(ANOLE.folders)
    assert np.array_equal(found.pixels(codes), ANOLE.model.pixels(codes))


def test_lumina_alone_needs_an_end_of_a_line(tmp_path: Path) -> None:
    for tiny in (ANOLE, LUMINA):
        to = tmp_path / tiny.card.name
        folders = rewritten(tiny, to, "config.json", lambda c: c[MAP].pop(END_OF_LINE))
        if tiny is ANOLE:
            assert tiny.load(folders).plan.length == 16
            continue
        with pytest.raises(ModelError, match=f"no token {END_OF_LINE}: this is not lumina-768"):
            tiny.load(folders)
