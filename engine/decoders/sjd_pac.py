"""SJD-PAC (Kang et al., 2026): proactive drafting at the root, adaptive continuation behind a
refusal. Exactly lossless."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.decoders.base import Badge
from engine.decoders.run import Run
from engine.decoders.speculate import leading, padded, ratio
from engine.decoders.tree import READINGS, Tree, side_nodes, tree
from engine.decoders.verdict import Evidence, Verdict, Window
from engine.decoders.window import WindowDecoder
from engine.distributions import gather, one_hot, residual, sample
from engine.randomness import Purpose
from engine.settings import SettingError, Settings, knob
from engine.trace import Status


@dataclass(frozen=True, slots=True)
class PACSettings(Settings):
    """L = 64, K = 4, D = 3 are the paper's (Sec. 5.1)."""

    window: int = knob(64, "Rows of one forward pass, the tree's included.", low=2, high=96)
    K: int = knob(4, "Candidates for each of the first positions.", low=1, high=8)
    D: int = knob(3, "Levels of the tree of candidates.", low=1, high=5)
    AC: bool = knob(
        True, "Adaptive continuation: behind a refusal, keep the drafts that still fit."
    )
    PD: bool = knob(True, "Proactive drafting: several candidates for the first positions.")
    tree: str = knob(
        "full", "How the paper's tree is read; `full` is what its code does.", choices=READINGS
    )

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        if self.PD and side_nodes(self.K, self.D, self.tree) + self.D >= self.window:
            nodes = side_nodes(self.K, self.D, self.tree) + self.D + 1
            raise SettingError(
                f"A {self.tree} tree of K = {self.K}, D = {self.D} takes up to {nodes} rows, and"
                f" the window has {self.window}: make K or D smaller, or the window larger."
            )


@dataclass(slots=True)
class TreeWindow(Window):
    """A window with siblings: candidates [levels, K] with the laws `given` [levels, K, V] each was
    drawn from."""

    layout: Tree | None = None
    candidates: Tensor | None = None
    given: Tensor | None = None


