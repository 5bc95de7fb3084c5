"""BodyModel and EagleDrafter on tiny random networks: windows, trees and caches against plain
one-shot forwards."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from transformers import LlamaConfig, LlamaModel

from engine.models.base import MAX_ROWS
from engine.models.body import BUCKET, BodyModel
from engine.models.context import Prompt, guide
from engine.settings import Sampling
from tests.engine.models.families import TINY
from tests.engine.models.families.tiny import BODY, CPU, randomise
from tests.engine.models.sequence import Sequence, guided_before
from tests.floats import EXACT

CODES, LENGTH = 11, 16


class Plain(BodyModel):
    """A plain LlamaModel with grouped keys; prompt rows are padded on the left by `padding`, and
    their number is its length."""

    def __init__(self, padding: tuple[int, ...] = (0,), rows: int = 4) -> None:
        self.grid, self.vocab_size, self.device, self.dtype = (4, 4), CODES, CPU, torch.float64
        self.forced_ids, self.sampling = torch.full((LENGTH,), -1), Sampling()
        heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
        ends = {"bos_token_id": None, "eos_token_id": None}
        config = LlamaConfig(**BODY, **heads, **ends, vocab_size=CODES)
        self.body = randomise(LlamaModel(config), 1)
        generator = torch.Generator().manual_seed(2)
        self.output = torch.randn(CODES, 32, generator=generator).double() / 4
        self.rows = torch.randn(2, rows, 32, generator=generator).double()
        self.padding = padding

    def prompt(self, text: str, guided: bool) -> Prompt:
        count = 1 + guided
        return Prompt(self.rows[:count], tuple((self.padding * count)[:count]))

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.body.embed_tokens(tokens)

    def head(self, hidden: Tensor) -> Tensor:
        return hidden @ self.output.T

    def decode(self, codes: Tensor) -> Tensor:
        raise NotImplementedError


MODELS = {
    "plain": Plain,
    "plain, padded alike": lambda: Plain((2,)),
    "plain, padded unlike": lambda: Plain((0, 3)),
    "plain, prompt of one row": lambda: Plain((0,), rows=1),
    "embedded": lambda: TINY["embedded"].model,  # learned slots, an untied head
}
every_model = pytest.mark.parametrize("name", MODELS)


@functools.cache
def model(name: str) -> BodyModel:
    return MODELS[name]()


def states(model: BodyModel, tokens: list[int], guided: bool) -> Tensor:
    """The body's own states [R, P + n, D] of prompt and tokens, in one forward, with transformers'
    own masks and no cache."""
    prompt = model.prompt("", guided)
    count, length = prompt.embeddings.shape[:2]
    drafts = model.embed(torch.tensor(tokens, dtype=torch.long), torch.arange(len(tokens)))
    fed = torch.cat([prompt.embeddings, drafts.expand(count, -1, -1)], 1)
    there = torch.arange(fed.shape[1]) >= torch.tensor(prompt.start)[:, None]
    positions = (there.cumsum(-1) - 1).clamp_min(0)
    out = model.body(
        inputs_embeds=fed, attention_mask=there.long(), position_ids=positions, use_cache=False
    )
    return out.last_hidden_state[:, length - 1 :]


def one_shot(tokens: list[int], model: BodyModel, guidance: float) -> Tensor:
    """Logits [n + 1, V] of positions 0 .. n, given tokens 0 .. n - 1."""
    logits = model.head(states(model, tokens, guidance != 1))
    return logits[0] if guidance == 1 else logits[1] + guidance * (logits[0] - logits[1])


def started(name: str, guidance: float, guided_tokens: int = 0) -> Sequence:
    whole, alone = (
        functools.partial(one_shot, model=model(name), guidance=each) for each in (guidance, 1.0)
    )
    expected = guided_before(guided_tokens, whole, alone)
    return Sequence(model(name), expected, guidance, guided_tokens=guided_tokens)


def test_a_pass_behind_the_guided_tokens_is_no_graph_of_those_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tiny, reads = model("plain"), []
    monkeypatch.setattr(tiny, "static", True)
    ctx, window = tiny.start("", 3.0, 3), torch.tensor([0, 5, 9, 1])
    tiny.forward(ctx, window)
    for _ in range(3):
        ctx.keep([0])
        reads.append(ctx.attended(len(window)))
        tiny.forward(ctx, window)
    assert reads[0] == reads[1] != reads[2]


@every_model
@pytest.mark.parametrize("guidance", [1.0, 3.0])
def test_the_first_window_takes_the_prompt_in_whatever_id_its_root_has(
    name: str, guidance: float
) -> None:
    logits = []
    for root in (0, 7):
        ctx = model(name).start("", guidance)
        logits.append(model(name).forward(ctx, torch.tensor([root, 2, 6])))
        torch.testing.assert_close(logits[-1], one_shot([2, 6], model(name), guidance), **EXACT)
    assert torch.equal(*logits)


@settings(max_examples=25)
@given(
    data=st.data(),
    name=st.sampled_from(sorted(MODELS)),
    guidance=st.sampled_from([1.0, 2.5]),
    guided_tokens=st.integers(0, LENGTH),
)
def test_any_windows_trees_and_keeps_equal_one_shot(
    data: st.DataObject, name: str, guidance: float, guided_tokens: int
) -> None:
    sequence = started(name, guidance, guided_tokens)
    token = st.integers(0, CODES - 1)
    for _ in range(data.draw(st.integers(1, 4))):
        room = LENGTH - len(sequence.tokens) - 1
        if room < 0:
            break
        drafts = data.draw(st.lists(token, max_size=min(room, 6)))
        parents = None
        if data.draw(st.booleans()):
            parents = [0, *(data.draw(st.integers(0, row)) for row in range(len(drafts)))]
        paths = sequence.window(drafts, parents)
        rows = [data.draw(st.integers(0, len(drafts)))]
        while rows[0]:
            rows.insert(0, rows[0] - 1 if parents is None else parents[rows[0]])
        sequence.keep(rows, paths[rows[-1]], data.draw(token))


def test_lanes_do_not_disturb_one_another() -> None:
    a, b = started("embedded", 2.0), started("embedded", 1.0)
    for token in (3, 8, 2):
        for sequence, shift in ((a, 0), (b, 1)):
            sequence.window([4, 5])
            sequence.keep([0, 1], [4], token + shift)


def test_a_window_beyond_the_cache_is_rejected_and_the_context_goes_on() -> None:
    sequence = started("plain", 1.0)
    with pytest.raises(IndexError, match="slots"):
        model("plain").forward(sequence.ctx, torch.zeros(BUCKET, dtype=torch.long))
    sequence.window([1, 2])


def test_the_largest_window_fits_at_the_last_position() -> None:
    sequence = started("plain", 1.0)
    for token in range(LENGTH - 1):
        model("plain").forward(sequence.ctx, torch.tensor([(sequence.tokens or [0])[-1]]))
        sequence.keep([0], [], token % CODES)
    logits = model("plain").forward(
        sequence.ctx, torch.zeros(MAX_ROWS, dtype=torch.long), (0,) * MAX_ROWS
    )
    assert logits.shape == (MAX_ROWS, CODES)


def test_close_lets_go_of_the_cache() -> None:
    ctx = model("plain").start("", 1.0)
    ctx.close()
    assert not hasattr(ctx, "cache")
    assert ctx.hidden is None


@pytest.mark.parametrize(("rows", "start"), [((3, 8), (3,)), ((2, 3, 8), (3,))])
def test_prompt_rows_and_starts_must_fit(rows: tuple[int, ...], start: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        Prompt(torch.zeros(rows), (0,) * start[0])


def test_small_grids_are_decoded_as_many_together_as_a_picture_has_cells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = TINY["anole"].model
    decode, shapes = model.decode, list[tuple[int, ...]]()
    monkeypatch.setattr(model, "decode", lambda codes: shapes.append(codes.shape) or decode(codes))
    codes = np.arange(7 * 2 * 2).reshape(7, 2, 2)
    assert len(model.pixels(codes)) == 7
    assert shapes == [(4, 2, 2), (3, 2, 2)], "a picture has 4 x 4"
    shapes.clear()
    model.pixels(np.zeros((2, 5, 5), int))
    assert shapes == [(1, 5, 5)] * 2


def test_guidance_is_mixed_in_float32() -> None:
    logits = torch.tensor([[[2.0, 1.0]], [[1.0, 3.0]]]).bfloat16()
    assert guide(logits, 3.0).tolist() == [[4.0, -3.0]]
    assert guide(logits, 3.0).dtype == torch.float32
    assert guide(logits[:1], 1.0).tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_linear_head_reads_mixed_states_but_in_half_precision(
    dtype: torch.dtype, linear: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny, read = Plain(), []
    tiny.linear_head = linear
    monkeypatch.setattr(tiny, "output", tiny.output.to(dtype))
    head = tiny.head
    monkeypatch.setattr(tiny, "head", lambda hidden: read.append(len(hidden)) or head(hidden))
    ctx = tiny.start("", 3.0, 2)
    hidden = torch.randn(2, 4, 32, generator=torch.Generator().manual_seed(0)).to(dtype)
    logits = tiny.guided_logits(ctx, hidden, torch.arange(4))
    assert read == [1 if linear and dtype is not torch.bfloat16 else 2]
    expected = ctx.guide(head(hidden), torch.arange(4))
    torch.testing.assert_close(logits, expected, **(EXACT if dtype is torch.float64 else {}))


def chained(
    tokens: list[int], drafts: list[int], guidance: float, guided_tokens: int = 0
) -> list[Tensor]:
    """The drafter's logits after `tokens` are committed and each of `drafts` is drafted, by
    one-shot forwards of network and target: its rows join token i with the target's state one slot
    before, or, for a draft, with its own last guess."""
    tiny, guided = model("embedded"), guidance != 1
    first = tiny.prompt("", guided).embeddings.shape[1]
    known = [*tokens, *drafts]
    embedded = tiny.embed(torch.tensor(known), torch.arange(len(known)))
    hidden, logits = states(tiny, tokens, guided)[:, : len(tokens)], []
    for count in range(len(tokens), len(known) + 1):
        rows = torch.cat([embedded[:count].expand(len(hidden), -1, -1), hidden], -1)
        guesses = tiny.drafter.network(rows, (first + torch.arange(count)).expand(len(rows), -1))
        last = tiny.head(guesses[:, -1:])
        behind = 0 < guided_tokens <= count
        logits.append(last[0, 0] if behind else guide(last, guidance)[0])
        hidden = torch.cat([hidden, guesses[:, -1:]], 1)
    return logits


def drafted(sequence: Sequence, rows: list[int], drafts: list[int]) -> list[Tensor]:
    """The drafter's own logits for the same; `rows` are the window rows that were just kept."""
    drafter, ctx = sequence.model.drafter, sequence.ctx
    logits = [drafter.extend(ctx, rows, torch.tensor(sequence.tokens[-len(rows) :]))]
    return logits + [drafter.next(ctx, torch.tensor(token)) for token in drafts]


