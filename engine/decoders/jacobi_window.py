"""Jacobi windows: uncommitted drafts stay for the next step, and initialised tokens follow them.

Source: SJD, App. H. By default every initialised token has a one-hot q, which keeps a lossless rule
lossless. Such a token x is accepted with probability p(x), and on rejection x is excluded from the
residual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.core import Window
from engine.decoders.decode_state import DecodeState
from engine.decoders.window import WindowDecoder
from engine.models.base import MAX_ROWS
from engine.numerics.distributions import gather, sample
from engine.numerics.randomness import Purpose
from engine.settings import SettingError, Settings, knob

FRESH = ("one-hot", "uniform")
INIT_SCHEMES = (
    "random",
    "horizontal repeat",
    "horizontal sample",
    "vertical repeat",
    "vertical sample",
)


def window_knob(rows: int, needs: tuple[str, str] | None = None) -> Any:
    return knob(
        rows,
        "Rows of one forward pass: the last committed token and the drafts after it.",
        low=2,
        high=MAX_ROWS,
        needs=needs,
    )


def init_knob(needs: tuple[str, str] | None = None) -> Any:
    return knob(
        "random",
        "What a new draft starts from: chance, or the token to its left or above.",
        choices=INIT_SCHEMES,
        needs=needs,
    )


def fresh_knob(default: str) -> Any:
    """Return the knob for the q of new drafts.

    The code of SJD and of GSD uses a one-hot q, that of SJD-PAC a uniform q. More drafts pass with
    a uniform q.
    """
    return knob(
        default,
        "What a new draft counts as drawn from: itself, or all tokens alike.",
        choices=FRESH,
    )


@dataclass(frozen=True, slots=True)
class JacobiWindowSettings(Settings):
    """Settings of a Jacobi window.

    The defaults are those of SJD's published test scripts. All scripts have a window of L = 16. The
    scripts for Lumina-mGPT have `init` = random.
    """

    window: int = window_knob(16)
    init: str = init_knob()


@dataclass(frozen=True, slots=True)
class SpeculativeSettings(JacobiWindowSettings):
    """Settings of a decoder that tests a draft against the q that the draft was drawn from."""

    fresh: str = fresh_knob("one-hot")

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        if self.fresh == "uniform" and self.init != "random":
            raise SettingError(
                f"fresh = uniform goes with init = random: tokens of {self.init} are not samples of"
                " a uniform distribution."
            )


class JacobiWindowDecoder(WindowDecoder):
    """A decoder that fills up its window with initialised tokens at each step."""

    Settings = JacobiWindowSettings
    settings: JacobiWindowSettings

    def propose(self, state: DecodeState) -> Window:
        count = min(self.settings.window - 1, state.draft_limit)
        if self.settings.init.endswith("sample") and state.recent_p is None:
            size = self.plan.stride + self.settings.window
            dtype = torch.promote_types(self.model.dtype, torch.get_default_dtype())  # of p
            ones = torch.ones(size, self.model.vocab_size, dtype=dtype, device=self.model.device)
            state.recent_p = state.slot.place("recent_p", ones)
        fresh = "one-hot"
        if isinstance(self.settings, SpeculativeSettings):
            fresh = self.settings.fresh
        drafts, q, there = state.drafts_left(count)
        new = initial_tokens(state, drafts, there, self.settings.init)
        has_draft = state.offsets(len(drafts)) < count
        return Window(*fill_up(state, drafts, q, there, new, has_draft, fresh))


def fill_up(
    state: DecodeState,
    drafts: Tensor,
    q: Tensor,
    there: Tensor,
    new: Tensor,
    has_draft: Tensor,
    fresh: str,
) -> tuple[Tensor, Tensor]:
    """Return a window's drafts [R] and their q [R, V], filled up with new tokens.

    `there` marks the rows whose draft the last step left; in all other rows the given `q` is 0.
    `has_draft` marks the rows that have a draft in the result. A row that is in `has_draft` but not
    in `there` gets its `new` token. The new token's q is uniform if `fresh` says so and the
    position is not forced, else one-hot. Either q keeps a lossless rule lossless: a token drawn
    uniformly is a sample of the uniform distribution, and any token is a sample of its own one-hot
    distribution. `q` may be changed in place.
    """
    drafts = torch.where(there, drafts, torch.where(has_draft, new, 0))
    certain = has_draft & ~there
    if fresh == "uniform":
        forced = state.forced(state.positions(len(drafts)))
        even = certain if forced is None else certain & ~forced
        q = torch.where(even[:, None], 1 / q.shape[-1], q)
        certain = certain & ~even
    chance = torch.where(certain, 1.0, gather(q, drafts))
    return drafts, q.scatter_(-1, drafts[:, None], chance[:, None])


def initial_tokens(state: DecodeState, drafts: Tensor, there: Tensor, scheme: str) -> Tensor:
    """Return an initial token for each of the next positions [R].

    `fill_up` uses these tokens only at the new positions, which come after the drafts that are
    `there`. Known tokens are the committed ones and these drafts. With `random` a new position gets
    a random token. Otherwise its token depends on its neighbour:

    * horizontal: the last known token; the first column has no neighbour;
    * vertical: the token above or, if that is unknown, the nearest known token further up.

    `repeat` copies the neighbour's token, and `sample` draws from the newest p of the neighbour's
    position. If there is no neighbour, or a forced one, the token is random. At a forced position
    it is 0.
    """
    positions = state.positions(len(drafts))
    u = state.uniform(Purpose.FRESH, len(drafts), 1)[:, 0]
    tokens = (u * state.model.vocab_size).long()
    if scheme != "random":
        known, stride = state.n + there.sum(), state.plan.stride
        if scheme.startswith("horizontal"):
            source = torch.where(positions % stride == 0, -1, known - 1)
        else:
            source = positions - stride * ((positions - known) // stride + 1)
        exists = source >= 0
        source = source.clamp(0, state.plan.length - 1)
        forced = state.forced(source)
        if forced is not None:
            exists = exists & ~forced
        if scheme.endswith("repeat"):
            behind = (source - state.n).clamp(0, len(drafts) - 1)
            copied = torch.where(source < state.n, state.tokens[source], drafts[behind])
        else:
            assert state.recent_p is not None, "`propose` allocates it"
            copied = sample(state.recent_p[source % len(state.recent_p)], u)
        tokens = torch.where(exists, copied, tokens)
    forced = state.forced(positions)
    return tokens if forced is None else torch.where(forced, 0, tokens)
