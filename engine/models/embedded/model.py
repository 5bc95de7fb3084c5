"""The embedded model, whose weights are in the repository.

`train/` trains the model from scratch; the model card is weights/README.md.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from engine.infilling import Fills
from engine.models.body import BodyModel
from engine.models.context import Prompt
from engine.models.eagle import EagleDrafter
from engine.models.eight_bits import EightBitBody
from engine.models.embedded.infill import EmbeddedInfill, EmbeddedInfiller
from engine.models.embedded.networks import (
    EmbeddedDrafter,
    EmbeddedTarget,
    EmbeddedVQ,
    read_network,
)
from engine.models.lean import fast_layout
from engine.models.preview import FILE, PreviewDecoder
from engine.models.supply.card import WEIGHTS, ModelError
from engine.models.supply.weights import check_sums
from engine.reader.reader import reader_of
from engine.settings import Sampling


class EmbeddedModel(BodyModel):
    """Draws 20 x 20 codes of 8 x 8 pixels from captions like "pair: cat, dog on green grass"."""

    name, together = "embedded", 8
    filler: EmbeddedInfiller | None = None

    def __init__(
        self,
        weights: Path = WEIGHTS,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
        *,
        eight_bits: bool = False,
    ) -> None:
        """Read the weights.

        `dtype` is float32, or float64 for comparisons. With `eight_bits` the target runs in 8 bits,
        which needs a processor and float32. Raises ModelError, which names the folder or file,
        where weights are missing or damaged, or says why 8 bits cannot run here.
        """
        check_sums(weights)
        for part in ("vq", "target", "drafter", "preview", "captions"):
            if not (weights / part).exists():
                raise ModelError(
                    f"{weights.name}/{part} is missing: check out the repository, or install the"
                    " package, again."
                )
        self.device, self.dtype = torch.device(device), dtype
        self.target = read_network(EmbeddedTarget, weights / "target", dtype).to(self.device)
        self.vq = read_network(EmbeddedVQ, weights / "vq", dtype)
        # Convolutions on a CPU are fastest in channels-last layout.
        self.vq = self.vq.to(self.device, memory_format=torch.channels_last)
        self.tokenizer = Tokenizer.from_file(str(weights / "captions" / "tokenizer.json"))
        self.world = json.loads((weights / "world.json").read_text("utf-8"))
        self.reader = reader_of(weights)
        self.sampling = Sampling(**self.world.get("sampling", {}))  # chosen by train.evaluate
        side = int(self.target.config.image_tokens**0.5)
        self.grid, self.vocab_size = (side, side), self.vq.config.codes
        self.codebook = self.vq.codebook.detach()
        self.forced_ids = torch.full((side * side,), -1)
        self.body = self.target.model
        self._head = fast_layout(self.target.lm_head.weight.detach())
        network = read_network(EmbeddedDrafter, weights / "drafter", dtype).to(self.device)
        # ONNX Runtime runs target and drafter where it is faster.
        fast = self.device.type == "cpu" and dtype == torch.float32
        self.graphs = weights / "target" if fast else None
        if eight_bits:
            try:
                self.run_layers = EightBitBody(self.lean, weights / "target")
            except (ImportError, ArithmeticError) as error:
                raise ModelError(f"The embedded model cannot run in int8 here: {error}.") from error
        self.drafter = EagleDrafter(network, self, weights / "drafter" if fast else None)
        self.preview = PreviewDecoder.load(weights / "preview" / FILE, self.device).pictures
        self.weights = _digest(weights, "drafter", "target", "vq")
        if (weights / "infill" / "config.json").exists():
            # Read now, so that a fault in the infill network is found at the start.
            infill = read_network(EmbeddedInfill, weights / "infill", dtype).to(self.device)
            self.fills_in = Fills.ANY
            self.filler = EmbeddedInfiller(self, infill, _digest(weights, "infill", "vq"))

    def caption_ids(self, text: str, guided: bool) -> Tensor:
        """Read the prompt as a caption, and return the caption's token ids [R, P].

        If `guided`, a second row has only padding. In training such rows replaced dropped captions.
        """
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
    """Hash the weights of `parts` and the captions' tokenizer; return 16 hexadecimal digits."""
    files = [file for part in parts for file in sorted((weights / part).glob("model*.safetensors"))]
    digest = hashlib.sha256()
    for file in (*files, weights / "captions" / "tokenizer.json"):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
