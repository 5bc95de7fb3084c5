"""Stage 3: the EAGLE drafter of the frozen target. `python -m train.drafter --minutes 10`, `--warm`
to begin from the saved one

Loss: cross-entropy of the drafter's distribution to the target's, both through the target's own
head, plus a smooth L1 between the hidden states (EAGLE, arXiv 2401.15077, weights the two 0.1 to 1;
here the distribution weighs more, since drafts are accepted by it). It trains on scenes like the
target's, dropped captions included, since guidance drafts with both rows.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.models.embedded_networks import EmbeddedDrafter, EmbeddedTarget
from train.captions import CAPTION, load
from train.loop import DEVICE, autocast, stage_parser, train
from train.muon import Muon
from train.target import examples, inputs, load_target
from train.tokenizer import load_vq
from train.warm import adapt, save_half

FEATURES = 0.2  # weight of the smooth L1


def draft(drafter: EmbeddedDrafter, embedded: Tensor, hidden: Tensor) -> Tensor:
    """Drafted hidden states of slots 1.., from the target's inputs and hidden states of slots 0..:
    [B, L - 1, D]."""
    slots = torch.arange(1, embedded.shape[1], device=embedded.device)[None].expand(
        embedded.shape[0], -1
    )
    return drafter(torch.cat([embedded[:, 1:], hidden[:, :-1]], -1), slots)


def overlap(draft_logits: Tensor, target_logits: Tensor) -> Tensor:
    """Mean over rows of 1 - TV: the acceptance probability of lossless verification, without
    guidance, at temperature 1."""
    return torch.minimum(draft_logits.softmax(-1), target_logits.softmax(-1)).sum(-1).mean()


def rows(drafter: EmbeddedDrafter, target: EmbeddedTarget, embedded: Tensor) -> tuple[Tensor, ...]:
    """Drafted and true hidden states, drafted and true logits of the rows that predict image tokens
    1..399. The first image token is never drafted: its row needs a hidden state of the target's
    prefill."""
    with autocast():
        with torch.no_grad():
            hidden = target.model(inputs_embeds=embedded, use_cache=False).last_hidden_state
            target_logits = target.lm_head(hidden[:, CAPTION + 1 :]).float()
        drafted = draft(drafter, embedded, hidden)[:, CAPTION:]
        logits = target.lm_head(drafted).float()
    return drafted.float(), hidden[:, CAPTION + 1 :].float(), logits, target_logits


def main() -> None:
    args = stage_parser(__doc__, minutes=10, warm=True).parse_args()
    torch.manual_seed(args.seed)
    if args.warm:
        adapt(args.weights)
    tokenizer, vq = load(args.weights / "captions/tokenizer.json"), load_vq(args.weights / "vq")
    target = load_target(args.weights / "target").requires_grad_(False)
    folder = args.weights / "drafter"
    if args.warm:
        # Its own config may be of another canvas or vocabulary, which no part of it depends on.
        drafter = EmbeddedDrafter.from_pretrained(
            folder, config=target.config, dtype=torch.float32
        ).to(DEVICE)
    else:
        drafter = EmbeddedDrafter(target.config).to(DEVICE)
        with torch.no_grad():
            drafter.norm.weight.copy_(target.model.norm.weight)
    for layer in (*target.model.layers, drafter.layer):
        layer.compile()

    def loss_of(step: int, fallen: float) -> tuple[Tensor, dict[str, float]]:
        some = examples(vq, tokenizer, args.seed + 100, step)
        drafted, hidden, logits, target_logits = rows(drafter, target, inputs(target, some))
        tokens = F.cross_entropy(logits.flatten(0, 1), target_logits.flatten(0, 1).softmax(-1))
        features = F.smooth_l1_loss(drafted, hidden)
        return tokens + FEATURES * features, {"tokens": tokens.item(), "features": features.item()}

    def save() -> None:
        save_half(drafter, folder)
        with torch.no_grad():
            some = examples(vq, tokenizer, 1, 0, held=True)
            _, _, logits, target_logits = rows(drafter, target, inputs(target, some))
            print(
                "\nheld out: overlap of draft and target distributions"
                f" {overlap(logits, target_logits).item():.3f}"
            )

    matrices = [p for p in drafter.parameters() if p.ndim == 2]
    rest = [p for p in drafter.parameters() if p.ndim != 2]
    optimizers = [
        Muon(matrices, lr=3e-3, weight_decay=0.01),
        torch.optim.AdamW(rest, lr=1e-3, weight_decay=0.0, betas=(0.9, 0.98)),
    ]
    train("drafter", drafter, optimizers, loss_of, save, args)


if __name__ == "__main__":
    main()
