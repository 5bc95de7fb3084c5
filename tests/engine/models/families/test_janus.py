"""What is Janus-Pro's alone; the rest is in `test_families.py` and `test_family_files.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.models.families import janus
from engine.models.supply.card import CARDS
from engine.settings import SettingError
from tests.engine.models.families import JANUS
from tests.engine.models.families.janus import MARKS
from tests.engine.models.families.test_family_files import rewritten
from tests.races import race_of


def test_spaces_stay_where_the_tokenizer_says_it_is_llamas(tmp_path: Path) -> None:
    """As the files of Janus do: transformers 5 would then split words as Llama does, and lose every
    space."""
    llamas = {"tokenizer_class": "LlamaTokenizerFast"}
    named = JANUS.load(
        rewritten(JANUS, tmp_path, "tokenizer_config.json", lambda config: config.update(llamas))
    )
    assert named.prompt_ids(JANUS.prompts[2]) == JANUS.model.prompt_ids(JANUS.prompts[2])
    ids = named.prompt_ids("a red cat")
    assert named.tokenizer.decode(ids, skip_special_tokens=True) == ": a red cat\n\n:"


@pytest.mark.parametrize("mark", MARKS)
def test_a_prompt_cannot_hold_the_models_marks(mark: str) -> None:
    with pytest.raises(SettingError, match="Janus-Pro keeps for itself: leave it out") as rejected:
        race_of(JANUS.model, ["ar"], f"a cat {mark} and more")
    assert mark in str(rejected.value)


@pytest.mark.parametrize("name", ["janus-pro-1b", "janus-pro-7b"])
def test_the_true_configuration_has_the_cards_grid(name: str) -> None:
    settings = janus.config(CARDS[name])
    assert (settings.vq_config.num_patches,) * 2 == CARDS[name].grid


def test_random_weights_are_the_same_on_every_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(janus, "config", lambda card: JANUS.small)
    first, second = JANUS.load(None), JANUS.load(None)
    assert first.prompt_ids("é") == [256, *"é".encode(), 257]
    weights = second.network.state_dict()
    assert all(weight.equal(weights[key]) for key, weight in first.network.state_dict().items())
