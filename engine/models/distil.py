"""Distils a preview decoder from a model's own VQ decoder.

This file has the loss and the initial weights, which `train/preview.py` uses too. It also fits
preview decoders for models that ship without one, in a bounded number of steps, and keeps these
decoders in files.

Public models come without pictures, so their preview decoders are fitted on random grids. How well
this works has been measured on the embedded model alone, on the recorded races' pictures (`python
-m train.preview --figures`). A preview decoder fitted on random grids has a PSNR of 23.3 dB to the
VQ decoder, or 21.5 dB after a CPU's shorter fit. The shipped preview decoder, trained on scenes,
reaches 26.6 dB. Pictures with one colour per code reach 18.5 dB.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from engine.models.base import ImageModel
from engine.models.neighbours import neighbours
from engine.models.preview import WIDTH, PreviewDecoder
from engine.models.supply.card import ModelError
from engine.models.supply.progress import Phase, Progress, Report

VERSION = 1  # of the network and of the fit; files of other versions are not read
RATE, WARMUP = 3e-3, 50  # Adam's peak learning rate, and the steps until it
DRAWING = 0.5  # share of the progress until the VQ decoder has drawn; then come the steps
SHRINK = 4.0  # weight of a patch's prediction, in occurrences of its code
# In random grids: how many codes count as near a code, itself included, and the largest share of
# cells whose codes are replaced by any codes.
NEAR, STRAY = 17, 0.2

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Fit:
    """The size of a fit: `steps` of Adam on `grids` grids of at most `side` x `side` tokens."""

    grids: int
    side: int
    steps: int


WHOLE = Fit(256, 24, 600)
# For a VQ decoder that takes seconds per picture. Drawing takes about a minute: the grids have as
# many tokens as two dozen pictures of 16 x 16.
SHORT = Fit(96, 8, 300)


def as_pixels(pictures: Tensor) -> Tensor:
    """Convert pictures uint8 [B, H, W, 3] to pixels [B, 3, H, W] in -1 .. 1."""
    return pictures.movedim(-1, 1).float() / 127.5 - 1


def loss(network: PreviewDecoder, codes: Tensor, pictures: Tensor, known: Tensor) -> Tensor:
    """Return a network's mean squared error over the known cells of grids.

    `codes` [B, h, w] has the grids, and `known` their known cells (bool [B, h, w]). `pictures` has
    the VQ decoder's picture of each grid, uint8 [B, H, W, 3].
    """
    errors = (network(codes) - as_pixels(pictures)).square().mean(1)
    errors = F.avg_pool2d(errors, network.scale)  # one mean per cell
    return (errors * known).sum() / known.sum()


def half_made(codes: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Keep the first `count` codes of grids [B, h, w]; return the new grids and the known cells.

    `count` is at least 1. Each other cell repeats the cell above it, or in the first row the cell
    before it, as in the grid of a race's unfinished picture. The known cells are bool [B, h, w].
    """
    rows, columns = codes.shape[1:]
    cells = torch.arange(rows * columns, device=codes.device)
    above = (cells - count) // columns + 1  # rows from a cell up to the known one above it
    source = torch.where(cells < count, cells, cells - columns * above)
    source = torch.where(source < 0, count - 1, source)
    filled = codes.flatten(1)[:, source].view_as(codes)
    return filled, (cells < count).view(rows, columns).expand_as(codes)


