"""Emu3-Gen (Wang et al. 2024, arXiv:2409.18869).

One Llama-like body reads text and 32,768 visual tokens of 8 x 8 pixels. An image is rows of w
visual tokens. After each row the layout forces an end of line. The tokens after the last row (end
of frame, of image, of text) do not affect the pixels and are never generated.
"""

from __future__ import annotations

from pathlib import Path

import torch
from huggingface_hub.errors import StrictDataclassError
from torch import Tensor, nn
from transformers import (
    AutoTokenizer,
    Emu3Config,
    Emu3TextModel,
    Emu3VQVAE,
    PreTrainedTokenizerBase,
)
from transformers.models.emu3.modeling_emu3 import Emu3ImageVocabularyMapping

from engine.models.body import BodyModel
from engine.models.context import Prompt
from engine.models.supply.card import ModelCard, ModelError
from engine.models.supply.weights import fill, randomise, read_weights, require_file
from engine.settings import SettingError

# From image_generation.py of baaivision/Emu3; NEGATIVE is the unconditional row's text.
POSITIVE = " masterpiece, film grained, best quality."
NEGATIVE = (
    "lowres, bad anatomy, bad hands, text, error, missing fingers, extra digit, fewer digits,"
    " cropped, worst quality, low quality, normal quality, jpeg artifacts, signature, watermark,"
    " username, blurry."
)
# special tokens that the tokenizer must have
MARKS = ("bos_token", "boi_token", "image_wrapper_token")

# Prefixes of keys in files of transformers 4 and 5, each with its prefix in `_Network`.
_PARTS = {
    "model.text_model.": "body.",
    "text_model.model.": "body.",
    "lm_head.": "output.",
    "text_model.lm_head.": "output.",
    "model.vqmodel.": "vq.",
    "vqmodel.": "vq.",
}
_NOT_NEEDED = ("vq.encoder.", "vq.quant_conv.")  # images are decoded, never encoded


def config(card: ModelCard) -> Emu3Config:
    """Return the public model's configuration.

    It has transformers' default sizes and the token ids of the public tokenizer.
    """
    first = 151_854
    ids = {f"<|visual token {code:06d}|>": first + code for code in range(card.codes)}
    marks = {
        "<|extra_200|>": 151_846,
        "<|image token|>": 151_851,
        "<|image start|>": 151_852,
        "<|image end|>": 151_853,
    }
    return Emu3Config(vocabulary_map=ids | marks, text_config={}, vq_config={})


class _Network(nn.Module):
    """The parts of Emu3ForConditionalGeneration that text-to-image needs.

    The head has only the visual tokens, in the order of their codes. The VQ decoder has at least
    float32, as in the public code, because it is small and sensitive.
    """

    def __init__(self, config: Emu3Config, codes: int, dtype: torch.dtype) -> None:
        super().__init__()
        text = config.text_config
        self.body = Emu3TextModel._from_config(text, dtype=dtype)
        self.output = nn.Linear(text.hidden_size, codes, bias=False, dtype=dtype)
        wide = torch.promote_types(dtype, torch.float32)
        self.vq = Emu3VQVAE._from_config(config.vq_config, dtype=wide)
        del self.vq.encoder, self.vq.quant_conv


