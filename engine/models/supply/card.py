"""Model cards: everything known of a model before it is loaded, in the order in which the page
lists them.

A family's class is `Model(card, folders, device, dtype)`, called by `engine.models.load`:

    folders: dict[str, Path] | None    part -> folder with that part's files (`ModelCard.repos`
                                       names the parts: "model" alone for Janus and Emu3; "gpt",
                                       "vq", "text" for LlamaGen, the last but for classes;
                                       "gpt", "vq" for RandAR; "model", "vq", "text" for the
                                       Chameleon family; "model", "vq" for SimpleAR).
                                       `card.source_of("gpt").files[0]` is a
                                       file's name in it. None: random weights at the card's true
                                       size; no file is read, and the network is not used.
    device, dtype                      torch.device and torch.dtype of the body; memory has been
                                       checked.

It raises ModelError for a file that is missing or does not fit the card. Given a card with other
sizes than those below (`dataclasses.replace`), it takes the sizes from the files' own
configuration, and name, grid and sampling from the card.

The values are from the models' public repositories, model cards and papers; `source` cites the
sampling defaults. Parameter counts were computed from each configuration with transformers: what
text-to-image loads, rounded to 10 million.
"""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from engine.failures import Failure
from engine.infilling import Fills
from engine.reader.classes import read_class
from engine.settings import Sampling

REVISIONS = Path(__file__).with_name("revisions.json")
WEIGHTS = Path(__file__).parents[3] / "weights"  # of the embedded model
TORCHSCRIPT = ".jit"  # how the name of a file ends whose loading runs the code in it
GIB = 2**30
_MB = 10**6


class ModelError(Exception):
    """A model that cannot be loaded or used; the message is user-readable and says what to do."""

    def __init__(self, message: str, failure: Failure = Failure.MISSING_MODEL) -> None:
        super().__init__(message)
        self.failure = failure


class Prompts(Enum):
    """What a model draws of a prompt."""

    ANY = "any text"
    SCENES = "things on a ground"
    CLASSES = "one of ImageNet's classes"


@dataclass(frozen=True, slots=True)
class Source:
    """Files of one public repository. `files` are the patterns to download; `revision` is a commit
    hash, or "main" until `python -m engine.models.supply.pin_revisions` has pinned it; `digests`
    are pairs of a file and its digest there, as `weights.differing` takes them."""

    part: str
    repo: str
    revision: str
    files: tuple[str, ...]
    digests: tuple[tuple[str, str], ...] = ()

    def takes(self, name: str) -> bool:
        """Whether a file of the repository is among those to download."""
        return any(fnmatchcase(name, pattern) for pattern in self.files)  # as the hub's client does

    def commit(self, folder: Path) -> str:
        """The commit of the files in a folder of the hub's cache, which is named by it; the
        revision, where they are in another one."""
        return folder.name if re.fullmatch("[0-9a-f]{40}", folder.name) else self.revision


