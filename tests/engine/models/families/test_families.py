"""What decoders and the page rely on, of a tiny model of every family: files through the real path,
against transformers' own classes or the published code written out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from engine.decoders import DECODERS
from engine.decoders.base import Decoder
from engine.decoders.zipar import ZipAR
from engine.graphs import Captures
from engine.models import FAMILIES, body
from engine.models.supply.card import CARDS
from engine.settings import Sampling, SettingError
from engine.trace import Status, StepTable
from tests.engine.models.families import TINY, Tiny
from tests.engine.models.sequence import Sequence, guided_before
from tests.engine.recorded_graph import capture
from tests.floats import EXACT
from tests.races import race_of
from tests.variants import further

KNOBS = {
    "jacobi": {"window": 5},
    "fpi": {"window": 6},
    "sjd": {"window": 16, "init": "vertical repeat"},
    "gsd": {"G": 6, "delta": 0.5},
    "lantern": {"k": 6, "drafter": "jacobi"},
    "sjd-pac": {"window": 40, "K": 2, "D": 3},
}


@pytest.fixture(params=TINY)
def tiny(request: pytest.FixtureRequest) -> Tiny:
    return TINY[request.param]


def decoder(tiny: Tiny, name: str, sampling: Sampling) -> Decoder:
    return DECODERS[name](tiny.model, DECODERS[name].Settings(**KNOBS.get(name, {})), sampling)


def test_every_family_is_here() -> None:
    families = {tiny.card.family for tiny in TINY.values()}
    assert families == {*FAMILIES, "embedded"} == {card.family for card in CARDS.values()}


def test_what_decoders_read_of_a_model(tiny: Tiny) -> None:
    model, card = tiny.model, tiny.card
    assert (model.name, model.grid, model.vocab_size) == (card.name, card.grid, card.codes)
    assert (model.plan.length, model.plan.stride) == (card.length, card.length // card.grid[0])
    assert model.forced_ids.tolist() == tiny.forced_ids
    assert (model.drafter is None) == bool(card.repos)
    assert (model.sampling == card.sampling) or card.name == "embedded"
    torch.testing.assert_close(model.codebook, tiny.codebook, **EXACT)
    assert not model.codebook.requires_grad


@pytest.mark.parametrize("guided", [False, True])
def test_prompt_rows_are_the_documented_ones(tiny: Tiny, guided: bool) -> None:
    for prompt in tiny.prompts:
        found = tiny.model.prompt(prompt, guided)
        embeddings, start = tiny.rows(prompt, guided)
        assert found.start == start
        torch.testing.assert_close(found.embeddings, embeddings, **EXACT)


@pytest.mark.parametrize("name", [name for name, tiny in TINY.items() if tiny.limit])
def test_a_prompt_that_leaves_no_room_is_rejected_in_words(name: str) -> None:
    tiny = TINY[name]
    room = tiny.limit - tiny.rows("", False)[0].shape[1]  # a letter is a token
    tiny.model.start("x" * room, tiny.guidance).close()
    with pytest.raises(SettingError, match=tiny.too_long) as caught:
        tiny.model.start("x" * (room + 1), tiny.guidance)
    assert str(tiny.limit) in str(caught.value)
    with pytest.raises(SettingError, match=tiny.too_long):  # no lane begins
        race_of(tiny.model, ["ar", "sjd"], "x" * (room + 1))


@pytest.mark.parametrize(("guided", "guided_tokens"), [(False, 0), (True, 5)])
def test_windows_and_trees_equal_one_forward(tiny: Tiny, guided: bool, guided_tokens: int) -> None:
    guidance, end = tiny.guidance if guided else 1.0, row_end(tiny)
    for prompt in tiny.prompts:
        one_shot, alone = (
            functools.partial(tiny.logits, prompt, guidance=each) for each in (guidance, 1.0)
        )
        one_shot = guided_before(guided_tokens, one_shot, alone)
        sequence = Sequence(tiny.model, one_shot, guidance, prompt, guided_tokens)
        sequence.follow(end)
        if prompt is tiny.prompts[0]:
            assert one_shot([3]).std() > 0.3, "there is something to compare"
            sequence = Sequence(tiny.model, one_shot, guidance, prompt, guided_tokens)
            sequence.begin_with_a_tree()


def test_in_float32_they_are_off_by_its_rounding(tiny: Tiny) -> None:
    """What races run in."""
    prompt, guidance = tiny.prompts[0], tiny.guidance
    one_shot = functools.partial(tiny.logits, prompt, guidance=guidance)
    model = tiny.load(tiny.folders, torch.float32)
    Sequence(model, one_shot, guidance, prompt).follow(row_end(tiny))


def row_end(tiny: Tiny) -> int:
    """The token that ends a row, which is embedded too, or a code where there is none."""
    end = max(tiny.forced_ids)
    return end if end >= 0 else 11


def test_greedy_decoders_equal_the_librarys_greedy_decoding(tiny: Tiny) -> None:
    first, other = tiny.prompts[:2]
    expected = {
        (prompt, guidance): tiny.greedy(prompt, guidance)
        for prompt, guidance in ((first, 1.0), (first, tiny.guidance), (other, tiny.guidance))
    }
    assert len({*map(tuple, expected.values())}) == 3, "prompt and guidance matter"
    for (prompt, guidance), tokens in expected.items():
        assert len(set(tokens)) > 3, "a picture of one code would prove little"
        greedy = Sampling(guidance=guidance, top_k=1)
        assert decoder(tiny, "ar", greedy).generate(prompt, 4) == tokens
    for name in ("jacobi", "sjd", "sjd-pac"):
        assert decoder(tiny, name, greedy).generate(other, 4) == tokens, name


@torch.inference_mode()
def test_decoders_keep_the_layout(tiny: Tiny) -> None:
    """Of those that look at the codebook too; and the fixed point is vanilla AR's picture."""
    found, sampling = {}, Sampling(guidance=2.0, guided_tokens=7, top_k=8)
    for name in ("ar", "fpi", "gsd", "lantern", "sjd-pac"):
        steps = [*decoder(tiny, name, sampling).steps(tiny.prompts[0], 4)]
        rows = [row for step in steps for row in step.committed]
        found[name] = [int(row["token"]) for row in rows]
        for row, forced in zip(rows, tiny.forced_ids, strict=True):
            assert (row["status"] == Status.FORCED) == (forced >= 0)
            assert row["token"] == forced if forced >= 0 else 0 <= row["token"] < tiny.card.codes
    assert found["fpi"] == found["ar"]


