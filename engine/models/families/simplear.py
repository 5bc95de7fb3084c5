"""SimpleAR 0.5B (Wang et al. 2025, arXiv:2504.11455).

A Qwen2 body over text and 64,000 image tokens of 16 x 16 pixels, in raster order with nothing
between them.

In the unconditional row a sentence that lists faults replaces the prompt. Each row's position ids
begin at its own first token. With guidance s the authors compute u + s (c - u), where c and u are
the log-probabilities of the conditional and of the unconditional row over the whole vocabulary.
Here c and u are the rows' logits. At each position the two results differ by a constant, which does
not change the distribution over the codes. The authors' sampler may also draw a word, which it
clamps to the range of the codes. Here only codes are drawn.

An image token's id is the tokenizer's length plus its code. The codes are those of finite scalar
quantisation (Mentzer et al. 2023, arXiv:2309.15505), a lattice that no file holds. The decoder is
the one of NVIDIA's Cosmos tokenizer, a TorchScript file. It turns codes int32 [B, 1, h, w] of one
frame into pixels [B, 3, 1, 16 h, 16 w]. It runs as it was saved, in 16 bits, because its casts are
part of its code.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from huggingface_hub.errors import StrictDataclassError
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import Qwen2Config, Qwen2ForCausalLM
from transformers.models.qwen2.modeling_qwen2 import Qwen2RotaryEmbedding

from engine.models.body import BodyModel
from engine.models.context import Prompt
from engine.models.supply.card import ModelCard, ModelError
from engine.models.supply.device import loading_device
from engine.models.supply.weights import (
    AGAIN,
    fill,
    randomise,
    read_tokenizer,
    read_weights,
    require_file,
)
from engine.settings import SettingError

# From generate.py of wdrink/SimpleAR; NEGATIVE is the unconditional row's text.
POSITIVE = "A highly realistic image of "
NEGATIVE = (
    "An image of aerial view, overexposed, low quality, deformation, a poor composition, bad hands,"
    " bad teeth, bad eyes, bad limbs, distortion"
)
BEGIN, IMAGE = "<|t2i|>", "<|soi|>"
MAX_PROMPT_TOKENS = 512  # 1,000 characters can be 4,000 tokens, too many for the cache's memory
LEVELS = (8, 8, 8, 5, 5, 5)  # of the Cosmos tokenizer's quantiser: 64,000 codes
# Qwen2.5's tokens, including its 22 added tokens, and the seven tokens that train.py adds.
WORDS = 151_665 + 7
SIDE = 16  # pixels along a code's side


def config(card: ModelCard) -> Qwen2Config:
    """Return the public model's configuration: Qwen2.5-0.5B's, with the codes after its words.

    It is inferred that embedding and head are one matrix, as in Qwen2.5. The listed size of
    SimpleAR's 1.5B model, 1.64 billion parameters, has room for only one such matrix.
    """
    return Qwen2Config(
        vocab_size=WORDS + card.codes,
        hidden_size=896,
        intermediate_size=4864,
        num_hidden_layers=24,
        num_attention_heads=14,
        num_key_value_heads=2,
        rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        tie_word_embeddings=True,
    )


def fsq_codebook(levels: tuple[int, ...]) -> Tensor:
    """Return the codes of finite scalar quantisation, float32 [V, D] in -1 .. 1.

    A code's number n has D digits, the lowest first. Digit d is n // P % `levels[d]`, where P is
    the product of the levels before level d. Channel d of the code is (digit d - m) / m, where m is
    `levels[d]` // 2. So the middle value m of the digit becomes 0.
    """
    sizes = torch.tensor(levels)
    places = torch.tensor([1, *levels[:-1]]).cumprod(0)
    digits = torch.arange(math.prod(levels))[:, None] // places % sizes
    return (digits - sizes // 2) / (sizes // 2)


class SimpleARModel(BodyModel):
    """SimpleAR at two sizes, which have the same weights.

    32 x 32 codes are 512 x 512 pixels, and 64 x 64 codes are 1,024 x 1,024 pixels.
    """

    def __init__(
        self,
        card: ModelCard,
        folders: dict[str, Path] | None,
        device: torch.device,
        dtype: torch.dtype,
        *,
        levels: tuple[int, ...] = LEVELS,
    ) -> None:
        """Load the model.

        `folders` has the parts "model" and "vq"; the TorchScript file of "vq" is run. If `folders`
        is None, the body has random weights at its true size, and each byte of a prompt is a token.
        A random linear map from a code's vector to its pixels then replaces the decoder. `levels`
        are those of `fsq_codebook`. Raises ModelError where a file is missing or does not fit.
        """
        self.name, self.grid, self.sampling = card.name, card.grid, card.sampling
        self.device, self.dtype = device, dtype
        self.forced_ids = torch.full((card.grid[0] * card.grid[1],), -1)
        wide = torch.promote_types(dtype, torch.float32)
        self.codebook = fsq_codebook(levels).to(device, wide)
        self.vocab_size = len(self.codebook)
        settings = config(card) if folders is None else _read_config(folders["model"])
        self.tokenizer: Tokenizer | None = None
        self.first = settings.vocab_size - self.vocab_size  # the id of code 0
        if folders is not None:
            self.tokenizer = _read_tokenizer(folders["model"])
            self.first = _first_code(self.tokenizer, self.vocab_size, settings)
        network = _empty(settings, device if folders is None else loading_device(device), dtype)
        if folders is None:
            randomise(network)
            self.vq: nn.Module = _LinearDecoder(self.codebook)
        else:
            self.vq = _read_decoder(folders["vq"] / card.source_of("vq").files[0], device)
            fill(network, read_weights(folders["model"]))
        self.network = network.to(device)
        self.body = network.model

    def check_prompt(self, text: str) -> None:
        self.prompt_ids(text)

    def prompt_ids(self, text: str) -> list[int]:
        """Return the token ids of a prompt's conditional row.

        Raises SettingError if the prompt is too long or contains an added token of the tokenizer.
        """
        marks = self.tokenizer.get_added_tokens_decoder().values() if self.tokenizer else ()
        for mark in marks:
            if mark.content in text:
                raise SettingError(
                    f"The prompt holds {mark.content}, which SimpleAR keeps for itself: leave it"
                    " out."
                )
        ids = self._ids(POSITIVE + text)
        if len(ids) > MAX_PROMPT_TOKENS:
            raise SettingError(
                f"The prompt has {len(ids)} tokens; SimpleAR takes at most {MAX_PROMPT_TOKENS}"
                " here: make it shorter."
            )
        return ids

    def _ids(self, text: str) -> list[int]:
        if self.tokenizer is None:
            return [256, *text.encode(errors="replace"), 257]
        ids: list[int] = self.tokenizer.encode(BEGIN + text + IMAGE).ids
        return ids

    def prompt(self, text: str, guided: bool) -> Prompt:
        rows = [self.prompt_ids(text), *([self._ids(NEGATIVE)] if guided else [])]
        longest = max(map(len, rows))
        start = tuple(longest - len(row) for row in rows)
        ids = [[0] * padding + row for padding, row in zip(start, rows, strict=True)]
        return Prompt(self.body.embed_tokens(torch.tensor(ids, device=self.device)), start)

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.body.embed_tokens(tokens + self.first)

    def head(self, hidden: Tensor) -> Tensor:
        """Return logits over the codes only; most of the head's rows are for words."""
        rows = self.network.lm_head.weight[self.first : self.first + self.vocab_size]
        return F.linear(hidden, rows)

    def decode(self, codes: Tensor) -> Tensor:
        pixels: Tensor = self.vq(codes[:, None].int())[:, :, 0]
        return pixels.to(self.codebook.dtype)