def canvases(grids: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Make every other grid half-made, like the grids that a race shows.

    Returns the grids to distil from [N, h, w], and their known cells (bool [N, h, w]).
    """
    codes, known, cells = grids.clone(), torch.ones_like(grids, dtype=torch.bool), grids[0].numel()
    for i in range(1, len(grids), 2):
        count = int(torch.randint(1, cells, (), generator=generator))
        codes[i : i + 1], known[i : i + 1] = half_made(grids[i : i + 1], count)
    return codes, known


@torch.no_grad()
def start(network: PreviewDecoder, codebook: Tensor, codes: Tensor, pictures: Tensor) -> None:
    """Initialise a network with a table of patches that is fitted to pictures.

    `pictures`, uint8 [N, H, W, 3], are the VQ decoder's pictures of the grids `codes` [N, h, w]. A
    code's patch is the mean of the code's pixels in these pictures, shrunk towards a prediction.
    The prediction is a linear map of the code's vector in the codebook [V, D], fitted by least
    squares. A code that occurs in no grid gets the prediction alone. A code's features are the
    coordinates of its patch along the principal components of all patches, rescaled.
    """
    vectors = F.pad(codebook.float(), (0, 1), value=1.0)
    size = network.patches.embedding_dim
    sums = vectors.new_zeros(len(vectors), size)
    for some, shown in zip(torch.split(codes, 32), torch.split(pictures, 32), strict=True):
        patches = F.pixel_unshuffle(as_pixels(shown), network.scale).movedim(1, -1)
        sums.index_add_(0, some.flatten(), patches.reshape(-1, size))
    counts = torch.bincount(codes.flatten(), minlength=len(vectors))[:, None].float()
    mean = sums.sum(0) / counts.sum()
    sums -= counts * mean
    ridge = torch.eye(vectors.shape[1], device=vectors.device)
    predicted = vectors @ torch.linalg.solve(
        (counts * vectors).T @ vectors + ridge, vectors.T @ sums
    )
    patches = predicted + (sums - counts * predicted) / (counts + SHRINK)
    network.patches.weight.copy_(patches)
    network.head.load_state_dict({"weight": torch.zeros_like(network.head.weight), "bias": mean})
    left, values, _ = torch.linalg.svd(patches, full_matrices=False)
    # A compromise between components of equal scale, whose small ones are noise, and of true scale.
    components = (left * values.sqrt())[:, :WIDTH]
    network.features.weight.mul_(0.1)
    network.features.weight[:, : components.shape[1]] = components / components.std()


def fit(
    pixels: Callable[[np.ndarray], np.ndarray],
    codebook: Tensor,
    grids: Tensor,
    *,
    steps: int,
    batch: int = 8,
    report: Callable[[float], None] = lambda fraction: None,
) -> PreviewDecoder:
    """Return a preview decoder distilled from `pixels` on grids [N, h, w].

    `canvases` makes every other grid half-made. The fit begins with `start` and takes `steps` steps
    of Adam, on the device of the codebook [V, D]. `pixels` turns codes int [B, h, w] into uint8
    [B, H, W, 3], as `ImageModel.pixels` does. `report` gets the fraction of the fit that is done.
    """
    device, generator = codebook.device, torch.Generator().manual_seed(0)
    codes, known = (some.to(device) for some in canvases(grids, generator))
    drawn = []
    for done, some in enumerate(torch.split(codes, batch), 1):
        drawn.append(torch.from_numpy(pixels(some.cpu().numpy())).to(device))
        report(DRAWING * done * batch / len(codes))
    pictures = torch.cat(drawn)
    network = PreviewDecoder(len(codebook), pictures.shape[1] // grids.shape[1]).to(device)
    start(network, codebook, codes, pictures)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, betas=(0.9, 0.98))
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min((step + 1) / WARMUP, 1.0, 2 * (1 - step / steps))
        chosen = torch.randint(len(codes), (batch,), generator=generator).to(device)
        optimizer.zero_grad(set_to_none=True)
        error = loss(network, codes[chosen], pictures[chosen], known[chosen])
        torch.autograd.backward(error)
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        report(DRAWING + (1 - DRAWING) * (step + 1) / steps)
    return network.eval().requires_grad_(False)


def random_grids(model: ImageModel, size: Fit, generator: torch.Generator) -> Tensor:
    """Return random grids int [N, h, w] that are smooth in places, as pictures are.

    Each grid has 1 to 256 random points with a random code each. A cell gets the nearest point's
    code. Then some cells get another code, near their own in the codebook. Last, some cells get any
    code.
    """
    rows, columns = (min(side, size.side) for side in model.grid)
    codes, cells = model.vocab_size, rows * columns
    near = neighbours(model.codebook, min(NEAR, codes)).long().cpu()
    places = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).float()
    grids = []
    for _ in range(size.grids):
        points = int(256 ** torch.rand((), generator=generator))
        corners = torch.rand(points, 2, generator=generator) * torch.tensor([rows, columns])
        grid = torch.randint(codes, (points,), generator=generator)
        grid = grid[torch.cdist(places, corners).argmin(1)]
        for most, other in (
            (1.0, near[grid, torch.randint(near.shape[1], (cells,), generator=generator)]),
            (STRAY, torch.randint(codes, (cells,), generator=generator)),
        ):
            share = most * torch.rand((), generator=generator)
            grid = torch.where(torch.rand(cells, generator=generator) < share, other, grid)
        grids.append(grid.view(rows, columns))
    return torch.stack(grids)


def fit_random(
    model: ImageModel, size: Fit, report: Report = lambda progress: None
) -> PreviewDecoder:
    """Return a preview decoder fitted on random grids, for a model that comes without pictures."""
    report(Progress(Phase.FITTING, 0.0))
    return fit(
        model.pixels,
        model.codebook.float(),
        random_grids(model, size, torch.Generator().manual_seed(0)),
        steps=size.steps,
        report=lambda fraction: report(Progress(Phase.FITTING, fraction)),
    )


def fitted(
    model: ImageModel, folder: Path, report: Report = lambda progress: None
) -> PreviewDecoder | None:
    """Return the decoder of `fit_random`, read from `folder` if an earlier run wrote it there.

    The file is named by the model's weights and codebook. A file that cannot be read, or that
    belongs to another model, is replaced. If the file cannot be written, a warning is logged.
    Returns None if there is not enough memory.
    """
    codebook = model.codebook.float()
    size = SHORT if model.slow_pixels else WHOLE
    digest = hashlib.sha256(f"{VERSION} {size} {model.name} {model.weights}".encode())
    digest.update(codebook.cpu().numpy().tobytes())
    identity = digest.hexdigest()[:16]
    file = folder / f"{model.name}-{identity}.safetensors"
    if (kept := _kept(file, identity, codebook.device)) is not None:
        return kept
    try:
        network = fit_random(model, size, report)
    except (torch.OutOfMemoryError, MemoryError):
        log.warning("no memory is left to fit a preview decoder of %s", model.name)
        return None
    # Another process may be reading or writing the file.
    written = file.with_suffix(f".{os.getpid()}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        network.save(written, {"identity": identity})
        written.replace(file)
    except (OSError, SafetensorError) as error:
        log.warning("the preview decoder of %s could not be kept: %s", model.name, error)
    return network


def _kept(file: Path, identity: str, device: torch.device) -> PreviewDecoder | None:
    """Return a file's decoder; None if the file is missing, damaged or another model's."""
    try:
        with safe_open(file, "pt") as opened:
            if (opened.metadata() or {}).get("identity") != identity:
                return None
        return PreviewDecoder.load(file, device)
    except (OSError, SafetensorError, ModelError):
        return None
