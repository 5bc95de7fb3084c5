"""What is SimpleAR's alone; the rest is in `test_families.py` and `test_family_files.py`."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import Qwen2ForCausalLM

from engine.models.families import simplear
from engine.models.families.simplear import LEVELS, NEGATIVE, POSITIVE, fsq_codebook
from engine.models.neighbours import nearest_codes
from engine.models.supply.card import CARDS
from engine.settings import SettingError
from tests.engine.models.families import SIMPLEAR
from tests.engine.models.families.simplear import ADDED, CODES, MARKS, TinySimpleAR, config, decoder
from tests.engine.models.families.test_family_files import linked, rewritten
from tests.engine.models.families.tiny import randomise
from tests.floats import EXACT
from tests.races import race_of


def test_prompts_have_the_documented_words() -> None:
    """What else is in them, `test_families.py` compares with the library's."""
    assert POSITIVE == "A highly realistic image of "
    assert NEGATIVE == (
        "An image of aerial view, overexposed, low quality, deformation, a poor composition, "
        "bad hands, bad teeth, bad eyes, bad limbs, distortion"
    )


@pytest.mark.parametrize("mark", [*MARKS, *ADDED])
def test_a_prompt_cannot_hold_the_models_marks(mark: str) -> None:
    with pytest.raises(SettingError, match="SimpleAR keeps for itself: leave it out") as rejected:
        race_of(SIMPLEAR.model, ["ar"], f"a cat {mark} and more")
    assert mark in str(rejected.value)


@torch.inference_mode()
def test_guided_logits_have_the_distribution_of_guided_log_probabilities() -> None:
    """The authors mix log-softmaxes over the whole vocabulary, words too."""
    prompt, first = SIMPLEAR.prompts[0], len(SIMPLEAR.tokenizer)
    model = SIMPLEAR.model
    found = model.forward(model.start(prompt, 6.0), torch.tensor([0]))[0].softmax(-1)
    texts = (f"<|t2i|>{POSITIVE}{prompt}<|soi|>", f"<|t2i|>{NEGATIVE}<|soi|>")
    rows = []
    for text in texts:  # each a sequence of its own
        ids = SIMPLEAR.tokenizer(text, return_tensors="pt").input_ids
        rows.append(SIMPLEAR.network(ids).logits[0, -1].log_softmax(-1))
    mixed = rows[1] + 6.0 * (rows[0] - rows[1])
    torch.testing.assert_close(found, mixed[first : first + CODES].softmax(-1), **EXACT)
    assert not torch.allclose(found, rows[0][first : first + CODES].softmax(-1))


# The lattice


def test_a_code_counts_its_digits() -> None:
    """The quantiser's own way from numbers to a code, backwards."""
    book = fsq_codebook(LEVELS)
    assert book.shape == (CARDS["simplear-512"].codes, 6) == (64000, 6)
    half = torch.tensor([4, 4, 4, 2, 2, 2])
    basis = torch.tensor([1, 8, 64, 512, 2560, 12800])
    assert ((book * half + half) * basis).sum(1).equal(torch.arange(64000.0))
    assert book.min() == -1
    assert book.amax(0).tolist() == [0.75, 0.75, 0.75, 1, 1, 1]


def test_neighbours_are_the_lattices() -> None:
    """A step in a digit of eight is 1/4, in one of five 1/2; equally near codes by number."""
    book = fsq_codebook(LEVELS)
    inside = 3 + 8 * 4 + 64 * 2 + 512 * 1 + 2560 * 2 + 12800 * 3
    (found,) = nearest_codes(book, torch.tensor([inside]), 7)
    assert (found - inside).tolist() == [-64, -8, -1, 1, 8, 64]
    corner, k = 0, 5
    (found,) = nearest_codes(book, torch.tensor([corner]), k)
    assert found.tolist() == [1, 8, 64, 9]


# Files


