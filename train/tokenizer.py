"""Stage 1: the VQ-VAE.

    python -m train.tokenizer --minutes 40 --fall 10
    python -m train.tokenizer --decoder --minutes 60 --fall 15

`--warm` begins from the saved weights. Half of the scenes have four things, because more things are
learnt from a scene that shows more of them. When training starts from saved weights, things are
drawn in proportion to their errors.

The loss is the sum of L1, L1 of the horizontal and vertical differences, the mean over scenes of
log squared error, and commitment. As in PSNR, the log makes an error on a plain ground weigh more
than an error in a texture, which is also how the eye sees it. Each code is an exponential moving
average of the features assigned to it. Until the learning rate falls, unused codes are revived from
features with large errors.

`--decoder` trains the decoder alone, with encoder and codebook frozen. Every token keeps its
meaning, so a target can be trained at the same time. A saved decoder that is narrower or
shallower than `VQConfig` grows first.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.models.embedded.networks import EmbeddedVQ, Residual, VQConfig
from engine.reader.scene import Layout, Scene
from train.glyphs import PEOPLE
from train.loop import DEVICE, LARGER, Supply, autocast, stage_parser, train
from train.scenes import PATCH, render, scene, vocabulary

BATCH, DECAY, REVIVE_EVERY = 8, 0.99, 50
LOG = 0.05  # weight of the log squared error


def stacked(pictures: list[np.ndarray]) -> Tensor:
    """Stack pictures uint8 [SIZE, SIZE, 3] into [B, SIZE, SIZE, 3]."""
    return torch.from_numpy(np.stack(pictures))


def to_pixels(pictures: Tensor) -> Tensor:
    """Turn pictures uint8 [B, SIZE, SIZE, 3] into pixels [B, 3, SIZE, SIZE] in -1..1 on DEVICE."""
    pixels = pictures.to(DEVICE, non_blocking=True).permute(0, 3, 1, 2).float()
    return (pixels / 127.5 - 1).contiguous(memory_format=torch.channels_last)


def batch(seed: int, shares: np.ndarray | None, step: int) -> Tensor:
    """Return training batch `step`: pictures uint8 [B, SIZE, SIZE, 3] of scenes from step * B on.

    Every other scene has four things. Things are drawn by `shares`, or uniformly if None.
    """
    count, layouts = BATCH * LARGER, (Layout.FOUR, None)
    indices = range(step * count, (step + 1) * count)
    return stacked([scene(seed, i, shares=shares, layout=layouts[i % 2])[1] for i in indices])


def differences(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[..., 1:, :] - x[..., :-1, :], x[..., :, 1:] - x[..., :, :-1]


@torch.no_grad()
def psnr(vq: EmbeddedVQ, shown: list[tuple[Scene, np.ndarray]]) -> list[tuple[str, float]]:
    """Return each shown thing's name and the PSNR in dB of its square, as `vq` reconstructs it."""
    values = []
    for first in range(0, len(shown), BATCH):
        some = shown[first : first + BATCH]
        pixels = to_pixels(stacked([picture for _, picture in some]))
        error = (vq.decode(vq.encode(pixels)).float().clamp(-1, 1) - pixels).square().mean(1) / 4
        for (what, _), square_error in zip(some, error, strict=True):
            for name, (row, column) in zip(what.things, what.squares, strict=True):
                top, left = row * PATCH, column * PATCH
                side = what.side * PATCH
                square = square_error[top : top + side, left : left + side]
                values.append((name, -10 * square.mean().log10().item()))
    return values


def shares_by_error(vq: EmbeddedVQ) -> np.ndarray:
    """Return the shares [things] in which things are drawn for training.

    A thing's share is proportional to its root mean square error on a grey ground, limited to
    half and three times the mean.
    """
    names = vocabulary()[0]
    fours = [tuple(np.take(names, range(i, i + 4), mode="wrap")) for i in range(0, len(names), 4)]
    shown = [Scene(Layout.FOUR, four, "grey") for four in fours]
    values = dict(psnr(vq, [(what, render(what, np.random.default_rng(0))) for what in shown]))
    error = [10 ** (-values[name] / 20) for name in names]
    shares = np.clip(np.array(error) / np.mean(error), 0.5, 3)
    return shares / shares.sum()


def load_vq(folder: Path) -> EmbeddedVQ:
    """Load the saved tokenizer, frozen, on the device, in float32."""
    return (
        EmbeddedVQ.from_pretrained(folder, dtype=torch.float32)
        .to(DEVICE)
        .eval()
        .requires_grad_(False)
    )


