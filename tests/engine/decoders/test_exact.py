"""Joint distributions of whole sequences: every lossless decoder's, enumerated exactly, and planted
bugs that the same enumeration finds. The mark `exact` is on further variants of the same rules:
`make test-exact`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial

import pytest
import torch
from torch import Tensor

from engine.core import Plan
from engine.decoders import DECODERS, WHOLE
from engine.decoders.ar import VanillaAR
from engine.decoders.assd import ASSD
from engine.decoders.auto_correct import AutoCorrect
from engine.decoders.base import Badge, Decoder
from engine.decoders.fpi import FixedPoint
from engine.decoders.jacobi import Jacobi
from engine.decoders.jacobi_window import INIT_SCHEMES, JacobiWindowSettings
from engine.decoders.lantern import Lantern
from engine.decoders.scd import SCD
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import SJDPAC
from engine.decoders.tree import Tree
from engine.decoders.window import WindowDecoder
from engine.models.base import planned
from engine.settings import Sampling, SettingError, Settings, knobs
from tests.engine.decoders import planted, planted_assd
from tests.variants import further
from tools.judge.enumeration import CLOSE, Enumeration, distance, enumerated, exactly
from tools.judge.one_pass import window_of
from tools.judge.sampling import log_e_value, rejects, sample
from tools.judge.standard import crafted, sure
from tools.judge.toys import InfillToy, Toy, infilling

LOSSLESS = [name for name in WHOLE if DECODERS[name].badge is not Badge.CHANGED_DISTRIBUTION]
exact = exactly()


def small(decoder: type[Decoder]) -> Settings:
    """A decoder's own settings, but with the smallest window that is enough for them, and a small
    tree."""
    names = {name for name, _, _ in knobs(decoder.Settings)}
    values = dict.fromkeys({"K", "D"} & names, 2)
    if "window" not in names:
        return decoder.Settings(**values)
    for window in range(3, 97):
        try:
            return decoder.Settings(window=window, **values)
        except SettingError:
            continue
    raise AssertionError("no window is large enough")


def checked(decoder: WindowDecoder) -> Enumeration:
    """What it decodes, which must be its model's distribution."""
    found = enumerated(decoder)
    assert distance(found.joint, decoder.model.joint_distribution(decoder.plan)) < CLOSE
    return found


# Every lossless decoder in DECODERS


@exact
@pytest.mark.parametrize("forced", [*further(False), True])
@pytest.mark.parametrize("name", LOSSLESS)
def test_a_lossless_decoder_has_the_models_joint_distribution(name: str, forced: bool) -> None:
    model = Toy((2, 2), 2, forced=forced)
    found = checked(DECODERS[name](model, small(DECODERS[name])))
    assert forced == (found.seen["forced"] > 0)


@pytest.mark.parametrize("seeds", [100, *further(400)])
@pytest.mark.parametrize("name", LOSSLESS)
def test_a_lossless_decoder_samples_the_models_distribution_with_keyed_noise(
    name: str, seeds: int
) -> None:
    """Of four codes, with Gumbel noise too, whose choices the enumeration has of two alone."""
    model = Toy((1, 3), 4, forced=True)
    decoder = DECODERS[name](model, small(DECODERS[name]))
    assert not rejects(sample(decoder, model, model.plan, seeds).log_e)


@pytest.mark.exact
@exact
@pytest.mark.parametrize("fresh", ["one-hot", "uniform"])
def test_block_verification_with_forced_tokens(fresh: str) -> None:
    model = Toy((2, 2), 2, forced=True)
    checked(SJD(model, SJD.Settings(window=4, fresh=fresh, verification="block")))


# Each knob of each


def variants(name: str, **knobs: Sequence[object]) -> list:
    """Parameters (name, settings) of the knobs' values side by side, one variant for each
    place in their lists."""
    places = [dict(zip(knobs, values, strict=True)) for values in zip(*knobs.values(), strict=True)]
    return [
        pytest.param(name, place, id=f"{name} {' '.join(map(str, place.values()))}")
        for place in places
    ]


