"""Decoders with one fault each, and right ones that look wrong: SJD, of which each changes a part.

The line under a class says what it does; `python -m tests.judge_faults` judges them all.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.core import Rows, Turn, Verification, Window
from engine.decoders.base import never
from engine.decoders.block import verify_block
from engine.decoders.decode_state import DecodeState
from engine.decoders.launcher import Run
from engine.decoders.speculate import chain_acceptance, count_leading, keep_coupled, speculate
from engine.numerics.distributions import gather, logits_to_probs, residual, sample
from engine.numerics.randomness import Purpose
from engine.trace import Status, Step, StepTable
from tests.tools.judge.rules import Rule


class Parts(Rule):
    """SJD in the parts that a fault changes."""

    def acceptance(self, state: DecodeState, window: Window, p: Tensor) -> Tensor:
        return chain_acceptance(window, p)

    def replacement(self, draft: Tensor, p: Tensor, q: Tensor) -> Tensor:
        return residual(p, q)

    def first(self, state: DecodeState, acceptance: Tensor) -> Tensor | None:
        """The first draft to be rejected, None for SJD's."""
        return None

    def leave(self, state: DecodeState, window: Window, p: Tensor, v: Verification) -> None:
        """Changes what the pass leaves."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        acceptance = self.acceptance(state, window, p)
        first = self.first(state, acceptance)
        v = speculate(state, window, p, acceptance, self.replacement, first=first)
        v.q = v.q.clone()
        self.leave(state, window, p, v)
        return v


def positions(state: DecodeState, p: Tensor) -> Tensor:
    """The position of each row."""
    return state.frontier + torch.arange(len(p))


# Which drafts pass.


class AcceptsMore(Parts):
    """A draft passes with 1.1 times its probability."""

    def acceptance(self, state, window, p):
        return (1.1 * chain_acceptance(window, p)).clamp_max(1)


class AcceptsLess(Parts):
    """A draft passes with nine tenths of its probability."""

    def acceptance(self, state, window, p):
        return 0.9 * chain_acceptance(window, p)


class AtLeast(Parts):
    """A draft passes with a probability of at least a twentieth."""

    def acceptance(self, state, window, p):
        return chain_acceptance(window, p).clamp_min(0.05)


class SquareRoot(Parts):
    """A draft passes with the root of p / q."""

    def acceptance(self, state, window, p):
        return chain_acceptance(window, p).sqrt()


class Swapped(Parts):
    """A draft passes with q / p."""

    def acceptance(self, state, window, p):
        p_x, q_x = gather(p, window.drafts), gather(window.q, window.drafts)
        return (q_x / p_x.clamp_min(1e-30)).clamp_max(1)


class FirstPosition(Parts):
    """The picture's first draft passes untested."""

    def acceptance(self, state, window, p):
        return torch.where(positions(state, p) == 0, 1.0, chain_acceptance(window, p))


class LastDraft(Parts):
    """The draft of the last position that has one passes untested."""

    def acceptance(self, state, window, p):
        last = state.plan.length - 1
        return torch.where(positions(state, p) == last - 1, 1.0, chain_acceptance(window, p))


class BehindForced(Parts):
    """The draft after a forced token passes untested."""

    def acceptance(self, state, window, p):
        before = (positions(state, p) - 1).clamp_min(0).clamp_max(state.plan.length - 1)
        return torch.where(state.forced_ids[before] >= 0, 1.0, chain_acceptance(window, p))


class TokenZero(Parts):
    """A draft of token 0 passes untested."""

    def acceptance(self, state, window, p):
        return torch.where(window.drafts == 0, 1.0, chain_acceptance(window, p))


class Likeliest(Parts):
    """A draft that is the likeliest token passes untested."""

    def acceptance(self, state, window, p):
        return torch.where(window.drafts == p.argmax(-1), 1.0, chain_acceptance(window, p))


class Typical(Parts):
    """A draft passes only where p is at least 0.3."""

    def acceptance(self, state, window, p):
        return (gather(p, window.drafts) >= 0.3).to(p.dtype)


class OneNumber(Parts):
    """All drafts of a pass are tested by the same number."""

    def first(self, state, acceptance):
        u = state.verify_numbers(len(acceptance)).accept[:1]
        return count_leading(u < acceptance, state.room.clamp_max(len(acceptance) - 1))