def test_a_configuration_as_transformers_4_writes_it_is_read(tmp_path: Path) -> None:
    def old(stored: dict[str, Any]) -> None:
        stored["rope_theta"] = stored.pop("rope_parameters")["rope_theta"]
        stored["torch_dtype"] = stored.pop("dtype", "float32")
        stored["model_type"], stored["mm_patch_merge_type"] = "simpar_qwen", "flat"

    folders = rewritten(SIMPLEAR, tmp_path, "config.json", old)
    model = SIMPLEAR.load(folders)
    frequencies = model.body.rotary_emb.inv_freq
    torch.testing.assert_close(frequencies, SIMPLEAR.model.body.rotary_emb.inv_freq, **EXACT)
    assert frequencies[1] == pytest.approx(1e6 ** (-2 / 8))


class Untied(TinySimpleAR):
    """With a head of its own."""

    network: Qwen2ForCausalLM = randomise(
        Qwen2ForCausalLM(config(len(SIMPLEAR.tokenizer), tie_word_embeddings=False))
    )


@torch.inference_mode()
def test_a_head_of_its_own_is_read_where_the_configuration_says_so() -> None:
    tiny = Untied()
    model, prompt = tiny.load(tiny.folders), tiny.prompts[0]
    assert model.network.lm_head.weight is not model.body.embed_tokens.weight
    found = model.forward(model.start(prompt, 6.0), torch.tensor([0, 5, 7]))
    torch.testing.assert_close(found, tiny.logits(prompt, [5, 7], 6.0), **EXACT)
    tied = SIMPLEAR.model.network
    assert tied.lm_head.weight is tied.model.embed_tokens.weight, "one matrix in memory"


class Saved(nn.Module):
    """A decoder as the published file has it: traced, with its dtype in its code."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = copy.deepcopy(decoder()).bfloat16()

    def forward(self, indices: Tensor) -> Tensor:
        return self.inner(indices).to(torch.bfloat16)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_a_decoder_in_16_bits_runs_as_it_was_saved(dtype: torch.dtype, tmp_path: Path) -> None:
    folders, saved = linked(SIMPLEAR.folders, tmp_path), Saved()
    file = folders["vq"] / "decoder.jit"
    file.unlink()
    torch.jit.trace(saved, torch.zeros(1, 1, 3, 4, dtype=torch.int32)).save(file)
    model = SIMPLEAR.load(folders, dtype)
    assert {weight.dtype for weight in model.vq.parameters()} == {torch.bfloat16}
    codes = np.random.default_rng(2).integers(0, CODES, (3, 4))
    with torch.inference_mode():
        drawn = saved(torch.as_tensor(codes)[None, None].int())[0, :, 0].float()
        found = model.decode(torch.as_tensor(codes)[None])
    assert found.dtype == torch.float32
    torch.testing.assert_close(found[0], drawn, rtol=0.05, atol=0.05)
    assert model.pixels(codes).std() > 5


# True sizes


def test_the_true_configuration_is_the_public_models() -> None:
    """Sizes as Qwen2.5-0.5B's, with the words and codes behind one another."""
    for name, side in (("simplear-512", 32), ("simplear-1024", 64)):
        card = CARDS[name]
        assert card.grid == (side, side)
        true = simplear.config(card)
        assert (true.hidden_size, true.num_hidden_layers) == (896, 24)
        assert (true.num_attention_heads, true.num_key_value_heads) == (14, 2)
        assert true.vocab_size == 151_672 + math.prod(LEVELS)
        assert true.rope_parameters["rope_theta"] == 1e6
    assert CARDS["simplear-512"].repos == CARDS["simplear-1024"].repos, "one download"


def test_random_weights_are_the_same_on_every_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simplear, "config", lambda card: SIMPLEAR.small)
    first, second = SIMPLEAR.load(None), SIMPLEAR.load(None)
    assert first.prompt_ids("é") == [256, *POSITIVE.encode(), *"é".encode(), 257]
    weights = second.network.state_dict()
    assert all(weight.equal(weights[key]) for key, weight in first.network.state_dict().items())
    assert first.vq.map.equal(second.vq.map)
