"""The networks of the embedded model: VQ-VAE (f = 8), target and EAGLE drafter."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM, PretrainedConfig, PreTrainedModel
from transformers.models.llama.modeling_llama import (
    LlamaDecoderLayer,
    LlamaRMSNorm,
    LlamaRotaryEmbedding,
)

from engine.models.supply.weights import fill, read_weights
from engine.reader.scene import SIDE

Network = TypeVar("Network", bound=PreTrainedModel)
CODES = 2048  # number of codes in the codebook


def read_network(kind: type[Network], folder: Path, dtype: torch.dtype) -> Network:
    """Read a network from the folder that its `save_pretrained` wrote.

    Raises ModelError where the files are missing, broken or do not fit. `from_pretrained` is not
    used, because it gives random numbers to weights that it does not find.
    """
    config = kind.config_class.from_pretrained(folder)
    with torch.device("meta"):
        network = kind(config).to(dtype)
    fill(network, read_weights(folder))
    for name, module in list(network.named_modules()):
        if isinstance(module, LlamaRotaryEmbedding):  # no file holds its angles
            network.set_submodule(name, LlamaRotaryEmbedding(config))
    return network.eval()


class VQConfig(PretrainedConfig):
    """Sizes of the VQ-VAE.

    `code_dim` is the number of a code's channels. In the decoder, `coarse` and `fine` are the
    widths of the coarse and of the fine blocks, and `depth` is the number of coarse blocks.
    """

    model_type = "photo_finish_vq"

    def __init__(
        self,
        codes: int = CODES,
        code_dim: int = 8,
        coarse: int = 224,
        fine: int = 64,
        depth: int = 4,
        **kwargs: Any,
    ) -> None:
        self.codes, self.code_dim, self.depth = codes, code_dim, depth
        self.coarse, self.fine = coarse, fine
        super().__init__(**kwargs)


class ChannelNorm(nn.Module):
    """RMS norm over the channels of each position.

    It uses no statistics of the whole image, so committing a token does not change the pixels of
    distant tokens.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-6) * self.weight[:, None, None]