class SJDPAC(WindowDecoder):
    """A spine of drafts s_1 .. s_H with laws Q, and beside its first ones siblings drawn from the
    same Q without replacement.

    Walk from the root: a node's children are tried in order, the k-th against p^(k) with q^(k),
    where q^(k) is Q without the earlier candidates and p^(k+1) = R(p^(k), q^(k)); the first
    accepted is descended into; if none is, a draw from what is left of p ends the step, and a leaf
    gives one more token (proactive drafting, Alg. 1, Theorem 2). Behind the end, a spine draft
    stays with probability min(1, p / Q), else it is redrawn from R(p, Q); either way its law is now
    p (adaptive continuation, Sec. 4.2). The first accepted child wins, whatever its siblings would
    have led to, and siblings are drawn from the law they are scored with: only so does the law of
    the pictures stay that of vanilla AR.
    """

    name, title, order = "sjd-pac", "SJD-PAC", 6
    idea = (
        "SJD that tries several candidates first, and after a refusal keeps the guesses that still"
        " fit."
    )
    paper = "Kang et al., SJD-PAC, 2026 (arXiv 2603.18599)"
    badge = Badge.SAME_DISTRIBUTION
    Settings = PACSettings

    def _tree(self, room: int) -> Tree:
        s = self.settings
        return tree(s.window, room, s.K if s.PD else 1, s.D, s.tree)

    def propose(self, run: Run, room: int) -> Window:
        layout, codes = self._tree(room), self.model.vocab_size
        drafts, laws = run.drafts[: layout.spine], run.laws[: layout.spine]
        positions = run.positions(layout.spine - len(drafts), run.frontier + len(drafts))
        u = run.noise.uniform(Purpose.FRESH, positions, run.step, 1)[:, 0]
        fresh = torch.where(run.forced[positions], 0, (u * codes).long())
        uniform = torch.full((len(fresh), codes), 1 / codes, device=u.device)
        fresh_laws = torch.where(run.forced[positions][:, None], one_hot(fresh, codes), uniform)
        drafts, laws = torch.cat([drafts, fresh]), torch.cat([laws, fresh_laws])
        if not layout.side:
            return Window(drafts, laws)
        candidates, given = siblings(run, drafts, laws, layout.branching, self.settings.K)
        depth, k = torch.tensor(layout.side, device=u.device).T
        return TreeWindow(
            drafts, laws, candidates[depth - 1, k], depth, layout.parents, layout, candidates, given
        )

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        H, K = len(window.drafts), self.settings.K
        u = run.noise.uniform(Purpose.VERIFY, run.positions(H + 1), run.step, K + 3)
        walk = Walk(p)
        if isinstance(window, TreeWindow):
            children = torch.tensor(window.layout.children, device=p.device)
            for level in range(window.layout.branching):
                walk.descend(children, window.candidates[level], window.given[level], u[level, :K])
        verdict = walk.finish(window, u[:, 0], u[:, K])
        verdict.explain = walk.evidence
        behind = torch.arange(H + 1, device=p.device) >= verdict.count
        return self._continue(window, p, verdict, behind, u[:, K + 1 :])

    def _continue(
        self, window: Window, p: Tensor, verdict: Verdict, behind: Tensor, u: Tensor
    ) -> Verdict:
        """What happens behind the committed positions: every row of the spine has a newer law for
        its position."""
        H = len(window.drafts)
        spine = p[: H + 1]
        kept = torch.zeros_like(behind)
        redrawn = spine
        fits = ratio(gather(spine[:-1], window.drafts), gather(window.laws, window.drafts))
        verdict.acceptance = torch.where(behind, padded(fits, torch.nan), verdict.acceptance)
        if self.settings.AC:
            kept[:-1] = u[:-1, 0] < fits
            verdict.uniform = torch.where(behind, padded(u[:-1, 0], torch.nan), verdict.uniform)
            redrawn = torch.cat([residual(spine[:-1], window.laws), spine[-1:]])
        drafts = torch.where(kept, padded(window.drafts, 0), sample(redrawn, u[:, 1]))
        refused = behind & ~kept & (torch.arange(H + 1, device=p.device) < H) & self.settings.AC
        verdict.tokens = torch.where(behind, drafts, verdict.tokens)
        verdict.status = torch.where(refused, int(Status.REJECTED), verdict.status)
        return verdict


def siblings(run: Run, drafts: Tensor, laws: Tensor, levels: int, K: int) -> tuple[Tensor, Tensor]:
    """K candidates [levels, K] for the first positions, the spine's draft first, the others without
    replacement, and the law [levels, K, V] each was drawn from, given those before it: all zero
    where the law had no more tokens to give."""
    u = run.noise.uniform(Purpose.SIBLING, run.positions(levels), run.step, K)
    left, token = laws[:levels], drafts[:levels]
    tokens, given = [token], [left]
    for k in range(1, K):
        left = left.scatter(-1, token[:, None], 0)
        left = left / left.sum(-1, keepdim=True).clamp_min(1e-30)
        token = sample(left, u[:, k])
        tokens.append(token)
        given.append(left)
    return torch.stack(tokens, 1), torch.stack(given, 1)


