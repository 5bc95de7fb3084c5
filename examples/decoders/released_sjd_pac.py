"""SJD-PAC's tree of candidates as its authors released it: KangJialiang/SJD-PAC,
`SJDPACSpeculativeSampler.__call__` in `scheduler/sjd_pac_iteration_lumina_mgpt.py`.

Every candidate is tested as if all before it had been rejected, and the longest accepted path wins.
In SJD-PAC's proof (App. A.3) the first accepted candidate wins; here later tokens decide about it,
too. And candidates 2 to K are drawn from the residual R(p, q), as rejected drafts are, but tested
as draws from p. The release departs from the paper in other points, too, which are not copied here.
A node is tested with the random number of its row in the pass. Near the image's end a node's row
depends on the window's width. So with static shapes, where windows keep their width, a seed can
draw another picture than without."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.candidates import CandidateWalk, TreeWindow, draw_candidates
from engine.decoders.decode_state import DecodeState
from engine.decoders.sjd_pac import SJDPAC, PACSettings
from engine.decoders.speculate import acceptance_probability
from engine.decoders.tree import children_on, side_on
from engine.numerics.distributions import gather, normalise, residual
from engine.numerics.randomness import Purpose
from engine.settings import SettingError


@dataclass(frozen=True, slots=True)
class ReleasedSettings(PACSettings):
    def __post_init__(self) -> None:
        PACSettings.__post_init__(self)
        if self.verification == "traversal":
            raise SettingError("The released code tests its tree from the root down.")


class LongestPath(CandidateWalk):
    """Takes the longest accepted path, the first of equally long ones."""

    def __init__(self, p: Tensor, room: Tensor, window: TreeWindow, u: Tensor) -> None:
        super().__init__(p, room)
        self.children = children_on(window.layout, p.device)
        self.levels = list(zip(window.candidates, window.candidate_q, strict=True))
        self.u = u  # [levels, rows]: each node has a number of its own
        path = self.longest(0, 0)
        for level, (candidates, q) in enumerate(self.levels):
            chosen = torch.ones(len(candidates), device=p.device)
            chosen[path[level : level + 1]] = 0
            self.descend(self.children, candidates, q, chosen)

    def longest(self, node: int, level: int) -> list[int]:
        """Return the longest accepted path below `node`, whose depth is `level`.

        The path has the index of the accepted candidate at each further level.
        """
        best: list[int] = []
        if level == min(len(self.levels), int(self.room)):
            return best
        left = self.p[node]
        for k, (x, q) in enumerate(zip(*self.levels[level], strict=True)):
            if q[x] == 0:
                continue
            child = int(self.children[node, k])
            if self.u[level, child] < acceptance_probability(left[x], q[x]):
                path = [k, *self.longest(child, level + 1)]
                best = max(best, path, key=len)
            left = normalise(residual(left, q))
        return best


class ReleasedSJDPAC(SJDPAC):
    name, title = "released-sjd-pac", "Released SJD-PAC"
    idea = "SJD with several candidates, of which the longest accepted path wins."
    paper = "Kang et al., SJD-PAC, 2026 (arXiv 2603.18599), released code"
    Settings = ReleasedSettings
    capturable = False

    def propose(self, state: DecodeState) -> Window:
        window, K = super().propose(state), self.settings.K
        if isinstance(window, TreeWindow) and state.step:
            levels = window.layout.branching
            left = vars(state)["left"]
            left = torch.cat([left, window.q[len(left) :]])[:levels]
            u = state.uniform(Purpose.CANDIDATE, levels, K)
            window.candidates, drawn = draw_candidates(window.drafts[:levels], left, u)
            q = [window.q[:levels]]
            for k in range(1, K):
                q.append(normalise(q[-1].scatter(-1, window.candidates[:, k - 1 : k], 0)))
            exists = gather(drawn, window.candidates) > 0  # where R(p, q) has K tokens
            exists[:, 0] = True
            window.candidate_q = torch.stack(q, 1) * exists[..., None]
            depth, candidate = side_on(window.layout, left.device)
            window.nodes = torch.cat([window.drafts[:-1], window.candidates[depth - 1, candidate]])
        return window

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        rows, K = len(window.drafts), self.settings.K
        if not isinstance(window, TreeWindow):
            verification = super().verify(state, window, p)
        else:
            u = state.uniform(Purpose.VERIFY, rows, K + 3)
            nodes = state.uniform(Purpose.DRAFT, window.layout.branching, len(p))
            walk = LongestPath(p, state.room.clamp_max(rows - 1), window, nodes)
            verification = walk.finish(window, u[:, 0], u[:, K])
            verification.diagnostics = walk.diagnostics
            verification = self._continue(state, window, p, verification, u[:, K + 1 :])
        left = residual(p[:rows], window.q)
        room = state.room.clamp_max(rows - 1).view(1)
        left.index_copy_(0, room, p[room])
        vars(state)["left"] = left[int(verification.count) :]
        return verification
