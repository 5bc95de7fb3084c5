"""The body in 8 bits against the same arithmetic in float64, and when it runs."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor
from torch.overrides import TorchFunctionMode

from engine.models import eight_bits, load
from engine.models.cache import WindowCache
from engine.models.eight_bits import INPUTS, PRODUCTS, EightBitBody, check_products, quantised
from engine.models.embedded.model import EmbeddedModel
from engine.models.lean import LeanBody, Projection
from engine.models.onnx_body import OnnxBody
from engine.models.supply.card import WEIGHTS, ModelError
from tests.engine.models.families.tiny import CPU

FOLDER = WEIGHTS / "target"
TEXT, LENGTH = 17, 24


@functools.cache
def model(dtype: torch.dtype) -> EmbeddedModel:
    return EmbeddedModel(dtype=dtype)


@functools.cache
def tensors() -> dict[str, Tensor]:
    return quantised(model(torch.float32).lean, load_file(FOLDER / INPUTS))


@functools.cache
def body() -> EightBitBody:
    try:
        return EightBitBody(model(torch.float32).lean, FOLDER)
    except ArithmeticError as error:  # nothing of it runs on such a processor
        pytest.skip(str(error))


class Rounded(TorchFunctionMode):
    """Rounds the inputs of a lean body's products to 8 bits."""

    def __init__(self, lean: LeanBody) -> None:
        super().__init__()
        self.scales = {
            getattr(layer, part).weight.data_ptr(): tensors()[f"{i}.{part}.input"].double()
            for i, layer in enumerate(lean.layers)
            for part in PRODUCTS
        }

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if function in (F.linear, Tensor.addmm_):
            at = 1 if function is Tensor.addmm_ else 0
            if (scale := self.scales.get(args[at + 1].data_ptr())) is not None:
                args = list(args)
                args[at] = (args[at] / scale).round().clamp(-128, 127) * scale
        return function(*args, **(kwargs or {}))


@functools.cache
def oracle() -> LeanBody:
    """A lean body in float64 with the weights of 8 bits."""
    own, lean = tensors(), EmbeddedModel(dtype=torch.float64).lean
    for i, layer in enumerate(lean.layers):
        products = {
            part: Projection(
                (own[f"{i}.{part}"].double() * own[f"{i}.{part}.scale"].double()).t(), None
            )
            for part in PRODUCTS
        }
        norms = {name: own[f"{i}.{name}"].double() for name in ("attention_norm", "mlp_norm")}
        lean.layers[i] = replace(layer, **products, **norms)
    return lean


def cache(dtype: torch.dtype) -> WindowCache:
    lean = model(torch.float32).lean
    return WindowCache(len(lean.layers), 2, lean.kv_heads, 600, lean.head_dim, dtype, CPU)


@functools.cache
def inputs() -> Tensor:
    """A caption, and the beginning of a picture."""
    whole = model(torch.float64)
    tokens = torch.randint(2048, (LENGTH,), generator=torch.Generator().manual_seed(5))
    drawn = whole.embed(tokens, torch.arange(LENGTH)).expand(2, -1, -1)
    return torch.cat([whole.prompt("cat and dog on green grass", True).embeddings, drawn], 1)


@torch.inference_mode()
def states(run: Any, dtype: torch.dtype, windows: list[int], text: int = TEXT) -> Tensor:
    """The hidden states of the caption and the picture, read in windows of some lengths."""
    kept, found, base = cache(dtype), [], 0
    for length in windows:
        kept.open(length)
        mask = torch.full((length, base + length), -math.inf, dtype=dtype).triu(base + 1)
        ids = torch.arange(base, base + length).expand(2, -1)
        rows = inputs()[:, base : base + length].to(dtype)
        options = {} if base else {"text": text}
        found.append(run(rows, mask[None, None], ids, kept, None, **options))
        kept.keep(range(length))
        base += length
    return torch.cat(found, 1)


def off(found: Tensor, expected: Tensor) -> float:
    """Relative root mean square of the difference of the picture's states."""
    found, expected = (each[:, TEXT:].double() for each in (found, expected))
    return float((found - expected).square().mean().sqrt() / expected.square().mean().sqrt())