class Residual(nn.Module):
    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.norm = ChannelNorm(channels)
        self.inner = nn.Conv2d(channels, channels, kernel, padding=kernel // 2)
        self.outer = nn.Conv2d(channels, channels, 1 if kernel == 1 else 3, padding=kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.outer(F.silu(self.inner(self.norm(x))))


class EmbeddedVQ(PreTrainedModel):
    """The VQ-VAE: turns pixels [B, 3, 8h, 8w] in -1..1 into codes [B, h, w] and back.

    The encoder's receptive field is an 8 x 8 patch and a few pixels around it, so that a thing has
    the same codes wherever it is drawn. The decoder's receptive field reaches 12 tokens in each
    direction, but only the nearest four or so matter.
    """

    config_class = VQConfig
    _tied_weights_keys = None

    def __init__(self, config: VQConfig) -> None:
        super().__init__(config)
        coarse, fine = config.coarse, config.fine
        self.encoder = nn.Sequential(
            nn.PixelUnshuffle(4),
            nn.Conv2d(48, 96, 3, padding=1),
            nn.SiLU(),
            nn.Conv2d(96, 64, 1),
            nn.PixelUnshuffle(2),
            nn.Conv2d(256, 192, 1),
            Residual(192, 1),
            Residual(192, 1),
            ChannelNorm(192),
            nn.Conv2d(192, config.code_dim, 1),
        )
        self.codebook = nn.Parameter(
            F.normalize(torch.randn(config.codes, config.code_dim), dim=-1)
        )
        self.decoder = nn.Sequential(
            nn.Conv2d(config.code_dim, coarse, 3, padding=1),
            *(Residual(coarse, 3) for _ in range(config.depth)),
            nn.Conv2d(coarse, 4 * fine, 1),
            nn.PixelShuffle(2),
            *(Residual(fine, 3) for _ in range(2)),
            ChannelNorm(fine),
            nn.Conv2d(fine, 48, 3, padding=1),
            nn.PixelShuffle(4),
        )
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Keep PyTorch's own initialisation; the networks are shallow."""

    def features(self, pixels: Tensor) -> Tensor:
        """Return unit vectors [B, D, h, w], one for each token of pixels [B, 3, 8h, 8w].

        The vectors are not quantised.
        """
        return F.normalize(self.encoder(pixels).float(), dim=1)

    def nearest(self, features: Tensor) -> Tensor:
        """Return the indices [B, h, w] of the codes nearest to unit vectors [B, D, h, w]."""
        return torch.einsum("bdhw,vd->bhwv", features, F.normalize(self.codebook, dim=-1)).argmax(
            -1
        )

    def encode(self, pixels: Tensor) -> Tensor:
        return self.nearest(self.features(pixels))

    def embed(self, codes: Tensor) -> Tensor:
        return F.normalize(self.codebook, dim=-1)[codes].movedim(-1, 1)

    def decode(self, codes: Tensor) -> Tensor:
        """Turn codes [B, h, w] into pixels [B, 3, 8h, 8w], about -1..1."""
        return self.decoder(self.embed(codes).to(next(self.decoder.parameters()).dtype))


def target_config(caption_vocab: int, **changes: int) -> LlamaConfig:
    """Return the target's sizes.

    The target is a Llama over 16 caption slots, the begin-of-image slot and 20 x 20 image codes.
    """
    sizes = {
        "vocab_size": CODES,
        "hidden_size": 256,
        "intermediate_size": 704,
        "num_hidden_layers": 6,
        "num_attention_heads": 4,
        "max_position_embeddings": 512,
        "caption_vocab": caption_vocab,
        "caption_slots": 16,
        "image_tokens": SIDE * SIDE,
        "tie_word_embeddings": False,
        "bos_token_id": None,
        "eos_token_id": None,
    }
    return LlamaConfig(**(sizes | changes))


class EmbeddedTarget(LlamaForCausalLM):
    """The target: P caption tokens, a begin-of-image slot, then the image's codes in raster order.

    Its input is `inputs_embeds`: a token's embedding plus the embedding of the token's slot.
    Caption slots are 0..P-1, slot P is the begin-of-image slot, and image token i is at slot P + 1
    + i. The row of each slot predicts the token of the next slot. Captions are padded on the left
    with a learned token (id 0). There is no padding mask: every row attends to every slot before
    it. Guidance's unconditional row is a caption of padding alone.
    """

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(config)
        self.captions = nn.Embedding(config.caption_vocab, config.hidden_size)
        self.slots = nn.Embedding(
            config.caption_slots + 1 + config.image_tokens, config.hidden_size
        )
        self.post_init()

    def embed_caption(self, ids: Tensor) -> Tensor:
        """Return the inputs [B, P + 1, D] of slots 0..P for caption ids [B, P].

        The row of the last slot predicts image token 0.
        """
        return F.pad(self.captions(ids), (0, 0, 0, 1)) + self.slots.weight[: ids.shape[1] + 1]

    def embed_codes(self, codes: Tensor, positions: Tensor) -> Tensor:
        """Return inputs [B, L, D] for image codes [B, L] at positions [L] or [B, L] (0..399)."""
        # Does not call the modules: calling one costs as much as a look-up.
        slots = F.embedding(positions + (self.config.caption_slots + 1), self.slots.weight)
        return slots + F.embedding(codes, self.model.embed_tokens.weight)


class EmbeddedDrafter(PreTrainedModel):
    """EAGLE's drafter: one decoder layer over the target's hidden states.

    The row at slot s has the target's input at s, and the target's last hidden state (after the
    final norm) at s - 1. It predicts the hidden state at s, from which the target's frozen
    `lm_head` computes logits for slot s + 1. When the drafter drafts ahead, its own prediction
    replaces the target's hidden state.
    """

    config_class = LlamaConfig
    _supports_sdpa = True

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(config)
        self.join = nn.Linear(2 * config.hidden_size, config.hidden_size)
        self.layer = LlamaDecoderLayer(config, layer_idx=0)
        self.norm = LlamaRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.rotary = LlamaRotaryEmbedding(config)
        self.post_init()

    def forward(
        self,
        inputs: Tensor,
        position_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: Any = None,
    ) -> Tensor:
        """Return the predicted hidden states [B, L, D].

        Args:
            inputs: the target's inputs and previous hidden states, concatenated [B, L, 2D].
            position_ids: slots [B, L].
            attention_mask: the 4D mask of a window; None for plain causal rows.
            past_key_values: anything with `.update(keys, values, layer) -> (keys, values)`.
        """
        x = self.join(inputs)
        x = self.layer(
            x,
            attention_mask=attention_mask,
            position_ids=position_ids,
            position_embeddings=self.rotary(x, position_ids),
            past_key_values=past_key_values,
            use_cache=past_key_values is not None,
        )
        return self.norm(x)
