"""SimpleAR at a tiny size, of transformers' own classes; the decoder of pixels is a small one in a
TorchScript file, with the published inverse quantiser."""

from __future__ import annotations

import copy
from functools import cached_property
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import ByteLevel
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from engine.models.families import simplear
from engine.models.families.simplear import NEGATIVE
from engine.models.supply.card import ModelCard
from tests.engine.models.families.tiny import BODY, Tiny, randomise, save, tiny_card

LEVELS, HEIGHT, WIDTH = (4, 4, 3), 4, 5
CODES = 48
MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
ADDED = ("<|t2i|>", "<|i2t|>", "<|soi|>", "<|vtokens|>", "<|t2v|>", "<|v2t|>", "<|sov|>")
TABLE = "model.embed_tokens.weight"
UP = "model.layers.1.mlp.up_proj.weight"
BIAS = "model.layers.0.self_attn.k_proj.bias"


def config(words: int, **others: object) -> Qwen2Config:
    """Behind the words and the codes there are rows that nothing uses."""
    sizes = {**BODY, "num_attention_heads": 4, "num_key_value_heads": 2}
    sizes |= {"max_position_embeddings": 600, "tie_word_embeddings": True, **others}
    rope = {"rope_type": "default", "rope_theta": 1e6}
    return Qwen2Config(vocab_size=words + CODES, rope_parameters=rope, **sizes)


class Decoder(nn.Module):
    """Of the shapes of the published decoder.jit: the inverse of its quantiser, then layers that
    see neighbouring cells. In the dtype of its weights."""

    def __init__(self, levels: list[int]) -> None:
        super().__init__()
        self.levels = levels
        self.post_quant_conv = nn.Conv3d(len(levels), 8, 1)
        self.decoder = nn.Conv2d(8, 3 * 16 * 16, 3, padding=1)

    def forward(self, indices: Tensor) -> Tensor:
        digits: list[Tensor] = []
        rest = indices
        for level in self.levels:
            half = level // 2
            digits.append((rest % level - half) / half)
            rest = rest // level
        codes = torch.stack(digits, 1).to(self.decoder.weight.dtype)
        hidden = torch.tanh(self.post_quant_conv(codes))[:, :, 0]
        return F.pixel_shuffle(self.decoder(hidden), 16)[:, :, None]


def decoder() -> Decoder:
    return randomise(Decoder([*LEVELS]), seed=5)


def unnamed(tokenizer: dict, mark: str) -> None:
    (added,) = (each for each in tokenizer["added_tokens"] if each["content"] == mark)
    added["content"] = "<other>"


class TinySimpleAR(Tiny):
    card = tiny_card("simplear-512", (HEIGHT, WIDTH), CODES)
    module = simplear
    # rows shorter and longer than the negative prompt
    prompts = ("a cat", "", "naïve 日本 🙂 \n", "a long portrait of a young girl, " * 8)
    side = 16
    weights = {UP: UP, TABLE: TABLE, BIAS: BIAS}
    options = {"levels": LEVELS}
    words = 151_672
    files = ("model/config.json", "model/tokenizer.json", "model/model-00002-of-*.safetensors")
    files += ("vq/decoder.jit",)
    misfits = (
        ("config.json", lambda c: c.update(hidden_size="wide"), "not a configuration"),
        ("config.json", lambda c: c.update(vocab_size=300), "leaves no room for 48 codes"),
        ("tokenizer.json", lambda t: unnamed(t, "<|soi|>"), r"does not know <\|soi\|>"),
    )
    limit, too_long = 512, r"has 513 tokens; SimpleAR takes at most 512 here: make it shorter"

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerFast:
        """Bytes, a merge, Qwen2.5's marks, and those that training adds; no beginning of its
        own."""
        names = [*sorted(ByteLevel.alphabet()), "at"]
        words = Tokenizer(BPE(vocab={name: i for i, name in enumerate(names)}, merges=[("a", "t")]))
        words.normalizer = NFC()
        words.pre_tokenizer = ByteLevel(add_prefix_space=False)
        words.decoder = ByteLevelDecoder()
        words.add_special_tokens([*MARKS, *ADDED])
        return PreTrainedTokenizerFast(tokenizer_object=words)

    @cached_property
    def network(self) -> Qwen2ForCausalLM:
        return randomise(Qwen2ForCausalLM(config(len(self.tokenizer) + 3)))

    @cached_property
    def decoder(self) -> Decoder:
        return decoder()

    def save(self, root: Path) -> dict[str, Path]:
        folders = {part: root / part for part in ("model", "vq")}
        save(self.network, folders["model"], max_shard_size="50KB")
        self.tokenizer.save_pretrained(folders["model"])
        folders["vq"].mkdir()
        torch.jit.script(copy.deepcopy(self.decoder).float()).save(folders["vq"] / "decoder.jit")
        return folders

    @property
    def small(self) -> Qwen2Config:
        return config(258)

    def true_networks(self, card: ModelCard) -> tuple[list[nn.Module], PretrainedConfig]:
        """The published decoder is a file of 132 MB (that of Cosmos-0.1-Tokenizer-DV8x16x16) in 16
        bits."""
        settings = simplear.config(card)
        network = simplear._empty(settings, torch.device("meta"), torch.bfloat16)
        return [network, nn.Linear(66, 1_000_000, bias=False, device="meta")], settings

    def rows(self, prompt: str, guided: bool) -> tuple[Tensor, tuple[int, ...]]:
        texts = [f"A highly realistic image of {prompt}", NEGATIVE][: 1 + guided]
        rows = [self.tokenizer(f"<|t2i|>{text}<|soi|>").input_ids for text in texts]
        longest = max(map(len, rows))
        start = tuple(longest - len(row) for row in rows)
        ids = [[0] * padding + row for padding, row in zip(start, rows, strict=True)]
        return self.network.get_input_embeddings()(torch.tensor(ids)), start

    def embed(self, tokens: Tensor) -> Tensor:
        return self.network.get_input_embeddings()(tokens + len(self.tokenizer))

    @property
    def body(self) -> nn.Module:
        return self.network.model

    def head(self, states: Tensor) -> Tensor:
        first = len(self.tokenizer)
        return self.network.lm_head(states)[..., first : first + CODES]

    def picture(self, codes: Tensor) -> Tensor:
        return self.decoder(codes[:, None].int())[:, :, 0]

    @cached_property
    def codebook(self) -> Tensor:
        """Of codes as the decoder counts them, the first digit fastest."""
        return torch.tensor(
            [[a / 2, b / 2, c] for c in (-1, 0, 1) for b in range(-2, 2) for a in range(-2, 2)]
        ).double()

    def greedy(self, prompt: str, guidance: float) -> list[int]:
        """As the authors call the library, whose processor mixes log-probabilities of the whole
        vocabulary as theirs does; of codes alone."""
        first = len(self.tokenizer)
        texts = (f"<|t2i|>A highly realistic image of {prompt}<|soi|>", f"<|t2i|>{NEGATIVE}<|soi|>")
        ids, negative = (self.tokenizer(text, return_tensors="pt").input_ids for text in texts)
        codes = [*range(first, first + CODES)]
        guide = {"guidance_scale": guidance, "negative_prompt_ids": negative}
        found = self.network.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=self.card.length,
            prefix_allowed_tokens_fn=lambda row, sequence: codes,
            **(guide if guidance > 1 else {}),
        )
        return (found[0, ids.shape[1] :] - first).tolist()