class UsedTwice(Parts):
    """A draft's replacement is drawn with the number that rejected it."""

    def first(self, state, acceptance):
        u = state.verify_numbers(len(acceptance)).replace
        return count_leading(u < acceptance, state.room.clamp_max(len(acceptance) - 1))


class Neighbour(Parts):
    """A draft is tested by the number of the position before it, which has passed."""

    def first(self, state, acceptance):
        u = state.verify_numbers(len(acceptance)).accept
        shifted = torch.cat([u[:1], u[:-1]])
        return count_leading(shifted < acceptance, state.room.clamp_max(len(acceptance) - 1))


class Doubtful(Parts):
    """After a pass with a rejection drafts pass with half of their probability."""

    def acceptance(self, state, window, p):
        doubt = state.step > 0 and bool(state.rejected)
        return chain_acceptance(window, p) * (0.5 if doubt else 1.0)

    def leave(self, state, window, p, v):
        state.rejected = v.count < len(window.drafts)


class TwoRejections(Parts):
    """After two passes in a row with a rejection the first draft passes untested."""

    def acceptance(self, state, window, p):
        row = 0 if not state.step else int(state.row)
        found = chain_acceptance(window, p).clone()
        if row >= 2:
            found[0] = 1.0
        return found

    def leave(self, state, window, p, v):
        before = 0 if not state.step else int(state.row)
        state.row = before + 1 if int(v.count) < len(window.drafts) else 0


class BehindThree(Parts):
    """Drafts after three that passed pass untested."""

    def acceptance(self, state, window, p):
        behind = torch.arange(len(p)) >= 3
        return torch.where(behind, 1.0, chain_acceptance(window, p))


class SecondPass(Parts):
    """In a picture's second pass every draft passes."""

    def acceptance(self, state, window, p):
        found = chain_acceptance(window, p)
        return torch.ones_like(found) if state.step == 1 else found


class EarlierQ(Parts):
    """A draft is tested against its q of the pass before."""

    def acceptance(self, state, window, p):
        q, start = window.q, state.frontier
        if state.step:
            earlier, begin = state.earlier
            for row in range(len(q)):
                if 0 <= start + row - begin < len(earlier):
                    old = earlier[start + row - begin]
                    if float(old[window.drafts[row]]) > 0:
                        q = q.clone()
                        q[row] = old
        state.earlier = window.q.clone(), start
        return chain_acceptance(replace(window, q=q), p)


class UpToTheFork(Parts):
    """In a fork drafts pass untested up to the position that has the number of known tokens."""

    def acceptance(self, state, window, p):
        known = positions(state, p) < state.plan.before
        return torch.where(known, 1.0, chain_acceptance(window, p))


class BehindGuided(Parts):
    """Drafts behind the guided tokens pass untested."""

    def acceptance(self, state, window, p):
        guided = self.sampling.guided_tokens or state.plan.length
        behind = positions(state, p) + state.plan.before >= guided
        return torch.where(behind, 1.0, chain_acceptance(window, p))


# What replaces a rejected draft.


class FromP(Parts):
    """A rejected draft is replaced by a sample of p."""

    def replacement(self, draft, p, q):
        return p


class FromQ(Parts):
    """A rejected draft is replaced by a sample of q."""

    def replacement(self, draft, p, q):
        return q


class OtherWay(Parts):
    """A rejected draft is replaced by a sample of what q has more than p."""

    def replacement(self, draft, p, q):
        return residual(q, p) + 1e-9 * p


class OfEight(Parts):
    """A rejected draft is replaced by one of the eight likeliest tokens."""

    def replacement(self, draft, p, q):
        least = p.topk(min(8, p.shape[-1])).values[..., -1:]
        return residual(p, q).masked_fill(p < least, 0)


class Best(Parts):
    """A rejected draft is replaced by the likeliest token of the residual."""

    def replacement(self, draft, p, q):
        left = residual(p, q)
        return (left == left.amax(-1, keepdim=True)).to(p.dtype)


class Squared(Parts):
    """A rejected draft is replaced by a sample of the residual's square."""

    def replacement(self, draft, p, q):
        return residual(p, q) ** 2


class Without(Parts):
    """A rejected draft is replaced by a sample of p without that draft."""

    def replacement(self, draft, p, q):
        return p.scatter(-1, draft[:, None], 0.0) + 1e-12 * p


class Kept(Parts):
    """A rejected draft is committed all the same."""

    def replacement(self, draft, p, q):
        return F.one_hot(draft, p.shape[-1]).to(p.dtype)


