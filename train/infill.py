"""Stage 5: the target that fills in any cells of a picture, given the picture's other cells.

    python -m train.infill

The training continues from `weights/target`. A scene's sequence is its caption, then the known
cells in raster order, then the masked cells in raster or spread order. The loss is the
cross-entropy of the masked cells alone (Eq. 7 of Guo & Ermon, 2025), weighted like the target's.
Masks look like what people paint: boxes, strokes, halves and scattered cells. Masks are small at
first; the largest share that may be masked grows to the whole picture (the masking-rate warm-up of
App. E.3).

A longer `--minutes` continues from the checkpoint. If there is no checkpoint, `--warm` starts
from `weights/infill`, adapted like the target (train/warm.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Unpack

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from engine.infilling import MASKED, spread_order
from engine.models.embedded.infill import EmbeddedInfill
from engine.models.embedded.networks import EmbeddedVQ
from train.captions import CAPTION, load
from train.loop import DEVICE, LARGER, WARM_RATE, Supply, autocast, stage_parser, train
from train.scenes import Wanted
from train.target import (
    BATCH,
    GRID,
    THING_WEIGHT,
    Drawn,
    Examples,
    batch,
    encoded,
    held_batch,
    load_target,
    optimizers,
)
from train.tokenizer import load_vq
from train.warm import adapt, save_half

LOWEST, FIRST_HIGHEST = 0.02, 0.15  # the lowest share masked, and the highest one at first
WARMUP = 1500 // LARGER  # steps until all of a picture may be masked
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95, 1.0)  # shares masked in the held-out figures
WHOLE = 1 / 8  # the share of scenes that are masked entirely after the warm-up


def box(rng: np.random.Generator) -> np.ndarray:
    """Return a random rectangle, bool [GRID, GRID]."""
    part = np.zeros((GRID, GRID), bool)
    height, width = rng.integers(2, GRID - 3, 2)
    top, left = rng.integers(0, GRID - height + 1), rng.integers(0, GRID - width + 1)
    part[top : top + height, left : left + width] = True
    return part


def stroke(rng: np.random.Generator) -> np.ndarray:
    """Return the trail, bool [GRID, GRID], of a wandering brush that is 1 to 3 cells wide."""
    part, brush = np.zeros((GRID, GRID), bool), rng.integers(1, 4)
    place, angle = rng.uniform(0, GRID, 2), rng.uniform(0, 2 * np.pi)
    for _ in range(rng.integers(4, 24)):
        row, column = place.astype(int).clip(0, GRID - 1)
        part[row : row + brush, column : column + brush] = True
        angle += rng.normal(0, 0.5)
        place = place + np.array([np.sin(angle), np.cos(angle)])
    return part


def scattered(rng: np.random.Generator) -> np.ndarray:
    return rng.random((GRID, GRID)) < 0.03


def half(rng: np.random.Generator) -> np.ndarray:
    """Return a mask of every cell; `paint` keeps a strip of it.

    `paint` keeps as many cells as are wanted, from the top on, and turns the result by a multiple
    of 90 degrees. The strip then lies along one of the four sides.
    """
    return np.ones((GRID, GRID), bool)


PAINTERS: tuple[Callable[[np.random.Generator], np.ndarray], ...] = (box, stroke, half, scattered)


def paint(rng: np.random.Generator, share: float) -> np.ndarray:
    """Return a mask of about `share` of the cells, at least one, bool [400].

    Paintings of one random kind are added until enough cells are masked. Of the last one, only a
    part may be used.
    """
    wanted = max(1, round(share * GRID * GRID))
    painter, turns = PAINTERS[rng.integers(len(PAINTERS))], rng.integers(4)
    mask = np.zeros((GRID, GRID), bool)
    while mask.sum() < wanted:
        new = np.flatnonzero(painter(rng) & ~mask)[: wanted - mask.sum()]
        mask.flat[new] = True
    return np.rot90(mask, int(turns)).reshape(-1).copy()


def shares(rng: np.random.Generator, step: int, count: int) -> np.ndarray:
    """Return the share of cells to mask in each of a batch's `count` scenes, at step `step`.

    The range of shares is divided into `count` parts, and one share is drawn from each. This
    lowers the variance between batches (App. E.2). After the warm-up, one scene in eight is
    masked entirely.
    """
    warm = min(1.0, step / WARMUP)
    highest = FIRST_HIGHEST + (1 - FIRST_HIGHEST) * warm
    drawn = LOWEST + (highest - LOWEST) * (np.arange(count) + rng.random(count)) / count
    return np.where(rng.random(count) < WHOLE * (warm == 1), 1.0, drawn)


def sequences(masks: Tensor, spread: Tensor) -> Tensor:
    """Return the order [B, 400] of each scene's cells: known cells, then masked cells.

    `masks` [B, 400] is true for masked cells. In scenes where `spread` [B] is true, masked
    cells are in spread order. All other cells are in raster order.
    """
    cells = masks.shape[1]
    order = torch.tensor(spread_order((GRID, GRID)), device=masks.device)
    rank = torch.stack([torch.arange(cells, device=masks.device), order.argsort()])
    place = rank[spread.long()] + cells
    return torch.where(masks, place, rank[0]).argsort(1)


def token_loss(
    network: EmbeddedInfill, some: Examples, masks: Tensor, spread: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the cross-entropy of each masked cell, and the cell's index in the flattened codes.

    Both are [N] for the batch's N masked cells, sorted by scene and then by the order in which the
    cells are filled in. The codes are [B, 400]; `masks` and `spread` are as in `sequences`. One
    pass gives the logits of all masked cells. The embedded model computes the same logits, without
    guidance, when it fills in these codes one by one.
    """
    order = sequences(masks, spread)
    masked = masks.gather(1, order)
    target_cells = torch.where(masked, order, MASKED)
    codes = some.codes.gather(1, order)
    first = CAPTION + 1
    captions = torch.arange(first, device=order.device).expand(len(order), -1)
    own = torch.cat([captions, first + order[:, :-1]], 1)
    queries = own.clone()
    queries[:, CAPTION:] = torch.where(masked, CAPTION + order, own[:, CAPTION:])
    with autocast():
        rows = network.embed_codes(codes[:, :-1], order[:, :-1])
        caption = network.embed_caption(some.captions)
        inputs = torch.cat([caption, rows], 1) + F.pad(
            network.embed_asking(target_cells), (0, 0, CAPTION, 0)
        )
        hidden = network.states(inputs, own, queries)[:, CAPTION:]
        logits = network.lm_head(hidden[masked])
    nats = F.cross_entropy(logits.float(), codes[masked], reduction="none")
    places = order + order.shape[1] * torch.arange(len(order), device=order.device)[:, None]
    return nats, places[masked]


