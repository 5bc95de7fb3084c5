"""LeanBody against the transformers modules that it is built from, of every kind that it knows; the
families' own bodies are in `test_families.py`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn
from transformers import ChameleonModel, LlamaConfig, LlamaModel

from engine.models.cache import WindowCache, ancestors
from engine.models.embedded.networks import EmbeddedDrafter, target_config
from engine.models.lean import LeanBody
from tests.engine.models.families import chameleon
from tests.engine.models.families.tiny import BODY, CPU, randomise
from tests.floats import EXACT

ROWS, PROMPT, PADDING = 2, 9, 4  # the second row of guidance is padded on the left
PARENTS = [0, 0, 1, 1, 0, 4]


@dataclass(frozen=True)
class Case:
    """A module and the function of transformers that LeanBody must equal, which needs a mask."""

    module: nn.Module
    layers: Iterable[nn.Module]
    rotary: nn.Module
    reference: Callable[[Tensor, Tensor, Tensor, WindowCache], Tensor]
    join: nn.Module | None = None
    width: int = BODY["hidden_size"]  # of the inputs

    def lean(self) -> LeanBody:
        return LeanBody(self.layers, self.module.norm, self.rotary, self.join)


def body(module: nn.Module) -> Case:
    def reference(inputs: Tensor, mask: Tensor, position_ids: Tensor, cache: WindowCache) -> Tensor:
        kept = {"past_key_values": cache, "use_cache": True}
        places = {"attention_mask": mask, "position_ids": position_ids}
        return module(inputs_embeds=inputs, **places, **kept).last_hidden_state

    return Case(randomise(module), module.layers, module.rotary_emb, reference)


def drafter() -> Case:
    config = target_config(9, vocab_size=11, **BODY, caption_slots=3, image_tokens=16)
    network = randomise(EmbeddedDrafter(config))

    def reference(inputs: Tensor, mask: Tensor, position_ids: Tensor, cache: WindowCache) -> Tensor:
        return network(inputs, position_ids, mask, cache)

    width = network.join.in_features
    return Case(network, [network.layer], network.rotary, reference, network.join, width)


def llama(**changes: object) -> LlamaModel:
    return LlamaModel(LlamaConfig(vocab_size=11, **BODY, num_attention_heads=4, **changes))


CASES: dict[str, Callable[[], Case]] = {
    "llama": lambda: body(llama()),
    "llama, grouped keys": lambda: body(llama(num_key_value_heads=2)),
    "llama, one key": lambda: body(llama(num_key_value_heads=1)),
    "llama, biases": lambda: body(llama(num_key_value_heads=2, attention_bias=True, mlp_bias=True)),
    "llama, wide heads": lambda: body(llama(head_dim=16)),
    "chameleon": lambda: body(ChameleonModel(chameleon.config())),
    "chameleon, swin norm": lambda: body(ChameleonModel(chameleon.config(swin_norm=True))),
    "chameleon, swin norm, biases": lambda: body(
        ChameleonModel(chameleon.config(swin_norm=True, attention_bias=True, mlp_bias=True))
    ),
    "embedded's drafter": drafter,
}
every_case = pytest.mark.parametrize("name", CASES)


@functools.cache
def case(name: str) -> Case:
    torch.manual_seed(0)
    return CASES[name]()


def cache(lean: LeanBody) -> WindowCache:
    layers, heads, dim = len(lean.layers), lean.kv_heads, lean.head_dim
    return WindowCache(layers, ROWS, heads, 32, dim, torch.float64, CPU)


def additive(visible: Tensor) -> Tensor:
    """A bool mask [R, T, S] to the additive one, every row seeing at least itself."""
    window = visible.shape[1]
    visible[:, :, -window:] |= torch.eye(window, dtype=torch.bool)
    mask = torch.zeros(visible.shape, dtype=torch.float64)
    return mask.masked_fill_(~visible, torch.finfo(mask.dtype).min)[:, None]


def windows() -> Iterable[tuple[Tensor | None, Tensor]]:
    """Mask and position ids of a chain, a tree, one row, and one row without a mask."""
    start = torch.tensor([0, PADDING])[:, None, None]
    seen = torch.ones(ROWS, PROMPT, PROMPT, dtype=torch.bool).tril()
    slots = torch.arange(PROMPT)
    yield additive(seen & (slots >= start)), (slots - start[:, 0]).clamp_min(0)
    tree = ancestors(PARENTS)
    seen = torch.cat([torch.ones(len(tree), PROMPT, dtype=torch.bool), tree], 1)
    slots = torch.arange(seen.shape[1])
    yield additive(seen & (slots >= start)), PROMPT + tree.sum(1) - 1 - start[:, 0]
    slots = torch.arange(PROMPT + len(PARENTS) + 1)
    yield additive((slots >= start).clone()), slots[-1:] - start[:, 0]
    yield None, (slots[-1:] + 1 - start[:, 0])


@every_case
def test_equals_transformers(name: str) -> None:
    lean = case(name).lean()
    ours, theirs = cache(lean), cache(lean)
    generator = torch.Generator().manual_seed(2)
    for mask, position_ids in windows():
        length = position_ids.shape[1]
        shape = ROWS, length, case(name).width
        inputs = torch.randn(shape, generator=generator, dtype=torch.float64)
        before = inputs.clone()
        for each in (ours, theirs):
            each.open(length)
        nothing = torch.zeros(ROWS, 1, length, theirs.base + length, dtype=torch.float64)
        shown = nothing if mask is None else mask
        expected = case(name).reference(inputs, shown, position_ids, theirs)
        torch.testing.assert_close(lean(inputs, mask, position_ids, ours), expected, **EXACT)
        assert torch.equal(inputs, before)
        for each in (ours, theirs):
            each.keep(range(length))


@every_case
def test_no_weight_is_stored_twice(name: str) -> None:
    lean, module = case(name).lean(), case(name).module
    weights = list(module.parameters())
    storages = {each.data_ptr(): each.nbytes() for each in map(Tensor.untyped_storage, weights)}
    assert sum(storages.values()) == sum(weight.nbytes for weight in weights)
    for layer in lean.layers:
        projections = (layer.qkv, layer.output, layer.gate_up, layer.down)
        tensors = [layer.attention_norm, layer.mlp_norm, *(layer.head_norm or ())]
        tensors += [t for p in projections for t in (p.weight, p.bias) if t is not None]
        assert {tensor.untyped_storage().data_ptr() for tensor in tensors} <= storages.keys()


def test_built_within_inference_mode_it_leaves_the_module_trainable() -> None:
    module = llama()
    with torch.inference_mode():
        LeanBody(module.layers, module.norm, module.rotary_emb)
    module(inputs_embeds=torch.randn(1, 3, 32)).last_hidden_state.sum().backward()
    assert module.layers[0].mlp.up_proj.weight.grad.abs().sum() > 0


def test_an_activation_that_it_does_not_have_is_rejected() -> None:
    module = llama(hidden_act="gelu")
    with pytest.raises(ValueError, match="the activation is gelu, not silu"):
        LeanBody(module.layers, module.norm, module.rotary_emb)
