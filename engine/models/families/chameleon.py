r"""The Chameleon family: Anole 7B (Chern et al. 2024) and Lumina-mGPT 7B 768 (Liu et al. 2024).

Both are fine-tuned from Meta's Chameleon. transformers' ChameleonForConditionalGeneration masks the
logits of all image tokens. So only its body is called, and only the image tokens' rows of its head
are kept.

Tokens 0 .. V - 1 are the image tokens in the order of their BPE ids. Token V is the end of a line,
if the layout has one. The names in `config.vocabulary_map` say which code of the VQGAN an image
token is. On loading, the decoder's codebook is permuted to the tokens' order.

* Anole: <s> text <end of turn> <begin of image>, then 32 x 32 codes. Unconditional: <s> <begin of
  image>.
* Lumina: <s> "Generate an image of 768x768 according to the following prompt:\n" text <end of turn>
  <begin of image> <height> <width>, then 48 rows, each of 48 codes and an end of line.
  Unconditional: everything from <begin of image> on, without <s>. In the published code the model
  itself samples <begin of image> and the sizes; here, as in LANTERN's code, these tokens are part
  of the prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from huggingface_hub.errors import StrictDataclassError
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor
from transformers import ChameleonConfig, ChameleonForConditionalGeneration
from transformers.models.chameleon.modeling_chameleon import (
    ChameleonImageVocabularyMapping,
    ChameleonRotaryEmbedding,
)

from engine.models.body import BodyModel
from engine.models.context import Prompt
from engine.models.families.chameleon_vq import ChameleonDecoder
from engine.models.families.lantern_drafter import chameleon_drafter
from engine.models.supply.card import ModelCard, ModelError
from engine.models.supply.weights import fill, read_tokenizer, read_weights, require_file
from engine.settings import SettingError

BOS, PAD, END_OF_TURN = "<s>", "<pad>", "<reserved08706>"
BEGIN_IMAGE, END_OF_LINE = "<racm3:break>", "<reserved08799>"
PATCH = 16  # pixels along a code's side


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """The words around a prompt.

    `sized` tells whether these words state the image's size. If they do, each row of the image ends
    with END_OF_LINE.
    """

    text: str
    sized: bool


TEMPLATES = {
    "anole": PromptTemplate("{text}", sized=False),
    "lumina-768": PromptTemplate(
        "Generate an image of {width}x{height} according to the following prompt:\n{text}",
        sized=True,
    ),
}


def size_token(codes: int) -> str:
    """Return the name of Lumina's token for an image side of `codes` codes.

    The tokens are numbered in steps of 32 pixels.
    """
    return f"<reserved{8800 + codes * PATCH // 32:05d}>"


class ChameleonModel(BodyModel):
    """Anole or Lumina-mGPT; the card's name tells which."""

    def __init__(
        self,
        card: ModelCard,
        folders: dict[str, Path] | None,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        """Load the model.

        `folders` has the parts "model", "vq", "text" and, if wanted, "drafter". If `folders` is
        None, weights are random at the model's true size. Raises ModelError where a file is missing
        or does not fit.
        """
        self.name, self.grid, self.sampling = card.name, card.grid, card.sampling
        self.device, self.dtype = torch.device(device), dtype
        self.template = TEMPLATES[card.name]
        settings = config(card) if folders is None else read_config(folders["model"])
        self.vocabulary = settings.vocabulary_map
        self.tokenizer = bytes_tokenizer() if folders is None else _tokenizer(folders["text"])
        self.special = {name: self._special(name, folders is not None) for name in self._names()}

        network = _empty(settings)
        order, bpe = codes_in_order(settings), sorted(network.model.vocabulary_mapping.bpe2img)
        self.vocab_size = settings.vq_config.num_embeddings
        network.to(dtype).to_empty(device=self.device)
        network.model.rotary_emb = ChameleonRotaryEmbedding(settings).to(self.device)
        if folders is None:
            network.apply(network._init_weights)
        else:
            fill(
                network,
                _cut_head(read_weights(folders["model"]), settings, bpe),
                drop=("model.vqmodel.",),
            )
        self.output = network.lm_head.weight.detach()
        self.body = network.model.eval().requires_grad_(False)

        # The decoder is small, and half precision is visible.
        self.vq = ChameleonDecoder(settings.vq_config).eval().requires_grad_(False)
        self.vq.to(torch.promote_types(dtype, torch.float32))
        if folders is not None:
            self.vq.load(read_weights(folders["vq"]))
        self.vq.to(self.device).reorder(torch.tensor(order, device=self.device))
        self.codebook = self.vq.embedding.weight.detach()

        row = [-1] * self.grid[1]
        if self.template.sized:
            bpe.append(self.special[END_OF_LINE])
            row.append(self.vocab_size)
        self.bpe = torch.tensor(bpe, device=self.device)  # each token's BPE id
        self.forced_ids = torch.tensor(row * self.grid[0])
        if folders is not None and "drafter" in folders:
            self.drafter = chameleon_drafter(self, folders["drafter"])

    def check_prompt(self, text: str) -> None:
        self.ids(text)

    def ids(self, text: str) -> tuple[list[int], list[int]]:
        """Return the BPE ids of the prompt and of the unconditional prompt, both without padding.

        A special token's name in `text` stays text. Raises SettingError for a text that leaves no
        room for the image.
        """
        height, width = self.grid
        prompt = self.template.text.format(text=text, width=width * PATCH, height=height * PATCH)
        encoded = self.tokenizer.encode(prompt, add_special_tokens=False).ids
        begin = [self.special[BEGIN_IMAGE]]
        if self.template.sized:
            begin += [self.special[size_token(height)], self.special[size_token(width)]]
        conditional = [self.special[BOS], *encoded, self.special[END_OF_TURN], *begin]
        room = self.body.config.max_position_embeddings - self.plan.length
        if len(conditional) > room:
            raise SettingError(
                f"The prompt takes {len(conditional)} tokens; beside its picture {self.name} has"
                f" room for {room}. Shorten it."
            )
        return conditional, begin if self.template.sized else [self.special[BOS], *begin]

    def prompt(self, text: str, guided: bool) -> Prompt:
        conditional, unconditional = self.ids(text)
        padding = len(conditional) - len(unconditional)
        rows = [conditional, [self.special[PAD]] * padding + unconditional]
        ids = torch.tensor(rows[: 1 + guided], device=self.device)
        return Prompt(self.body.embed_tokens(ids), (0, padding)[: 1 + guided])

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.body.embed_tokens(self.bpe[tokens])

    def head(self, hidden: Tensor) -> Tensor:
        return torch.nn.functional.linear(hidden, self.output)

    def decode(self, codes: Tensor) -> Tensor:
        return self.vq(codes)

    def _names(self) -> list[str]:
        plain = [BOS, PAD, END_OF_TURN, BEGIN_IMAGE]
        return [*plain, END_OF_LINE, *map(size_token, self.grid)] if self.template.sized else plain

    def _special(self, name: str, both: bool) -> int:
        """Return a special token's id in the model's vocabulary.

        Raises ModelError if the vocabulary has no such token. With `both`, also raises it if the
        token does not have the same id in the tokenizer.
        """
        token = self.vocabulary.get(name)
        if token is None:
            raise ModelError(
                f"The model's vocabulary has no token {name}: this is not {self.name}."
            )
        if both and self.tokenizer.token_to_id(name) != token:
            raise ModelError(
                f"The tokenizer is not this model's: {name} is {self.tokenizer.token_to_id(name)},"
                f" not {token}."
            )
        return token


def config(card: ModelCard) -> ChameleonConfig:
    """Return Chameleon 7B's configuration at true size.

    It is transformers' default. The vocabulary is like the published one, except that the image
    tokens are in the order of their codes.
    """
    digits = str.maketrans("0123456789", "ABCDEFGHIJ")
    vocabulary = {BOS: 0, PAD: 1, "</s>": 2, "<unk>": 3, "<eoss>": 8196, BEGIN_IMAGE: 8197}
    vocabulary |= {f"IMGIMG{str(code).translate(digits)}Z": 4 + code for code in range(card.codes)}
    vocabulary |= {
        f"<reserved{token - 4:05d}>": token for token in range(8198, 8900) if token != 8711
    } | {"<image>": 8711}
    return ChameleonConfig(vocabulary_map=vocabulary, pad_token_id=1)


def codes_in_order(settings: ChameleonConfig) -> list[int]:
    """Return the VQGAN's code of each image token, in the order of the tokens' BPE ids.

    Raises ModelError where the vocabulary does not name each code once.
    """
    table = ChameleonImageVocabularyMapping(settings.vocabulary_map).bpe2img
    order, codes = [table[token] for token in sorted(table)], settings.vq_config.num_embeddings
    if sorted(order) != list(range(codes)):
        raise ModelError(f"The vocabulary names other image tokens than its {codes} codes.")
    return order


def bytes_tokenizer() -> Tokenizer:
    """Return a tokenizer with a token for each byte, for random weights without a vocabulary."""
    vocabulary = {
        byte: 8900 + i for i, byte in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))
    }
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def read_config(folder: Path) -> ChameleonConfig:
    """Read the model's configuration. Raises ModelError where it is missing or another model's."""
    path = require_file(folder / "config.json")
    try:
        settings = ChameleonConfig.from_pretrained(folder)
    except (OSError, ValueError, TypeError, StrictDataclassError) as error:
        raise ModelError(
            f"{path.name} cannot be read: delete its folder, and the next start downloads it again."
        ) from error
    if not settings.vocabulary_map:
        raise ModelError(
            f"{path.name} has no vocabulary_map, so its image tokens are not known: this is not"
            " Chameleon's."
        )
    return settings


def _empty(settings: ChameleonConfig) -> ChameleonForConditionalGeneration:
    """Return the network on the meta device.

    It has no encoder, and its head has only the rows of image tokens.
    """
    with torch.device("meta"):
        network = ChameleonForConditionalGeneration(settings)
        network.lm_head = torch.nn.Linear(
            settings.hidden_size, settings.vq_config.num_embeddings, bias=False
        )
    del network.model.vqmodel
    return network


def _cut_head(
    state: dict[str, Tensor], settings: ChameleonConfig, bpe: list[int]
) -> dict[str, Tensor]:
    """Return the weights, with the head cut to the rows of image tokens.

    A head of another height is kept as it is; `fill` then raises ModelError for its shape.
    """
    head = state.get("lm_head.weight")
    return (
        state | {"lm_head.weight": head[bpe]}
        if head is not None and len(head) == settings.vocab_size
        else state
    )


def _tokenizer(folder: Path) -> Tokenizer:
    tokenizer = read_tokenizer(folder)
    tokenizer.encode_special_tokens = True  # a user's text cannot end its own turn
    return tokenizer
