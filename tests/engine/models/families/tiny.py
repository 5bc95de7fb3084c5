"""What a family gives to the contract of `test_families.py` and `test_family_files.py`: a tiny
model and its files, and what it must equal: transformers' classes, or the published code written
out."""

from __future__ import annotations

import copy
import dataclasses
import math
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import ModuleType

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel

from engine.models import FAMILIES
from engine.models.body import BodyModel
from engine.models.supply.card import CARDS, ModelCard
from tests.floats import Module, widen

CPU = torch.device("cpu")
BODY = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}  # of every family
# of those that are Janus'
VQ = {"num_embeddings": 40, "latent_channels": 32, "base_channels": 32}
VQ |= {"channel_multiplier": [1, 2], "num_res_blocks": 1}


class Tiny(ABC):
    """A model of a family at a tiny size, made once and shared: tests do not change it. The library
    is transformers, or the published code written out."""

    card: ModelCard
    module: ModuleType  # the family's
    reader: ModuleType | None = None  # what reads its weights, where that is another
    prompts: tuple[str, ...] = ("a cat", "", "a lighthouse\nin a storm, Ünïcödé 漢字 🦕 \t")
    typed = ("a cat", "naïve", "a dog", "ż", "🦌" * 9)  # prompts that random weights take
    guidance = 3.0
    side = 2  # pixels of a code
    # Keys of each network as files have them, and as the errors name them where they are missing.
    weights: dict[str, str] = {}
    unused: tuple[str, ...] = ()  # how stored keys begin that text to image does not need
    absent: tuple[str, ...] = ()  # the model's attributes that it must not have
    options: dict[str, object] = {}  # of its class
    words = 0  # before the codes in a true network's table that has both
    small: object  # what the family's `config` returns, at a tiny size
    files: tuple[str, ...] = ()  # part/name of each file that it needs
    # Of another model: a file of the part `model`, what makes it so, and how it is rejected.
    misfits: tuple[tuple[str, Callable[[dict], object], str], ...] = ()
    # How many tokens a prompt may have, and the error for more; 0 where it is cut.
    limit, too_long = 0, ""

    @cached_property
    def folders(self) -> dict[str, Path]:
        """The folder of each part, with its files as a download has them."""
        self._files = tempfile.TemporaryDirectory(prefix="photo-finish-tiny-")
        return self.save(Path(self._files.name))

    @cached_property
    def model(self) -> BodyModel:
        # Whoever asks first: weights made in inference mode cannot be used outside it.
        with torch.inference_mode(False):
            return self.load(self.folders)

    @abstractmethod
    def save(self, root: Path) -> dict[str, Path]:
        """Writes the files, weights in more than one shard; returns the folder of each part."""

    def load(
        self,
        folders: dict[str, Path] | None,
        dtype: torch.dtype = torch.float64,
        card: ModelCard | None = None,
    ) -> BodyModel:
        """The family's model; None: with random weights, `small` standing for the true sizes. In
        float64 it is widened, as the library's networks here are."""
        model = self.build(folders, dtype, card or self.card)
        if dtype == torch.float64:
            networks = [*vars(model).values(), getattr(model.drafter, "network", None)]
            for network in networks:
                if isinstance(network, nn.Module):
                    widen(network)
        return model

    def build(
        self, folders: dict[str, Path] | None, dtype: torch.dtype, card: ModelCard
    ) -> BodyModel:
        kind = getattr(self.module, FAMILIES[self.card.family])
        return kind(card, folders, CPU, dtype, **self.options)

    @abstractmethod
    def true_networks(self, card: ModelCard) -> tuple[list[nn.Module], PretrainedConfig]:
        """What is loaded of one of the family's models at its true size, on the meta device; and
        its body's configuration."""

    @abstractmethod
    def rows(self, prompt: str, guided: bool) -> tuple[Tensor, tuple[int, ...]]:
        """The library's embeddings [R, P, D] of the documented prompt, conditional row first, and
        the length of each row's left padding."""

    @abstractmethod
    def embed(self, tokens: Tensor) -> Tensor:
        """The library's embeddings [n, D] of the first n tokens of a picture."""

    body: Callable[..., object]  # the library's, without a head
    head: Callable[[Tensor], Tensor]  # and its logits [.., V] over codes

    @abstractmethod
    def picture(self, codes: Tensor) -> Tensor:
        """The library's pixels [B, 3, H, W], about -1 .. 1, of codes [B, h, w] of any size."""

    encoded: Callable[[Tensor], Tensor]  # codes of pixels [1, 3, H, W], where it has an encoder

    @property
    @abstractmethod
    def codebook(self) -> Tensor:
        """The codes [V, D] as the decoder of pixels sees them."""

    @torch.inference_mode()
    def logits(self, prompt: str, tokens: list[int], guidance: float) -> Tensor:
        """Logits [n + 1, V] behind the prompt and behind each of n tokens: one forward of the
        library, with its own masks and no cache."""
        rows, start = self.rows(prompt, guidance != 1)
        fed = self.embed(torch.tensor(tokens, dtype=torch.long)).expand(len(rows), -1, -1)
        fed = torch.cat([rows, fed], 1)
        there = torch.arange(fed.shape[1]) >= torch.tensor(start)[:, None]
        states = self.body(
            inputs_embeds=fed,
            attention_mask=there.long(),
            position_ids=(there.cumsum(-1) - 1).clamp_min(0),
            use_cache=False,
        ).last_hidden_state
        logits = self.head(states[:, rows.shape[1] - 1 :])
        return logits[0] if guidance == 1 else logits[1] + guidance * (logits[0] - logits[1])

    def greedy(self, prompt: str, guidance: float) -> list[int]:
        """Greedy decoding by the library, forced tokens included."""
        tokens: list[int] = []
        for token in self.forced_ids:
            if token < 0:
                token = int(self.logits(prompt, tokens, guidance)[-1].argmax())
            tokens.append(token)
        return tokens

    @property
    def forced_ids(self) -> list[int]:
        height, width = self.card.grid
        ends = self.card.length > height * width
        return [*[-1] * width, *[self.card.codes] * ends] * height


