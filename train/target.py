"""Stage 2: the target, a small Llama over image codes.

    python -m train.target --minutes 85

The loss is the cross-entropy over the 400 image tokens. Tokens of things count three times, because
most of a textured ground is unpredictable noise. The caption says where the things are, so a
token's weight depends only on caption and position. The optimum at each position is therefore still
the true distribution. One caption in ten is dropped, for guidance. Then only the picture shows
where the things are, so all tokens of that scene count alike.

A longer `--minutes` continues from the checkpoint. If there is no checkpoint, `--warm` starts
from the saved weights, on a CPU at half of the learning rates: at the full rates the loss
climbs back at once (docs/log.md). With `--warm`, hard things are drawn more often. If the saved
weights were trained on a canvas of another size or with other names of things, train/warm.py first
adapts them and the captions' tokenizer.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple, Unpack

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor
from tqdm import tqdm

from engine.models.embedded.networks import EmbeddedTarget, EmbeddedVQ, target_config
from engine.reader.scene import SIDE as GRID
from engine.reader.scene import Layout, Scene
from train.captions import CAPTION, load, save_world, wording
from train.loop import DEVICE, LARGER, WARM_RATE, Supply, autocast, stage_parser, train
from train.muon import Muon
from train.paint import RGB
from train.scenes import Wanted, held_out, render, scene, vocabulary
from train.tokenizer import load_vq, stacked, to_pixels
from train.warm import adapt, save_half

BATCH, DROPOUT, THING_WEIGHT = 16, 0.1, 3.0


class Drawn(NamedTuple):
    """A batch of drawn scenes, before their pictures are encoded.

    Attributes:
        captions: the captions' token ids [B, CAPTION].
        pictures: uint8 [B, 160, 160, 3].
        things: whether each token is in a thing's square, bool [B, 400].
        dropped: whether each caption is dropped, bool [B].
    """

    captions: Tensor
    pictures: Tensor
    things: Tensor
    dropped: Tensor

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, texts: list[str], scenes: list[tuple[Scene, np.ndarray]]
    ) -> Drawn:
        """Return the batch of `scenes` with the captions `texts`; a dropped caption is ""."""
        return cls(
            torch.tensor([encoding.ids for encoding in tokenizer.encode_batch(texts)]),
            stacked([pixels for _, pixels in scenes]),
            torch.stack([boxes(what).any(0) for what, _ in scenes]),
            torch.tensor([not text for text in texts]),
        )


class Examples(NamedTuple):
    """A batch of training examples: `Drawn` with codes [B, 400] in place of the pictures."""

    captions: Tensor
    codes: Tensor
    things: Tensor
    dropped: Tensor


def boxes(what: Scene) -> Tensor:
    """Return whether each token, in raster order, is in each thing's square: bool [things, 400]."""
    inside = torch.zeros(len(what.things), GRID, GRID, dtype=torch.bool)
    for square, (top, left) in zip(inside, what.squares, strict=True):
        square[top : top + what.side, left : left + what.side] = True
    return inside.flatten(1)


def load_target(folder: Path) -> EmbeddedTarget:
    """Load the trained target, on the device, in float32."""
    return EmbeddedTarget.from_pretrained(folder, dtype=torch.float32).to(DEVICE)


@torch.no_grad()
def encoded(vq: EmbeddedVQ, drawn: Drawn) -> Examples:
    """Return the batch `drawn` on the device, with its pictures encoded by `vq`."""
    with autocast():
        codes = vq.encode(to_pixels(drawn.pictures)).flatten(1)
    captions, things, dropped = (
        part.to(DEVICE, non_blocking=True) for part in (drawn.captions, drawn.things, drawn.dropped)
    )
    return Examples(captions, codes, things, dropped)