def rounded(rows: Tensor, mask: Tensor, ids: Tensor, kept: WindowCache, *_: Any, **options: int):
    """The oracle: a caption exactly, and the picture in 8 bits."""
    text, exact = options.get("text", 0), model(torch.float64).lean
    if not text:
        with Rounded(oracle()):
            return oracle()(rows, mask, ids, kept)
    kept.open(text)
    caption = exact(rows[:, :text], mask[:, :, :text, :text], ids[:, :text], kept)
    kept.open(rows.shape[1])
    kept.window = kept.window[text:]
    with Rounded(oracle()):
        picture = oracle()(rows[:, text:], mask[:, :, text:], ids[:, text:], kept)
    return torch.cat([caption, picture], 1)


WINDOWS = [[TEXT, *[1] * LENGTH], [TEXT + 4, 1, 16, 3], [TEXT + LENGTH]]


@pytest.mark.parametrize("windows", WINDOWS)
def test_it_computes_what_8_bits_do_in_float64(windows: list[int]) -> None:
    """Where rounding moves an input across a border it becomes another integer, which is rare; 8
    bits themselves make ten times the difference."""
    wide = torch.float64
    expected = states(rounded, wide, [TEXT + LENGTH])
    exact = states(model(wide).lean, wide, [TEXT + LENGTH])
    found = states(body(), torch.float32, windows)
    assert off(found, expected) < 0.3 * off(expected, exact)
    assert off(expected, exact) < 0.2
    torch.testing.assert_close(found[:, :TEXT].double(), exact[:, :TEXT], rtol=0, atol=1e-3)


def test_weights_alone_in_8_bits_change_little() -> None:
    """So smoothing is undone by the products behind it."""
    wide = torch.float64
    exact = states(model(wide).lean, wide, [TEXT + LENGTH])
    assert off(states(oracle(), wide, [TEXT + LENGTH]), exact) < 0.1


def test_every_pass_has_two_rows_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, rows = body(), []
    run = ours._run

    def counted(inputs: Tensor, *more: Any) -> Tensor:
        rows.append(inputs.shape[1])
        return run(inputs, *more)

    monkeypatch.setattr(ours, "_run", counted)
    states(ours, torch.float32, [TEXT, 1, 1, 5, 1])
    assert rows == [2, 2, 5, 2]
    rows.clear()
    states(ours, torch.float32, [TEXT + 1, 2])
    assert rows == [2, 2]


def test_sums_that_overflow_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    class Saturated:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.get_inputs = lambda: [type("Input", (), {"shape": [2, 64]})]

        def run(self, *_: Any) -> list[Tensor]:
            return [torch.full((2, 64), 32767.0)]

    monkeypatch.setattr(onnxruntime, "InferenceSession", Saturated)
    with pytest.raises(ArithmeticError, match="sums of 8-bit products overflow"):
        check_products(FOLDER)


def test_it_runs_where_int8_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    body()  # skips where it cannot
    assert type(load("embedded", dtype="int8").run_layers) is EightBitBody
    assert load("embedded", dtype="int8").runtime.endswith(", 8 bits")
    for dtype in (None, "auto", "float32"):
        assert type(load("embedded", dtype=dtype).run_layers) is OnnxBody
    with pytest.raises(ModelError, match="not a dtype"):
        load("janus-pro-1b", dtype="int8", random=True)


def test_where_it_cannot_run_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def overflows(graphs: object) -> None:
        raise ArithmeticError("sums overflow")

    monkeypatch.setattr(eight_bits, "check_products", overflows)
    with pytest.raises(ModelError, match="cannot run in int8 here: sums overflow"):
        load("embedded", dtype="int8")


def test_a_forks_known_tokens_are_in_8_bits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they were when the picture was drawn: only the caption is in float32."""
    from engine.infilling import FORK, MASKED, Infilling
    from engine.plan import below

    drawn, texts = model(torch.float32), []
    ours = drawn.lean

    def run(*more: Any) -> Tensor:
        texts.append(more[-1])
        return ours(*more)

    monkeypatch.setitem(vars(drawn), "run_layers", run)
    known = (*range(40), *[MASKED] * 360)
    ctx = drawn.start("a cat", 1.5, plan=below(drawn.plan, Infilling(known, FORK)))
    drawn.forward(ctx, torch.tensor([0, 3]))
    ctx.keep([0])
    drawn.forward(ctx, torch.tensor([3]))
    assert texts == [TEXT, 0]
