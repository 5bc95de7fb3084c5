"""XLNet on a text with blanks, from a tiny saved model: one pass against one for each token, and
the command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast, XLNetConfig, XLNetLMHeadModel

from engine import __main__ as cli
from engine.decoders.ar import VanillaAR
from engine.decoders.assd import ASSD, ASSDSettings
from engine.infilling import MASKED, Infilling
from engine.models.base import planned
from engine.models.xlnet import XLNetText, read_blanks
from engine.plan import Plan
from engine.settings import SettingError
from engine.trace import Trace
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
        model.keep(ctx, [0])
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
        model.keep(ctx, [0, 1])
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


Main = Callable[..., None]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> Main:
    def call(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["engine", "infill", *arguments])
        cli.main()

    return call


def test_the_command_fills_in_a_text(
    main: Main, folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "text.json"
    main("--text", "word0 [4] word3 [3] word15", "--xlnet", str(folder), "--out", str(out))
    printed = capsys.readouterr().out
    assert printed.count("7/7") >= 3
    for lane in ("ar", "assd"):
        words = printed.split(f"\n{lane}: ")[1].splitlines()[0].split()
        assert (words[0], words[-1]) == ("word0", "word15")
        assert "word3" in words
    header = Trace.loads(out.read_bytes()).header
    assert header.grid == (1, 12)
    assert len(header.cells) == 7


def test_a_lane_that_needs_a_tree_fails_alone(main: Main, folder: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main("--text", "word0 [4] word3", "--xlnet", str(folder), "--lanes", "sjd-pac,assd")
    assert ended.value.code == 1
    captured = capsys.readouterr()
    assert "in chains, not in trees" in captured.err
    assert "4/4" in captured.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a saved race, or a --text"),
        (("--text", "no blank"), "Leave a blank"),
        (("--text", "a [2]", "--lanes", "jet"), "no decoder called"),
        (("--text", "a [2]", "--out", "/no/where/x.json"), "no folder"),
        (("missing.json",), "missing.json"),
    ],
)
def test_what_cannot_be_filled_in_is_said(
    main: Main, folder: Path, capsys: Capture, arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(*arguments, "--xlnet", str(folder))
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
