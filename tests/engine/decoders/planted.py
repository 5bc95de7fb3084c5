"""Decoders with bugs planted: each departs from its rule in the one way that its name says, and is
no longer lossless.

Some are the defects of published code, others are easy mistakes. Tests must catch every one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.decoders import sjd_pac
from engine.decoders.jacobi import Jacobi
from engine.decoders.run import Run
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import SJDPAC, TreeWindow, Walk
from engine.decoders.speculate import ratio, speculate
from engine.decoders.verdict import Verdict, Window
from engine.distributions import gather, one_hot, residual, sample
from engine.randomness import Purpose


class OldDraftLaw(SJD):
    """Refreshed drafts are stored with the law that the drafts before them came from."""

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        verdict = super().judge(run, window, p)
        verdict.laws = torch.cat([window.laws, p[-1:]])
        return verdict


class RefusedFromP(SJD):
    """A refused draft is replaced by a draw from p, not from the residual."""

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        acceptance = ratio(gather(p[:-1], window.drafts), gather(window.laws, window.drafts))
        return speculate(run, window, p, acceptance, lambda draft, p, q: p)


def pad(verdict: Verdict, run: Run, drafts: int) -> Verdict:
    """After full acceptance, a fresh token of the pad stands where a draw from the last row
    should."""
    H, codes = drafts, run.model.vocab_size
    u = run.noise.uniform(Purpose.DRAFT, run.positions(1, run.frontier + H), run.step, 1)[0, 0]
    last = torch.arange(len(verdict.tokens)) == H
    free = ~run.forced[run.frontier + H]
    verdict.tokens = torch.where(
        last & free & (verdict.count == H + 1), (u * codes).long(), verdict.tokens
    )
    return verdict


class BonusFromThePad(SJD):
    """SJD whose bonus token is a fresh one."""

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        return pad(super().judge(run, window, p), run, len(window.drafts))


class RefreshedWithAcceptDraw(SJD):
    """The draws that redraw the window's tail are used again to accept what they drew."""

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        verdict = super().judge(run, window, p)
        u = getattr(run, "reused", {})
        acceptance = ratio(gather(p[:-1], window.drafts), gather(window.laws, window.drafts))
        mine = run.noise.uniform(Purpose.VERIFY, run.positions(len(p)), run.step, 3)
        for i in range(len(window.drafts)):
            mine[i, 0] = u.get(run.frontier + i, mine[i, 0])
        run.noise.uniform, real = (lambda *key: mine), run.noise.uniform
        verdict = speculate(run, window, p, acceptance, lambda draft, p, q: residual(p, q))
        run.noise.uniform = real
        run.reused = {run.frontier + i: mine[i, 2] for i in range(len(p))}
        return verdict


class StaleJacobi(Jacobi):
    """Commits one sample more than were computed on a final prefix."""

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        verdict = super().judge(run, window, p)
        verdict.count = (verdict.count + 1).clamp_max(len(p))
        verdict.path = torch.arange(len(p))
        return verdict


class LongestPathWins(SJDPAC):
    """Every sibling is flagged by itself, and of the flagged paths the longest is taken, not the
    first (defect 1)."""

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        if not isinstance(window, TreeWindow):
            return super().judge(run, window, p)
        return _with_walk(LongestWalk, super().judge, run, window, p)


class LongestWalk(Walk):
    def __init__(self, p: Tensor) -> None:
        super().__init__(p)
        self.levels: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []

    def descend(self, children: Tensor, candidates: Tensor, laws: Tensor, u: Tensor) -> None:
        self.levels.append((children, candidates, laws, u))

    def flagged(self, node: int, level: int) -> list[tuple[int, int]]:
        """The longest flagged path of (candidate, row) from a node down; the first of equals."""
        if level == len(self.levels):
            return []
        children, candidates, laws, u = self.levels[level]
        best: list[tuple[int, int]] = []
        left = self.p[node]
        for k, child in enumerate(children[node].tolist()):
            x = candidates[k]
            if child < 0 or laws[k][x] == 0:
                continue
            if u[k] < ratio(left[x], laws[k][x]):
                path = [(k, child), *self.flagged(child, level + 1)]
                best = path if len(path) > len(best) else best
            left = residual(left, laws[k])
            left = left / left.sum()
        return best

    def finish(self, window: Window, u: Tensor, u_end: Tensor) -> Verdict:
        path = self.flagged(0, 0)
        for level, (children, candidates, laws, _) in enumerate(self.levels):
            chosen = torch.ones(len(candidates))
            if level < len(path):
                chosen[path[level][0]] = 0.0
            super().descend(children, candidates, laws, chosen)
        return super().finish(window, u, u_end)


def _with_walk(kind: type[Walk], judge: object, run: Run, window: Window, p: Tensor) -> Verdict:
    real, sjd_pac.Walk = sjd_pac.Walk, kind
    try:
        return judge(run, window, p)
    finally:
        sjd_pac.Walk = real