CHAINS = [
    *variants("jacobi", window=[2, 16], init=["vertical sample", "random"]),
    *variants("sjd", window=[3] * 5, init=INIT_SCHEMES),
    *variants("sjd", window=[2, 16], fresh=["one-hot", "uniform"]),
    *variants("sjd", window=[3] * 5, init=INIT_SCHEMES, verification=["block"] * 5),
    *variants("sjd", window=[2, 16], fresh=["one-hot", "uniform"], verification=["block"] * 2),
    *variants("scd", coupling=["gumbel"] * 2, window=[2, 32], fresh=["one-hot", "uniform"]),
    *variants("scd", coupling=["maximal"] * 2, window=[2, 32], fresh=["one-hot", "uniform"]),
    *variants("scd", coupling=["threshold"] * 3, window=[2, 3, 32], tau=[0.5, 0.9, 1.5]),
    *variants("scd", coupling=["threshold"], window=[4], fresh=["uniform"]),
    *variants("scd", coupling=["gumbel", "maximal"], window=[3] * 2, init=["vertical repeat"] * 2),
    *variants("gsd", window=[3, 4], G=[1, 1], init=["random", "horizontal sample"]),
    *variants("lantern", delta=[0.0] * 3, depth=[1, 2, 5], k=[3] * 3),
    *variants("lantern", delta=[0.0], drafter=["jacobi"], window=[3], k=[3]),
    *variants("lantern", bound=["lambda"], lam=[1.0], depth=[2], k=[3]),
    *variants("sjd-pac", K=[1] * 3, AC=[True, False, True], window=[3, 3, 2]),
]


@pytest.mark.exact
@exact
@pytest.mark.parametrize(("name", "settings"), CHAINS)
def test_chains(name: str, settings: dict[str, object]) -> None:
    model = Toy((3, 1) if "init" in settings else (1, 3), 2)
    seen = checked(DECODERS[name](model, DECODERS[name].Settings(**settings))).seen
    late = "depth" in settings  # a drafter drafts from the second step on
    longest = settings["depth"] + 1 if late else settings.get("window", 16)
    lengths = range(1, min(longest, model.plan.length - late) + 1)
    reached = ["bonus", "resampled", "end of image", *(f"length {length}" for length in lengths)]
    assert all(seen[each] > 0 for each in reached), seen


KEPT = [
    ("sjd", {"window": 4, "fresh": "uniform"}),
    ("sjd", {"window": 4, "fresh": "uniform", "verification": "block"}),
    ("scd", {"window": 4, "coupling": "gumbel", "fresh": "uniform"}),
    ("scd", {"window": 4, "coupling": "maximal", "fresh": "uniform"}),
    ("scd", {"window": 4, "coupling": "threshold", "fresh": "uniform"}),
    ("sjd-pac", {"window": 4, "K": 1}),
]


@pytest.mark.exact
@exact
@pytest.mark.parametrize(("name", "settings"), KEPT, ids=str)
def test_drafts_that_several_passes_keep(name: str, settings: dict[str, object]) -> None:
    """Four positions: the last draft is redrawn twice before it is verified."""
    checked(DECODERS[name](Toy((1, 4), 2), DECODERS[name].Settings(**settings)))


TOP_K = [
    ("jacobi", {"window": 3}),
    ("sjd", {"window": 3, "fresh": "uniform"}),
    ("sjd", {"window": 3, "fresh": "uniform", "verification": "block"}),
    ("scd", {"window": 3, "coupling": "maximal", "fresh": "uniform"}),
    ("scd", {"window": 3, "coupling": "threshold", "fresh": "uniform"}),
    ("gsd", {"window": 3, "G": 1, "fresh": "uniform"}),
    ("lantern", {"delta": 0.0}),
    ("lantern", {"delta": 0.0, "drafts": "tree", "depth": 2, "width": 2, "nodes": 4}),
    ("sjd-pac", {"window": 3, "K": 1}),
]


@pytest.mark.exact
@exact
@pytest.mark.parametrize(("name", "settings"), TOP_K, ids=str)
def test_two_of_three_codes_by_top_k(name: str, settings: dict[str, object]) -> None:
    model = Toy((1, 3), 3)
    model.sampling = Sampling(guidance=1.0, top_k=2)
    found = checked(DECODERS[name](model, DECODERS[name].Settings(**settings)))
    assert found.seen["resampled"] > 0


