"""What if: a lane's refused drafts, judged again by a relaxed rule on the laws and uniform numbers
they were refused with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from engine.decoders.gsd import GSDSettings, group_acceptance
from engine.decoders.lantern import LanternSettings, neighbourhood_acceptance
from engine.models.base import nearest_codes
from engine.records import Refusal
from engine.settings import SettingError, Settings
from engine.trace import Trace

BLOCK = 2**22  # entries of laws [N, V] that are judged at once
MOST_ENTRIES = 2**26  # of all laws; more is no picture's, but would keep a machine busy for minutes
MOST_WIDE = 512  # numbers a code, likewise
ROUNDING = 1e-3  # less than this missing from a law is rounding


@dataclass(frozen=True, slots=True)
class Tally:
    """Of `refusals` refused drafts, `accepted` would have passed; None where that cannot be
    known."""

    refusals: int
    accepted: int | None

    @property
    def sentence(self) -> str:
        """The tally in words, with what it does not say."""
        if self.refusals == 0:
            return (
                "No draft of this lane was tested and refused, so there is nothing to judge again."
            )
        if self.accepted is None:
            return (
                "The refusals cannot be judged again: this trace does not say what the model's"
                " codes look like."
            )
        drafts = f"{self.refusals} refused draft{'s' * (self.refusals > 1)}"
        verdict = (
            "would have been accepted by this rule, on the same laws and with the same uniform"
            " numbers"
        )
        if self.accepted == 0:
            return f"None of the {drafts} {verdict}."
        return (
            f"{self.accepted} of the {drafts} {verdict}. Only first refusals are judged, one by"
            " one: after a different decision every later step would have been another."
        )


def judge_again(trace: Trace, lane: int, rule: str, settings: Settings) -> Tally:
    """Judges the first refusal of every step of a lane by `rule`, "gsd" or "lantern", with its
    settings; no forward pass.

    The laws are those recorded: all of p and q where no more than 512 tokens had any probability.
    What larger laws leave out is spread evenly over the other tokens. The draft passes if the
    uniform number drawn for it lies below the rule's acceptance probability, by the decoders' own
    functions. A settings object of another rule, an unknown rule, no such lane, or a trace that is
    too large raises SettingError.
    """
    if rule not in _RULES or not isinstance(settings, _RULES[rule][0]):
        raise SettingError(
            f"{rule!r:.40} is no rule to judge by, or these are not its settings: {settings!r:.200}"
        )
    if not 0 <= lane < len(trace.header.lanes):
        raise SettingError(
            f"There is no lane {lane!r:.20}; the race has {len(trace.header.lanes)}."
        )
    refusals = [step.refusal for step in trace.steps(lane) if step.refusal]
    if not refusals or not trace.codebook:
        return Tally(len(refusals), None if refusals else 0)
    codes = trace.header.vocab_size
    codebook = torch.from_numpy(np.frombuffer(trace.codebook, "<f4").reshape(codes, -1).copy())
    if len(refusals) * codes > MOST_ENTRIES or codebook.shape[1] > MOST_WIDE:
        raise SettingError("This trace is too large for its refusals to be judged again.")
    size, accepted = max(1, BLOCK // codes), 0
    for block in (refusals[i : i + size] for i in range(0, len(refusals), size)):
        p, q = _laws(block, codes)
        drafts = torch.tensor([refusal.draft for refusal in block])
        uniforms = torch.tensor([refusal.uniform for refusal in block])
        accepted += int((uniforms < _RULES[rule][1](p, q, drafts, codebook, settings)).sum())
    return Tally(len(refusals), accepted)


def _laws(refusals: list[Refusal], codes: int) -> tuple[Tensor, Tensor]:
    """p and q of each refusal, dense [N, V]."""
    laws = np.zeros((2, len(refusals), codes), np.float32)
    for i, refusal in enumerate(refusals):
        tokens = np.frombuffer(refusal.tokens, "<u2")
        for law, recorded in zip(laws, (refusal.p, refusal.q), strict=True):
            values = np.frombuffer(recorded, "<f4")
            missing = 1 - float(values.sum())
            if missing > ROUNDING and len(values) < codes:
                law[i] = missing / (codes - len(values))
            law[i, tokens] = values
    p, q = torch.from_numpy(laws)
    return p, q


def _lantern(
    p: Tensor, q: Tensor, x: Tensor, codebook: Tensor, settings: LanternSettings
) -> Tensor:
    nearest = nearest_codes(codebook, x, min(settings.k, len(codebook)))
    return neighbourhood_acceptance(p, q, x, nearest, settings)


_RULES: dict[str, tuple[type[Settings], Callable[..., Tensor]]] = {
    "gsd": (GSDSettings, group_acceptance),
    "lantern": (LanternSettings, _lantern),
}