class Emu3Model(BodyModel):
    """Emu3-Gen, which draws 90 x 90 codes: 720 x 720 pixels.

    Tokens 0 .. V - 1 are the VQ's codes, and token V is the end of a row.
    """

    def __init__(
        self,
        card: ModelCard,
        folders: dict[str, Path] | None,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        """Load the model.

        `folders["model"]` has the files of one repository in transformers' form. If `folders` is
        None, weights are random at the model's true size. There is no tokenizer then, so each byte
        of a prompt is a token. Raises ModelError where a file is missing or does not fit.
        """
        self.name, self.grid, self.sampling = card.name, card.grid, card.sampling
        self.device, self.dtype = device, dtype
        folder = folders["model"] if folders is not None else None
        self.config = config(card) if folder is None else _read_config(folder)
        self.tokenizer = None if folder is None else _read_tokenizer(folder)
        ids = _model_ids(self.config)
        self.vocab_size = len(ids) - 1
        self.ids = ids.to(device)
        # Built on the meta device, to avoid a second copy of 35 GB of float32 weights.
        with torch.device("meta"):
            network = _Network(self.config, self.vocab_size, dtype)
        network = network.to_empty(device=device).eval().requires_grad_(False)
        # No file holds the rotary angles.
        rotary = type(network.body.rotary_emb)(config=self.config.text_config)
        network.body.rotary_emb = rotary.to(device)
        if folder is None:
            randomise(network)
        else:
            fill(network, _visual_rows(read_weights(folder), ids[:-1], self.config), _key)
        self.body, self.output, self.vq = network.body, network.output, network.vq
        self.codebook = self.vq.quantize.embedding.weight
        height, width = card.grid
        self.forced_ids = torch.tensor(([-1] * width + [self.vocab_size]) * height)

    def check_prompt(self, text: str) -> None:
        self.conditional(text)

    def conditional(self, text: str) -> list[int]:
        """Return the token ids of a prompt's conditional row.

        Raises SettingError if the ids leave no room for the picture.
        """
        ids = self.prompt_ids(text + POSITIVE)
        room = self.config.text_config.max_position_embeddings - self.plan.length
        if len(ids) > room:
            raise SettingError(
                f"The prompt takes {len(ids)} of the model's tokens, and there is room for {room}:"
                " make it shorter."
            )
        return ids

    def prompt(self, text: str, guided: bool) -> Prompt:
        rows = [self.conditional(text)]
        if guided:
            rows.append(self.prompt_ids(NEGATIVE))
        longest = max(map(len, rows))
        start = tuple(longest - len(row) for row in rows)
        pad = self.config.text_config.pad_token_id
        ids = torch.tensor([[pad] * (longest - len(row)) + row for row in rows], device=self.device)
        return Prompt(self.body.embed_tokens(ids), start)

    def prompt_ids(self, text: str) -> list[int]:
        """Return the ids of `{bos}{text}<|image start|>{height}*{width}<|image token|>`.

        The model's own processor writes prompts in this form.
        """
        size = "{}*{}".format(*self.grid)
        if self.tokenizer is None:
            marks, begin = self.config.vocabulary_map, self.config.text_config.bos_token_id
            return [
                begin,
                *text.encode(),
                marks["<|image start|>"],
                *size.encode(),
                marks["<|image token|>"],
            ]
        bos, begin, wrapper = (getattr(self.tokenizer, mark) for mark in MARKS)
        ids = _marked(self.tokenizer, bos) + _literal(self.tokenizer, text)
        ids += _marked(self.tokenizer, f"{begin}{size}{wrapper}")
        if max(ids) >= self.config.text_config.vocab_size:
            raise ModelError(
                "The tokenizer's files do not fit the weights: it knows tokens that the model does"
                " not have."
            )
        return ids

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.body.embed_tokens(self.ids[tokens])

    def head(self, hidden: Tensor) -> Tensor:
        return self.output(hidden)

    def decode(self, codes: Tensor) -> Tensor:
        return first_frame(self.vq, codes)


def _marked(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False).input_ids


def _literal(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Return the ids of a user's text.

    A special token's name in the text, such as `<|image start|>`, is split after its first
    character, so that it stays text.
    """
    marks = tokenizer.added_tokens_decoder
    ids: list[int] = []
    while True:
        encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        spans = zip(encoded.input_ids, encoded.offset_mapping, strict=True)
        cut = next(
            (begin + 1 for token, (begin, end) in spans if token in marks and end - begin > 1), None
        )
        if cut is None:
            return ids + encoded.input_ids
        ids += _marked(tokenizer, text[:cut])
        text = text[cut:]


def first_frame(vq: Emu3VQVAE, codes: Tensor) -> Tensor:
    """Turn codes [B, h, w] into pixels [B, 3, 8h, 8w], about -1 .. 1, like `vq.decode(codes)`.

    The decoder is made for video: it turns one frame of codes into four frames, and an image is the
    first of these. Only the temporal layers mix frames. They come first, and work at the codes' own
    size. The later layers take nearly all of the time and memory. Here they process one frame only.
    """
    decoder = vq.decoder
    quant = vq.quantize.embedding(codes).permute(0, 3, 1, 2)[:, :, None]
    both = torch.cat([vq.post_quant_conv(quant), quant])
    for layer in decoder.time_res_stack:
        both = layer(both)
    for layer in decoder.time_conv:
        both = nn.functional.silu(layer(both))
    hidden, quant = both[:, :, 0].chunk(2)
    hidden = decoder.middle_block(decoder.conv_in(hidden), quant)
    hidden = decoder.norm_out(decoder.up_block(hidden, quant), quant)
    return decoder.conv_out(nn.functional.silu(hidden))


def _read_config(folder: Path) -> Emu3Config:
    path = require_file(folder / "config.json")
    try:
        return Emu3Config.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, TypeError, AttributeError, StrictDataclassError) as error:
        raise ModelError(
            f"{path.name} is not the configuration of an Emu3 model: delete it, and the next start"
            " downloads it again."
        ) from error


def _read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    require_file(folder / "tokenizer.json")  # without it the library would make an empty tokenizer
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # of many classes, KeyError among them
        raise ModelError(
            "The tokenizer of Emu3 cannot be read: delete its folder, and the next start"
            " downloads it again."
        ) from error
    for mark in MARKS:
        if not isinstance(getattr(tokenizer, mark, None), str):
            raise ModelError(
                f"The tokenizer of Emu3 has no {mark}: a file is missing, or another model's."
                " Delete the folder, and the next start downloads it again."
            )
    return tokenizer


def _model_ids(config: Emu3Config) -> Tensor:
    """Return the body's ids [codes + 1]: the id of each code, then the id of a row's end."""
    codes, names = config.vq_config.codebook_size, config.vocabulary_map or {}
    mapping = Emu3ImageVocabularyMapping(names)
    try:
        by_code = mapping.img2bpe
    except ValueError:  # a name without a number
        by_code = {}
    if sorted(by_code) != list(range(codes)) or mapping.eol_token_id is None:
        raise ModelError(
            f"The configuration's vocabulary_map does not name {codes} visual tokens and an end of"
            " line."
        )
    ids = torch.tensor([*(by_code[code] for code in range(codes)), mapping.eol_token_id])
    if not 0 <= int(ids.min()) <= int(ids.max()) < config.text_config.vocab_size:
        raise ModelError(
            "The configuration's vocabulary_map has ids beyond the model's vocabulary."
        )
    return ids


def _visual_rows(state: dict[str, Tensor], ids: Tensor, config: Emu3Config) -> dict[str, Tensor]:
    """Return the stored weights, with the head cut to the codes' rows in the codes' order."""
    text = config.text_config
    for key, rows in state.items():
        if _key(key) == "output.weight":
            if rows.shape != (text.vocab_size, text.hidden_size):
                shape = (text.vocab_size, text.hidden_size)
                raise ModelError(
                    f"The weights do not fit: {key!r} has the shape {tuple(rows.shape)}, not"
                    f" {shape}."
                )
            return state | {key: rows[ids]}
    return state


def _key(stored: str) -> str | None:
    """Return a stored key as a key of `_Network`; None if the key is not needed."""
    for prefix, part in _PARTS.items():
        if stored.startswith(prefix):
            name = part + stored.removeprefix(prefix)
            return None if name.startswith(_NOT_NEEDED) else name
    return stored