class SiblingsFromTheResidual(SJDPAC):
    """Siblings are drawn from the law that continuation redrew from, R(p, Q), but scored as drawn
    from p (defect 2)."""

    def propose(self, run: Run, room: int) -> Window:
        window = super().propose(run, room)
        residuals = getattr(run, "residuals", None)
        if isinstance(window, TreeWindow) and residuals is not None:
            levels = min(window.layout.branching, len(residuals))
            _redraw(self, run, window, residuals[:levels])
        return window

    def _continue(
        self, window: Window, p: Tensor, verdict: Verdict, behind: Tensor, u: Tensor
    ) -> Verdict:
        H = len(window.drafts)
        self.run.residuals = torch.cat([residual(p[:H], window.laws), p[H : H + 1]])[
            int(verdict.count) :
        ]
        return super()._continue(window, p, verdict, behind, u)

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        self.run = run
        return super().judge(run, window, p)


def _redraw(
    decoder: SJDPAC, run: Run, window: TreeWindow, laws: Tensor, *, replace: bool = False
) -> None:
    """Draws the siblings anew from other laws [levels, V]; what they are scored with stays."""
    levels, K = len(laws), decoder.settings.K
    u = run.noise.uniform(Purpose.DRAFT, run.positions(levels), run.step, K)
    left, token = laws, window.candidates[:levels, 0]
    for k in range(1, K):
        if not replace:
            left = left.scatter(-1, token[:, None], 0)
        token = sample(left, u[:, k])
        window.candidates[:levels, k] = token
        if replace:  # one that was drawn before is tried again, as if it could have been drawn
            window.given[torch.arange(levels), k, token] += 1e-20
    depth, k = torch.tensor(window.layout.side).T
    window.side = window.candidates[depth - 1, k]


class SiblingsWithReplacement(SJDPAC):
    """Siblings are drawn with replacement but scored as drawn without (defect 5)."""

    def propose(self, run: Run, room: int) -> Window:
        window = super().propose(run, room)
        if isinstance(window, TreeWindow):
            _redraw(self, run, window, window.laws[: window.layout.branching], replace=True)
        return window


class SpineRedrawnAfterAllSiblings(SJDPAC):
    """A refused spine draft in the tree's levels is redrawn from what all its siblings leave of p
    (defect 3)."""

    def _continue(
        self, window: Window, p: Tensor, verdict: Verdict, behind: Tensor, u: Tensor
    ) -> Verdict:
        H = len(window.drafts)
        fits = ratio(gather(p[:H], window.drafts), gather(window.laws, window.drafts))
        after = super()._continue(window, p, verdict, behind, u)
        if isinstance(window, TreeWindow):
            for level in range(window.layout.branching):
                if bool(behind[level]) and u[level, 0] >= fits[level]:
                    left = p[level]
                    for x, q in zip(window.candidates[level], window.given[level], strict=True):
                        if q[x] > 0:
                            left = residual(left, q)
                            left = left / left.sum()
                    after.tokens[level] = sample(left, u[level, 1])
        return after


class FullAcceptanceFromThePad(SJDPAC):
    """After full acceptance of the spine the last token is a fresh one (defect 4)."""

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        return pad(super().judge(run, window, p), run, len(window.drafts))


class ContinuedWithStaleLaw(SJDPAC):
    """Continuation draws by the new p, but the old law is kept as the draft's."""

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        verdict = super().judge(run, window, p)
        verdict.laws = torch.cat([window.laws, p[len(window.drafts)][None]])
        return verdict


class ContinuedFromP(SJDPAC):
    """Continuation redraws what it refused from p, not from the residual."""

    def _continue(
        self, window: Window, p: Tensor, verdict: Verdict, behind: Tensor, u: Tensor
    ) -> Verdict:
        H = len(window.drafts)
        fits = ratio(gather(p[:H], window.drafts), gather(window.laws, window.drafts))
        after = super()._continue(window, p, verdict, behind, u)
        refused = behind.clone()
        refused[:-1] &= u[:-1, 0] >= fits
        after.tokens = torch.where(refused, sample(p[: H + 1], u[:, 1]), after.tokens)
        return after


class SiblingsScoredByTheSpinesLaw(SJDPAC):
    """Every sibling is scored with Q itself, as if none had been drawn before it."""

    def propose(self, run: Run, room: int) -> Window:
        window = super().propose(run, room)
        if isinstance(window, TreeWindow):
            window.given = (
                window.laws[: window.layout.branching, None].expand_as(window.given).clone()
            )
        return window


class FreshTokensScoredAsCertain(SJDPAC):
    """Fresh tokens are uniform but said to be certain, and those that are redrawn too."""

    def propose(self, run: Run, room: int) -> Window:
        window = super().propose(run, room)
        window.laws = one_hot(window.drafts, window.laws.shape[-1])
        return window