class Walk:
    """Down the tree, without a copy from the device: each level is tried whether or not the walk
    still goes on."""

    def __init__(self, p: Tensor) -> None:
        self.p = p
        self.alive = torch.ones((), dtype=torch.bool, device=p.device)
        # whether a draft was refused where the walk ended
        self.judged = torch.zeros_like(self.alive)
        self.depth = torch.zeros((), dtype=torch.long, device=p.device)  # accepted nodes
        self.node = torch.zeros_like(self.depth)  # the last of them
        self.left = p[0]  # the law to draw from if the walk ends here
        self.path, self.tokens, self.acceptance, self.uniform = [self.node], [], [], []
        self.trials: list[list[tuple[Tensor, ...]]] = []

    def descend(self, children: Tensor, candidates: Tensor, laws: Tensor, u: Tensor) -> None:
        """One level: candidates [K] with their laws [K, V], children [rows, K], u [K]."""
        left, node, token = self.left, self.node, candidates[0]
        acceptance, uniform = ratio(left[token], laws[0, token]), u[0]
        found, judged = torch.zeros_like(self.alive), torch.zeros_like(self.alive)
        self.trials.append([])
        for child, x, q, chance in zip(children[self.node], candidates, laws, u, strict=True):
            fits = ratio(left[x], q[x])
            tried = ~found & (child >= 0) & (q[x] > 0)
            accepted = tried & (chance < fits)
            self.trials[-1].append((x, left[x], q[x], fits, chance, tried & self.alive))
            acceptance, uniform = (
                torch.where(accepted, fits, acceptance),
                torch.where(accepted, chance, uniform),
            )
            token, node = torch.where(accepted, x, token), torch.where(accepted, child, node)
            found, judged = found | accepted, judged | tried
            remaining = residual(left, q)
            left = torch.where(tried & ~accepted, remaining / remaining.sum(), left)
        self.left = torch.where(self.alive, torch.where(found, self.p[node], left), self.left)
        self.judged = torch.where(self.alive, judged & ~found, self.judged)
        self.alive = self.alive & found
        self.depth = self.depth + self.alive
        self.node = torch.where(self.alive, node, self.node)
        self.path.append(self.node)
        self.tokens.append(token)
        self.acceptance.append(acceptance)
        self.uniform.append(uniform)

    def evidence(self) -> Evidence:
        """Who was tried at each level that the walk came to."""
        if not self.trials:
            return Evidence()
        return Evidence(
            siblings=torch.stack(
                [
                    torch.stack(
                        [torch.stack([*map(torch.Tensor.double, trial)]) for trial in level]
                    )
                    for level in self.trials
                ]
            )
        )

    def finish(self, window: Window, u: Tensor, u_end: Tensor) -> Verdict:
        """From where the tree ends, down the spine as in SJD; u [H + 1] accepts, u_end [H + 1]
        draws the last token."""
        H, levels = len(window.drafts), len(self.tokens)
        spine = self.p[: H + 1]
        i = torch.arange(H + 1, device=spine.device)
        on_spine = self.alive & (self.node == levels)
        fits = ratio(gather(spine[:-1], window.drafts), gather(window.laws, window.drafts))
        end = self.depth + torch.where(on_spine, leading(u[levels:H] < fits[levels:]), 0)
        left = self.left
        if H:
            last = end.clamp_max(H - 1).view(1)
            below = torch.where(end < H, residual(spine[last], window.laws[last])[0], spine[H])
            left = torch.where(on_spine, below, left)
        judged = torch.where(on_spine, end < H, self.judged)
        tokens, acceptance, path = padded(window.drafts, 0), padded(fits, torch.nan), i.clone()
        uniform = padded(u[:H], torch.nan)
        if levels:
            tokens[:levels], acceptance[:levels] = (
                torch.stack(self.tokens),
                torch.stack(self.acceptance),
            )
            uniform[:levels] = torch.stack(self.uniform)
            path[: levels + 1] = torch.stack(self.path)
        drafts = torch.where(i < end, tokens, padded(window.drafts, -1))
        unjudged = (i == end) & ~judged
        status = torch.where(i < end, int(Status.ACCEPTED), int(Status.REFINED))
        status = torch.where(
            i == end, torch.where(judged, int(Status.RESAMPLED), int(Status.FRESH)), status
        )
        return Verdict(
            count=end + 1,
            tokens=torch.where(i == end, sample(left, u_end[end]), tokens),
            laws=spine,
            status=status,
            drafts=torch.where(unjudged, -1, drafts),
            p=torch.where((i <= end)[:, None], self.p[path], spine),
            acceptance=torch.where(unjudged, torch.nan, acceptance),
            uniform=torch.where((i <= end) & ~unjudged, uniform, torch.nan),
            path=path,
        )