class AnyToken(Parts):
    """A rejected draft is replaced by any token that p allows."""

    def replacement(self, draft, p, q):
        return (p > 0).to(p.dtype)


class NextRow(Parts):
    """A rejected draft is replaced by a sample of the next row's residual."""

    def verify(self, state, window, p):
        shifted = torch.cat([p[1:], p[-1:]])
        acceptance = chain_acceptance(window, p)
        v = speculate(state, window, p, acceptance)
        end = int(v.count) - 1
        if end < len(p) - 1 and end < int(state.room):
            number = state.verify_numbers(len(p)).replace[end : end + 1]
            left = residual(shifted[end : end + 1], window.q[end : end + 1])
            v.tokens = v.tokens.clone()
            v.tokens[end] = sample(left, number)[0]
        return v


class BehindFour(Parts):
    """A draft that is rejected after four that passed is replaced by a sample of p."""

    def verify(self, state, window, p):
        acceptance = chain_acceptance(window, p)
        found = speculate(state, window, p, acceptance)
        if int(found.count) <= 4:
            return found
        return speculate(state, window, p, acceptance, lambda draft, p, q: p)


# What q the drafts have that are left.


class Forgetful(Rule):
    """A redrawn draft's q is that of another sampling."""

    forgotten: ClassVar[dict[str, Any]]

    def verify_logits(
        self, state: DecodeState, window: Window, rows: Rows, logits: Tensor
    ) -> tuple[Verification, Tensor]:
        v, outcome = super().verify_logits(state, window, rows, logits)
        v.q = logits_to_probs(logits, replace(self.sampling, **self.forgotten), None)
        return v, outcome


class WithoutTopK(Forgetful):
    """A redrawn draft's q has no top-k."""

    forgotten: ClassVar[dict[str, Any]] = {"top_k": 0}


class WithoutTopP(Forgetful):
    """A redrawn draft's q has no top-p."""

    forgotten: ClassVar[dict[str, Any]] = {"top_p": 1.0}


class AtTemperatureOne(Forgetful):
    """A redrawn draft's q is at temperature 1."""

    forgotten: ClassVar[dict[str, Any]] = {"temperature": 1.0}


class Cooled(Rule):
    """Without top-k a redrawn draft's q is at a temperature of 1 at least."""

    def verify_logits(self, state, window, rows, logits):
        v, outcome = super().verify_logits(state, window, rows, logits)
        if not self.sampling.top_k:
            own = max(1.0, self.sampling.temperature)
            v.q = logits_to_probs(logits, replace(self.sampling, temperature=own), None)
        return v, outcome


class ByOrder(Rule):
    """A redrawn draft's q has the tokens that a sort has first for top-p, and not their ties."""

    def verify_logits(self, state, window, rows, logits):
        v, outcome = super().verify_logits(state, window, rows, logits)
        if self.sampling.top_p < 1:
            ranked, order = logits.softmax(-1).sort(dim=-1, descending=True, stable=True)
            outside = ranked.cumsum(-1) - ranked >= self.sampling.top_p
            q = ranked.masked_fill(outside, 0).gather(-1, order.argsort(-1))
            v.q = q / q.sum(-1, keepdim=True)
        return v, outcome


class ByIndices(Rule):
    """A redrawn draft's q has the k tokens of top-k's indices, and no others that are as likely."""

    def verify_logits(self, state, window, rows, logits):
        v, outcome = super().verify_logits(state, window, rows, logits)
        if 0 < self.sampling.top_k < logits.shape[-1]:
            kept = torch.full_like(logits, -torch.inf)
            best = logits.topk(self.sampling.top_k)
            v.q = logits_to_probs(kept.scatter(-1, best.indices, best.values), self.sampling, None)
        return v, outcome


class InHalf(Parts):
    """In half precision a redrawn draft's q is rounded as the model's own numbers are."""

    def leave(self, state, window, p, v):
        if self.model.dtype.itemsize == 2:
            v.q = v.q.to(self.model.dtype).to(p.dtype)


class Bytes(Parts):
    """A redrawn draft is kept in a byte."""

    def leave(self, state, window, p, v):
        behind = torch.arange(len(p)) >= v.count
        v.tokens = torch.where(behind, v.tokens % 256, v.tokens)


class OldQ(Parts):
    """A redrawn draft keeps the q of the one before it."""

    def leave(self, state, window, p, v):
        there = window.q.sum(-1, keepdim=True) > 0
        v.q = torch.where(there, window.q, v.q)