def ways_off(layout: Tree) -> set[tuple[int, int]]:
    """(depth at which a path leaves the spine, how many side nodes it then has), of every path of a
    tree."""
    ways = set()
    for row in range(layout.spine + 1, len(layout.parents)):
        path, at = [], row
        while at > layout.spine:
            path, at = [at, *path], layout.parents[at]
        ways.add((layout.side[path[0] - layout.spine - 1][0], len(path)))
    return ways


TRAVERSAL = {"verification": "traversal", "AC": False}
TREES = [
    (3, 2, 3, True),
    (3, 2, 3, False),
    # More candidates than codes: the last ones do not exist.
    (2, 3, 2, True),
    (2, 8, 2, True),
]
UPWARD = [(3, 2, 3), (2, 3, 2), (2, 8, 2), (2, 3, 3)]  # codes, K, D


@pytest.mark.exact
@exact
@pytest.mark.parametrize(("codes", "K", "D", "AC"), TREES)
def test_trees(codes: int, K: int, D: int, AC: bool) -> None:
    model = Toy((1, 3), codes)
    decoder = SJDPAC(model, SJDPAC.Settings(window=40, K=K, D=D, AC=AC))
    seen = checked(decoder).seen
    assert seen["end of image"] > 0
    assert seen["resampled"] > 0 or codes <= K
    ways = ways_off(decoder._tree(model.plan.length - 1))
    assert ways
    for leaves, nodes in ways:
        assert seen[f"left at depth {leaves} for {nodes}"] > 0, (leaves, nodes)


@pytest.mark.exact
@exact
@pytest.mark.parametrize("fresh", ["one-hot", "uniform"])
@pytest.mark.parametrize(("codes", "K", "D"), UPWARD)
def test_trees_from_their_leaves_up(codes: int, K: int, D: int, fresh: str) -> None:
    model = Toy((1, 3), codes)
    knobs = TRAVERSAL | {"window": 40, "K": K, "D": D, "fresh": fresh}
    seen = checked(SJDPAC(model, SJDPAC.Settings(**knobs))).seen
    assert min(seen["off the spine"], seen["end of image"]) > 0


@pytest.mark.exact
@exact
@pytest.mark.parametrize("forced", [False, True])
def test_a_tree_from_its_leaves_up_with_a_spine_below_it(forced: bool) -> None:
    model = Toy((2, 2), 2, forced=forced)
    found = checked(SJDPAC(model, SJDPAC.Settings(**TRAVERSAL | {"window": 5, "K": 2, "D": 2})))
    assert min(found.seen["resampled"], found.seen["bonus"], found.seen["off the spine"]) > 0


@pytest.mark.exact
@exact
@pytest.mark.parametrize("forced", [False, True])
def test_rows_that_are_corrected_as_often_as_they_are_long(forced: bool) -> None:
    model = Toy((2, 2), 2, forced=forced)
    checked(AutoCorrect(model, AutoCorrect.Settings(rounds=3 if forced else 2)))


@pytest.mark.exact
@exact
def test_a_tree_of_certain_drafts() -> None:
    """Their distributions have no second token: the other candidates do not exist."""
    checked(SJDPAC(Toy((1, 3), 2), SJDPAC.Settings(window=8, K=2, D=3, fresh="one-hot")))


@pytest.mark.exact
@exact
def test_a_tree_window_of_which_all_is_accepted() -> None:
    """A spine that ends well before the image."""
    found = checked(SJDPAC(Toy((1, 4), 2), SJDPAC.Settings(window=4, K=2, D=2)))
    assert found.seen["length 3"] > 0


@pytest.mark.exact
@exact
@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize(
    ("depth", "width", "nodes"), [(1, 2, 2), (2, 1, 2), (2, 2, 6), (3, 2, 5), (2, 2, 60)]
)
def test_lanterns_trees(forced: bool, depth: int, width: int, nodes: int) -> None:
    model = Toy((2, 2), 3, forced=forced)
    tree = {"drafts": "tree", "depth": depth, "width": width, "nodes": nodes, "delta": 0.0}
    seen = checked(Lantern(model, Lantern.Settings(**tree))).seen
    assert min(seen["resampled"], seen["bonus"]) > 0
    if (depth, width) == (2, 2) and not forced:
        for leaves, many in [(1, 1), (1, 2), (2, 1)]:
            assert seen[f"left at depth {leaves} for {many}"] > 0


