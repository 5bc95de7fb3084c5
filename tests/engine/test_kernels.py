"""The fused kernels against the PyTorch code that each replaces, in Triton's interpreter."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

pytest.importorskip("triton", reason="no Triton for this machine")

from engine import kernels
from engine.kernels import Rules
from engine.models.cache import WindowCache
from engine.models.fused_body import FusedBody
from engine.models.lean import LeanBody
from engine.numerics import distributions as rules
from engine.numerics.distributions import (
    in_turn,
    likeliest,
    logits_to_probs,
    normalise,
    ranks_around,
    residual,
    sample,
)
from engine.settings import Sampling
from tests.engine.models.test_lean import CASES, PROMPT, ROWS, Case
from tests.variants import further


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def distributions(rows: int, codes: int, seed: int = 0) -> Tensor:
    return torch.softmax(3 * numbers(rows, codes, seed=seed), -1)


def close(found: Tensor, expected: Tensor) -> bool:
    return torch.allclose(found, expected, rtol=1e-5, atol=1e-5)


def narrow(name: str) -> tuple[Case, LeanBody]:
    """The case in float32, which the kernels compute in."""
    case = CASES[name]()
    case.module.float(), case.rotary.float()
    return case, case.lean()


def test_a_norm_and_an_activation() -> None:
    x, weight = numbers(3, 70), numbers(70, seed=1)
    assert close(kernels.normed(x, weight, 1e-5), F.rms_norm(x, (70,), weight, 1e-5))
    gate, up = x.chunk(2, -1)
    assert close(kernels.gated(x), F.silu(gate) * up)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("programs", [1, 64])  # which read all keys, or a part of them
@pytest.mark.parametrize(
    ("heads", "kv_heads", "length"), [(4, 2, 1), (4, 1, 2), *further((2, 2, 3), (2, 1, 40))]
)
def test_attention(
    monkeypatch: pytest.MonkeyPatch,
    heads: int,
    kv_heads: int,
    length: int,
    programs: int,
    masked: bool,
) -> None:
    monkeypatch.setattr(kernels, "_PROGRAMS", programs)
    rows, end, slots, dim = 2, 150, 160, 24
    count = heads // kv_heads * length
    queries = numbers(rows, kv_heads, count, dim)
    keys, values = numbers(2, rows, kv_heads, slots, dim, seed=1)[:, :, :, :end]
    mask = None
    if masked:
        hidden = numbers(rows, 1, length, end, seed=2) > 0
        hidden[0, :, :, :70] = True  # all keys of a part
        hidden[1, :, 0] = True  # all keys of a query, as in a row of padding
        mask = torch.zeros(hidden.shape).masked_fill(hidden, torch.finfo(torch.float32).min)
        mask = mask.repeat(1, 1, heads // kv_heads, 1)
    expected = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    expected = expected.reshape(rows, heads, length, dim).transpose(1, 2).reshape(-1, heads * dim)
    assert close(kernels.attention(queries, keys, values, mask, length), expected)


@pytest.mark.parametrize("name", ["llama, biases", *further("embedded's drafter")])
def test_a_body_is_the_lean_one(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("engine.models.fused_body._TRIED", (2,))
    case, lean = narrow(name)
    body = FusedBody(lean)
    for queries in (None, torch.arange(PROMPT).expand(ROWS, -1) + 3):
        states, caches = [], []
        for each in (lean, body):
            cache = WindowCache(
                len(lean.layers), ROWS, lean.kv_heads, 2 * PROMPT, lean.head_dim,
                torch.float32, torch.device("cpu"),
            )  # fmt: skip
            for window in (PROMPT, 3):
                cache.open(window)
                ids = torch.arange(window).expand(ROWS, -1) + cache.base
                mask = torch.zeros(window, cache.end).triu(1 + cache.base)
                mask = mask.masked_fill(
                    torch.ones(window, cache.end).triu(1 + cache.base) > 0, -1e9
                ).expand(ROWS, 1, -1, -1)
                inputs = numbers(ROWS, window, case.width, seed=window)
                asked = None if queries is None else queries[:, :window] + cache.base
                state = each(inputs, mask, ids, cache, asked)
                cache.keep(range(window))
            states.append(state)
            caches.append(torch.stack([torch.stack(layer) for layer in cache.layers]))
        assert close(*states)
        assert close(*caches)


def test_a_body_with_other_norms_or_other_states_is_not_fused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("chameleon", "chameleon, swin norm"):
        with pytest.raises(ValueError, match="its norms stand"):
            FusedBody(narrow(name)[1])
    monkeypatch.setattr("engine.models.fused_body._TRIED", (2,))
    monkeypatch.setattr(kernels, "gated", lambda gate_up: gate_up[:, : gate_up.shape[1] // 2])
    with pytest.raises(ValueError, match="its states are off by"):
        FusedBody(narrow("llama")[1])


@pytest.mark.parametrize("codes", [1, 100, 5000])
@pytest.mark.parametrize("top_k", [0, 1, 7])
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_probabilities(codes: int, top_k: int, temperature: float) -> None:
    logits = 4 * numbers(4, codes)
    logits[1] = logits[1].round()  # ties
    logits[2, 1::2] = -torch.inf
    logits[3] *= 30
    expected = logits_to_probs(logits, Sampling(temperature=temperature, top_k=top_k), None)
    found = Rules.probs(logits, temperature, top_k if top_k < codes else 0)
    assert ((found > 0) == (expected > 0)).all()
    assert torch.allclose(found, expected, rtol=1e-5, atol=1e-9)


def test_numbers_that_are_none_stay_in_sight() -> None:
    logits = numbers(2, 50)
    logits[1, 7] = -torch.tensor(torch.nan)
    assert Rules.probs(logits, 1.0, 5).isnan().any(1).tolist() == [False, True]


@pytest.mark.parametrize("codes", [1, 100, 9000])
def test_samples(codes: int) -> None:
    p = distributions(6, codes)
    p[1] *= 17  # need not be normalised
    p[2] = 0
    p[2, codes // 2] = 1e-30
    p[3, : codes // 3] = 0
    for u in (1e-12, 0.3, 1 - 2**-53):
        at = torch.full((6,), u, dtype=torch.float64)
        assert Rules.sample(p, at).tolist() == sample(p, at).tolist()
    several = torch.rand(50, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    rows = p[:1].expand(50, -1)
    assert Rules.sample(rows, several).tolist() == sample(rows, several).tolist()


def test_a_token_without_probability_is_never_drawn() -> None:
    p = torch.zeros(1, 9000)
    p[0, [3, 4500, 8990]] = torch.tensor([0.1, 0.7, 0.2])
    for u in torch.linspace(1e-9, 1 - 1e-9, 50, dtype=torch.float64):
        assert Rules.sample(p, u.view(1)).item() in (3, 4500, 8990)


def test_residuals() -> None:
    p, q = distributions(5, 6000), distributions(5, 6000, seed=1)
    q[1] = p[1]  # nothing is left
    q[2] = 0
    assert close(Rules.residual(p, q), residual(p, q))
    p[3] = 0
    assert torch.allclose(Rules.normalise(p / 3), normalise(p / 3), rtol=1e-5, atol=1e-9)


def test_distributions_taken_in_turn() -> None:
    p, q = distributions(1, 6000)[0], distributions(4, 6000, seed=1)
    q[2] = p  # leaves nothing of some
    tokens, exists = torch.tensor([9, 9, 5999, 0]), torch.tensor([True, True, True, False])
    for start in (p, p.square() / p.square().sum()):
        for found, expected in zip(
            Rules.in_turn(start, q, tokens, exists), in_turn(start, q, tokens, exists), strict=True
        ):
            assert torch.allclose(found, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("codes", [1, 6, 9000])
def test_the_likeliest_tokens(codes: int) -> None:
    p = distributions(4, codes)
    p[1] = p[1].round(decimals=2)
    p[2, 1:] = 0
    p[3, codes // 2] = -torch.tensor(torch.nan)
    for count in (1, min(5, codes)):
        shares, tokens = Rules.likeliest(p, count)
        assert shares.nan_to_num(-1).equal(likeliest(p, count)[0].nan_to_num(-1))
        assert p.gather(-1, tokens).nan_to_num(-1).equal(shares.nan_to_num(-1))
        assert all(len(set(row)) == count for row in tokens.tolist())


@pytest.mark.parametrize("codes", [1, 6, 9000])
def test_ranks_around_tokens(codes: int) -> None:
    p = distributions(4, codes)
    p[1] = p[1].round(decimals=2)  # equal values stand by index
    p[2, 1:] = 0
    tokens = torch.tensor([0, codes - 1, codes // 2, codes // 3])
    for below, above in ((0, 1), (3, 4), (5, 1)):
        if max(below, above) <= codes:
            found = Rules.ranks_around(p, tokens, below, above)
            assert found.equal(ranks_around(p, tokens, below, above))


def test_kernels_that_differ_or_raise_are_given_up_in_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for codes in rules._TRIED:
        rules._compare_kernels(Rules(), torch.device("cpu"), codes)
    real = Rules.sample
    monkeypatch.setattr(Rules, "sample", staticmethod(lambda p, u: real(p, u) + 1))
    with pytest.raises(ValueError, match="sample is off by 1"):
        rules._compare_kernels(Rules(), torch.device("cpu"), 1000)
    # A CUDA device that is not there raises.
    rules.rule_kernels.cache_clear()
    assert rules.rule_kernels(torch.device("cuda")) is None
    assert "the rules run without fused kernels" in caplog.text
    assert rules.rule_kernels(torch.device("cpu")) is None