@dataclass(frozen=True, slots=True)
class DrafterCard:
    """An EAGLE drafter of LANTERN's authors, for research only."""

    source: Source
    parameters: int


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model. `length` counts the sequence positions of one image, forced ones included;
    `layers` the parameters of the transformer's layers, of which there are `depth`;
    `kv_values` the KV-cache elements of one position of one guidance row; `working` the bytes taken
    by activations and the image decoder; `download` those of its files on the hub, to a tenth of a
    gigabyte. `drafter` is loaded on request only; `fills_in` as in ImageModel; `inputs` is how many
    of the body's a row of a window has. `raced` says by whom it was raced with its true weights;
    empty where the makers of this repository never have, since they can reach no hub."""

    name: str
    title: str
    family: str
    repos: tuple[Source, ...]
    grid: tuple[int, int]
    codes: int
    length: int
    parameters: int
    layers: int
    depth: int
    kv_values: int
    working: int
    sampling: Sampling
    source: str
    licence: str
    licence_url: str
    download: int = 0
    research_only: bool = False
    drafter: DrafterCard | None = None
    fills_in: Fills = Fills.BELOW
    prompts: Prompts = Prompts.ANY
    inputs: int = 1
    raced: str = ""

    def check_prompt(self, text: str) -> None:
        """Raises SettingError for a prompt that names nothing that the model draws, before anything
        of it is loaded."""
        if self.prompts is Prompts.CLASSES:
            read_class(text)

    def with_drafter(self) -> ModelCard:
        """The model and its drafter, whose part is "drafter". Raises ModelError where none was
        published."""
        if self.drafter is None:
            others = ", ".join(card.name for card in CARDS.values() if card.drafter)
            raise ModelError(
                f"LANTERN's authors published no drafter for {self.title}, but for {others}."
            )
        return dataclasses.replace(
            self,
            repos=(*self.repos, self.drafter.source),
            parameters=self.parameters + self.drafter.parameters,
        )

    def check_code(self, allowed: bool) -> None:
        """Raises ModelError where one of its files is TorchScript, whose code runs when it is
        loaded, and the host has not allowed that."""
        for source in () if allowed else self.repos:
            for file in source.files:
                if file.endswith(TORCHSCRIPT):
                    raise ModelError(
                        f"{self.title} draws its pictures with {file} of {source.repo}, a"
                        " TorchScript file, which runs code of its own: to allow it, start the page"
                        " with PHOTO_FINISH_TORCHSCRIPT=on, or a command with --torchscript."
                    )

    def source_of(self, part: str) -> Source:
        """The source of one part. Raises KeyError if the model has no such part."""
        return {source.part: source for source in self.repos}[part]


# Of each repository {"commit": hash, "files": {name: digest}}, or None where it is not pinned.
_PINNED: dict[str, dict[str, Any] | None] = json.loads(REVISIONS.read_text("utf-8"))


def _from(part: str, repo: str, *files: str) -> Source:
    pinned = _PINNED[repo]
    if pinned is None:
        return Source(part, repo, "main", files)
    source = Source(part, repo, pinned["commit"], files)
    digests = ((name, digest) for name, digest in pinned["files"].items() if source.takes(name))
    return dataclasses.replace(source, digests=tuple(digests))


def _drafter(repo: str, parameters: int) -> DrafterCard:
    """The repository holds what the trainer saved, of which these files are enough."""
    files = ("config.json", "pytorch_model*.bin", "model*.safetensors*")
    return DrafterCard(_from("drafter", repo, *files), parameters)


_HF = ("*.json", "*.jinja", "*.txt", "*.safetensors")
_TOKENIZER = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
_ANOLE = "leloy/Anole-7b-v0.1-hf"
_CHAMELEON_VQ = _from(
    "vq", "leloy/Anole-7b-v0.1-vqvae-hf", "*.json", "*.safetensors", "*.pt", "*.bin"
)
_T5 = _from(
    "text",
    "google/flan-t5-xl",
    *_TOKENIZER,
    "spiece.model",
    "model*.safetensors",
    "model.safetensors.index.json",
)
_CHAMELEON_LICENCE = "https://ai.meta.com/resources/models-and-libraries/chameleon-license/"
_JANUS_SOURCE = (
    "generation_inference.py of deepseek-ai/Janus: cfg_weight 5, temperature 1 (Chen et al. 2025,"
    " arXiv:2501.17811)"
)
_LLAMAGEN_LICENCE = "https://github.com/FoundationVision/LlamaGen/blob/main/LICENSE"
_LLAMAGEN_SOURCE = (
    "autoregressive/sample/sample_t2i.py of FoundationVision/LlamaGen: cfg-scale 7.5, top-k 1000,"
    " temperature 1, top-p 1 (Sun et al. 2024, arXiv:2406.06525)"
)

_LLAMAGEN_CLASS_SOURCE = (
    "autoregressive/sample/sample_c2i.py of FoundationVision/LlamaGen: cfg-scale 4, top-k 2000,"
    " temperature 1, top-p 1 (Sun et al. 2024, arXiv:2406.06525)"
)


def _janus(
    size: str, parameters: int, layers: int, depth: int, width: int, download: int
) -> ModelCard:
    return ModelCard(
        name=f"janus-pro-{size.lower()}",
        title=f"Janus-Pro {size}",
        family="janus",
        repos=(_from("model", f"deepseek-community/Janus-Pro-{size}", *_HF),),
        grid=(24, 24),
        codes=16384,
        length=576,
        parameters=parameters,
        layers=layers,
        depth=depth,
        kv_values=2 * depth * width,
        working=GIB,
        sampling=Sampling(guidance=5.0, temperature=1.0, top_k=0, top_p=1.0),
        source=_JANUS_SOURCE,
        licence=(
            "code MIT; weights DeepSeek Model License (commercial use allowed, some uses forbidden)"
        ),
        licence_url="https://github.com/deepseek-ai/Janus/blob/main/LICENSE-MODEL",
        download=download,
    )


def _simplear(side: int) -> ModelCard:
    return ModelCard(
        name=f"simplear-{side * 16}",
        title=f"SimpleAR 0.5B {side * 16} px",
        family="simplear",
        repos=(
            _from("model", "Daniel0724/SimpleAR-0.5B-RL", *_HF),
            _from("vq", "nvidia/Cosmos-1.0-Tokenizer-DV8x16x16", "decoder.jit"),
        ),
        grid=(side, side),
        codes=64000,
        length=side * side,
        # 66 million are decoder.jit's, by its size: 132 MB in 16 bits.
        parameters=620_000_000,
        layers=360_000_000,
        depth=24,
        kv_values=2 * 24 * 2 * 64,
        working=(3 if side <= 32 else 4) * GIB,  # LANTERN's table of neighbours takes one
        sampling=Sampling(guidance=6.0, temperature=1.0, top_k=0, top_p=1.0),
        source=(
            "generate.py of wdrink/SimpleAR: cfg-scale 6.0, temperature 1, top-k 64000, top-p 1"
            " (Wang et al. 2025, arXiv:2504.11455)"
        ),
        licence="MIT; decoder of pictures NVIDIA Open Model License (commercial use allowed)",
        licence_url="https://github.com/wdrink/SimpleAR/blob/main/LICENSE",
        download=1_300 * _MB,
    )


def _llamagen(side: int, file: str, drafter: str) -> ModelCard:
    return ModelCard(
        name=f"llamagen-{side * 16}",
        title=f"LlamaGen XL {side * 16} px",
        family="llamagen",
        repos=(
            _from("gpt", "peizesun/llamagen_t2i", file),
            _from("vq", "peizesun/llamagen_t2i", "vq_ds16_t2i.pt"),
            _T5,
        ),
        grid=(side, side),
        codes=16384,
        length=side * side,
        parameters=2_040_000_000,
        layers=730_000_000,
        depth=36,
        kv_values=2 * 36 * 1280,
        # The text encoder stays in float32 where the body is float16, in which it overflows.
        working=3 * GIB,
        sampling=Sampling(guidance=7.5, temperature=1.0, top_k=1000, top_p=1.0),
        source=_LLAMAGEN_SOURCE,
        licence="MIT; text encoder Apache-2.0",
        licence_url=_LLAMAGEN_LICENCE,
        # in float32, and the text encoder's files have its decoder as well
        download=14_800 * _MB,
        drafter=_drafter(drafter, 45_000_000),
    )


def _llamagen_class(
    size: str, side: int, parameters: int, layers: int, depth: int, width: int, download: int
) -> ModelCard:
    """`download` as computed for files in float32."""
    pixels = side * 16
    return ModelCard(
        name=f"llamagen-{size.lower()}-{pixels}",
        title=f"LlamaGen {size} {pixels} px (classes)",
        family="llamagen_class",
        repos=(
            _from("gpt", "FoundationVision/LlamaGen", f"c2i_{size}_{pixels}.pt"),
            _from("vq", "FoundationVision/LlamaGen", "vq_ds16_c2i.pt"),
        ),
        grid=(side, side),
        codes=16384,
        length=side * side,
        parameters=parameters,
        layers=layers,
        depth=depth,
        kv_values=2 * depth * width,
        working=GIB // 2,
        sampling=Sampling(guidance=4.0, temperature=1.0, top_k=2000, top_p=1.0),
        source=_LLAMAGEN_CLASS_SOURCE,
        licence="MIT",
        licence_url=_LLAMAGEN_LICENCE,
        download=download,
        prompts=Prompts.CLASSES,
    )


CARDS: dict[str, ModelCard] = {
    card.name: card
    for card in (
        ModelCard(
            name="embedded",
            title="Embedded model",
            family="embedded",
            repos=(),
            grid=(20, 20),
            codes=1024,
            length=400,
            parameters=10_700_000,
            layers=4_700_000,
            depth=6,
            kv_values=2 * 6 * 256,
            working=GIB // 4,
            sampling=Sampling(guidance=1.5, temperature=1.0, top_k=256, top_p=1.0),
            source="the evaluation in its model card, weights/README.md",
            licence="Apache-2.0",
            licence_url="https://www.apache.org/licenses/LICENSE-2.0",
            prompts=Prompts.SCENES,
            raced="by us",
            fills_in=(Fills.ANY if (WEIGHTS / "infill" / "config.json").exists() else Fills.BELOW),
        ),
        *(
            _llamagen_class(*size)
            for size in (
                ("B", 16, 153_000_000, 85_000_000, 12, 768, 700 * _MB),
                ("B", 24, 153_000_000, 85_000_000, 12, 768, 700 * _MB),
                ("L", 16, 385_000_000, 308_000_000, 24, 1024, 1_700 * _MB),
                ("L", 24, 385_000_000, 308_000_000, 24, 1024, 1_700 * _MB),
                ("XL", 24, 817_000_000, 731_000_000, 36, 1280, 3_400 * _MB),
                ("XXL", 24, 1_454_000_000, 1_359_000_000, 48, 1536, 5_900 * _MB),
                ("3B", 24, 3_139_000_000, 2_989_000_000, 24, 3200, 12_700 * _MB),
            )
        ),
        ModelCard(
            name="randar-l",
            title="RandAR-L 256 px (classes)",
            family="randar",
            repos=(
                _from(
                    "gpt",
                    "ziqipang/RandAR",
                    "randar_0.3b_llamagen_360k_bs_1024_lr_0.0004.safetensors",
                ),
                _from("vq", "FoundationVision/LlamaGen", "vq_ds16_c2i.pt"),
            ),
            grid=(16, 16),
            codes=16384,
            length=256,
            parameters=385_000_000,
            layers=308_000_000,
            depth=24,
            kv_values=2 * 2 * 24 * 1024,
            working=GIB // 2,
            sampling=Sampling(guidance=4.0, temperature=1.0, top_k=0, top_p=1.0),
            source=(
                "sample_c2i.py of ziqipang/RandAR: cfg-scales 1.0 to 4.0, top-k 0, temperature 1,"
                " top-p 1 (Pang et al. 2024, arXiv:2412.01827)"
            ),
            licence="MIT",
            licence_url="https://github.com/ziqipang/RandAR/blob/main/LICENSE",
            download=1_700 * _MB,  # as computed for files in float32
            fills_in=Fills.ANY,
            prompts=Prompts.CLASSES,
            inputs=2,
        ),
        _janus("1B", 1_530_000_000, 1_230_000_000, 24, 2048, 4_200 * _MB),
        _janus("7B", 6_630_000_000, 6_070_000_000, 30, 4096, 14_800 * _MB),
        _llamagen(16, "t2i_XL_stage1_256.pt", "jadohu/llamagen_drafter"),
        _llamagen(32, "t2i_XL_stage2_512.pt", "jadohu/llamagen2_drafter"),
        _simplear(32),
        _simplear(64),
        ModelCard(
            name="emu3",
            title="Emu3-Gen",
            family="emu3",
            repos=(_from("model", "BAAI/Emu3-Gen-hf", *_HF),),
            grid=(90, 90),
            codes=32768,
            length=90 * 91,
            parameters=8_030_000_000,
            layers=6_980_000_000,
            depth=32,
            kv_values=2 * 32 * 8 * 128,
            working=5 * GIB,
            sampling=Sampling(guidance=3.0, temperature=1.0, top_k=2048, top_p=1.0),
            source=(
                "image_generation.py of baaivision/Emu3: classifier_free_guidance 3.0, top_k 2048"
                " (Wang et al. 2024, arXiv:2409.18869)"
            ),
            licence="Apache-2.0",
            licence_url="https://github.com/baaivision/Emu3/blob/main/LICENSE",
            download=35_000 * _MB,  # in float32
        ),
        ModelCard(
            name="anole",
            title="Anole 7B",
            family="chameleon",
            repos=(
                _from("model", _ANOLE, "config.json", "generation_config.json", "model*"),
                _CHAMELEON_VQ,
                _from("text", _ANOLE, *_TOKENIZER),
            ),
            grid=(32, 32),
            codes=8192,
            length=1024,
            parameters=6_820_000_000,
            layers=6_480_000_000,
            depth=32,
            kv_values=2 * 32 * 4096,
            working=GIB,
            sampling=Sampling(guidance=3.0, temperature=0.7, top_k=0, top_p=0.9),
            source=(
                "options of GAIR-NLP/anole, chameleon/inference: text guidance 3.0, temperature"
                " 0.7, top-p 0.9 (Chern et al. 2024, arXiv:2407.06135)"
            ),
            licence="Chameleon Research License: research only, not commercial",
            licence_url=_CHAMELEON_LICENCE,
            download=14_600 * _MB,
            research_only=True,
            drafter=_drafter("jadohu/anole_drafter", 240_000_000),
        ),
        ModelCard(
            name="lumina-768",
            title="Lumina-mGPT 7B 768",
            family="chameleon",
            repos=(
                _from(
                    "model",
                    "Alpha-VLLM/Lumina-mGPT-7B-768",
                    "config.json",
                    "generation_config.json",
                    "model*",
                ),
                _CHAMELEON_VQ,
                # Lumina's own repository has no tokenizer in transformers' form
                _from("text", _ANOLE, *_TOKENIZER),
            ),
            grid=(48, 48),
            codes=8192,
            length=48 * 49,
            parameters=6_820_000_000,
            layers=6_480_000_000,
            depth=32,
            kv_values=2 * 32 * 4096,
            working=2 * GIB,
            sampling=Sampling(guidance=4.0, temperature=1.0, top_k=2000, top_p=1.0),
            source=(
                "lumina_mgpt/generate_examples of Alpha-VLLM/Lumina-mGPT: cfg 4.0, image_top_k"
                " 2000, temperature 1 (Liu et al. 2024, arXiv:2408.02657)"
            ),
            licence=(
                "no licence of its own; made from Chameleon, so Chameleon Research License:"
                " research only, not commercial"
            ),
            licence_url=_CHAMELEON_LICENCE,
            download=14_300 * _MB,
            research_only=True,
            drafter=_drafter("sihwanpark/LANTERN-Lumina-mGPT-7B-768", 240_000_000),
        ),
    )
}