def tiny_card(name: str, grid: tuple[int, int], codes: int) -> ModelCard:
    """A card's with another grid and codebook; a token is forced after each row where its is."""
    card = CARDS[name]
    ends = card.length > card.grid[0] * card.grid[1]
    sampling = dataclasses.replace(card.sampling, top_k=min(card.sampling.top_k, codes))
    return dataclasses.replace(
        card, grid=grid, codes=codes, length=grid[0] * (grid[1] + ends), sampling=sampling
    )


def drawn(shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, Tensor]:
    """Weights large enough that every slot of context matters; scales of norms are around 1. In
    float64, of numbers that float32 has, too."""
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for key, shape in shapes.items():
        spread = 1.5 * math.prod(shape[1:]) ** -0.5 if len(shape) > 1 else 0.2
        scale = len(shape) == 1 and key.endswith("weight")
        state[key] = (spread * torch.randn(shape, generator=generator) + scale).double()
    return state


def narrowed(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """In float32, as a published file has them at most."""
    return {key: weight.float() for key, weight in state.items()}


def nearest(vectors: Tensor, codebook: Tensor) -> Tensor:
    """The codes nearest to vectors [1, D, h, w] of length 1, in raster order [h * w], as the
    published quantiser of Janus and LlamaGen finds them."""
    found = F.normalize(vectors, dim=1)[0].flatten(1).T
    squares = found.pow(2).sum(1, keepdim=True) + codebook.pow(2).sum(1)
    return (squares - 2 * found @ codebook.T).argmin(1)


def save(network: PreTrainedModel, folder: Path, **options: object) -> None:
    """Writes a network's files, `narrowed`."""
    copy.deepcopy(network).float().save_pretrained(folder, **options)


def randomise(module: Module, seed: int = 0) -> Module:
    """A frozen module with weights as `drawn`, computing in float64."""
    parameters = dict(module.named_parameters())
    for key, weight in drawn({k: tuple(p.shape) for k, p in parameters.items()}, seed).items():
        parameters[key].data = weight
    return widen(module.eval().requires_grad_(False))
