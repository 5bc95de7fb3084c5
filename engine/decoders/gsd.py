"""Grouped speculative decoding (So et al., ICCV 2025, arXiv 2508.07747).

GSD is SJD, except that it accepts a draft by the probability of the draft's group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from engine.core import Groups, Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings
from engine.decoders.shift import committed_by_residual, most_tokens
from engine.decoders.speculate import acceptance_probability, speculate
from engine.numerics.distributions import exact, gather, ranks_around
from engine.numerics.ranking import NO_RANK, rank_keys, ranked_index
from engine.settings import Withdrawn, knob
from engine.trace.rows import TOP


@dataclass(frozen=True, slots=True)
class GSDSettings(SpeculativeSettings):
    """GSD's settings; the defaults are the paper's values.

    These are d = 0.5 and delta = 0.15 (Sec. 5), and G = 10 (Table 1). The paper's d is a squared
    distance between one model's embeddings and means nothing for another model. Here distances are
    squared L2 in the codebook, scaled so that an average pair of codes is 0.5 apart.
    """

    G: int = knob(
        10,
        "Group size: how many tokens of similar probability stand in for one another.",
        low=1,
        high=100,
    )
    d: float = knob(
        0.5,
        "Leaves out tokens that look different: an average pair of codes is 0.5 apart.",
        low=0.0,
        high=10.0,
    )
    delta: float = knob(
        0.15, "Leaves out tokens whose probability differs by more.", low=0.0, high=1.0
    )

    withdrawn: ClassVar = {
        "order": Withdrawn(
            ("ascending", "descending"), "tokens are sorted ascending, as in the released code."
        ),
        "reading": Withdrawn(("paper", "code"), "G = 14 is the released code's group."),
    }


class GSD(JacobiWindowDecoder):
    """Accepts a draft x with probability min(1, sum_C p / sum_C q), where C is the group of x.

    Sort tokens by p, ascending. The group C has the ranks [rank(x) - G // 2, rank(x) + G // 2),
    without tokens that are too far from x in the codebook (d) or in probability (delta). On
    rejection GSD resamples as SJD does (Alg. 3 and 5).

    The distribution changes. Theorem 1 needs groups that partition the vocabulary, but every draft
    has a group around itself, and these groups overlap. Equal probabilities are sorted by id, and
    rank(x) is the rank of x itself. A draft with p(x) = 0 is never accepted. By the letter of Alg.
    3 such a draft might be accepted: at top-k's border, its group may hold tokens with p > 0.

    The paper leaves the direction of sorting open; the released code sorts ascending. The code
    differs from the rule here in four ways. G is always 14, with the ranks from rank(x) - 7 to
    rank(x) + 6. If a group would begin before the first rank, SJD's rule applies. Equal
    probabilities keep the order of an unstable sort. In a group with an id over 10,000 the code
    ignores d, because the code's table of embeddings ends at that id.
    """

    name, title = "gsd", "GSD"
    idea = "Tests a guess together with the tokens about as probable as it."
    paper = "So et al., Grouped Speculative Decoding, ICCV 2025 (arXiv 2508.07747)"
    badge = Badge.CHANGED_DISTRIBUTION
    Settings = GSDSettings
    settings: GSDSettings

    def _prepare(self) -> None:
        self._spread = spread_of(self.model.codebook)

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        acceptance = group_acceptance(
            p, window.q, window.drafts, self.model.codebook, self.settings, self._spread
        )
        return speculate(state, window, p, acceptance)

    def groups(self, p: Tensor, q: Tensor, x: Tensor) -> Groups:
        """Return each draft's group, nearest ranks first; the count is 0 where p(x) = 0."""
        members, included = group(p, x, self.model.codebook, self.settings, self._spread)
        # From x outwards: its own column, the rank below it, the one above it, and so on; tokens
        # outside the group come last.
        size = members.shape[1]
        outwards = (torch.arange(size, device=p.device) - size // 2).abs()
        nearest = torch.where(included, outwards, size).argsort(dim=-1, stable=True)[:, :TOP]
        counts = torch.where(gather(p, x) == 0, 0, included.sum(-1))
        masses = [(dist.gather(-1, members) * included).sum(-1) for dist in (p, q)]
        tokens = torch.where(included, members, -1).gather(-1, nearest)
        return Groups(counts, torch.stack(masses, -1), tokens)

    def committed(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        most, beyond = most_tokens(p > 0, self.model, self.sampling)
        codebook, spread = self.model.codebook, self._spread
        acceptance = group_acceptances(p, q, codebook, self.settings, spread, most)
        committed = committed_by_residual(exact(p), exact(q), acceptance)
        return committed.masked_fill(beyond, torch.nan)


def spread_of(codebook: Tensor) -> Tensor:
    """Return the unit of squared distances (0-dim): twice their mean over all pairs of codes."""
    return 4 * codebook.var(0, correction=0).sum()


def group_acceptance(
    p: Tensor, q: Tensor, x: Tensor, codebook: Tensor, settings: GSDSettings, spread: Tensor
) -> Tensor:
    """Return the acceptance probabilities [H] of drafts x [H] under p and q [H, V].

    `codebook` is [V, D], and `spread` is `spread_of(codebook)`.
    """
    members, included = group(p, x, codebook, settings, spread)
    grouped = acceptance_probability(
        (p.gather(-1, members) * included).sum(-1), (q.gather(-1, members) * included).sum(-1)
    )
    alone = acceptance_probability(gather(p, x), gather(q, x))
    return torch.where(gather(p, x) == 0, alone, grouped)


def group(
    p: Tensor, x: Tensor, codebook: Tensor, settings: GSDSettings, spread: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the tokens [H, size] around each draft's rank, and which are in its group (bool).

    The draft itself is always in its group.
    """
    half = _half(p.shape[-1], settings)
    ranked = ranks_around(p, x, half, max(half, 1))
    exists, members = ranked.abs() != NO_RANK, ranked_index(ranked)
    gap = (p.gather(-1, members) - gather(p, x)[:, None]).abs()
    apart = (codebook[members] - codebook[x][:, None]).square().sum(-1)
    close = _close(gap, apart, spread, settings)
    return members, exists & (close | (members == x[:, None]))


def group_acceptances(
    p: Tensor, q: Tensor, codebook: Tensor, settings: GSDSettings, spread: Tensor, most: int
) -> Tensor:
    """Return `group_acceptance` of every token as a draft, [H, V] float64.

    Each row of p is sorted once, which saves a search for each token's rank. A row of the result is
    right only if its p has at most `most` tokens with p > 0. Drafts with p = 0 have an acceptance
    of 0.
    """
    V, half = p.shape[-1], _half(p.shape[-1], settings)
    count = min(V, most + half)  # with the neighbours of the least likely of the `most` tokens
    order = ranked_index(rank_keys(p).topk(count).values).flip(-1)
    ranked, codes = p.gather(-1, order), codebook[order]
    masses = [exact(values).gather(-1, order) for values in (p, q)]
    sums = [mass.clone() for mass in masses]
    for step in range(1, min(half, count - 1) + 1):
        low, high = slice(0, count - step), slice(step, count)
        gap = ranked[:, high] - ranked[:, low]
        apart = (codes[:, high] - codes[:, low]).square().sum(-1)
        close = _close(gap.abs(), apart, spread, settings)
        for total, mass in zip(sums, masses, strict=True):
            total[:, high] += mass[:, low] * close
            if step < half:  # a group reaches one rank less upwards
                total[:, low] += mass[:, high] * close
    alone = ranked == 0
    chosen = (torch.where(alone, mass, total) for mass, total in zip(masses, sums, strict=True))
    acceptance = torch.zeros_like(p, dtype=torch.float64)
    return acceptance.scatter_(-1, order, acceptance_probability(*chosen))


def _half(codes: int, settings: GSDSettings) -> int:
    """Return how many ranks a group reaches below its draft's rank."""
    return min(settings.G // 2, codes)


def _close(gap: Tensor, apart: Tensor, spread: Tensor, settings: GSDSettings) -> Tensor:
    """Return whether tokens are near enough to the draft (bool).

    `gap` has the differences between the tokens' probabilities and the draft's, `apart` the tokens'
    squared distances from the draft in the codebook.
    """
    return (gap <= settings.delta) & (apart / spread <= settings.d)
