"""Stage 1: the VQ-VAE. `python -m train.tokenizer --minutes 40 --fall 10`, then `--decoder
--minutes 60 --fall 15`

Loss: L1, L1 of the horizontal and vertical differences, and the mean over scenes of log squared
error (as in PSNR: an error on a plain ground weighs more than one in a texture, as it does to the
eye), plus commitment. The codebook is an exponential moving average of the features assigned to
each code; unused codes are revived from the features with the largest errors, until the learning
rate falls.

`--decoder` trains the decoder alone, with encoder and codebook frozen: every token keeps its
meaning, so a target can be trained at the same time. A saved decoder narrower or shallower than
`VQConfig` asks for grows first.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.models.embedded_networks import EmbeddedVQ, Residual, VQConfig
from train.loop import DEVICE, stage_parser, train
from train.scenes import scene

BATCH, DECAY, REVIVE_EVERY = 16, 0.99, 50
LOG = 0.05  # weight of the log squared error


def batch(seed: int, step: int, *, size: int = BATCH, held_out: bool = False) -> Tensor:
    """Pixels [size, 3, 128, 128] in -1..1 of scenes step * size and following."""
    pixels = np.stack([scene(seed, step * size + i, held_out=held_out)[1] for i in range(size)])
    picture = torch.from_numpy(pixels).to(DEVICE).permute(0, 3, 1, 2).float() / 127.5 - 1
    return picture.contiguous(memory_format=torch.channels_last)


def differences(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[..., 1:, :] - x[..., :-1, :], x[..., :, 1:] - x[..., :, :-1]


@torch.no_grad()
def psnr(vq: EmbeddedVQ, *, scenes: int = 96, seed: int = 1) -> tuple[list[float], int]:
    """Each unseen scene's PSNR in dB, and how many codes they used."""
    values, used = list[float](), set[int]()
    for step in range(scenes // BATCH):
        pixels = batch(seed, step, held_out=True)
        codes = vq.encode(pixels)
        used.update(codes.unique().tolist())
        error = ((vq.decode(codes).float().clamp(-1, 1) - pixels) / 2).square().mean((1, 2, 3))
        values += (-10 * error.log10()).tolist()
    return values, len(used)


def load_vq(folder: Path) -> EmbeddedVQ:
    """The saved tokenizer, frozen, on the device, in float32."""
    return (
        EmbeddedVQ.from_pretrained(folder, dtype=torch.float32)
        .to(DEVICE)
        .eval()
        .requires_grad_(False)
    )


@torch.no_grad()
def grown(saved: EmbeddedVQ) -> EmbeddedVQ:
    """A tokenizer of `VQConfig`'s sizes, none less than the saved one's, that decodes as that does:
    new channels and blocks give zeros at first (Net2Net, arXiv:1511.05641)."""
    vq = EmbeddedVQ(VQConfig()).to(DEVICE)
    vq.encoder, vq.codebook = saved.encoder, saved.codebook
    layers, first = list(vq.decoder), 1 + saved.config.depth
    for writes in (layers[0], *(x.outer for x in layers if isinstance(x, Residual))):
        for parameter in writes.parameters():
            parameter.zero_()
    for old, new in zip(saved.decoder, layers[:first] + layers[1 + vq.config.depth :], strict=True):
        for kept, parameter in zip(old.parameters(), new.parameters(), strict=True):
            parameter[tuple(map(slice, kept.shape))] = kept
        if isinstance(old, Residual):
            # The mean square is of more channels now.
            new.norm.weight *= (len(old.norm.weight) / len(new.norm.weight)) ** 0.5
    return vq


@torch.no_grad()
def update_codebook(vq: EmbeddedVQ, features: Tensor, chosen: Tensor, *, revive: bool) -> None:
    """Moves each code towards the mean of the features [N, D] assigned to it by `chosen` [N]. With
    `revive`, codes unused since the last time move to features drawn with probability proportional
    to their squared error."""
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
    parser = stage_parser(__doc__, minutes=40, weights="weights/vq")
    parser.add_argument(
        "--decoder", action="store_true", help="the decoder alone, of the saved weights"
    )
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    vq = grown(load_vq(args.weights)) if args.decoder else EmbeddedVQ(VQConfig()).to(DEVICE)
    vq = vq.to(memory_format=torch.channels_last).requires_grad_(True)
    codes = vq.config.codes
    vq.codebook.requires_grad_(False)
    vq.encoder.requires_grad_(not args.decoder)
    vq.register_buffer("mass", torch.ones(codes, device=DEVICE))
    vq.register_buffer("unused", torch.zeros(codes, device=DEVICE))

    def loss_of(step: int, fallen: float) -> tuple[Tensor, dict[str, float]]:
        pixels = batch(args.seed + args.decoder, step)
        with torch.set_grad_enabled(not args.decoder), torch.autocast(DEVICE.type, torch.bfloat16):
            raw = vq.encoder(pixels)
        features = F.normalize(raw.float(), dim=1)
        flat = features.detach().movedim(1, -1).reshape(-1, vq.config.code_dim)
        book = F.normalize(vq.codebook, dim=-1)
        with torch.no_grad():
            chosen = (flat @ book.T).argmax(-1)
        quantised = book[chosen].view(*features.movedim(1, -1).shape).movedim(-1, 1)
        with torch.autocast(DEVICE.type, torch.bfloat16):
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
        values, used = psnr(vq)
        print(f"\nunseen scenes: {np.mean(values):.2f} dB, {used} codes used")

    learnt = [p for p in vq.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learnt, lr=1e-3, weight_decay=0.01, betas=(0.9, 0.98))
    name = "decoder" if args.decoder else "tokenizer"
    train(name, vq, [optimizer], loss_of, save, args)


if __name__ == "__main__":
    main()