def masked_batch(
    tokenizer: Tokenizer, seed: int, warm: bool, step: int
) -> tuple[Drawn, Tensor, Tensor]:
    """Return training batch `step` of stream `seed`, its masks, and which scenes have spread order.

    The masks are bool [B, 400]; the third value is bool [B]. With `warm`, masks may cover the
    whole picture from the first step.
    """
    drawn, rng = batch(tokenizer, seed, None, step), np.random.default_rng((seed, step, 3))
    shown = shares(rng, WARMUP if warm else step, len(drawn.captions))
    masks = torch.from_numpy(np.stack([paint(rng, share) for share in shown]))
    return drawn, masks, torch.from_numpy(rng.random(len(shown)) < 1 / 2)


@torch.compiler.set_stance("force_eager")  # batches of other sizes than those of training
@torch.no_grad()
def held_out_nats(
    network: EmbeddedInfill,
    vq: EmbeddedVQ,
    tokenizer: Tokenizer,
    share: float,
    order: str,
    *,
    batches: int = 2,
    seed: int = 1,
    **wanted: Unpack[Wanted],
) -> float:
    """Return the mean nats per masked cell on held-out scenes, with a `share` of the cells masked.

    Multiplied by the number of masked cells, this mean is the cells' joint negative
    log-likelihood.
    """
    total, count = 0.0, 0
    for step in range(batches):
        some = encoded(vq, held_batch(tokenizer, seed, step, **wanted))
        rng = np.random.default_rng((seed, step, 3))
        masks = np.stack([paint(rng, share) for _ in range(BATCH)])
        spread = torch.full((BATCH,), order == "spread", device=DEVICE)
        nats, _ = token_loss(network, some, torch.from_numpy(masks).to(DEVICE), spread)
        total, count = total + nats.sum().item(), count + len(nats)
    return total / count


def main() -> None:
    args = stage_parser(__doc__, minutes=85, warm=True).parse_args()
    torch.manual_seed(args.seed)
    if args.warm:
        adapt(args.weights)
    tokenizer, vq = load(args.weights / "captions/tokenizer.json"), load_vq(args.weights / "vq")
    folder = args.weights / "infill"
    if args.warm:
        network = EmbeddedInfill.from_pretrained(folder, dtype=torch.float32).to(DEVICE)
    else:
        network = EmbeddedInfill.continued(load_target(args.weights / "target"))

    # Most of a step is element-wise; fused, it takes half the time.
    network.layer_states = torch.compile(network.layer_states, dynamic=False)
    supply = Supply(functools.partial(masked_batch, tokenizer, args.seed, args.warm))

    def loss_of(step: int, fallen: float) -> tuple[Tensor, dict[str, float]]:
        drawn, *parts = supply.batch(step)
        some = encoded(vq, drawn)
        masks, spread = (part.to(DEVICE, non_blocking=True) for part in parts)
        nats, places = token_loss(network, some, masks, spread)
        weighted = some.things & ~some.dropped[:, None]
        weight = 1 + (THING_WEIGHT - 1) * weighted.flatten()[places]
        return (nats * weight).sum() / weight.sum(), {"nats": nats.mean().item()}

    def save() -> None:
        save_half(network, folder)
        for order in ("raster", "spread"):
            losses = [held_out_nats(network, vq, tokenizer, share, order) for share in SHARES]
            listed = ", ".join(f"{x:.3f} at {s:.0%}" for s, x in zip(SHARES, losses, strict=True))
            print(f"\nheld out, {order}: {listed} masked; nats per masked cell")

    # It continues a trained network: at the full rates a small batch forgets what it could draw.
    train("infill", network, optimizers(network, WARM_RATE), loss_of, save, args)


if __name__ == "__main__":
    main()