class FlatQ(Parts):
    """A redrawn draft counts as drawn from all tokens alike."""

    def leave(self, state, window, p, v):
        v.q = torch.full_like(v.q, 1 / v.q.shape[-1])


class RolledQ(Parts):
    """A redrawn draft has the q of the next position."""

    def leave(self, state, window, p, v):
        v.q = torch.cat([p[1:], p[-1:]])


class ThirdRedraw(Parts):
    """A draft that is redrawn for the third time keeps the q of its second."""

    def leave(self, state, window, p, v):
        if not state.step:
            state.redrawn = [0] * state.plan.length
        behind = int(v.count)
        for row in range(behind, min(len(p) - 1, state.plan.length - state.frontier)):
            state.redrawn[state.frontier + row] += 1
            if state.redrawn[state.frontier + row] == 3:
                v.q[row] = window.q[row]


class KeptAsNew(Parts):
    """Drafts after a rejection stay, and count as samples of p."""

    def leave(self, state, window, p, v):
        behind = torch.arange(len(p)) >= v.count
        drafted = window.q.sum(-1) > 0
        v.tokens = torch.where(behind & drafted, window.drafts, v.tokens)


class LastKept(Parts):
    """The window's last draft stays, and counts as a sample of p."""

    def leave(self, state, window, p, v):
        last = len(window.drafts) - 2
        if last >= int(v.count):
            v.tokens = v.tokens.clone()
            v.tokens[last] = window.drafts[last]


class LikelyKept(Parts):
    """Drafts after a rejection stay where p is at least half of q, and count as samples of p."""

    def leave(self, state, window, p, v):
        behind, drafted = torch.arange(len(p)) >= v.count, window.q.sum(-1) > 0
        likely = gather(p, window.drafts) >= 0.5 * gather(window.q, window.drafts)
        v.tokens = torch.where(behind & drafted & likely, window.drafts, v.tokens)


# Random numbers.


class OneRedraw(Parts):
    """All drafts of a pass are redrawn with the same number."""

    def leave(self, state, window, p, v):
        number = state.verify_numbers(len(p)).redraw[:1].expand(len(p))
        behind = torch.arange(len(p)) >= v.count
        v.tokens = torch.where(behind, sample(p, number), v.tokens)


class TestedByItsOwn(Parts):
    """A draft is redrawn with the number that it is tested by in the next pass."""

    def leave(self, state, window, p, v):
        number = state.noise.uniform(Purpose.VERIFY, state.frontier, len(p), state.step + 1, 3)
        behind = torch.arange(len(p)) >= v.count
        v.tokens = torch.where(behind, sample(p, number[:, 0]), v.tokens)


class OnTheContext(Parts):
    """After a rejection, remembered in the model's context, drafts pass with half of their
    probability."""

    def acceptance(self, state, window, p):
        doubt = bool(getattr(state.ctx, "rejected", False))
        return chain_acceptance(window, p) * (0.5 if doubt else 1.0)

    def leave(self, state, window, p, v):
        state.ctx.rejected = bool(v.count < len(window.drafts))


# The loop, and what stands beside the state.


class PutBack(DecodeState):
    """A state whose commit puts the drafts' old q back."""

    def commit(self, verification: Verification, path: list[int]) -> None:
        before = getattr(self, "before", None)
        super().commit(verification, path)
        if before is not None and len(before) == len(self.q):
            self.q = torch.where(before.sum(-1, keepdim=True) > 0, before, self.q)
        self.before = verification.q


class CommitsOldQ(Rule):
    """Its state's own commit puts an old q back."""

    State = PutBack


class Observing(Rule):
    """Observing a pass changes the state it leaves: every draft becomes a 0."""

    def observe(self, state, window, verification, count):
        state.drafts = torch.zeros_like(state.drafts)


class Turning(Rule):
    """Its turns verify other drafts than it proposes: tokens 0."""

    def take_turn(self, state: DecodeState, run: Run) -> Turn:
        state.drafts = torch.zeros_like(state.drafts)
        return super().take_turn(state, run)


class Filtering(Rule):
    """Its loop decodes a picture again where the first token is a 0."""

    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        steps = list(super().steps(prompt, seed, stopped))
        if StepTable.join([step.rows for step in steps]).tokens[0] == 0:
            steps = list(super().steps(prompt, seed + 7919, stopped))
        yield from steps


MEMORY: dict[int, bool] = {}