def batch(tokenizer: Tokenizer, seed: int, shares: np.ndarray | None, step: int) -> Drawn:
    """Return training batch `step` of stream `seed`.

    Things are drawn by `shares`, or uniformly if None.
    """
    count = BATCH * LARGER
    scenes = [scene(seed, i, shares=shares) for i in range(step * count, (step + 1) * count)]
    rng = np.random.default_rng((seed, step, 2))
    texts = [wording(what, rng) for what, _ in scenes]
    dropped = rng.random(count) < DROPOUT
    texts = ["" if drop else text for text, drop in zip(texts, dropped, strict=True)]
    return Drawn.of(tokenizer, texts, scenes)


def held_batch(tokenizer: Tokenizer, seed: int, step: int, **wanted: Unpack[Wanted]) -> Drawn:
    """Return batch `step` of held-out scenes of stream `seed`, with their canonical captions.

    `wanted` are the options of `random_scene`.
    """
    indices = range(step * BATCH, (step + 1) * BATCH)
    scenes = [scene(seed, i, held=True, **wanted) for i in indices]
    return Drawn.of(tokenizer, [what.caption for what, _ in scenes], scenes)


def inputs(target: EmbeddedTarget, some: Examples) -> Tensor:
    """Return the inputs [B, CAPTION + 400, D]: caption, begin-of-image, and all codes but the last.

    The row of each input predicts the token after it. No token follows the last code, so this code
    is left out.
    """
    positions = torch.arange(some.codes.shape[1] - 1, device=some.codes.device)
    return torch.cat(
        [target.embed_caption(some.captions), target.embed_codes(some.codes[:, :-1], positions)], 1
    )


def token_loss(target: EmbeddedTarget, some: Examples) -> Tensor:
    """Return the cross-entropy of each image token in nats, [B, 400]."""
    with autocast():
        hidden = target.model(
            inputs_embeds=inputs(target, some), use_cache=False
        ).last_hidden_state[:, CAPTION:]
        logits = target.lm_head(hidden)
    return F.cross_entropy(
        logits.float().flatten(0, 1), some.codes.flatten(), reduction="none"
    ).view_as(some.codes)


@torch.compiler.set_stance("force_eager")  # batches of other sizes than those of training
@torch.no_grad()
def held_out_nats(
    target: EmbeddedTarget,
    vq: EmbeddedVQ,
    tokenizer: Tokenizer,
    *,
    batches: int = 6,
    seed: int = 1,
    **wanted: Unpack[Wanted],
) -> tuple[list[float], list[float]]:
    """Return two lists of each batch's mean nats per token: inside and outside things' squares.

    The batches are of held-out scenes, which were never trained on.
    """
    things, ground = list[float](), list[float]()
    for step in range(batches):
        some = encoded(vq, held_batch(tokenizer, seed, step, **wanted))
        nats = token_loss(target, some)
        things.append(nats[some.things].mean().item())
        ground.append(nats[~some.things].mean().item())
    return things, ground


@torch.no_grad()
def shares_by_nats(target: EmbeddedTarget, vq: EmbeddedVQ, tokenizer: Tokenizer) -> np.ndarray:
    """Return the shares [things] in which things are drawn for training: hard ones more often.

    A thing's share is proportional to its nats per token, limited to half and three times the mean.
    The nats are measured in two scenes, in each of which the thing stands with three others. The
    ground of these scenes is plain, because the noise of other grounds shows through thin glyphs.

    The shares do not change the true distribution for a caption with things' whole names. They
    change it only where a caption leaves a thing open: a shortened name that several things have,
    or a dropped caption.
    """
    names, plain = vocabulary()[0], list(RGB)
    nats: dict[str, list[float]] = {name: [] for name in names}
    fours = [
        tuple(np.take(names, range(first, first + 4), mode="wrap").tolist())
        for shift in (0, 2)
        for first in range(shift, len(names) + shift, 4)
    ]
    rng, shown = np.random.default_rng(0), []
    for four in fours:
        scenes = [Scene(Layout.FOUR, four, ground) for ground in rng.permutation(plain).tolist()]
        shown.append(next(what for what in scenes if not held_out(what)))
    for first in tqdm(range(0, len(shown), BATCH), desc="nats of things", mininterval=5):
        some = shown[first : first + BATCH]
        pictures = [(what, render(what, rng)) for what in some]
        drawn = Drawn.of(tokenizer, [what.caption for what in some], pictures)
        loss = token_loss(target, encoded(vq, drawn))
        for what, row in zip(some, loss.cpu(), strict=True):
            for name, square in zip(what.things, boxes(what), strict=True):
                nats[name].append(row[square].mean().item())
    means = np.array([np.mean(nats[name]) for name in names])
    shares = np.clip(means / means.mean(), 0.5, 3)
    return shares / shares.sum()