@torch.no_grad()
def grown(saved: EmbeddedVQ) -> EmbeddedVQ:
    """Return a tokenizer of `VQConfig`'s sizes that decodes like the saved one.

    The saved tokenizer must not be larger than `VQConfig`. New channels and blocks give zeros
    at first (Net2Net, arXiv:1511.05641); new codes are copies of the old codes, in order.
    """
    vq = EmbeddedVQ(VQConfig()).to(DEVICE)
    vq.encoder = saved.encoder
    # Of equal codes the first is always chosen, so the copies stay unused and are revived.
    vq.codebook.copy_(saved.codebook[torch.arange(vq.config.codes) % saved.config.codes])
    layers, first = list(vq.decoder), 1 + saved.config.depth
    for writes in (layers[0], *(x.outer for x in layers if isinstance(x, Residual))):
        for parameter in writes.parameters():
            parameter.zero_()
    for old, new in zip(saved.decoder, layers[:first] + layers[1 + vq.config.depth :], strict=True):
        for kept, parameter in zip(old.parameters(), new.parameters(), strict=True):
            parameter[tuple(map(slice, kept.shape))] = kept
        if isinstance(old, Residual):
            # The mean square now covers more channels.
            new.norm.weight *= (len(old.norm.weight) / len(new.norm.weight)) ** 0.5
    return vq


@torch.no_grad()
def update_codebook(vq: EmbeddedVQ, features: Tensor, chosen: Tensor, *, revive: bool) -> None:
    """Move each code towards the mean of the features [N, D] assigned to it by `chosen` [N].

    With `revive`, each code unused for REVIVE_EVERY steps moves to one of the features. A feature
    is drawn with a probability proportional to its squared error.
    """
    counts = torch.bincount(chosen, minlength=len(vq.codebook)).float()
    sums = torch.zeros_like(vq.codebook).index_add_(0, chosen, features)
    vq.mass.mul_(DECAY).add_(counts, alpha=1 - DECAY)
    moved = F.normalize(
        vq.codebook * (vq.mass - (1 - DECAY) * counts)[:, None] + (1 - DECAY) * sums, dim=-1
    )
    vq.codebook.copy_(torch.where(counts[:, None] > 0, moved, vq.codebook))
    vq.unused.add_(1).masked_fill_(counts > 0, 0)
    if revive and len(dead := (vq.unused >= REVIVE_EVERY).nonzero()[:, 0]):
        far = (features - vq.codebook[chosen]).square().sum(-1)
        vq.codebook[dead] = features[torch.multinomial(far, len(dead))]
        vq.mass[dead], vq.unused[dead] = 1.0, 0.0


def main() -> None:
    parser = stage_parser(__doc__, minutes=40, weights="weights/vq", warm=True)
    parser.add_argument(
        "--decoder", action="store_true", help="train only the saved weights' decoder"
    )
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    warm = args.warm or args.decoder
    vq = grown(load_vq(args.weights)) if warm else EmbeddedVQ(VQConfig()).to(DEVICE)
    shares = shares_by_error(vq) if warm else None
    vq = vq.to(memory_format=torch.channels_last).requires_grad_(True)
    codes = vq.config.codes
    vq.codebook.requires_grad_(False)
    vq.encoder.requires_grad_(not args.decoder)
    vq.register_buffer("mass", torch.ones(codes, device=DEVICE))
    vq.register_buffer("unused", torch.zeros(codes, device=DEVICE))

    supply = Supply(functools.partial(batch, args.seed + args.decoder, shares))

    def loss_of(step: int, fallen: float) -> tuple[Tensor, dict[str, float]]:
        pixels = to_pixels(supply.batch(step))
        with torch.set_grad_enabled(not args.decoder), autocast():
            raw = vq.encoder(pixels)
        features = F.normalize(raw.float(), dim=1)
        flat = features.detach().movedim(1, -1).reshape(-1, vq.config.code_dim)
        book = F.normalize(vq.codebook, dim=-1)
        with torch.no_grad():
            chosen = (flat @ book.T).argmax(-1)
        quantised = book[chosen].view(*features.movedim(1, -1).shape).movedim(-1, 1)
        with autocast():
            drawn = vq.decoder(features + (quantised - features).detach())
        error = drawn.float() - pixels
        edges = sum(d.abs().mean() for d in differences(error))
        squared = error.square().mean((1, 2, 3))
        commitment = (features - quantised).square().sum(1).mean()
        loss = error.abs().mean() + LOG * squared.log().mean() + 0.5 * edges + 0.25 * commitment
        if not args.decoder:
            update_codebook(vq, flat, chosen, revive=fallen == 0 and step % REVIVE_EVERY == 0)
        db = -10 * (squared.detach() / 4).log10().mean().item()
        return loss, {"db": db, "used": float((vq.unused < 2 * REVIVE_EVERY).sum())}

    def save() -> None:
        weights = {k: v.half() for k, v in vq.state_dict().items() if k not in ("mass", "unused")}
        vq.save_pretrained(args.weights, state_dict=weights)
        values = psnr(vq, [scene(1, index, held=True) for index in range(48)])
        people = [value for name, value in values if name in PEOPLE]
        mean = np.mean([value for _, value in values])
        print(f"\nunseen scenes' things: {mean:.2f} dB, people {np.mean(people):.2f}")

    learnt = [p for p in vq.parameters() if p.requires_grad]
    rate = 5e-4 if args.warm else 1e-3
    optimizer = torch.optim.AdamW(learnt, lr=rate, weight_decay=0.01, betas=(0.9, 0.98))
    name = "decoder" if args.decoder else "tokenizer"
    train(name, vq, [optimizer], loss_of, save, args)


if __name__ == "__main__":
    main()
