"""Stage 2: the target, a small Llama over image codes. `python -m train.target --minutes 85`

Cross-entropy over the 256 image tokens. Tokens under the glyph count three times, because most of a
textured ground is unpredictable noise; the weight depends on caption and position alone, so the
optimum at each is still the true distribution. Where the caption is dropped (one scene in ten, for
guidance) all tokens count alike, for the same reason.

A longer `--minutes` continues from the checkpoint; `--warm` starts from the saved weights where
that is gone, at a third of the rates: at the full ones the loss climbs back at once (docs/log.md).
It draws hard glyphs more often.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor
from tqdm import tqdm
from transformers import PreTrainedModel

from engine.models.embedded_networks import EmbeddedTarget, EmbeddedVQ, target_config
from train.captions import CAPTION, load, save_world, wording
from train.glyphs import SIDE
from train.loop import DEVICE, autocast, stage_parser, train
from train.scenes import COLOURS, PLACES, SIZE, Words, render, scene, vocabulary
from train.tokenizer import load_vq

BATCH, DROPOUT, GLYPH_WEIGHT = 16, 0.1, 3.0
PATCH, GRID = 8, SIZE // 8


@dataclass(frozen=True, slots=True)
class Examples:
    """Captions [B, CAPTION], codes [B, 256], the tokens under the glyph's square, bool [B, 256],
    and the dropped captions, bool [B]."""

    captions: Tensor
    codes: Tensor
    glyph: Tensor
    dropped: Tensor


def box(place: str) -> Tensor:
    """The tokens in the glyph's square, in raster order: bool [256]."""
    top, left = (edge // PATCH for edge in PLACES[place])
    inside = torch.zeros(GRID, GRID, dtype=torch.bool)
    inside[top : top + SIDE // PATCH, left : left + SIDE // PATCH] = True
    return inside.flatten()


def load_target(folder: Path) -> EmbeddedTarget:
    """The trained target, on the device, in float32."""
    return EmbeddedTarget.from_pretrained(folder, dtype=torch.float32).to(DEVICE)


@torch.no_grad()
def encoded(
    vq: EmbeddedVQ, tokenizer: Tokenizer, texts: list[str], scenes: list[tuple[Words, np.ndarray]]
) -> Examples:
    """Scenes under the captions `texts`, of which the empty ones are the dropped."""
    ids = torch.tensor([encoding.ids for encoding in tokenizer.encode_batch(texts)])
    pixels = (
        torch.from_numpy(np.stack([pixels for _, pixels in scenes])).to(DEVICE).permute(0, 3, 1, 2)
    )
    with autocast():
        codes = vq.encode(pixels.float() / 127.5 - 1).flatten(1)
    glyph = torch.stack([box(what.place) for what, _ in scenes])
    dropped = torch.tensor([not text for text in texts])
    return Examples(ids.to(DEVICE), codes, glyph.to(DEVICE), dropped.to(DEVICE))


def examples(
    vq: EmbeddedVQ,
    tokenizer: Tokenizer,
    seed: int,
    step: int,
    *,
    held_out: bool = False,
    shares: np.ndarray | None = None,
) -> Examples:
    """Batch number `step` of stream `seed`, its glyphs drawn by `shares` (alike if None). Held-out
    ones have canonical captions, none dropped."""
    indices = range(step * BATCH, (step + 1) * BATCH)
    scenes = [scene(seed, index, held_out=held_out, shares=shares) for index in indices]
    rng = np.random.default_rng((seed, step, 2))
    texts = [what.caption() if held_out else wording(what, rng) for what, _ in scenes]
    dropped = rng.random(BATCH) < (0 if held_out else DROPOUT)
    texts = ["" if drop else text for text, drop in zip(texts, dropped, strict=True)]
    return encoded(vq, tokenizer, texts, scenes)


def inputs(target: EmbeddedTarget, some: Examples) -> Tensor:
    """The inputs of all slots but the last, whose row predicts nothing: [B, CAPTION + 256, D]."""
    positions = torch.arange(some.codes.shape[1] - 1, device=some.codes.device)
    return torch.cat(
        [target.embed_caption(some.captions), target.embed_codes(some.codes[:, :-1], positions)], 1
    )


def token_loss(target: EmbeddedTarget, some: Examples) -> Tensor:
    """Cross-entropy of every image token, nats [B, 256]."""
    with autocast():
        hidden = target.model(
            inputs_embeds=inputs(target, some), use_cache=False
        ).last_hidden_state[:, CAPTION:]
        logits = target.lm_head(hidden)
    return F.cross_entropy(
        logits.float().flatten(0, 1), some.codes.flatten(), reduction="none"
    ).view_as(some.codes)


@torch.no_grad()
def held_out_nats(
    target: EmbeddedTarget, vq: EmbeddedVQ, tokenizer: Tokenizer, *, batches: int = 6, seed: int = 1
) -> tuple[list[float], list[float]]:
    """Each batch's mean nats per token on triples never trained on, in the glyph's square and
    outside it."""
    glyph, ground = list[float](), list[float]()
    for step in range(batches):
        some = examples(vq, tokenizer, seed, step, held_out=True)
        nats = token_loss(target, some)
        glyph.append(nats[some.glyph].mean().item())
        ground.append(nats[~some.glyph].mean().item())
    return glyph, ground


@torch.no_grad()
def shares_by_nats(target: EmbeddedTarget, vq: EmbeddedVQ, tokenizer: Tokenizer) -> np.ndarray:
    """The shares in which glyphs are drawn for training, [glyphs], in proportion to the nats of
    each, at the centre of the plain grounds (others' noise shows through thin glyphs), within half
    and three times their mean: what is hard is seen more often. Shares change no distribution
    to learn where the caption names the glyph whole."""
    nats, rng = [], np.random.default_rng(0)
    for name in tqdm(vocabulary()[0], desc="nats of glyphs", mininterval=5):
        shown = [Words(name, ground, "centre") for ground in COLOURS]
        scenes = [(what, render(what, rng)) for what in shown if not what.held_out]
        some = encoded(vq, tokenizer, [what.caption() for what, _ in scenes], scenes)
        nats.append(token_loss(target, some)[some.glyph].mean().item())
    shares = np.clip(np.array(nats) / np.mean(nats), 0.5, 3)
    return shares / shares.sum()


def optimizers(target: EmbeddedTarget, share: float = 1.0) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the layers, AdamW for embeddings, head and norms, at a `share`
    of their peak rates. Caption and slot embeddings have a higher rate: each of their rows is seen
    in few scenes, or is needed by all rows at once."""
    matrices = [p for p in target.model.layers.parameters() if p.ndim == 2]
    tables = [target.captions.weight, target.slots.weight]
    rest = [p for p in target.parameters() if not any(p is q for q in (*matrices, *tables))]
    return [
        torch.optim.Muon(
            matrices, lr=4e-3 * share, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW(
            [{"params": tables, "lr": 4e-3 * share}, {"params": rest, "lr": 2e-3 * share}],
            weight_decay=0.0,
            betas=(0.9, 0.98),
        ),
    ]


@torch.no_grad()
def place_slots(target: EmbeddedTarget) -> None:
    """Initialises each image slot's embedding as a row's plus a column's, of the token that the
    slot predicts, so that a glyph learnt at one place generalises to the others from the first
    step."""
    first = target.config.caption_slots
    axes = torch.randn(2, GRID, target.config.hidden_size, device=target.slots.weight.device) * 0.05
    together = (axes[0][:, None] + axes[1][None]).flatten(0, 1)
    target.slots.weight[first : first + GRID * GRID] = together


def save_half(network: PreTrainedModel, folder: Path) -> None:
    """Writes float16 safetensors, each under 10 MB."""
    network.save_pretrained(
        folder,
        state_dict={k: v.half() for k, v in network.state_dict().items()},
        max_shard_size="9MB",
    )


def main() -> None:
    args = stage_parser(__doc__, minutes=85, warm=True).parse_args()
    torch.manual_seed(args.seed)
    tokenizer = load(args.weights / "captions/tokenizer.json")
    save_world(args.weights / "world.json")
    vq = load_vq(args.weights / "vq")
    folder = args.weights / "target"
    if args.warm:
        target = load_target(folder)
    else:
        target = EmbeddedTarget(target_config(tokenizer.get_vocab_size())).to(DEVICE)
        place_slots(target)

    shares = shares_by_nats(target, vq, tokenizer) if args.warm else None
    # The fused kernel's backward pass is slow on a CPU; compiled, the plain attention takes two
    # thirds of its time.
    target.set_attn_implementation("eager")
    for layer in target.model.layers:
        # On a CPU three fifths of a step are element-wise; fused, it takes half the time.
        layer.compile()

    def loss_of(step: int, fallen: float) -> tuple[Tensor, dict[str, float]]:
        some = examples(vq, tokenizer, args.seed, step, shares=shares)
        nats = token_loss(target, some)
        weight = 1 + (GLYPH_WEIGHT - 1) * (some.glyph & ~some.dropped[:, None])
        figures = {
            "glyph": nats[some.glyph].mean().item(),
            "ground": nats[~some.glyph].mean().item(),
        }
        return (nats * weight).sum() / weight.sum(), figures

    def save() -> None:
        save_half(target, folder)
        glyph, ground = map(np.mean, held_out_nats(target, vq, tokenizer))
        print(f"\nheld out: glyph {glyph:.3f}, ground {ground:.3f} nats per token")

    train("target", target, optimizers(target, 0.35 if args.warm else 1.0), loss_of, save, args)


if __name__ == "__main__":
    main()