def optimizers(target: EmbeddedTarget, share: float = 1.0) -> list[torch.optim.Optimizer]:
    """Return Muon for the layers' matrices, and AdamW for embeddings, head and norms.

    `share` multiplies the peak learning rates. Caption and slot embeddings have twice the rate of
    AdamW's other parameters. Most caption tokens are in few scenes, so their embeddings are seldom
    trained.
    """
    matrices = [p for p in target.model.layers.parameters() if p.ndim == 2]
    tables = [target.captions.weight, target.slots.weight]
    rest = [p for p in target.parameters() if not any(p is q for q in (*matrices, *tables))]
    return [
        Muon(matrices, lr=4e-3 * share, weight_decay=0.05),
        torch.optim.AdamW(
            [{"params": tables, "lr": 4e-3 * share}, {"params": rest, "lr": 2e-3 * share}],
            weight_decay=0.0,
            betas=(0.9, 0.98),
        ),
    ]


@torch.no_grad()
def place_slots(target: EmbeddedTarget) -> None:
    """Initialise each image slot's embedding as the sum of a row's and a column's embedding.

    The row and the column are those of the token that the slot predicts. From the first step,
    weights learnt at one place then serve other places too.
    """
    first = target.config.caption_slots
    axes = torch.randn(2, GRID, target.config.hidden_size, device=target.slots.weight.device) * 0.05
    together = (axes[0][:, None] + axes[1][None]).flatten(0, 1)
    target.slots.weight[first : first + GRID * GRID] = together


def main() -> None:
    args = stage_parser(__doc__, minutes=85, warm=True).parse_args()
    torch.manual_seed(args.seed)
    folder = args.weights / "target"
    if args.warm:
        adapt(args.weights)
    tokenizer = load(args.weights / "captions/tokenizer.json")
    save_world(args.weights / "world.json")
    vq = load_vq(args.weights / "vq")
    if args.warm:
        target = load_target(folder)
    else:
        config = target_config(tokenizer.get_vocab_size())
        target = EmbeddedTarget(config).to(DEVICE)
        place_slots(target)

    shares = shares_by_nats(target, vq, tokenizer) if args.warm else None
    if DEVICE.type == "cpu":
        # The fused kernel's backward pass is slow on a CPU; compiled plain attention takes two
        # thirds of its time.
        target.set_attn_implementation("eager")
    for layer in target.model.layers:
        # Three fifths of a step are element-wise; fused, it takes half the time.
        layer.compile(dynamic=False)
    supply = Supply(functools.partial(batch, tokenizer, args.seed, shares))

    def loss_of(step: int, fallen: float) -> tuple[Tensor, dict[str, float]]:
        some = encoded(vq, supply.batch(step))
        nats = token_loss(target, some)
        weight = 1 + (THING_WEIGHT - 1) * (some.things & ~some.dropped[:, None])
        figures = {
            "things": nats[some.things].mean().item(),
            "ground": nats[~some.things].mean().item(),
        }
        return (nats * weight).sum() / weight.sum(), figures

    def save() -> None:
        save_half(target, folder)
        things, ground = map(np.mean, held_out_nats(target, vq, tokenizer))
        print(f"\nheld out: things {things:.3f}, ground {ground:.3f} nats per token")

    optimizer_list = optimizers(target, WARM_RATE if args.warm else 1.0)
    train("target", target, optimizer_list, loss_of, save, args)


if __name__ == "__main__":
    main()
