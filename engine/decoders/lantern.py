"""LANTERN (Jang et al., ICLR 2025): speculative decoding that lets a draft speak for its neighbours
in the codebook."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.decoders.base import Badge
from engine.decoders.refill import RefillDecoder, RefillSettings
from engine.decoders.run import Run
from engine.decoders.speculate import ratio, speculate
from engine.decoders.verdict import Evidence, Verdict, Window
from engine.distributions import gather, logits_to_probs, one_hot, residual, sample
from engine.models.base import ImageModel
from engine.randomness import Purpose
from engine.settings import knob
from engine.trace import Status
from engine.trace.steps import TOP


@dataclass(frozen=True, slots=True)
class LanternSettings(RefillSettings):
    """The paper's k = 1000 is for 16,384 codes (Sec. 5); the same share of 1,024 is 62. delta = 0.1
    is its middle setting; a chain of 5 is the depth of its trees. LANTERN++ bounds the added mass
    by (lambda - 1) p(x) instead."""

    drafter: str = knob(
        "eagle",
        "Who drafts: a small EAGLE network, or the model's own Jacobi guesses.",
        choices=("eagle", "jacobi"),
    )
    depth: int = knob(5, "How many tokens the EAGLE drafter guesses ahead.", low=1, high=16)
    draws: str = knob(
        "sampled",
        "Whether the drafter samples its guess or takes its likeliest token.",
        choices=("sampled", "top-1"),
    )
    k: int = knob(
        62,
        "How many of the codes nearest to the draft count as its neighbours, itself included.",
        low=1,
        high=1000,
    )
    bound: str = knob(
        "delta",
        "How the borrowed mass is limited: by a constant, or in proportion (LANTERN++).",
        choices=("delta", "lambda"),
    )
    delta: float = knob(
        0.1, "How much probability a draft may borrow from its neighbours.", low=0.0, high=1.0
    )
    lam: float = knob(
        2.0,
        "LANTERN++: the draft's own mass may grow to this many times itself.",
        low=1.0,
        high=10.0,
    )


class Lantern(RefillDecoder):
    """Around the draft x, walk its k nearest codes, nearest first, as long as their target mass
    together stays within delta: the set A. Accept x with probability min(1, p(A with x) / q(x));
    refused, draw from R(p', q), where p' is p with the mass of A moved to x (Sec. 4.2, Alg. 1; the
    paper calls the target q and the drafter p). delta = 0 is lossless."""

    name, title, order = "lantern", "LANTERN", 5
    idea = "A small network drafts; a guess may borrow the probability of tokens that look like it."
    paper = "Jang et al., LANTERN, ICLR 2025"
    badge = Badge.CHANGED_DISTRIBUTION
    Settings = LanternSettings

    @property
    def eagle(self) -> bool:
        """Whether an EAGLE network drafts here; a model without one drafts by its own Jacobi
        guesses."""
        return self.settings.drafter == "eagle" and self.model.drafter is not None

    def propose(self, run: Run, room: int) -> Window:
        if not self.eagle:
            return super().propose(run, room)
        depth = min(self.settings.depth, room) if run.path else 0
        tokens, laws = [], [run.laws[:0]]
        positions = run.positions(depth)
        u = run.noise.uniform(Purpose.DRAFT, positions, run.step, 1)[:, 0]
        for i in range(depth):
            position = positions[i : i + 1]
            if i == 0:
                committed = run.positions(len(run.path), run.frontier - len(run.path))
                logits = self.model.drafter.extend(
                    run.ctx, run.path, run.ids(run.tokens[committed], committed)
                )
            else:
                logits = self.model.drafter.next(run.ctx, run.ids(tokens[-1], position - 1)[0])
            run.drafter_passes += 1
            law = logits_to_probs(logits[None], self.sampling, run.forced[position])
            if self.settings.draws == "top-1":
                law = one_hot(law.argmax(-1), law.shape[-1])
            tokens.append(sample(law, u[i : i + 1]))
            laws.append(law)
        return Window(torch.cat([run.drafts[:0], *tokens]), torch.cat(laws))

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        acceptance = lent_acceptance(
            p[:-1], window.laws, window.drafts, self._neighbours(window.drafts), self.settings
        )
        verdict = speculate(run, window, p, acceptance, self._refused)
        # the drafter begins anew from what was committed: its other drafts are dropped
        if self.eagle:
            behind = torch.arange(len(p), device=p.device) >= verdict.count
            verdict.status = torch.where(behind, int(Status.REJECTED), verdict.status)
            verdict.tokens = torch.where(behind, verdict.drafts.clamp_min(0), verdict.tokens)
            verdict.standing = False
        verdict.explain = lambda: self._neighbourhood(p[:-1], window)
        return verdict

    def _neighbourhood(self, p: Tensor, window: Window) -> Evidence:
        """The draft and its lenders, nearest first, and the masses that were compared."""
        x = window.drafts
        lenders, added = self._borrow(p, x)
        neighbours = self._neighbours(x)
        lends = lenders.gather(-1, neighbours)  # the walk takes the nearest without a gap
        tokens = torch.cat([x[:, None], torch.where(lends, neighbours, -1)[:, : TOP - 1]], -1)
        return Evidence(1 + lends.sum(-1), gather(p, x) + added, gather(window.laws, x), tokens)

    def _neighbours(self, x: Tensor) -> Tensor:
        return nearest(self.model, min(self.settings.k, self.model.vocab_size))[x]

    def _borrow(self, p: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return lend(p, x, self._neighbours(x), self.settings)

    def _refused(self, x: Tensor, p: Tensor, q: Tensor) -> Tensor:
        borrowed, added = self._borrow(p, x)
        moved = p.masked_fill(borrowed, 0).scatter_add(-1, x[:, None], added[:, None])
        return residual(moved, q)


def lent_acceptance(
    p: Tensor, q: Tensor, x: Tensor, neighbours: Tensor, settings: LanternSettings
) -> Tensor:
    """Acceptance probabilities [H] of drafts x [H] under laws p and q [H, V], with their
    `neighbours` as `borrow` takes them."""
    _, added = lend(p, x, neighbours, settings)
    return ratio(gather(p, x) + added, gather(q, x))


def lend(
    p: Tensor, x: Tensor, neighbours: Tensor, settings: LanternSettings
) -> tuple[Tensor, Tensor]:
    """`borrow` within the bound that the settings put on each draft x [H]."""
    mass = gather(p, x)
    bound = (
        torch.full_like(mass, settings.delta)
        if settings.bound == "delta"
        else (settings.lam - 1) * mass
    )
    return borrow(p, neighbours, bound)


def borrow(p: Tensor, neighbours: Tensor, bound: Tensor) -> tuple[Tensor, Tensor]:
    """Which tokens lend to each draft, bool [H, V], and how much in all, [H]; neighbours [H, k -
    1], nearest first and without the draft itself; bound [H]. A neighbour that would take the sum
    over the bound ends the walk."""
    masses = p.gather(-1, neighbours)
    # rounding forgiven; a bound of 0 stays 0
    within = masses.cumsum(-1) <= bound[:, None] * (1 + 1e-6)
    lenders = torch.zeros_like(p, dtype=torch.bool).scatter(-1, neighbours, within)
    return lenders, (masses * within).sum(-1)


@functools.lru_cache(maxsize=4)
def nearest(model: ImageModel, k: int) -> Tensor:
    """`neighbours` of every code of the model, [V, k - 1]."""
    codebook = model.codebook.float()
    blocks = torch.arange(len(codebook), device=codebook.device).split(1024)
    return torch.cat([neighbours(codebook, block, k) for block in blocks])


def neighbours(codebook: Tensor, x: Tensor, k: int) -> Tensor:
    """The k - 1 codes nearest to each of x [H], nearest first and itself left out, [H, k - 1], by
    L2 distance in the codebook [V, D]; k is at most V."""
    # Without matrix products, whose rounding, and with it the order of near ties, depends on how
    # many codes are asked for.
    distance = torch.cdist(codebook[x], codebook, compute_mode="donot_use_mm_for_euclid_dist")
    distance.scatter_(-1, x[:, None], torch.inf)
    return distance.argsort(dim=-1, stable=True)[:, : k - 1]
