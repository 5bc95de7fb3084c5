"""Stage 3: the EAGLE drafter of the frozen target.

    python -m train.drafter --minutes 10

`--warm` begins from the saved drafter.

The loss is the cross-entropy of the drafter's distribution to the target's, both computed by the
target's head, plus a smooth L1 between their hidden states. EAGLE (arXiv 2401.15077) weights these
two terms 0.1 to 1. Here the cross-entropy weighs more, since the distribution decides whether
drafts are accepted. Each token is drafted three times, as in a chain of drafts. The first draft
reads only the target's states; the second has the drafter's own state for the last token, and the
third for the last two tokens. This is EAGLE-3's training-time test (arXiv 2503.01840, Sec. 3.2).
The scenes are like the target's. Some captions are dropped, since drafts for guidance are made both
with and without the caption.
"""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.models.embedded.networks import EmbeddedDrafter, EmbeddedTarget
from train.captions import CAPTION, load
from train.loop import DEVICE, Supply, autocast, stage_parser, train
from train.muon import Muon
from train.target import batch, encoded, held_batch, inputs, load_target
from train.tokenizer import load_vq
from train.warm import adapt, save_half

FIRST = CAPTION + 1  # slot of the first image token; the slot before it predicts it
DEPTH = 3  # drafts ahead, as many as LANTERN's chain has by default
FEATURES = 0.2  # weight of the smooth L1
LATER = 0.5  # weight of a draft's loss over the one before: it is tested only if that passes


def sees(count: int, device: torch.device) -> Tensor:
    """Return the attention mask, bool [DEPTH x count, DEPTH x count]: which rows each row sees.

    Row (d, i), at index d * count + i, is draft d of the chain that starts at token i - d. It sees
    itself, the earlier rows of its chain, and row (0, j) of each token j before the chain.
    """
    d = torch.arange(DEPTH, device=device).repeat_interleave(count)
    i = torch.arange(count, device=device).repeat(DEPTH)
    back = i[:, None] - i
    return (back >= 0) & (d == (d[:, None] - back).clamp(min=0))


def draft(drafter: EmbeddedDrafter, embedded: Tensor, hidden: Tensor) -> Tensor:
    """Return the drafter's hidden states [B, DEPTH, L, D]: DEPTH drafts for each of L image slots.

    The drafter reads the target's inputs `embedded` and hidden states `hidden`, both [B, FIRST
    + L, D]. As in a race, it has no rows for the FIRST slots before the image tokens. A draft
    reads the states of the earlier drafts of its chain, but no gradient flows back into these
    states.
    """
    tokens, before = embedded[:, FIRST:], hidden[:, FIRST - 1 : -1]
    batch, count, width = tokens.shape
    slots = torch.arange(FIRST, FIRST + count, device=tokens.device)
    seen = sees(count, tokens.device)[None, None]

    def read(pairs: Tensor, depth: int) -> Tensor:
        mask = seen[..., : depth * count, : depth * count]
        return drafter(pairs, slots.repeat(depth).expand(batch, -1), mask)

    pairs = torch.cat([tokens, before], -1)
    with torch.no_grad():
        for depth in range(1, DEPTH):
            own = torch.cat([before[:, :1], read(pairs, depth)[:, -count:-1]], 1)
            pairs = torch.cat([pairs, torch.cat([tokens, own], -1)], 1)
    return read(pairs, DEPTH).view(batch, DEPTH, count, width)


def overlaps(logits: Tensor, target_logits: Tensor) -> list[float]:
    """Return the mean of 1 - TV between drafter and target, for each draft of a chain.

    Every chain continues the scene's true tokens. 1 - TV is the probability that lossless
    verification accepts a draft, here without guidance and at temperature 1. `logits` [B,
    DEPTH, L, V] are the drafter's; `target_logits` [B, L, V] are the target's.
    """
    p = target_logits.softmax(-1)[:, None]
    return torch.minimum(logits.softmax(-1), p).sum(-1).mean((0, 2)).tolist()


def rows(
    drafter: EmbeddedDrafter, target: EmbeddedTarget, embedded: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return hidden states and logits of the rows that predict image tokens 1 to 399.

    Token 0 is never drafted: its row would need a hidden state of the target's prefill.

    Returns:
        The drafter's hidden states [B, DEPTH, 399, D], the target's [B, 399, D], the drafter's
            logits [B, DEPTH, 399, V] and the target's [B, 399, V].
    """
    with autocast():
        with torch.no_grad():
            hidden = target.model(inputs_embeds=embedded, use_cache=False).last_hidden_state
            target_logits = target.lm_head(hidden[:, FIRST:]).float()
        draft_states = draft(drafter, embedded, hidden)
        logits = target.lm_head(draft_states).float()
    return draft_states.float(), hidden[:, FIRST:].float(), logits, target_logits


def main() -> None:
    args = stage_parser(__doc__, minutes=10, warm=True).parse_args()
    torch.manual_seed(args.seed)
    if args.warm:
        adapt(args.weights)
    tokenizer, vq = load(args.weights / "captions/tokenizer.json"), load_vq(args.weights / "vq")
    target = load_target(args.weights / "target").requires_grad_(False)
    folder = args.weights / "drafter"
    if args.warm:
        # Its saved config may have another canvas or vocabulary; no part of it depends on them.
        drafter = EmbeddedDrafter.from_pretrained(
            folder, config=target.config, dtype=torch.float32
        ).to(DEVICE)
    else:
        drafter = EmbeddedDrafter(target.config).to(DEVICE)
        with torch.no_grad():
            drafter.norm.weight.copy_(target.model.norm.weight)
    for layer in (*target.model.layers, drafter.layer):
        layer.compile(dynamic=False)
    supply = Supply(functools.partial(batch, tokenizer, args.seed + 100, None))

    share = LATER ** torch.arange(DEPTH, device=DEVICE)
    share = (share / share.sum()).view(1, -1, 1, 1)

    def loss_of(step: int, fallen: float) -> tuple[Tensor, dict[str, float]]:
        some = encoded(vq, supply.batch(step))
        draft_states, hidden, logits, target_logits = rows(drafter, target, inputs(target, some))
        entropies = -logits.log_softmax(-1) * target_logits.softmax(-1)[:, None]
        distances = F.smooth_l1_loss(
            draft_states, hidden[:, None].expand_as(draft_states), reduction="none"
        )
        tokens = (share * entropies).sum((1, 3)).mean()
        features = (share * distances).sum(1).mean()
        return tokens + FEATURES * features, {"tokens": tokens.item(), "features": features.item()}

    def save() -> None:
        save_half(drafter, folder)
        with torch.no_grad(), torch.compiler.set_stance("force_eager"):
            some = encoded(vq, held_batch(tokenizer, 1, 0))
            _, _, logits, target_logits = rows(drafter, target, inputs(target, some))
            chain = ", ".join(f"{mean:.3f}" for mean in overlaps(logits, target_logits))
            print(f"\nheld out: overlap of drafts' and target's distributions {chain}")

    matrices = [p for p in drafter.parameters() if p.ndim == 2]
    rest = [p for p in drafter.parameters() if p.ndim != 2]
    optimizers = [
        Muon(matrices, lr=3e-3, weight_decay=0.01),
        torch.optim.AdamW(rest, lr=1e-3, weight_decay=0.0, betas=(0.9, 0.98)),
    ]
    train("drafter", drafter, optimizers, loss_of, save, args)


if __name__ == "__main__":
    main()
