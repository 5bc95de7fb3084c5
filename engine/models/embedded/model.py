"""The embedded model, whose weights live in the repository. Trained from scratch by `train/`; its
model card is weights/README.md."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from engine.infilling import Fills
from engine.models.body import BodyModel, Prompt
from engine.models.eagle import EagleDrafter
from engine.models.embedded.infill import EmbeddedInfill, EmbeddedInfiller
from engine.models.embedded.networks import EmbeddedDrafter, EmbeddedTarget, EmbeddedVQ
from engine.models.lean import fast_layout
from engine.models.preview import FILE, PreviewDecoder
from engine.models.supply.card import WEIGHTS
from engine.reader.reader import reader_of
from engine.settings import Sampling


class EmbeddedModel(BodyModel):
    """20 x 20 codes of 8 x 8 pixels, from captions like "pair: cat, dog on green grass"."""

    name, together = "embedded", 8

    def __init__(
        self, weights: Path = WEIGHTS, device: str = "cpu", dtype: torch.dtype = torch.float32
    ) -> None:
        """`dtype` is float32, or float64 to compare with. Raises FileNotFoundError, naming the
        folder, where the weights are not."""
        for part in ("vq", "target", "drafter", "preview", "captions"):
            if not (weights / part).exists():
                raise FileNotFoundError(
                    f"{weights / part} is missing; train/ makes it, or check out the repository"
                    " again"
                )
        self.device, self.dtype = torch.device(device), dtype
        self.target = (
            EmbeddedTarget.from_pretrained(weights / "target", dtype=self.dtype)
            .to(self.device)
            .eval()
        )
        # Convolutions on a CPU are fastest in channels-last layout.
        self.vq = EmbeddedVQ.from_pretrained(weights / "vq", dtype=self.dtype)
        self.vq = self.vq.to(self.device, memory_format=torch.channels_last).eval()
        self.tokenizer = Tokenizer.from_file(str(weights / "captions" / "tokenizer.json"))
        self.world = json.loads((weights / "world.json").read_text())
        self.reader = reader_of(weights)
        self.sampling = Sampling(**self.world.get("sampling", {}))  # chosen by train.evaluate
        side = int(self.target.config.image_tokens**0.5)
        self.grid, self.vocab_size = (side, side), self.vq.config.codes
        self.codebook = self.vq.codebook.detach()
        self.forced_ids = torch.full((side * side,), -1)
        self.body = self.target.model
        self._head = fast_layout(self.target.lm_head.weight.detach())
        network = (
            EmbeddedDrafter.from_pretrained(weights / "drafter", dtype=self.dtype)
            .to(self.device)
            .eval()
        )
        # ONNX Runtime runs target and drafter where it is faster.
        fast = self.device.type == "cpu" and dtype == torch.float32
        self.graphs = weights / "target" if fast else None
        self.drafter = EagleDrafter(network, self, weights / "drafter" if fast else None)
        self.preview = PreviewDecoder.load(weights / "preview" / FILE, self.device).pictures
        self._infill = weights / "infill"
        self.fills_in = Fills.ANY if (self._infill / "config.json").exists() else Fills.BELOW
        self.weights = _digest(weights, "drafter", "target", "vq")

    @cached_property
    def filler(self) -> EmbeddedInfiller:  # type: ignore[override]
        """Loaded when something is first filled in."""
        network = EmbeddedInfill.from_pretrained(self._infill, dtype=self.dtype)
        return EmbeddedInfiller(self, network.to(self.device).eval(), self.infill_weights)

    @cached_property
    def infill_weights(self) -> str:
        return _digest(self._infill.parent, "infill", "vq")

    def caption_ids(self, text: str, guided: bool) -> Tensor:
        """The tokens [R, P] of the caption that the prompt is read as, and if guided a second row
        of padding: the target was trained with that where the caption is dropped."""
        caption = self.reader.read(text).scene.caption
        ids = torch.tensor([self.tokenizer.encode(caption).ids], device=self.device)
        return torch.cat([ids, torch.zeros_like(ids)]) if guided else ids

    def prompt(self, text: str, guided: bool) -> Prompt:
        ids = self.caption_ids(text, guided)
        return Prompt(self.target.embed_caption(ids), (0,) * len(ids))

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.target.embed_codes(tokens, positions)

    def head(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self._head)

    def decode(self, codes: Tensor) -> Tensor:
        return self.vq.decode(codes)


def _digest(weights: Path, *parts: str) -> str:
    """16 hexadecimal digits that identify these networks' weights and the captions' tokenizer."""
    files = [file for part in parts for file in sorted((weights / part).glob("*.safetensors"))]
    found = hashlib.sha256()
    for file in (*files, weights / "captions" / "tokenizer.json"):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]
