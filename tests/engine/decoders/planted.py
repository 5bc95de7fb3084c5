"""Decoders with planted bugs: each departs from its rule in the one way that its name says, and is
no longer lossless.

Some are defects of published code, others are easy mistakes. Tests must catch every one.
"""

from __future__ import annotations

from types import ModuleType
from unittest.mock import patch

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders import lantern, sjd_pac, traversal
from engine.decoders.auto_correct import AutoCorrect
from engine.decoders.block import verify_block
from engine.decoders.candidates import CandidateWalk, TreeWindow
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi import Jacobi
from engine.decoders.lantern import Lantern
from engine.decoders.scd import SCD
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import SJDPAC
from engine.decoders.speculate import (
    acceptance_probability,
    chain_acceptance,
    keep_coupled,
    speculate,
)
from engine.decoders.tree import climb_on
from engine.models.neighbours import neighbours
from engine.numerics.distributions import residual, sample
from engine.numerics.randomness import Purpose
from engine.trace import Status


def with_end(q: Tensor, p: Tensor) -> Tensor:
    """q [R, V], but p in the last row, which had no draft."""
    return torch.cat([q[:-1], p[-1:]])


class Spoilt:
    """Changes what the sound verification says."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        verification = super().verify(state, window, p)
        self.spoil(verification, state, window, p)
        return verification


class OldDraftDistribution(Spoilt, SJD):
    """Refreshed drafts are stored with the distribution that the drafts before them came from."""

    def spoil(self, v: Verification, state: DecodeState, window: Window, p: Tensor) -> None:
        v.q = with_end(window.q, p)


class ResampledFromP(SJD):
    """A rejected draft is resampled from p, not from the residual."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        return speculate(state, window, p, chain_acceptance(window, p), lambda draft, p, q: p)


class UniformBonus(Spoilt):
    """After full acceptance, the last token is a uniform one, not a sample of the last row."""

    def spoil(self, v: Verification, state: DecodeState, window: Window, p: Tensor) -> None:
        H, codes = len(window.drafts) - 1, state.model.vocab_size
        u = state.uniform(Purpose.DRAFT, H + 1, 1)[H, 0]
        last = torch.arange(len(v.tokens)) == H
        free = int(state.model.forced_ids[state.frontier + H]) < 0
        v.tokens = torch.where(last & free & (v.count == H + 1), (u * codes).long(), v.tokens)


class BonusFromThePad(UniformBonus, SJD):
    """SJD whose bonus token is uniform."""


class RefreshedWithAcceptDraw(SJD):
    """The draws that redraw the window's tail are used again to accept what they drew."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        verification = super().verify(state, window, p)
        u = getattr(state, "reused", {})
        acceptance = chain_acceptance(window, p)
        mine = state.uniform(Purpose.VERIFY, len(p), 3).clone()
        for i in range(len(p) - 1):
            mine[i, 0] = u.get(state.frontier + i, mine[i, 0])
        with patch.object(state.noise, "uniform", lambda *key: mine):
            verification = speculate(state, window, p, acceptance)
        state.reused = {state.frontier + i: mine[i, 2] for i in range(len(p))}
        return verification


class BlockWithKeptDrafts(SCD):
    """Drafts that are kept from pass to pass are verified as a block: which ones are kept tells of
    the distributions before, and what a later draft decides is no longer independent of it."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        u = state.uniform(Purpose.COUPLING, len(p), 2)
        return keep_coupled(state, window, p, verify_block(state, window, p), u)


class BlockReplacedFromR(SJD):
    """Behind a block, the residual is R(p, q) as behind a single draft."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        block = verify_block(state, window, p)
        return speculate(state, window, p, block.acceptance, first=block.count - 1)


class ReplacedWithTheDraftsNoise(Spoilt, SCD):
    """A rejected draft is replaced by the argmax of log R(p, q) + G_i, by the G_i that drew it."""

    def spoil(self, v: Verification, state: DecodeState, window: Window, p: Tensor) -> None:
        last = int(v.count) - 1
        if v.status[last] == Status.RESAMPLED:
            left = residual(p[last], window.q[last]).log()
            noise = state.gumbel(len(p))[last]
            v.tokens[last] = (left + noise).argmax()


class NoiseOfTheRow(SCD):
    """The noise stays with the window's rows while the window moves on."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        samples = (p.log() + state.noise.gumbel(0, len(p), p.shape[1])).argmax(-1)
        return speculate(state, window, p, chain_acceptance(window, p), samples=samples)


