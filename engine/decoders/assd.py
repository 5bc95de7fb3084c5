"""ASSD, any-subset speculative decoding (Guo & Ermon, 2025, Alg. 1 and 2). Exactly lossless."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.decoders.ar import commit_first
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState, Verification, Window
from engine.decoders.ngram import draft_ngrams
from engine.decoders.speculate import chain_acceptance, speculate
from engine.decoders.window import WindowDecoder
from engine.models.base import MAX_ROWS
from engine.numerics.distributions import sample
from engine.numerics.randomness import Purpose
from engine.settings import SettingError, Settings, knob
from engine.trace import Status

DRAFTS = ("self", "n-gram")


@dataclass(frozen=True, slots=True)
class ASSDSettings(Settings):
    """k = 5 is the paper's (Sec. 6.1, Table 5)."""

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
    fused: bool = knob(
        False, "Guess on in the pass that checks: half the passes, with k times as many rows."
    )

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        if self.fused and (self.drafts != "self" or self.k**2 > MAX_ROWS):
            raise SettingError(
                f"fused goes with drafts = self and k of at most {math.isqrt(MAX_ROWS)}: a pass has"
                " k rows for each of k guesses."
            )


class ASSD(WindowDecoder):
    """Draft pass: the next k positions asked for in parallel, given what is committed alone.
    Verification pass: the chain of these drafts, each accepted with probability min(1, p / q); the
    first rejected one is resampled from R(p, q) (Alg. 1; the paper has p and q the other way).

    The first draft is a sample of the model's own p, so the draft pass commits it (Lemma 1), a last
    lone position needs no verification, and the verification starts from it as root. Either pass
    commits at least one token: never more passes than tokens (Theorem 1). A chain of drafts all
    accepted gives no bonus token, which the next draft pass makes up for; but where the chain comes
    to the last position, its last row samples that, and no draft is needed there.

    `n-gram` drafts (Alg. 2) need no pass, and each verification may end in a bonus token.

    `fused`, not in the paper: in the verification pass every row of the chain is asked for the k
    positions from its own on. Where the chain ends, be it in a rejection, the answers of its last
    row that counts are the q of the next drafts: one pass an iteration, and each commits at least
    one token.
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
        if self.settings.fused:
            return chain_asking_ahead(state, count)
        if not drafting(state):
            drafts, q, _ = state.drafts_left(count)
            return Window(drafts, q)
        # Copies of the root ask for the positions after the next one; nothing is drafted yet.
        q = state.q.new_zeros(count, self.model.vocab_size)
        return Window(state.root.expand(count), q, parents=tuple(range(count + 1)))

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        if self.settings.fused:
            return verify_and_draft(state, window, p)
        if self.settings.drafts == "self" and drafting(state):
            # Independent samples, each of what the prefix says of its position.
            return commit_first(state, p, sample(p, state.uniform(Purpose.DRAFT, len(p), 1)[:, 0]))
        acceptance = chain_acceptance(window, p)
        verification = speculate(state, window, p, acceptance, redraws=False)
        k = self.settings.k
        if self.settings.drafts == "self" and len(window.drafts) == k - 1:
            verification.count = verification.count.clamp_max(k - 1)
        return verification


def drafting(state: DecodeState) -> bool:
    """Whether this is a draft pass: every second one is, since a draft pass that leaves no draft to
    verify ends the image."""
    return state.step % 2 == 0


def chain_asking_ahead(state: DecodeState, count: int) -> Window:
    """The chain of the drafts there are, up to `count`, and of each of its rows `count` copies that
    ask for the positions behind its own."""
    drafts, q, _ = state.drafts_left(count if state.step else 0)
    if not count:
        return Window(drafts, q)
    chain = torch.cat([state.root, drafts])
    rows = state.offsets(len(chain))
    behind = rows[:, None] + state.offsets(count + 1)[1:]  # depths of the positions asked for
    last = len(chain) - 1
    copies = range(len(chain), len(chain) * (count + 1))
    own = [(row - len(chain)) // count for row in copies]  # the chain's row that each copies
    parents = [max(0, row - 1) for row in range(len(chain))]
    parents += [i - 1 if i else row for i, row in zip(own, copies, strict=True)]
    return Window(
        torch.cat([drafts, drafts.new_full((count,), -1)]),
        q,
        nodes=torch.cat([drafts, chain.repeat_interleave(count)]),
        depths=torch.cat([rows[1 : last + 1], behind.view(-1)]),
        parents=tuple(parents),
    )


def verify_and_draft(state: DecodeState, window: Window, p: Tensor) -> Verification:
    """Verifies the chain of a window of `chain_asking_ahead`, then samples the next drafts from
    what the copies of its last row that counts were asked."""
    length = len(window.q) + 1
    chain = Window(window.drafts[: length - 1], window.q)
    acceptance = chain_acceptance(chain, p)
    v = speculate(state, chain, p[:length], acceptance, redraws=False)
    count = len(window.drafts) - (length - 1)
    if not count:
        return v
    offsets = state.offsets(length + count)
    ahead = (offsets - v.count).clamp(0, count - 1)
    asked = p[length + (v.count - 1) * count + ahead]
    u = state.uniform(Purpose.DRAFT, length + count, 1)[:, 0]
    committed = offsets < v.count

    def joined(values: Tensor, drafted: Tensor | float) -> Tensor:
        """Of committed positions what verification says, of those behind what is drafted."""
        return torch.where(committed, F.pad(values, (0, count)), drafted)

    chain_p = torch.cat([p[:length], p.new_zeros(count, p.shape[1])])
    v.tokens, v.status = joined(v.tokens, sample(asked, u)), joined(v.status, int(Status.REFINED))
    v.p = v.q = torch.where(committed[:, None], chain_p, asked)
    v.drafts = F.pad(v.drafts, (0, count), value=-1)
    v.acceptance, v.uniform = joined(v.acceptance, torch.nan), joined(v.uniform, torch.nan)
    return v
