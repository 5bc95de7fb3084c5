"""ASSD, any-subset speculative decoding (Guo & Ermon, 2025, Alg. 1 and 2). Exactly lossless."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.ar import commit_first
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.ngram import draft_ngrams
from engine.decoders.speculate import chain_acceptance, speculate
from engine.decoders.window import WindowDecoder
from engine.models.base import MAX_ROWS
from engine.numerics.distributions import sample
from engine.numerics.randomness import Purpose
from engine.settings import Settings, Withdrawn, knob

DRAFTS = ("self", "n-gram")


@dataclass(frozen=True, slots=True)
class ASSDSettings(Settings):
    """ASSD's settings; the default k = 5 is the paper's value (Sec. 6.1, Table 5)."""

    drafts: str = knob(
        "self",
        "What guesses: the model, for several cells at once, or which codes stood side by side.",
        choices=DRAFTS,
    )
    k: int = knob(
        5,
        "Cells guessed at once; with the model's own guesses, 2 gains nothing.",
        low=2,
        high=MAX_ROWS - 1,
    )

    withdrawn: ClassVar = {
        "fused": Withdrawn(
            (False, True), "the model guesses in a pass of its own, as in the paper."
        )
    }


class ASSD(WindowDecoder):
    """Alternates draft passes and verification passes over the next k positions.

    A draft pass asks for all k positions in parallel, given the committed tokens alone. The first
    draft is a sample of the model's own p, so the draft pass commits it (Lemma 1). The verification
    pass has this token as its root and reads the chain of the other k - 1 drafts. It accepts each
    of them with probability min(1, p / q), and resamples the first rejected one from R(p, q) (Alg.
    1, which swaps the names p and q).

    If all k - 1 drafts are accepted, there is no bonus token: the next draft pass samples the
    position after them. Near the image's end a chain is shorter. If all its drafts are accepted,
    the pass's last row samples the image's last position. If a draft pass has only one position
    left, no verification follows. Each pass commits at least one token, so there are never more
    passes than tokens (Theorem 1).

    `n-gram` drafts (Alg. 2) need no draft pass, and each verification may end in a bonus token.
    """

    name, title = "assd", "ASSD"
    idea = (
        "Several tokens are guessed as if they did not depend on each other, then checked in one"
        " pass: never more passes than tokens."
    )
    paper = "Guo & Ermon, Any-Subset Speculative Decoding, 2025 (arXiv 2504.20456)"
    badge = Badge.SAME_DISTRIBUTION
    default = False
    infills = True
    Settings = ASSDSettings
    settings: ASSDSettings

    @property
    def capturable(self) -> bool:
        return False  # two kinds of steps

    def propose(self, state: DecodeState) -> Window:
        if self.settings.drafts == "n-gram":
            return Window(*draft_ngrams(state, min(self.settings.k, state.draft_limit)))
        count = min(self.settings.k - 1, state.draft_limit)
        if not drafting(state):
            return Window(*state.drafts_left(count)[:2])
        # Copies of the root ask for the positions after the next one; nothing is drafted yet.
        return Window(
            *state.nothing_drafted(),
            nodes=state.root.expand(count),
            depths=state.offsets(count + 1)[1:],
            parents=tuple(range(count + 1)),
        )

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        if self.settings.drafts == "self" and drafting(state):
            # The samples are independent: each row saw what is committed alone.
            return commit_first(state, p, sample(p, state.uniform(Purpose.DRAFT, len(p), 1)[:, 0]))
        acceptance = chain_acceptance(window, p)
        verification = speculate(state, window, p, acceptance, redraws=False)
        k = self.settings.k
        if self.settings.drafts == "self" and len(p) == k:
            verification.count = verification.count.clamp_max(k - 1)
        return verification


def drafting(state: DecodeState) -> bool:
    """Return whether the current step is a draft pass.

    Draft and verification passes alternate, beginning with a draft pass. If a draft pass leaves
    nothing to verify, it is the image's last pass.
    """
    return state.step % 2 == 0
