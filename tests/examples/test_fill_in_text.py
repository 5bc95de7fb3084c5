"""XLNet on a text with blanks, from a tiny saved model: one pass against one for each token, and
the example as a program."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast, XLNetConfig, XLNetLMHeadModel

from engine.core import Plan
from engine.decoders import DECODERS
from engine.decoders.ar import VanillaAR
from engine.decoders.assd import ASSD, ASSDSettings
from engine.infilling import MASKED, Infilling
from engine.models.base import planned
from engine.settings import SettingError
from examples import fill_in_text
from examples.fill_in_text import XLNetText, read_blanks
from tests.floats import EXACT

WORDS = tuple(f"word{i}" for i in range(16))
KNOWN = (3, MASKED, 5, MASKED, MASKED, 9, MASKED, MASKED, 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model and a tokenizer, as on the hub."""
    path = tmp_path_factory.mktemp("xlnet")
    torch.manual_seed(0)
    special = {"unk_token": "<unk>", "sep_token": "<sep>", "cls_token": "<cls>"}
    names = [*special.values(), *WORDS]
    sizes = {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 48, "initializer_range": 0.3}
    XLNetLMHeadModel(XLNetConfig(vocab_size=len(names), **sizes)).save_pretrained(path)
    vocabulary = {name: i for i, name in enumerate(names)}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=words, **special).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def model(folder: Path) -> XLNetText:
    network = XLNetLMHeadModel.from_pretrained(folder).double().eval()
    encoding = network.transformer.relative_positional_encoding  # in float32 whatever the dtype is
    network.transformer.relative_positional_encoding = lambda *sizes, **bsz: encoding(
        *sizes, **bsz
    ).double()
    return XLNetText(network, len(KNOWN))


def plan_of(model: XLNetText, known: tuple[int, ...] = KNOWN) -> Plan:
    return planned(model, Infilling(known, "raster"))[1]


@torch.inference_mode()
def test_a_chain_in_one_pass_is_one_pass_for_each_token(model: XLNetText) -> None:
    tokens = [5, 9, 2, 14, 6]
    whole = model.forward(
        model.start("", 1.0, plan=plan_of(model)), torch.tensor([0, *tokens[:-1]])
    )
    ctx, root = model.start("", 1.0, plan=plan_of(model)), 0
    for i, token in enumerate(tokens):
        row = model.forward(ctx, torch.tensor([root]))
        torch.testing.assert_close(row, whole[i : i + 1], **EXACT)
        ctx.keep([0])
        root = token
    assert (whole[1:] - whole[:-1]).abs().amax(-1).min() > 1e-2


@torch.inference_mode()
@pytest.mark.parametrize("committed", [0, 2])
def test_questions_ahead_see_what_is_committed_alone(model: XLNetText, committed: int) -> None:
    """The first is the chain's own row; the others do not depend on what is drafted, nor on how
    many are asked for."""
    ctx, root = model.start("", 1.0, plan=plan_of(model)), 0
    if committed:
        model.forward(ctx, torch.tensor([0, 5, 9]))
        ctx.keep([0, 1])
        root = 9
    rows = torch.tensor([root] * 3)
    asked = model.forward(ctx, rows, (0, 1, 2), committed + torch.arange(3))
    chain = [model.forward(ctx, torch.tensor([root, draft, 7])) for draft in (2, 11)]
    for drafted in chain:
        torch.testing.assert_close(asked[:1], drafted[:1], **EXACT)
        assert (asked[1:] - drafted[1:]).abs().amax(-1).min() > 1e-3
    fewer = model.forward(ctx, rows[:2], (0, 1), committed + torch.arange(2))
    torch.testing.assert_close(asked[:2], fewer, **EXACT)


@torch.inference_mode()
def test_known_tokens_on_both_sides_are_read(model: XLNetText) -> None:
    plans = plan_of(model), plan_of(model, (*KNOWN[:-1], 8))
    rows = [model.forward(model.start("", 1.0, plan=plan), torch.tensor([0])) for plan in plans]
    assert (rows[0] - rows[1]).abs().max() > 1e-3


@torch.inference_mode()
def test_assd_takes_no_more_passes_than_tokens(model: XLNetText) -> None:
    assert len(VanillaAR(model, plan=plan_of(model)).generate("", 1)) == 5
    for settings in (ASSDSettings(), ASSDSettings(k=3), ASSDSettings(drafts="n-gram")):
        for seed in range(5):
            steps = list(ASSD(model, settings, plan=plan_of(model)).steps("", seed))
            assert steps[-1].after == 5
            assert steps[-1].nfe <= 5


# Texts


def test_blanks_are_read(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    found = read_blanks("word0 [2] word3 word4 [1]", tokenizer)
    assert found == Infilling((3, MASKED, MASKED, 6, 7, MASKED, 1, 2), "raster")
    for text in ("word1", "word1 [0] word2", "[x]"):
        with pytest.raises(SettingError, match="Leave a blank"):
            read_blanks(text, tokenizer)


def test_a_text_that_is_too_long_is_rejected(model: XLNetText) -> None:
    with pytest.raises(SettingError, match="more than 512"):
        XLNetText(model.network, 513)


def test_the_example_fills_in_a_text(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> list[str]:
        monkeypatch.setattr("sys.argv", [fill_in_text.__file__, *arguments])
        runpy.run_path(fill_in_text.__file__, run_name="__main__")
        return capsys.readouterr().out.splitlines()

    printed = run("word0 [4] word3 [3] word15", str(folder))
    assert [line.split(",")[0] for line in printed] == ["ar", "assd"]
    assert printed[0].startswith("ar, 7 passes: ")
    for line in printed:
        words = line.split(": ")[1].split()
        assert int(line.split()[1]) <= 7
        assert (words[0], words[-1]) == ("word0", "word15")
        assert "word3" in words
    for arguments, words in (
        (("no blank", str(folder)), "Leave a blank"),
        ((), "usage: python -m examples.fill_in_text"),
    ):
        with pytest.raises(SystemExit, match=words):
            run(*arguments)


def test_a_rule_that_needs_a_tree_says_so(model: XLNetText) -> None:
    decoder = DECODERS["sjd-pac"](model, plan=plan_of(model))
    with pytest.raises(ValueError, match="in chains, not in trees"):
        decoder.generate("", 0)