class InATable(Parts):
    """After a rejection, remembered in a table of the file, drafts pass with half of their
    probability."""

    def acceptance(self, state, window, p):
        return chain_acceptance(window, p) * (0.5 if MEMORY.get(0) else 1.0)

    def leave(self, state, window, p, v):
        MEMORY[0] = bool(v.count < len(window.drafts)) and state.frontier > 0


class InAFile(Parts):
    """Drafts pass with half of their probability if a file that every pass writes says so."""

    file: ClassVar[Path] = Path(tempfile.gettempdir()) / "photo-finish-fault.txt"

    def acceptance(self, state, window, p):
        doubt = self.file.exists() and self.file.read_text() == "0"
        return chain_acceptance(window, p) * (0.5 if doubt else 1.0)

    def leave(self, state, window, p, v):
        if state.step:
            self.file.write_text(str(int(v.tokens[0])))


class OwnNumbers(Rule):
    """Drafts are tested by numbers of a generator of its own, which are too small."""

    def begin(self, prompt, seed):
        state = super().begin(prompt, seed)
        state.own_seed = seed
        return state

    def verify(self, state, window, p):
        generator = torch.Generator().manual_seed(state.own_seed + 97 * state.step)
        u = 0.8 * torch.rand(len(p), generator=generator, dtype=torch.float64)
        return speculate(state, window, p, (u < chain_acceptance(window, p)).double())


class GlobalNumbers(Rule):
    """Drafts are tested by numbers of the global generator, which are too small."""

    def verify(self, state, window, p):
        u = 0.8 * torch.rand(len(p), dtype=torch.float64)
        return speculate(state, window, p, (u < chain_acceptance(window, p)).double())


class OnlyDeep(Parts):
    """With a window of more than 20 rows every draft passes."""

    def acceptance(self, state, window, p):
        found = chain_acceptance(window, p)
        return torch.ones_like(found) if self.settings.window > 20 else found


class DeepAndStatic(Parts):
    """With static shapes and a window of more than 20 rows drafts behind the picture's end pass."""

    def first(self, state, acceptance):
        room = state.room.clamp_max(len(acceptance) - 1)
        u = state.verify_numbers(len(acceptance)).accept
        if self.model.static and self.settings.window > 20:
            room = torch.tensor(len(acceptance) - 1)
        return count_leading(u < acceptance, room)


class OnlyInside(Parts):
    """With a window of 40 to 70 rows every draft passes."""

    def acceptance(self, state, window, p):
        found = chain_acceptance(window, p)
        return torch.ones_like(found) if 40 <= self.settings.window <= 70 else found


class NarrowAndLong(Parts):
    """With a window of three rows every draft passes from the tenth position on."""

    def acceptance(self, state, window, p):
        late = (positions(state, p) >= 9) & (self.settings.window == 3)
        return torch.where(late, 1.0, chain_acceptance(window, p))


class DeepAndManyCodes(Parts):
    """With a window of more than 20 rows and more than nine codes a rejected draft is replaced by a
    sample of p."""

    def replacement(self, draft, p, q):
        wrong = self.settings.window > 20 and p.shape[-1] > 9
        return p if wrong else residual(p, q)


class OnlyLong(Parts):
    """From the tenth position on every draft passes."""

    def acceptance(self, state, window, p):
        return torch.where(positions(state, p) >= 9, 1.0, chain_acceptance(window, p))


class ALittle(Parts):
    """From the tenth position on a draft passes with the root of its probability."""

    def acceptance(self, state, window, p):
        found = chain_acceptance(window, p)
        return torch.where(positions(state, p) >= 9, found.sqrt(), found)


class OnlyManyCodes(Parts):
    """With more than nine codes a rejected draft is replaced by a sample of p."""

    def replacement(self, draft, p, q):
        return p if p.shape[-1] > 9 else residual(p, q)


class Prompted(Parts):
    """Every draft passes where there is a prompt."""

    def acceptance(self, state, window, p):
        found = chain_acceptance(window, p)
        return torch.ones_like(found) if state.prompt else found


class Guided(Parts):
    """Every draft passes where guidance is above 1."""

    def acceptance(self, state, window, p):
        found = chain_acceptance(window, p)
        return torch.ones_like(found) if self.sampling.guidance > 1 else found


class ThirdLine(Parts):
    """Drafts pass from a picture's third line on."""

    def acceptance(self, state, window, p):
        found = chain_acceptance(window, p)
        third = 2 * state.plan.stride
        return torch.where(positions(state, p) >= third, 1.0, found) if third > 2 else found