@settings(max_examples=20)
@given(data=st.data(), guidance=st.sampled_from([1.0, 2.5]), guided_tokens=st.integers(0, LENGTH))
def test_the_drafters_chained_passes_equal_one_shot_and_leave_no_trace(
    data: st.DataObject, guidance: float, guided_tokens: int
) -> None:
    sequence = started("embedded", guidance, guided_tokens)
    tokens = st.lists(st.integers(0, CODES - 1), min_size=1, max_size=4)
    for _ in range(data.draw(st.integers(1, 3))):
        drafts = data.draw(tokens)
        paths = sequence.window(drafts)
        last = data.draw(st.integers(0, len(drafts)))
        rows = list(range(last + 1))
        sequence.keep(rows, paths[last], data.draw(st.integers(0, CODES - 1)))
        ahead = data.draw(tokens)[: LENGTH - 1 - len(sequence.tokens)]
        expected = chained(sequence.tokens, ahead, guidance, guided_tokens)
        torch.testing.assert_close(drafted(sequence, rows, ahead), expected, **EXACT)


@pytest.mark.parametrize(("guidance", "guided_tokens"), [(1.0, 0), (2.0, 0), (2.0, 2), (2.0, 4)])
def test_the_drafter_reads_a_tree_as_each_of_its_paths(guidance: float, guided_tokens: int) -> None:
    sequence, other = (started("embedded", guidance, guided_tokens) for _ in range(2))
    for each in (sequence, other):
        paths = each.window([1, 2])
        each.keep([0, 1], paths[1], 6)
    for _ in range(2):  # a tree leaves no trace in the next
        logits = drafted(sequence, [0, 1], [])
        # rounds of (tokens, the numbers of those that they follow)
        for tokens, parents in (([3, 4], [0, 0]), ([5, 5, 7], [2, 1, 2]), ([9], [4])):
            logits += sequence.model.drafter.expand(
                sequence.ctx, torch.tensor(tokens), torch.tensor(parents)
            )
        paths = [[], [3], [4], [4, 5], [3, 5], [4, 7], [3, 5, 9]]
        expected = [chained(sequence.tokens, path, guidance, guided_tokens)[-1] for path in paths]
        torch.testing.assert_close(logits, expected, **EXACT)
    chains = [drafted(each, [0, 1], [7, 8]) for each in (sequence, other)]
    torch.testing.assert_close(*chains, atol=0, rtol=0)


def test_the_drafter_follows_a_path_off_the_spine() -> None:
    sequence = started("embedded", 2.0)
    paths = sequence.window([1, 2, 3, 4], [0, 0, 1, 0, 3])
    sequence.keep([0, 3, 4], paths[4], 6)
    expected = chained(sequence.tokens, [7, 8], 2.0)
    torch.testing.assert_close(drafted(sequence, [0, 3, 4], [7, 8]), expected, **EXACT)