# Planted bugs


def flat() -> Toy:
    """Distributions that differ little from each other."""
    model = Toy((1, 4), 2)
    model.logits *= 0.25
    return model


def half_known() -> tuple[Toy, Plan]:
    """Four cells of six are filled in, in spread order."""
    mask = (True, False, True, True, False, True)
    return planned(InfillToy((2, 3), 2, seed=3), infilling(mask, "spread", 2, seed=4))


zero_then = partial(crafted, [1.0, 0, 0], [0.6, 0.4, 0], [0.6, 0.4, 0])
zero_or_one = partial(crafted, [0.5, 0.5, 0], [0.2, 0.3, 0.5], [0.6, 0.4, 0])
depends_on_zero = partial(crafted, [1.0, 0, 0, 0], [0.5, 0, 0, 0.5], [0.26, 0.37, 0.37, 0])
nearly_even = partial(crafted, [0.3, 0.35, 0.35], [0.5, 0.4, 0.1], [0.5, 0.4, 0.1])
pair = partial(Toy, (1, 3), 2)
two_of_three = partial(Toy, (1, 2), 3)
three = partial(Toy, (1, 3), 3)
two_lines = partial(Toy, (2, 2), 2)

Planted = Callable[[], Toy | tuple[Toy, Plan]]
WINDOW = {"window": 3}
MAXIMAL = {"window": 3, "coupling": "maximal", "fresh": "uniform"}
THRESHOLD = {"window": 3, "coupling": "threshold", "fresh": "uniform"}
BLOCK = {"window": 3, "fresh": "uniform", "verification": "block"}
CHAIN = {"window": 3, "K": 1}
TREE = {"window": 8, "K": 2, "D": 2}
DEEP = {"window": 8, "K": 2, "D": 3}
SMALL_TREE = {"drafts": "tree", "depth": 2, "width": 2, "nodes": 4, "k": 2, "delta": 0.0}
BUGS = [
    (planted.OldDraftDistribution, SJD, pair, WINDOW),
    (planted.CoupledWithOldDistribution, SCD, pair, WINDOW),
    (planted.KeptWithOldDistribution, SCD, pair, MAXIMAL),
    (planted.BlockReplacedFromR, SJD, nearly_even, BLOCK),
    (planted.CorrectedFromP, AutoCorrect, two_lines, {"rounds": 2}),
    (planted.StaleJacobi, Jacobi, pair, WINDOW),
    (planted.TraversalWithKeptDrafts, SJDPAC, flat, TREE | TRAVERSAL | {"window": 6}),
    (planted.ContinuedWithStaleDistribution, SJDPAC, pair, CHAIN),
    (planted.CandidatesVerifiedWithTheSpinesQ, SJDPAC, two_of_three, TREE),
    (planted.ChildrenOfARejectedNode, Lantern, three, SMALL_TREE),
    (planted_assd.RejectedKept, ASSD, half_known, {"k": 3}),
    *further(
        (planted.ResampledFromP, SJD, pair, WINDOW),
        (planted.RefreshedWithAcceptDraw, SJD, pair, WINDOW),
        (planted.BonusFromThePad, SJD, pair, {"window": 2}),
        (planted.NoiseOfTheRow, SCD, pair, WINDOW),
        (planted.CoupledWithOldDistribution, SCD, pair, MAXIMAL),
        (planted.UnkeptRedrawnFromP, SCD, pair, MAXIMAL),
        (planted.ThresholdCountedAsP, SCD, pair, THRESHOLD),
        (planted.KeptByTheTestsNumber, SCD, pair, MAXIMAL),
        (planted.CoupledByTheSameNumbers, SCD, flat, MAXIMAL | {"window": 4}),
        (planted.BlockWithKeptDrafts, SCD, flat, MAXIMAL | {"window": 4}),
        (planted.FullAcceptanceFromThePad, SJDPAC, pair, {"window": 2, "K": 1}),
        (planted.TraversalByTheMassAlone, SJDPAC, pair, DEEP | TRAVERSAL),
        (planted.TraversalOfTheSameCandidates, SJDPAC, pair, DEEP | TRAVERSAL),
        (planted.ContinuedFromP, SJDPAC, pair, CHAIN),
        (planted.LongestPathWins, SJDPAC, zero_or_one, DEEP),
        (planted.SpineRedrawnAfterAllCandidates, SJDPAC, zero_then, DEEP),
        (planted.CandidatesFromTheResidual, SJDPAC, depends_on_zero, TREE),
        (planted.CandidatesWithReplacement, SJDPAC, two_of_three, TREE),
        (planted.CandidatesWithAFloor, SJDPAC, sure, TREE),
        (planted.RejectedChildKept, Lantern, three, SMALL_TREE),
        (planted.NeighboursOfTheRejectedRemoved, Lantern, three, SMALL_TREE),
        (planted.BonusFromTheRoot, Lantern, three, SMALL_TREE),
        (planted_assd.UniformQ, ASSD, half_known, {"k": 3, "drafts": "n-gram"}),
        (planted_assd.UniformQ, ASSD, half_known, {"k": 3}),
        (planted_assd.ResampledFromP, ASSD, half_known, {"k": 3}),
        (planted_assd.TolerantAcceptance, ASSD, half_known, {"k": 3}),
        (planted_assd.NextRowsQ, ASSD, half_known, {"k": 3}),
        (planted_assd.BonusFromQ, ASSD, half_known, {"k": 3}),
    ),
]