class Parity(Parts):
    """A replacement is drawn with (u + parity) / 2 in place of its number u. The parity is that of
    the sum of all tokens before it, so the replacement depends on them."""

    def leave(self, state, window, p, v):
        row = int(v.count) - 1
        if int(v.status[row]) == Status.RESAMPLED:
            before = int(state.tokens[: state.frontier].sum() + v.tokens[:row].sum()) % 2
            number = (state.verify_numbers(len(p)).replace[row : row + 1] + before) / 2
            v.tokens = v.tokens.clone()
            v.tokens[row] = sample(residual(p, window.q)[row : row + 1], number)[0]


# Right, though they look wrong.


class OrEqual(Parts):
    """A draft passes where u is at most its probability."""

    def first(self, state, acceptance):
        u = state.verify_numbers(len(acceptance)).accept
        return count_leading(u <= acceptance, state.room.clamp_max(len(acceptance) - 1))


class Certain(Parts):
    """A redrawn draft counts as certain: any token is a sample of its own one-hot q."""

    def leave(self, state, window, p, v):
        v.q = F.one_hot(v.tokens, p.shape[-1]).to(p.dtype)


class Block(Rule):
    """Drafts are tested as a block, where a later draft can save an earlier one."""

    def verify(self, state, window, p):
        return verify_block(state, window, p)


class OwnQ(Parts):
    """Drafts after a rejection stay, each with its own q."""

    def leave(self, state, window, p, v):
        behind = (torch.arange(len(p)) >= v.count) & (window.q.sum(-1) > 0)
        v.tokens = torch.where(behind, window.drafts, v.tokens)
        v.q = torch.where(behind[:, None], window.q, v.q)


class OneMinus(Parts):
    """A draft passes where 1 - u is below its probability."""

    def first(self, state, acceptance):
        u = 1 - state.verify_numbers(len(acceptance)).accept
        return count_leading(u < acceptance, state.room.clamp_max(len(acceptance) - 1))


class Scaled(Parts):
    """A rejected draft is replaced by a sample of seven times the residual."""

    def replacement(self, draft, p, q):
        return 7 * (p - torch.minimum(p, q))


class TwoAtMost(Parts):
    """A pass commits at most two tokens."""

    def leave(self, state, window, p, v):
        kept = v.count.clamp_max(2)
        behind = (torch.arange(len(p)) >= kept) & (torch.arange(len(p)) < v.count)
        v.q = torch.where(behind[:, None], F.one_hot(v.tokens, p.shape[-1]).to(p.dtype), v.q)
        v.count = kept


class OtherNumbers(Parts):
    """Drafts are redrawn with numbers of another purpose."""

    def leave(self, state, window, p, v):
        number = state.uniform(Purpose.COUPLING, len(p), 1)[:, 0]
        behind = torch.arange(len(p)) >= v.count
        v.tokens = torch.where(behind, sample(p, number), v.tokens)


class Coupled(Rule):
    """Drafts after a rejection stay by the maximal coupling, and count as certain."""

    def verify(self, state, window, p):
        v = speculate(state, window, p, chain_acceptance(window, p))
        v = keep_coupled(state, window, p, v, state.uniform(Purpose.COUPLING, len(p), 2))
        v.q = F.one_hot(v.tokens, p.shape[-1]).to(p.dtype)
        return v


class TopOnly(Parts):
    """A redrawn draft is the likeliest token, and counts as certain."""

    def leave(self, state, window, p, v):
        behind = torch.arange(len(p)) >= v.count
        v.tokens = torch.where(behind, p.argmax(-1), v.tokens)
        v.q = F.one_hot(v.tokens, p.shape[-1]).to(p.dtype)


class OwnLoop(Rule):
    """Its loop is the engine's, a step at a time."""

    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        yield from super().steps(prompt, seed, stopped)


RIGHT: tuple[type[Rule], ...] = (
    *(OrEqual, Certain, Block, OwnQ, OneMinus, Scaled, TwoAtMost, OtherNumbers, Coupled),
    *(TopOnly, OwnLoop),
)
WRONG: tuple[type[Rule], ...] = tuple(
    each
    for each in list(globals().values())
    if isinstance(each, type)
    and issubclass(each, Rule)
    and each not in (Rule, Parts, Forgetful, *RIGHT)
)