class CoupledWithOldDistribution(Spoilt, SCD):
    """Drafts are coupled by the newer p, but keep their old q."""

    def spoil(self, v: Verification, state: DecodeState, window: Window, p: Tensor) -> None:
        v.q = with_end(window.q, p)


class UnkeptRedrawnFromP(Spoilt, SCD):
    """A draft that the maximal coupling does not keep is redrawn from p, not from R(p, q)."""

    def spoil(self, v: Verification, state: DecodeState, window: Window, p: Tensor) -> None:
        behind = torch.arange(len(p)) >= v.count
        redrawn = behind & (v.status == Status.REJECTED)
        u = state.uniform(Purpose.DRAFT, len(p), 1)[:, 0]
        v.tokens = torch.where(redrawn, sample(p, u), v.tokens)


class KeptByTheTestsNumber(SCD):
    """The coupling keeps a draft by one number in every pass, and the test reads it too."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        fresh = state.noise.uniform
        if not hasattr(state, "numbers"):
            state.numbers = fresh(Purpose.DRAFT, 0, len(state.tokens) + len(p), 0, 1)

        def uniform(purpose: Purpose, start: int, rows: int, draw: int, count: int) -> Tensor:
            others = fresh(purpose, start, rows, draw, count)[:, 1:]
            return torch.cat([state.numbers[start : start + rows], others], -1)

        with patch.object(state.noise, "uniform", uniform):
            return super().verify(state, window, p)


class CoupledByTheSameNumbers(SCD):
    """The maximal coupling reads the same numbers in every pass."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        fresh = state.noise.uniform

        def uniform(purpose: Purpose, start: int, rows: int, draw: int, count: int) -> Tensor:
            return fresh(purpose, start, rows, draw * (purpose != Purpose.COUPLING), count)

        with patch.object(state.noise, "uniform", uniform):
            return super().verify(state, window, p)


class KeptWithOldDistribution(Spoilt, SCD):
    """A draft that the maximal coupling keeps is stored with its old q."""

    def spoil(self, v: Verification, state: DecodeState, window: Window, p: Tensor) -> None:
        kept = v.status == Status.REFINED
        v.q = with_end(torch.where(kept[:, None], window.q, p), p)


class ThresholdCountedAsP(Spoilt, SCD):
    """A draft that a threshold keeps counts as a sample of p, as in SJD++."""

    def spoil(self, v: Verification, state: DecodeState, window: Window, p: Tensor) -> None:
        v.q = p


class CorrectedFromP(Spoilt, AutoCorrect):
    """A draft that does not stay becomes a sample of p."""

    def spoil(self, v: Verification, state: DecodeState, window: Window, p: Tensor) -> None:
        u = state.verify_numbers(len(p)).replace
        v.tokens = torch.where(v.tokens == window.drafts, v.tokens, sample(p, u))


class StaleJacobi(Spoilt, Jacobi):
    """Commits one sample more than were computed on a final prefix."""

    def spoil(self, v: Verification, state: DecodeState, window: Window, p: Tensor) -> None:
        v.count = (v.count + 1).clamp_max(len(p))
        v.path = torch.arange(len(p))


class OtherWalk:
    """Its trees are walked by another class than its module's."""

    module: ModuleType
    walk: type

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        with patch.object(self.module, self.walk.__base__.__name__, self.walk):
            return super().verify(state, window, p)


class LongestWalk(CandidateWalk):
    def __init__(self, p: Tensor, room: Tensor) -> None:
        super().__init__(p, room)
        self.levels: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []

    def descend(self, children: Tensor, candidates: Tensor, candidate_q: Tensor, u: Tensor) -> None:
        self.levels.append((children, candidates, candidate_q, u))

    def longest(self, node: int, level: int) -> list[tuple[int, int]]:
        """The longest accepted path of (candidate, row) from a node down; the first of equals."""
        if level == len(self.levels):
            return []
        children, candidates, candidate_q, u = self.levels[level]
        best: list[tuple[int, int]] = []
        left = self.p[node]
        for k, child in enumerate(children[node].tolist()):
            x = candidates[k]
            if child < 0 or candidate_q[k][x] == 0:
                continue
            if u[k] < acceptance_probability(left[x], candidate_q[k][x]):
                path = [(k, child), *self.longest(child, level + 1)]
                best = path if len(path) > len(best) else best
            left = residual(left, candidate_q[k])
            left = left / left.sum()
        return best

    def finish(self, window: Window, u: Tensor, u_end: Tensor) -> Verification:
        path = self.longest(0, 0)
        for level, (children, candidates, candidate_q, _) in enumerate(self.levels):
            chosen = torch.ones(len(candidates))
            if level < len(path):
                chosen[path[level][0]] = 0.0
            super().descend(children, candidates, candidate_q, chosen)
        return super().finish(window, u, u_end)