@torch.inference_mode()
def test_rows_at_once(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a lag of the width vanilla AR's picture, whose p it is drawn from; with less the layout,
    and with static shapes the same tokens, through two buckets of the cache and more."""
    monkeypatch.setattr(body, "BUCKET", 16)
    sampling = Sampling(guidance=2.0, guided_tokens=7, top_k=8)

    def drawn(lag: int) -> tuple[int, StepTable]:
        steps = list(ZipAR(tiny.model, ZipAR.Settings(s=lag), sampling).steps(tiny.prompts[0], 4))
        return len(steps), StepTable.join([step.rows for step in steps])

    ar = decoder(tiny, "ar", sampling).generate(tiny.prompts[0], 4)
    _, one_by_one = drawn(256)
    assert one_by_one.tokens == ar
    free = one_by_one.prices["shift"][[fixed < 0 for fixed in tiny.forced_ids]]
    assert not free.any()
    passes, rows = drawn(2)
    height, stride = tiny.card.grid[0], tiny.model.plan.stride
    assert passes == stride + 2 * (height - 1)
    for token, fixed in zip(rows.tokens, tiny.forced_ids, strict=True):
        assert token == fixed if fixed >= 0 else 0 <= token < tiny.card.codes
    monkeypatch.setattr(tiny.model, "static", True)
    monkeypatch.setattr(tiny.model, "captures", Captures(lambda: capture))
    assert drawn(2)[1].tokens == rows.tokens


def test_pixels_are_the_librarys(tiny: Tiny) -> None:
    """Of any grid; a batch's are those of its pictures."""
    for shape in ((1, 1), (2, 5), (2, 3, 3), (2, *tiny.card.grid)):
        codes = np.random.default_rng(1).integers(0, tiny.card.codes, shape)
        picture = tiny.model.pixels(codes)
        assert picture.dtype == np.uint8
        assert picture.shape == (*shape[:-2], tiny.side * shape[-2], tiny.side * shape[-1], 3)
        with torch.inference_mode():
            drawn = tiny.picture(torch.as_tensor(codes).view(-1, *shape[-2:]))
        expected = ((drawn.clamp(-1, 1) + 1) * 127.5).permute(0, 2, 3, 1).numpy()
        assert np.abs(picture.reshape(expected.shape) - expected).max() < 0.5 + 1e-9
        assert ((expected > 0) & (expected < 255)).mean() > 0.2, "not all black or white"
        assert expected.std() > 5
    assert np.array_equal(picture[1], tiny.model.pixels(codes[1]))


@pytest.mark.parametrize(
    ("name", "guided_tokens"), [("ar", 7), *further(("sjd", 7)), ("sjd-pac", 0)]
)
def test_static_shapes_and_captured_steps_change_nothing(
    tiny: Tiny, name: str, guided_tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row, chains and trees, through two buckets of the cache and more, and through the end of
    guidance; again, which captures nothing; and with another seed and a prompt of another
    length."""
    monkeypatch.setattr(body, "BUCKET", 16)
    sampling = Sampling(guidance=2.0, guided_tokens=guided_tokens, top_k=8)
    prompts = sorted(tiny.prompts, key=len)
    races = (prompts[-1], 5), (prompts[-1], 5), (prompts[0], 7)
    expected = [decoder(tiny, name, sampling).generate(*race) for race in races]
    captured = []

    def counted(function: Callable[[], Any]) -> tuple[Any, Callable[[], None]]:
        captured.append(function)
        return capture(function)

    monkeypatch.setattr(tiny.model, "static", True)
    monkeypatch.setattr(tiny.model, "captures", Captures(lambda: counted))
    counts = []
    for race, tokens in zip(races, expected, strict=True):
        assert decoder(tiny, name, sampling).generate(*race) == tokens
        counts.append(len(captured))
    assert counts[0] == counts[1] > 0
