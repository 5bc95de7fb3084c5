"""SJD-PAC (Kang et al., 2026). Exactly lossless.

It adds proactive drafting at the root and adaptive continuation after a rejection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.block import verify_block
from engine.decoders.candidates import CandidateWalk, TreeWindow, draw_candidates
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import fill_up, fresh_knob, initial_tokens
from engine.decoders.speculate import chain_acceptance, keep_coupled
from engine.decoders.traversal import traversal_window, verify_traversal
from engine.decoders.tree import Tree, children_on, side_nodes, side_on, tree
from engine.decoders.window import WindowDecoder
from engine.models.base import MAX_ROWS
from engine.numerics.distributions import sample
from engine.numerics.randomness import Purpose
from engine.settings import SettingError, Settings, Withdrawn, knob


@dataclass(frozen=True, slots=True)
class PACSettings(Settings):
    """SJD-PAC's settings; the defaults L = 64, K = 4, D = 3 are the paper's (Sec. 5.1)."""

    window: int = knob(64, "Rows of one forward pass, the tree's included.", low=2, high=MAX_ROWS)
    K: int = knob(
        4, "Candidates for each of the first positions; 1 is without any beside.", low=1, high=8
    )
    D: int = knob(3, "Levels of the tree of candidates.", low=1, high=5)
    AC: bool = knob(
        True, "Adaptive continuation: behind a rejection, keep the drafts that still fit."
    )
    fresh: str = fresh_knob("uniform")
    verification: str = knob(
        "token",
        "How the tree is tested: from its root down, or from its leaves up, which accepts more. The"
        " second needs AC off.",
        choices=("token", "traversal"),
    )

    withdrawn: ClassVar = {
        "tree": Withdrawn(
            ("full", "spine", "lanes", "deep"),
            "every node of the tree's levels has K candidates below it, as tree = full had.",
        ),
        "PD": Withdrawn((True, False), "K = 1 drafts without candidates, as PD = false did."),
    }

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        if self.K > 1 and side_nodes(self.K, self.D) + self.D >= self.window:
            nodes = side_nodes(self.K, self.D) + self.D + 1
            raise SettingError(
                f"A tree of K = {self.K}, D = {self.D} takes up to {nodes} rows, and"
                f" the window has {self.window}: make K or D smaller, or the window larger."
            )
        if self.verification == "traversal" and self.AC:
            raise SettingError(
                "verification = traversal goes with AC = false: it keeps the distribution only if"
                " each pass draws all of its drafts anew."
            )


class SJDPAC(WindowDecoder):
    """Verifies a spine of drafts s_1 .. s_H, each drawn from a Q, and a tree at the spine's root.

    The spine's first positions have further candidates, drawn from the same Q without replacement.
    From the root down, a node's children are tried in order. Child k was drawn from q^(k), which is
    Q without the earlier candidates. It is accepted with probability min(1, p^(k) / q^(k)). Here
    p^(1) is the node's p, and p^(k+1) is the residual R(p^(k), q^(k)). The first accepted child is
    the next node. If no child is accepted, a sample of the last residual ends the step; a leaf
    gives a bonus token (proactive drafting, Sec. 4.1 and App. A.3, Theorem 2). Each spine draft
    after the committed positions is kept with probability min(1, p / Q) and otherwise resampled
    from R(p, Q). Either way the draft is now a sample of p (adaptive continuation, Sec. 4.2 and
    App. A.2, Theorem 1).

    The images have vanilla AR's distribution for two reasons. The first accepted child wins,
    whatever the other candidates would have led to. And candidates are drawn from the distribution
    that they are verified with. Every step has a tree, as in the authors' released loop over
    Lumina-mGPT. Sec. 4.1 and Alg. 1 (lines 19 and 20) have one only after a rejection.

    With `verification` = traversal the tree is tested from its leaves up (see `verify_traversal`).
    Then each node has candidates of its own, and no draft is kept.
    """

    name, title = "sjd-pac", "SJD-PAC"
    idea = "SJD with several candidates; what still fits stays after a rejection."
    paper = "Kang et al., SJD-PAC, 2026 (arXiv 2603.18599)"
    badge = Badge.SAME_DISTRIBUTION
    Settings = PACSettings
    settings: PACSettings
    # "For a CPU" took the fewest seconds of all settings in the grid of docs/log.md.
    presets = {"As in the paper": PACSettings(), "For a CPU": PACSettings(window=32, K=3, D=2)}

    @property
    def _widest(self) -> int:
        """Number of nodes of the tree's last level."""
        return int(self.settings.K ** (self.settings.D - 1))

    def _tree(self, room: int) -> Tree:
        return tree(self.settings.window, room, self.settings.K, self.settings.D)

    def propose(self, state: DecodeState) -> Window:
        layout = self._tree(state.draft_limit)
        drafts, q, there = state.drafts_left(layout.spine)
        new = initial_tokens(state, drafts, there, "random")
        has_draft = state.offsets(len(drafts)) < layout.spine
        drafts, q = fill_up(state, drafts, q, there, new, has_draft, self.settings.fresh)
        if not layout.side:
            return Window(drafts, q)
        if self.settings.verification == "traversal":
            u = state.uniform(Purpose.CANDIDATE, layout.branching, self._widest)
            return traversal_window(drafts, q, layout, u)
        levels = layout.branching
        u = state.uniform(Purpose.CANDIDATE, levels, self.settings.K)
        candidates, candidate_q = draw_candidates(drafts[:levels], q[:levels], u)
        depth, k = side_on(layout, drafts.device)
        return TreeWindow(
            drafts,
            q,
            torch.cat([drafts[:-1], candidates[depth - 1, k]]),
            torch.cat([state.offsets(layout.spine + 1)[1:], depth]),
            layout.parents,
            layout=layout,
            candidates=candidates,
            candidate_q=candidate_q,
        )

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        if self.settings.verification == "traversal":
            return self._verify_upward(state, window, p)
        rows, K = len(window.drafts), self.settings.K
        u = state.uniform(Purpose.VERIFY, rows, K + 3)
        accept, replace, behind = u[:, :K], u[:, K], u[:, K + 1 :]
        walk = CandidateWalk(p, state.room.clamp_max(rows - 1))
        if isinstance(window, TreeWindow):
            children = children_on(window.layout, p.device)
            for level in range(window.layout.branching):
                walk.descend(
                    children, window.candidates[level], window.candidate_q[level], accept[level]
                )
        verification = walk.finish(window, accept[:, 0], replace)
        verification.diagnostics = walk.diagnostics
        return self._continue(state, window, p, verification, behind)

    def _verify_upward(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        if not isinstance(window, TreeWindow):
            return verify_block(state, window, p)
        rows = len(window.drafts)
        room = state.room.clamp_max(rows - 1)
        # At the last position there is no tree, unless shapes are static: both sample with the
        # same number.
        u = state.uniform(Purpose.VERIFY, rows, 3 + self._widest)
        verification = verify_traversal(window, p, room, u[:, 3:], u[:, 2])
        return self._continue(state, window, p, verification, u)

    def _continue(
        self, state: DecodeState, window: Window, p: Tensor, verification: Verification, u: Tensor
    ) -> Verification:
        """Renew the spine's drafts after the committed positions, by this pass's p.

        With adaptive continuation (`AC`) each draft is kept or redrawn (`keep_coupled`). Without it
        every draft is redrawn.
        """
        spine = p[: len(window.drafts)]
        if self.settings.AC:
            return keep_coupled(state, window, spine, verification, u)
        behind = state.offsets(len(spine)) >= verification.count
        acceptance = chain_acceptance(window, spine)
        verification.acceptance = torch.where(behind, acceptance, verification.acceptance)
        verification.tokens = torch.where(behind, sample(spine, u[:, 1]), verification.tokens)
        return verification