class LongestPathWins(OtherWalk, SJDPAC):
    """Every candidate is accepted or not by itself, and of the accepted paths the longest is taken,
    not the first (defect 1)."""

    module, walk = sjd_pac, LongestWalk


class CandidatesFromTheResidual(SJDPAC):
    """Candidates are drawn from what continuation resampled from, R(p, Q), but verified as drawn
    from p (defect 2)."""

    def propose(self, state: DecodeState) -> Window:
        window = super().propose(state)
        residuals = getattr(state, "residuals", None)
        if isinstance(window, TreeWindow) and residuals is not None:
            levels = min(window.layout.branching, len(residuals))
            _redraw(self, state, window, residuals[:levels])
        return window

    def _continue(
        self, state: DecodeState, window: Window, p: Tensor, verification: Verification, u: Tensor
    ) -> Verification:
        left = residual(p[: len(window.q)], window.q)
        state.residuals = left[int(verification.count) :]
        return super()._continue(state, window, p, verification, u)


def _redraw(
    decoder: SJDPAC, state: DecodeState, window: TreeWindow, q: Tensor, *, replace: bool = False
) -> None:
    """Draws the candidates anew from another q [levels, V]; what they are verified with stays."""
    levels, K = len(q), decoder.settings.K
    u = state.uniform(Purpose.DRAFT, levels, K)
    left, token = q, window.candidates[:levels, 0]
    for k in range(1, K):
        if not replace:
            left = left.scatter(-1, token[:, None], 0)
        token = sample(left, u[:, k])
        window.candidates[:levels, k] = token
        if replace:  # tried again, as if it could have been drawn
            window.candidate_q[torch.arange(levels), k, token] += 1e-20
    depth, k = torch.tensor(window.layout.side).T
    window.nodes = torch.cat([window.drafts[:-1], window.candidates[depth - 1, k]])


class CandidatesWithReplacement(SJDPAC):
    """Candidates are drawn with replacement but verified as drawn without (defect 5)."""

    def propose(self, state: DecodeState) -> Window:
        window = super().propose(state)
        if isinstance(window, TreeWindow):
            _redraw(self, state, window, window.q[: window.layout.branching], replace=True)
        return window


class SpineRedrawnAfterAllCandidates(SJDPAC):
    """A rejected spine draft in the tree's levels is resampled from what all candidates leave of p
    (defect 3)."""

    def _continue(
        self, state: DecodeState, window: Window, p: Tensor, verification: Verification, u: Tensor
    ) -> Verification:
        acceptance = chain_acceptance(window, p[: len(window.q)])
        after = super()._continue(state, window, p, verification, u)
        if isinstance(window, TreeWindow):
            for level in range(window.layout.branching):
                if level >= int(verification.count) and u[level, 0] >= acceptance[level]:
                    left = p[level]
                    for x, q in zip(
                        window.candidates[level], window.candidate_q[level], strict=True
                    ):
                        if q[x] > 0:
                            left = residual(left, q)
                            left = left / left.sum()
                    after.tokens[level] = sample(left, u[level, 1])
        return after


class FullAcceptanceFromThePad(UniformBonus, SJDPAC):
    """After full acceptance of the spine the last token is uniform (defect 4)."""


class TraversalByTheMassAlone(SJDPAC):
    """Once a candidate has failed, its node's a becomes S, not S / (S + 1 - a)."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        with patch.object(traversal, "passing", lambda a, mass: torch.where(a < 1, mass, 1.0)):
            return super().verify(state, window, p)


class TraversalOfTheSameCandidates(SJDPAC):
    """The nodes of a depth have the same candidates, as in SJD-PAC's own tree."""

    def propose(self, state: DecodeState) -> Window:
        window, begun = super().propose(state), 0
        if isinstance(window, TreeWindow):
            levels = climb_on(window.layout, window.q.device).levels
            for nodes in levels[:-1]:
                here = slice(begun, begun + len(nodes))
                window.candidates[here] = window.candidates[begun]
                window.candidate_q[here] = window.candidate_q[begun]
                begun += len(nodes)
            window.nodes[torch.cat(levels[1:]) - 1] = window.candidates.flatten()
        return window


