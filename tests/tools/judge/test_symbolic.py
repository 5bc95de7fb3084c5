"""The ways in which authors write a rule: what is enumerated as it would decode, and what says that
it cannot be."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import never
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import SpeculativeSettings
from engine.decoders.scd import SCD
from engine.decoders.sjd import SJD
from engine.decoders.speculate import chain_acceptance, speculate
from engine.decoders.window import WindowDecoder
from engine.numerics.randomness import Purpose
from engine.trace import Step
from tests.tools.judge.rules import MEMORIES, Rule, Test, remembering, until_rejected, written_with
from tools.judge import enumeration
from tools.judge.choices import NotEnumerable, outcomes
from tools.judge.enumeration import CLOSE, Joint, distance, enumerated, exactly
from tools.judge.symbolic import SymbolicNoise, settled
from tools.judge.toys import Toy

exact = exactly()
SETTINGS = SpeculativeSettings(window=3, fresh="uniform")


def joint_of(kind: type[WindowDecoder], codes: int = 2) -> Joint:
    decoder = kind(Toy((1, 3), codes), SETTINGS)
    return enumerated(decoder).joint


# Comparisons

SOUND: dict[str, Test] = {
    "u < a": lambda u, p, q: u < p / q,
    "u <= a": lambda u, p, q: u <= p / q,
    "a > u": lambda u, p, q: p / q > u,
    "a >= u": lambda u, p, q: p / q >= u,
    "not u > a": lambda u, p, q: ~(u > p / q),
    "logical_not": lambda u, p, q: torch.logical_not(u >= p / q),
    "u q < p": lambda u, p, q: u * q < p,
    "q u < p": lambda u, p, q: q * u < p,
    "p > q u": lambda u, p, q: p > q * u,
    "u q - p < 0": lambda u, p, q: u * q - p < 0,
    "torch.lt": lambda u, p, q: torch.lt(u, p / q),
    "torch.gt": lambda u, p, q: torch.gt(p / q, u),
    "torch.ge of a product": lambda u, p, q: torch.ge(p, torch.mul(q, u)),
    "torch.less_equal": lambda u, p, q: torch.less_equal(u, p / q),
    "torch.where": lambda u, p, q: torch.where(u < p / q, 1, 0).bool(),
    "all columns": lambda u, p, q: (u[:, None] < torch.stack([p / q, p / q], -1)).any(-1),
    "tolist": lambda u, p, q: torch.tensor((u < p / q).tolist()),
    "a branch": until_rejected(lambda u, p, q, i: bool(u[i] < p[i] / q[i])),
    "item": until_rejected(lambda u, p, q, i: (u < p / q)[i].item()),
    "an outcome as a number": until_rejected(lambda u, p, q, i: int((u[i] <= p[i] / q[i]).long())),
    "a float threshold": until_rejected(lambda u, p, q, i: float(p[i] / q[i]) > u[i]),
}
WRONG: dict[str, Test] = {
    "u > a": lambda u, p, q: u > p / q,
    "u p < q": lambda u, p, q: u * p < q,
    "u q + 0.1 < p": lambda u, p, q: u * q - p < -0.1,
    "a row's number for all": lambda u, p, q: u[:1].expand(len(p)) < p / q,
    "any": lambda u, p, q: (u[:, None] < torch.stack([p / q, p], -1)).all(-1),
    "the loop goes on": lambda u, p, q: torch.tensor([bool((u < p / q).any())] * len(p)),
}


@exact
@pytest.mark.parametrize("name", SOUND)
def test_a_comparison_is_enumerated_however_it_is_written(name: str) -> None:
    sjd = enumerated(SJD(Toy((1, 3), 2), SJD.Settings(window=3, fresh="uniform"))).joint
    assert distance(joint_of(written_with(SOUND[name])), sjd) < CLOSE


@exact
@pytest.mark.parametrize("name", WRONG)
def test_another_comparison_is_another_distribution(name: str) -> None:
    joint = joint_of(written_with(WRONG[name]))
    assert sum(joint.values()) == pytest.approx(1)
    assert distance(joint, Toy((1, 3), 2).joint_distribution()) > 1e3 * CLOSE


CHOOSING: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], list[float]]] = {
    "an inverted sum": (
        lambda u, p: torch.searchsorted(p.cumsum(-1), u[..., None])[..., 0],
        [0.2, 0.3, 0.5],
    ),
    "flags of a sum": (
        lambda u, p: (u[..., None] < p.cumsum(-1)).int().argmax(-1),
        [0.2, 0.3, 0.5],
    ),
    "a count of sums": (lambda u, p: (u[..., None] > p.cumsum(-1)).sum(-1), [0.2, 0.3, 0.5]),
    "one of three": (lambda u, p: (u * 3).long(), [1 / 3] * 3),
    "one of three, at most 2": (lambda u, p: (u * 3).clamp_max(2.9999999999).long(), [1 / 3] * 3),
    "nothing is below no number": (lambda u, p: (u < torch.nan).long(), [1, 0, 0]),
    "nothing is above no number": (lambda u, p: (u > p * torch.nan).any(-1).long(), [1, 0, 0]),
    "an outcome as a threshold": (lambda u, p: (u < (u < 0.2)).long(), [0.8, 0.2, 0]),
}


@exact
@pytest.mark.parametrize("name", CHOOSING)
def test_a_number_chooses(name: str) -> None:
    choose, expected = CHOOSING[name]
    p, found = torch.tensor([0.2, 0.3, 0.5]), torch.zeros(3)

    def run() -> Tensor:
        return choose(SymbolicNoise().uniform(Purpose.VERIFY, 0, 1, 0, 1)[0, 0], p)

    for choices, token in outcomes(run, {}, lambda made: int(settled(made))):
        found[token] += choices.weight
    torch.testing.assert_close(found, torch.tensor(expected, dtype=found.dtype))


# What is not enumerable

VALUES = "something else with a random number than compare it"
COMPUTES = "computes with random numbers before it compares them"
OPEN: dict[str, tuple[Test, str]] = {
    "a product of numbers": (lambda u, p, q: u * u.flip(0) < p, COMPUTES),
    "a product of all": (lambda u, p, q: u.prod() < p / q, VALUES),
    "a cumulative product": (lambda u, p, q: u.cumprod(0) < p / q, COMPUTES),
    "a logarithm": (lambda u, p, q: u.log() < (p / q).log(), VALUES),
    "two numbers": (lambda u, p, q: u < u.flip(0), COMPUTES),
    "a float": (lambda u, p, q: torch.tensor([float(u[0]) < p[0]] * len(p)), VALUES),
    "an item": (lambda u, p, q: torch.tensor([u[0].item() < p[0]] * len(p)), VALUES),
    "1 - u": (lambda u, p, q: 1 - u > 1 - p / q, VALUES),
    "a negative multiple": (lambda u, p, q: u * -q > -p, "multiplies .* by a negative one"),
    "a bounded multiple": (lambda u, p, q: (u * q).clamp_max(0.2) < p, "bounds what it computed"),
    "a raised multiple": (lambda u, p, q: (u * q).clamp_min(0.2) < p, "bounds what it computed"),
    "a part of a multiple": (lambda u, p, q: (u * q)[:1] < p, "takes part of"),
    "fractions cut off": (lambda u, p, q: (u * 2.5).long() < 1, "truncates numbers"),
    "a shift cut off": (lambda u, p, q: (u * 3 - 1).long() < 1, "truncates numbers"),
    "a sum that ends early": (
        lambda u, p, q: torch.searchsorted(torch.tensor([0.1, 0.2]), u[:, None])[:, 0] < 1,
        "whose range is not that of the sum",
    ),
}


@exact
@pytest.mark.parametrize("name", OPEN)
def test_what_only_a_numbers_value_would_say_is_not_enumerated(name: str) -> None:
    test, words = OPEN[name]
    with pytest.raises(NotEnumerable, match=words):
        joint_of(written_with(test))


@exact
def test_gumbel_noise_chooses_between_two_codes_alone() -> None:
    settings = SCD.Settings(window=3)
    with pytest.raises(NotEnumerable, match="of more than two codes"):
        enumerated(SCD(Toy((1, 3), 3), settings))
    model = Toy((1, 3), 2)
    assert distance(enumerated(SCD(model, settings)).joint, model.joint_distribution()) < CLOSE


NOISES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "of the other token": lambda logits, noise: logits + noise.flip(-1),
    "twice": lambda logits, noise: logits + noise + noise,
    "noise alone": lambda logits, noise: noise + noise,
    "of one token": lambda logits, noise: logits + noise[:, :1],
}


@exact
@pytest.mark.parametrize("name", NOISES)
def test_gumbel_noise_that_is_not_added_once_to_its_own_tokens(name: str) -> None:
    class Noisy(Rule):
        def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
            samples = NOISES[name](p.log(), state.gumbel(len(p))).argmax(-1)
            return speculate(state, window, p, chain_acceptance(window, p), samples=samples)

    with pytest.raises(NotEnumerable, match="adds Gumbel noise"):
        joint_of(Noisy)


# What a rule keeps from pass to pass


@dataclass(eq=False)
class Memory:
    passes: list[int] = field(default_factory=list)


class OnItself(Rule):
    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        self.newest = p.clone()
        return super().verify(state, window, p)


class InItsList(Rule):
    def __init__(self, *args: object, **more: object) -> None:
        super().__init__(*args, **more)
        self.passes = list[int]()

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        self.passes.append(state.step)
        return super().verify(state, window, p)


class InItsObject(InItsList):
    def __init__(self, *args: object, **more: object) -> None:
        super().__init__(*args, **more)
        self.memory = Memory()
        self.passes = self.memory.passes


class InItsClass(Rule):
    passes: set[int] = set()

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        self.passes.add(len(self.passes))
        return super().verify(state, window, p)


class InItsTensor(Rule):
    def __init__(self, *args: object, **more: object) -> None:
        super().__init__(*args, **more)
        self.passes = torch.zeros(1)

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        self.passes += 1
        return super().verify(state, window, p)


@exact
@pytest.mark.parametrize("kind", [OnItself, InItsList, InItsObject, InItsClass, InItsTensor])
def test_what_it_keeps_on_itself_is_not_enumerated(kind: type[Rule]) -> None:
    name = "newest" if kind is OnItself else "passes"
    with pytest.raises(NotEnumerable, match=rf"keeps {name}.* from pass to pass outside the state"):
        joint_of(kind)


@pytest.mark.parametrize("name", ["slot", "noise", "plan", "rejected"])
def test_states_with_other_memories_do_not_go_on_as_one(name: str) -> None:
    first, same, other = (
        enumeration._kept(SimpleNamespace(memory={name: [number]})) for number in (1, 1, 2)
    )
    assert first == same != other


def doubting() -> Joint:
    """By hand, what a remembering rule decodes: u and the draws of three tokens of two codes, step
    by step, of a window of two rows."""
    model, joint = Toy((1, 3), 2), Joint()

    def p_of(tokens: tuple[int, ...]) -> list[float]:
        return model.distribution(tokens).tolist()

    def go(tokens: tuple[int, ...], doubt: bool, chance: float, kept: list[float] | None) -> None:
        """`kept`: q of the draft at the next position, None where it begins as a uniform one."""
        if len(tokens) == 3:
            joint[tokens] = joint.get(tokens, 0.0) + chance
            return
        last = len(tokens) == 2
        p, q = p_of(tokens), kept or [0.5, 0.5]
        if last:  # no draft is before the picture's end
            for y in range(2):
                go((*tokens, y), False, chance * p[y], None)
            return
        for x in range(2):
            a = min(1, p[x] / q[x]) * (0.5 if doubt else 1)
            behind = p_of((*tokens, x))
            for y in range(2):  # accepted, with a bonus
                go((*tokens, x, y), False, chance * q[x] * a * behind[y], None)
            left = [max(0, b - c) for b, c in zip(p, q, strict=True)]
            left = left if sum(left) > 0 else p
            for y in range(2):  # rejected; the next draft is a sample of `behind`
                go((*tokens, y), True, chance * q[x] * (1 - a) * left[y] / sum(left), behind)

    go((), False, 1.0, None)
    return joint


@exact
@pytest.mark.parametrize("memory", MEMORIES)
def test_what_it_keeps_on_the_state_is_each_branchs_own(memory: str) -> None:
    """In three tokens a window of two rows: its draft, if it is rejected, and the next one."""
    model = Toy((1, 3), 2)
    settings = SpeculativeSettings(window=2, fresh="uniform")
    found = enumerated(remembering(memory)(model, settings)).joint
    assert sum(found.values()) == pytest.approx(1)
    expected = doubting()
    assert distance(found, expected) < CLOSE
    assert distance(found, model.joint_distribution()) > 1e3 * CLOSE


# What an author may write beside `propose` and `verify`

BESIDE: dict[int, bool] = {}


class Forgetting(DecodeState):
    """Forgets what the drafts are samples of that a step left."""

    def commit(self, verification: Verification, path: list[int]) -> None:
        super().commit(verification, path)
        self.q = torch.full_like(self.q, 1 / self.q.shape[-1])


class Committing(Rule):
    State = Forgetting


class Watching(Rule):
    """Changes what is left once the step is over."""

    def observe(
        self, state: DecodeState, window: Window, verification: Verification, count: int
    ) -> None:
        state.drafts = torch.zeros_like(state.drafts)


class Wrapping(Rule):
    """Another decoder's loop."""

    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        yield from Rule(self.model, self.settings, self.sampling, self.plan).steps(prompt, seed)


class Tabled(Rule):
    """Doubts a draft behind a rejection, which a table of its file remembers."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        doubt = 0.5 if state.step and BESIDE.get(0) else 1.0
        verification = speculate(state, window, p, chain_acceptance(window, p) * doubt)
        BESIDE[0] = bool(verification.count < len(window.drafts))
        return verification


@exact
@pytest.mark.parametrize("wrong", [Committing, Watching])
def test_what_it_does_behind_its_rule_is_enumerated(wrong: type[Rule]) -> None:
    model = Toy((1, 3), 2)
    found = enumerated(wrong(model, SpeculativeSettings(window=3, fresh="uniform"))).joint
    assert sum(found.values()) == pytest.approx(1)
    assert distance(found, model.joint_distribution()) > 1e3 * CLOSE


@exact
@pytest.mark.parametrize(
    ("unseen", "words"), [(Wrapping, "its `steps` draws"), (Tabled, "keeps BESIDE")]
)
def test_what_the_enumeration_cannot_see_is_said(unseen: type[Rule], words: str) -> None:
    with pytest.raises(NotEnumerable, match=words):
        enumerated(unseen(Toy((1, 3), 2), SpeculativeSettings(window=3, fresh="uniform")))