@functools.cache
def off(decoder: type[WindowDecoder], toy: Planted, settings: tuple) -> float:
    made = toy()
    model, plan = made if isinstance(made, tuple) else (made, made.plan)
    built = decoder(model, decoder.Settings(**dict(settings)), plan=plan)
    return distance(enumerated(built).joint, model.joint_distribution(plan))


@exact
@pytest.mark.parametrize(("bug", "sound", "toy", "settings"), BUGS)
def test_a_planted_bug_is_found_where_the_sound_decoder_is_exact(
    bug: type[WindowDecoder], sound: type[WindowDecoder], toy: Planted, settings: dict
) -> None:
    knobs = tuple(settings.items())
    assert off(bug, toy, knobs) > 1e3 * CLOSE
    assert off(sound, toy, knobs) < CLOSE


def committed(decoder: WindowDecoder, p: Tensor, q: Tensor, seeds: int) -> list[int]:
    """How often each token is committed where the draft was drawn from q by its position's own
    Gumbel noise."""
    found = [0] * len(p)
    for seed in range(seeds):
        state = decoder.begin("", seed)
        state.step = 1
        state.room.fill_(1)
        draft = (q.log() + state.gumbel(2)[:1]).argmax(-1)
        verification = decoder.verify(state, window_of(draft, q[None]), p.expand(2, -1))
        found[int(verification.tokens[0])] += 1
    return found


@exact
def test_a_planted_bug_of_the_gumbel_noise_is_found_by_sampling() -> None:
    """Of two codes a residual has one, which any noise draws, and the noise of more codes is not
    enumerated: it is as many numbers, and an argmax cuts a polytope out of them."""
    p, q = torch.tensor([[0, 0.75, 0, 0.25], [0.5, 0.5, 0, 0]])
    toy = Toy((1, 3), 4)
    for kind, off in ((planted.ReplacedWithTheDraftsNoise, True), (SCD, False)):
        found = committed(kind(toy, SCD.Settings(window=4)), p, q, 1000)
        assert rejects(log_e_value(found, p.tolist())) == off


# Shared noise


@pytest.mark.parametrize("init", INIT_SCHEMES)
def test_fixed_point_is_vanilla_ar_token_for_token(init: str) -> None:
    model = Toy((3, 4), 16, forced=True)
    ar = VanillaAR(model)
    for seed in range(2):
        expected = ar.generate("", seed)
        for window in (2, 5, 32):
            settings = JacobiWindowSettings(window=window, init=init)
            assert FixedPoint(model, settings).generate("", seed) == expected


@pytest.mark.parametrize(
    "name", [name for name, decoder in DECODERS.items() if decoder.badge is Badge.IDENTICAL]
)
def test_a_decoder_that_says_identical_is_vanilla_ar_token_for_token(name: str) -> None:
    model = Toy((3, 4), 12)
    for seed in range(5):
        expected = VanillaAR(model).generate("", seed)
        assert DECODERS[name](model, small(DECODERS[name])).generate("", seed) == expected