class TraversalWithKeptDrafts(SJDPAC):
    """Drafts are kept from pass to pass, as by adaptive continuation."""

    def _continue(
        self, state: DecodeState, window: Window, p: Tensor, verification: Verification, u: Tensor
    ) -> Verification:
        u = state.uniform(Purpose.COUPLING, len(window.drafts), 2)
        return keep_coupled(state, window, p[: len(window.drafts)], verification, u)


class ContinuedWithStaleDistribution(Spoilt, SJDPAC):
    """Continuation samples by the new p, but the draft keeps its old q."""

    def spoil(self, v: Verification, state: DecodeState, window: Window, p: Tensor) -> None:
        v.q = with_end(window.q, p[: len(window.q)])


class ContinuedFromP(SJDPAC):
    """Continuation resamples what it rejected from p, not from the residual."""

    def _continue(
        self, state: DecodeState, window: Window, p: Tensor, verification: Verification, u: Tensor
    ) -> Verification:
        spine = p[: len(window.q)]
        acceptance = chain_acceptance(window, spine)
        after = super()._continue(state, window, p, verification, u)
        rejected = torch.arange(len(spine)) >= verification.count
        rejected[:-1] &= u[:-1, 0] >= acceptance[:-1]
        after.tokens = torch.where(rejected, sample(spine, u[:, 1]), after.tokens)
        return after


class CandidatesVerifiedWithTheSpinesQ(SJDPAC):
    """Every candidate is verified with Q itself, as if none had been drawn before it."""

    def propose(self, state: DecodeState) -> Window:
        window = super().propose(state)
        if isinstance(window, TreeWindow):
            window.candidate_q = (
                window.q[: window.layout.branching, None].expand_as(window.candidate_q).clone()
            )
        return window


class CandidatesWithAFloor(SJDPAC):
    """What is left of Q beside the earlier candidates is divided by 1e-30 where it is less: the
    candidates are verified with a q that does not sum to one."""

    def propose(self, state: DecodeState) -> Window:
        window = super().propose(state)
        if isinstance(window, TreeWindow):
            q = window.candidate_q.clone()
            left = window.q[: window.layout.branching]
            for k in range(1, self.settings.K):
                left = left.scatter(-1, window.candidates[:, k - 1 : k], 0)
                left = left / left.sum(-1, keepdim=True).clamp_min(1e-30)
                q[:, k] = left
            window.candidate_q = q
        return window


class UnendingWalk(lantern.TreeWalk):
    def descend(self, u: Tensor) -> None:
        levels = len(self.levels)
        super().descend(u)
        moved = len(self.levels) > levels
        self.accepted += moved and not self.alive
        self.alive = moved


class ChildrenOfARejectedNode(OtherWalk, Lantern):
    """Where all children of a node are rejected, those of the first are tried all the same."""

    module, walk = lantern, UnendingWalk


class KeepingWalk(lantern.TreeWalk):
    def rejected(self, p: Tensor, x: Tensor, members: Tensor) -> Tensor:
        return p


class RejectedChildKept(OtherWalk, Lantern):
    """A rejection takes nothing from p."""

    module, walk = lantern, KeepingWalk


class WideWalk(lantern.TreeWalk):
    nearest: Tensor

    def rejected(self, p: Tensor, x: Tensor, members: Tensor) -> Tensor:
        return super().rejected(p, x, members).scatter(-1, self.nearest[x][:, None], 0)


class NeighboursOfTheRejectedRemoved(OtherWalk, Lantern):
    """A rejection takes the draft's neighbour from p, too, though it lent nothing; as LANTERN's
    released code does behind a draft with some neighbourhood."""

    module, walk = lantern, WideWalk

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        WideWalk.nearest = neighbours(self.model.codebook, 2)[:, 0].long()
        return super().verify(state, window, p)


class RootWalk(lantern.TreeWalk):
    def left(self) -> Tensor:
        return self.levels[0].left


class BonusFromTheRoot(OtherWalk, Lantern):
    """The step's last token is a sample of what is left of the root's p."""

    module, walk = lantern, RootWalk
