"""SJD-PAC (Kang et al., 2026). Exactly lossless.

It adds proactive drafting at the root and adaptive continuation after a rejection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from engine.core import Candidates, Diagnostics, Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import fill_up, fresh_knob, initial_tokens
from engine.decoders.speculate import (
    acceptance_probability,
    chain_acceptance,
    count_leading,
    keep_coupled,
)
from engine.decoders.tree import Tree, children_on, side_nodes, side_on, tree
from engine.decoders.window import WindowDecoder
from engine.models.base import MAX_ROWS
from engine.numerics.distributions import gather, in_turn, normalise, residual, sample
from engine.numerics.randomness import Purpose
from engine.settings import SettingError, Settings, Withdrawn, knob
from engine.trace import Status


@dataclass(frozen=True, slots=True)
class PACSettings(Settings):
    """SJD-PAC's settings; L = 64, K = 4, D = 3 are the paper's (Sec. 5.1)."""

    window: int = knob(64, "Rows of one forward pass, the tree's included.", low=2, high=MAX_ROWS)
    K: int = knob(
        4, "Candidates for each of the first positions; 1 is without any beside.", low=1, high=8
    )
    D: int = knob(3, "Levels of the tree of candidates.", low=1, high=5)
    AC: bool = knob(
        True, "Adaptive continuation: behind a rejection, keep the drafts that still fit."
    )
    fresh: str = fresh_knob("uniform")

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


@dataclass(slots=True, kw_only=True)
class TreeWindow(Window):
    """A window with a tree.

    `candidates` [levels, K] has the candidates of the first positions; each level begins with the
    spine's draft. `candidate_q` [levels, K, V] has the distribution of each candidate's draw.
    """

    layout: Tree
    candidates: Tensor
    candidate_q: Tensor


class SJDPAC(WindowDecoder):
    """Verifies a spine of drafts s_1 .. s_H with distributions Q, and a tree at its root.

    The spine's first positions have further candidates, drawn from the same Q without replacement.
    From the root down, a node's children are tried in order. Child k has the target p^(k) and the
    draft distribution q^(k), where q^(k) is Q without the earlier candidates and p^(k+1) = R(p^(k),
    q^(k)). The first accepted child is the next node. If no child is accepted, a sample of the last
    R ends the step; a leaf gives a bonus token (proactive drafting, Sec. 4.1 and App. A.3, Theorem
    2). Each later spine draft is kept with probability min(1, p / Q) and otherwise resampled from
    R(p, Q). Either way the draft is now a sample of p (adaptive continuation, Sec. 4.2 and App.
    A.2, Theorem 1).

    The images have vanilla AR's distribution for two reasons. The first accepted child wins,
    whatever the other candidates would have led to. And candidates are drawn from the distribution
    that they are verified with. The paper draws a tree only after a rejection; here every step has
    a tree.
    """

    name, title = "sjd-pac", "SJD-PAC"
    idea = "SJD with several candidates; what still fits stays after a rejection."
    paper = "Kang et al., SJD-PAC, 2026 (arXiv 2603.18599)"
    badge = Badge.SAME_DISTRIBUTION
    Settings = PACSettings
    settings: PACSettings
    # "For a CPU" took the fewest seconds of all settings in the grid of docs/log.md.
    presets = {"As in the paper": PACSettings(), "For a CPU": PACSettings(window=32, K=3, D=2)}

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
        candidates, candidate_q = draw_candidates(
            state, drafts, q, layout.branching, self.settings.K
        )
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

    def _continue(
        self, state: DecodeState, window: Window, p: Tensor, verification: Verification, u: Tensor
    ) -> Verification:
        """Renew the drafts after the committed positions: every spine row has a newer p.

        With AC a draft is kept or redrawn (`keep_coupled`); without AC every draft is redrawn.
        """
        spine = p[: len(window.drafts)]
        if self.settings.AC:
            return keep_coupled(state, window, spine, verification, u)
        behind = state.offsets(len(spine)) >= verification.count
        acceptance = chain_acceptance(window, spine)
        verification.acceptance = torch.where(behind, acceptance, verification.acceptance)
        verification.tokens = torch.where(behind, sample(spine, u[:, 1]), verification.tokens)
        return verification


def draw_candidates(
    state: DecodeState, drafts: Tensor, q: Tensor, levels: int, K: int
) -> tuple[Tensor, Tensor]:
    """Return K candidates for each of the first positions [levels, K], and their distributions.

    The first candidate is the spine's draft; the others are drawn from q without replacement. The
    distributions are [levels, K, V]: a candidate's distribution is q without the earlier
    candidates, or all zero where q has no further token.
    """
    u = state.uniform(Purpose.CANDIDATE, levels, K)
    remainder, token = q[:levels], drafts[:levels]
    tokens, drawn_from = [token], [remainder]
    for k in range(1, K):
        remainder = normalise(remainder.scatter(-1, token[:, None], 0))
        token = sample(remainder, u[:, k])
        tokens.append(token)
        drawn_from.append(remainder)
    return torch.stack(tokens, 1), torch.stack(drawn_from, 1)


class CandidateWalk:
    """Verification down the tree without a copy from the device.

    Every level is computed, even if an earlier level ended the walk. Numbers have the shape [1],
    because indexing by a 0-dim tensor would copy that tensor to the host.
    """

    def __init__(self, p: Tensor, room: Tensor) -> None:
        """Begin at the root.

        Args:
            p: the model's distributions [rows, V].
            room: how many drafts come before the image's end (0-dim).
        """
        self.p, self.room = p, room
        self.alive = torch.ones(1, dtype=torch.bool, device=p.device)
        self.rejected = torch.zeros_like(self.alive)  # whether the walk ended with a rejection
        # How many nodes are accepted, and the row of the last one.
        self.depth = torch.zeros(1, dtype=torch.long, device=p.device)
        self.node = torch.zeros_like(self.depth)
        self.left = p[0]  # the distribution to sample if the walk ends here
        self.path = [self.node]
        self.tokens: list[Tensor] = []
        self.acceptance: list[Tensor] = []
        self.uniform: list[Tensor] = []
        self.trials: list[tuple[Tensor, ...]] = []

    def descend(self, children: Tensor, candidates: Tensor, candidate_q: Tensor, u: Tensor) -> None:
        """Go down one level.

        Args:
            children: rows of each row's children [rows, K].
            candidates: the level's candidates [K].
            candidate_q: the distribution that each candidate was drawn from [K, V].
            u: uniform number of each candidate's test [K].
        """
        rows = children[self.node][0]
        q = gather(candidate_q, candidates)
        exists = (rows >= 0) & (q > 0) & (len(self.tokens) < self.room)
        p, remainder = in_turn(self.left, candidate_q, candidates, exists)
        acceptance = acceptance_probability(p, q)
        accepted = exists & (u < acceptance)
        any_accepted = accepted.any(0, keepdim=True)
        first = torch.where(any_accepted, accepted.int().argmax(0, keepdim=True), 0)
        tried = exists & (
            torch.arange(len(u), device=u.device) <= torch.where(any_accepted, first, len(u))
        )
        self.trials.append((candidates, p, q, acceptance, u, tried & self.alive))
        node = torch.where(any_accepted, rows[first], self.node)
        self.left = torch.where(
            self.alive, torch.where(any_accepted, self.p[node][0], remainder), self.left
        )
        self.rejected = torch.where(
            self.alive, exists.any(0, keepdim=True) & ~any_accepted, self.rejected
        )
        self.alive = self.alive & any_accepted
        self.depth = self.depth + self.alive
        self.node = torch.where(self.alive, node, self.node)
        self.path.append(self.node)
        self.tokens.append(candidates[first])
        self.acceptance.append(acceptance[first])
        self.uniform.append(u[first])

    def diagnostics(self) -> Diagnostics:
        """Return the candidates tried at each level that the walk reached."""
        if not self.trials:
            return Diagnostics()
        tokens, *tests, tried = map(torch.stack, zip(*self.trials, strict=True))
        candidates = Candidates(torch.where(tried, tokens, -1), torch.stack(tests, -1))
        return Diagnostics(candidates)

    def finish(self, window: Window, u: Tensor, u_end: Tensor) -> Verification:
        """Go on from the tree's last level down the spine, as SJD does; return the verification.

        The numbers `u` [R] test the drafts, and `u_end` [R] samples the last token.
        """
        rows, levels = len(window.drafts), len(self.tokens)
        spine, room = self.p[:rows], self.room
        path = i = torch.arange(rows, device=spine.device)
        on_spine = self.alive & (self.node == levels)
        tokens, acceptance, uniform = window.drafts, chain_acceptance(window, spine), u
        leading = count_leading(u[levels:] < acceptance[levels:], room - levels)
        end = self.depth + torch.where(on_spine, leading, 0)
        below = torch.where(end < room, residual(spine[end], window.q[end]), spine[end])
        remainder = torch.where(on_spine, below, self.left[None])
        rejected = torch.where(on_spine, end < room, self.rejected)
        if levels:
            tokens = torch.cat([*self.tokens, tokens[levels:]])
            acceptance = torch.cat([*self.acceptance, acceptance[levels:]])
            uniform = torch.cat([*self.uniform, uniform[levels:]])
            path = torch.cat([*self.path, path[levels + 1 :]])
        drafts = torch.where(i < end, tokens, window.drafts)
        none = (i == rows - 1) | ((i == end) & ~rejected)  # the bonus, and behind the last draft
        status = torch.where(i < end, int(Status.ACCEPTED), int(Status.REFINED))
        status = torch.where(i == end, int(Status.RESAMPLED), status)
        return Verification(
            count=end[0] + 1,
            tokens=torch.where(i == end, sample(remainder, u_end[end]), tokens),
            q=spine,
            status=torch.where((i == end) & ~rejected, int(Status.FRESH), status),
            p=torch.where((i <= end)[:, None], self.p[path], spine),
            acceptance=acceptance,
            uniform=torch.where(i <= end, uniform, torch.nan),
            drafts=torch.where(none, -1, drafts),
            path=path,
        )