class _LinearDecoder(nn.Module):
    """Replaces the TorchScript decoder where weights are random, and has the same shapes.

    A random linear map turns a code's vector, its row of `codebook` [V, D], into its pixels.
    """

    def __init__(self, codebook: Tensor) -> None:
        super().__init__()
        self.codebook = nn.Parameter(codebook, requires_grad=False)
        generator = torch.Generator(codebook.device).manual_seed(0)
        map_ = codebook.new_empty(3 * SIDE**2, codebook.shape[1])
        self.map = nn.Parameter(map_.normal_(0, 0.3, generator=generator), requires_grad=False)

    def forward(self, codes: Tensor) -> Tensor:
        patches = F.linear(self.codebook[codes[:, 0]], self.map)
        return F.pixel_shuffle(patches.movedim(-1, 1), SIDE)[:, :, None]


def _read_config(folder: Path) -> Qwen2Config:
    path = require_file(folder / "config.json")
    try:
        return Qwen2Config.from_dict(json.loads(path.read_text()))
    except (ValueError, KeyError, TypeError, AttributeError, StrictDataclassError) as error:
        raise ModelError(f"{path.name} is not a configuration: {AGAIN}.") from error


def _read_tokenizer(folder: Path) -> Tokenizer:
    tokenizer = read_tokenizer(folder)
    for token in (BEGIN, IMAGE):
        if tokenizer.token_to_id(token) is None:
            raise ModelError(f"tokenizer.json does not know {token}: it is not this model's file.")
    return tokenizer


def _first_code(tokenizer: Tokenizer, codes: int, settings: Qwen2Config) -> int:
    """Return the id of code 0, which follows all tokens of the tokenizer, the special ones too.

    Raises ModelError if the model's vocabulary has no room for the codes after these tokens.
    """
    words: int = tokenizer.get_vocab_size(with_added_tokens=True)
    if words + codes > settings.vocab_size:
        raise ModelError(
            f"tokenizer.json has {words} tokens, and the model {settings.vocab_size}: that leaves"
            f" no room for {codes} codes, so one of the two is another model's file."
        )
    return words


def _read_decoder(path: Path, device: torch.device) -> nn.Module:
    """Load a TorchScript file, which may run code of its own."""
    require_file(path)
    try:
        decoder: nn.Module = torch.jit.load(path, map_location=device)  # type: ignore[no-untyped-call]
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"{path.name} is not a TorchScript file: {AGAIN}.") from error
    for weight in decoder.parameters():  # a ScriptModule has no `requires_grad_`
        weight.requires_grad_(False)
    return decoder.eval()


def _empty(settings: Qwen2Config, device: torch.device, dtype: torch.dtype) -> Qwen2ForCausalLM:
    """Return the network with uninitialised weights."""
    with torch.device("meta"):
        network = Qwen2ForCausalLM(settings)
    network.to(dtype).to_empty(device=device)
    network.tie_weights()  # if the configuration says so; `to_empty` untied them
    # The rotary frequencies are not weights, and must not be rounded to the body's dtype.
    network.model.rotary_emb = Qwen2RotaryEmbedding(settings).to(device)
    return network.eval().requires_grad_(False)
