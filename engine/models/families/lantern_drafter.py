"""LANTERN's own EAGLE drafters for LlamaGen's two stages, Anole and Lumina-mGPT.

They are for research only (Jang et al., ICLR 2025, github.com/jadohu/LANTERN). A drafter's file
holds `fc`, `layers.0` and `embed_tokens`. The rows are EAGLE's (see `engine.models.eagle`); every
slot of the prompt except the first has a row too. No norm follows the layer: its output stands for
the target's state after the target's final norm. The rest is as in LANTERN's code for generating:

* LlamaGen: no norm before attention, as in EAGLE's first layer. RoPE rotates neighbouring channels
  by the angles of the token's own cell. Every caption slot has token 0, and padding is attended to.
  `embed_tokens` is the drafter's own.
* Anole: Chameleon's whole layer. `embed_tokens` is a frozen copy of the target's table, so the
  target's is used instead. Padding is not attended to.
* Lumina-mGPT: assumed to be like Anole's drafter, because both models have the same body. The file
  of Lumina-mGPT's drafter was not seen.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.models.chameleon.modeling_chameleon import ChameleonDecoderLayer
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from engine.models.body import BodyModel
from engine.models.cache import WindowCache
from engine.models.context import BodyContext
from engine.models.eagle import EagleDrafter
from engine.models.families.llamagen_weights import pairs_apart
from engine.models.supply.card import ModelError
from engine.models.supply.weights import AGAIN, fill, read_weights, require_file

_OWN = ("intermediate_size", "rms_norm_eps")  # may differ from the target's
_SHARED = ("hidden_size", "num_attention_heads", "num_key_value_heads")


class LanternNetwork(PreTrainedModel):
    """The drafter's network: `fc`, then one decoder layer with the target's RoPE."""

    config_class = PretrainedConfig
    _supports_sdpa = True
    embed_tokens: nn.Embedding  # only in LlamaGen's drafter
    rotary: nn.Module

    def __init__(self, config: PretrainedConfig, layer: nn.Module) -> None:
        super().__init__(config)
        self.fc = nn.Linear(2 * config.hidden_size, config.hidden_size)
        self.layers = nn.ModuleList([layer])

    def forward(self, inputs: Tensor, position_ids: Tensor, **attention: Any) -> Tensor:
        """Return hidden states [R, L, D] of inputs [R, L, 2D] with `position_ids` [R, L]."""
        x = self.fc(inputs)
        x = self.layers[0](
            x,
            position_ids=position_ids,
            position_embeddings=self.rotary(x, position_ids),
            use_cache=True,
            **attention,
        )
        return x[0] if isinstance(x, tuple) else x


class LanternDrafter(EagleDrafter):
    """A drafter that reads the prompt too, before the first draft."""

    network: LanternNetwork

    def _predict(
        self, inputs: Tensor, mask: Tensor | None, position_ids: Tensor, cache: WindowCache
    ) -> Tensor:
        return self.network(inputs, position_ids, attention_mask=mask, past_key_values=cache)

    def _prompt_rows(self, ctx: BodyContext) -> int:
        return ctx.length - 1  # all slots but the first, which has no state before it

    def _with_prompt(self, ctx: BodyContext, inputs: Tensor) -> Tensor:
        assert ctx.prompt_hidden is not None, "the target has read the prompt"
        rows = torch.cat([self._embed_prompt(ctx), ctx.prompt_hidden], -1)
        return torch.cat([rows, inputs], 1)

    def _embed_prompt(self, ctx: BodyContext) -> Tensor:
        """Return the embeddings [R, P - 1, D] of all prompt slots but the first."""
        return ctx.prompt.embeddings[:, 1:]


class LlamaGenDrafter(LanternDrafter):
    """LlamaGen's drafter, with its own table of embeddings."""

    def _embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.network.embed_tokens(tokens)

    def _embed_prompt(self, ctx: BodyContext) -> Tensor:
        rows, slots, _ = ctx.prompt.embeddings.shape
        return self.network.embed_tokens.weight[0].expand(rows, slots - 1, -1)


class ChameleonDrafter(LanternDrafter):
    """The drafter of Anole and Lumina-mGPT.

    A row has a token's embedding and the target's state one slot before. If that slot is padding,
    no row attends to this row. This includes the row of the first token after the padding.
    """

    def _mask(self, ctx: BodyContext, cache: WindowCache, newest: Tensor | None) -> Tensor:
        padding = ctx.padding[..., : cache.end]
        mask = super()._mask(ctx, cache, newest)
        return padding if mask is None else torch.minimum(mask, padding)


def llamagen_drafter(model: BodyModel, folder: Path) -> LlamaGenDrafter:
    """Load LlamaGen's drafter from its folder.

    Raises ModelError where a file is missing or does not fit `model`.
    """
    config = _config(model, folder)
    with torch.device("meta"):
        layer = LlamaDecoderLayer(config, layer_idx=0)
        layer.input_layernorm = nn.Identity()
        network = LanternNetwork(config, layer)
        network.embed_tokens = nn.Embedding(model.vocab_size, config.hidden_size)
    state = _read(folder)
    for name in ("q", "k"):
        key = f"layers.0.self_attn.{name}_proj.weight"
        if key in state and state[key].shape == (config.hidden_size, config.hidden_size):
            state[key] = pairs_apart(state[key], config.num_attention_heads)
    return LlamaGenDrafter(_fitted(network, state, model), model)


def chameleon_drafter(model: BodyModel, folder: Path) -> ChameleonDrafter:
    """Load Anole's or Lumina-mGPT's drafter from its folder.

    Raises ModelError where a file is missing or does not fit `model`.
    """
    config = _config(model, folder)
    with torch.device("meta"):
        network = LanternNetwork(config, ChameleonDecoderLayer(config, layer_idx=0))
    state = {key: value for key, value in _read(folder).items() if key != "embed_tokens.weight"}
    return ChameleonDrafter(_fitted(network, state, model), model)


def _config(model: BodyModel, folder: Path) -> PretrainedConfig:
    """Return the target's configuration, with the drafter's own values in the fields of `_OWN`.

    Raises ModelError if the drafter's configuration cannot be read or is for another model.
    """
    path = require_file(folder / "config.json")
    try:
        stored = json.loads(path.read_text("utf-8"))
        own = {name: stored[name] for name in (*_SHARED, *_OWN)}
    except (ValueError, LookupError, TypeError) as error:
        raise ModelError(f"{path.name} is not a drafter's configuration: {AGAIN}.") from error
    config = copy.deepcopy(model.body.config)
    for name in _SHARED:
        if own[name] != getattr(config, name):
            raise ModelError(
                f"{path.name} is of another model's drafter: its {name} is {own[name]!r:.20}, not"
                f" {getattr(config, name)}."
            )
    for name in _OWN:
        setattr(config, name, own[name])
    return config


def _read(folder: Path) -> dict[str, Tensor]:
    """Read the drafter's tensors. Raises ModelError where they are missing or broken."""
    stored = folder / "pytorch_model.bin"
    return read_weights(stored if stored.is_file() else folder)


def _fitted(network: LanternNetwork, state: dict[str, Tensor], model: BodyModel) -> LanternNetwork:
    """Return the network with weights `state`, on the target's device and in the target's dtype.

    Raises ModelError where the weights do not fit.
    """
    fill(network.to(model.dtype), state)
    network.rotary = model.body.rotary_emb
    return network.to(model.device).eval().requires_grad_(False)
