"""Joint distributions of whole sequences: every lossless decoder against enumeration, and planted
bugs that the same statistic catches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch

from engine.decoders import DECODERS, WHOLE
from engine.decoders.ar import VanillaAR
from engine.decoders.base import Badge, Decoder
from engine.decoders.fpi import FixedPoint
from engine.decoders.jacobi import Jacobi
from engine.decoders.jacobi_window import INIT_SCHEMES, JacobiWindowSettings
from engine.decoders.lantern import Lantern, LanternSettings
from engine.decoders.scd import SCD
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import SJDPAC
from engine.decoders.tree import Tree
from engine.decoders.window import WindowDecoder
from engine.settings import SettingError, Settings, knobs
from tests.engine.decoders import planted
from tests.engine.decoders.sampling import (
    FALSE_ALARM,
    PLANTED,
    CountingToy,
    QuickNoise,
    lossless,
    sample,
    smallest_p_value,
)
from tests.toy import Toy

LOSSLESS = [name for name in WHOLE if DECODERS[name].badge is not Badge.CHANGED_DISTRIBUTION]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cheap noise in place of the keyed one."""
    monkeypatch.setattr("engine.decoders.decode_state.Noise", QuickNoise)
    QuickNoise.reset(7)


quickly = pytest.mark.usefixtures("quick")


def small(decoder: type[Decoder]) -> Settings:
    """A decoder's own settings, but with the smallest window that is enough for them, and a small
    tree."""
    values = {
        name: value
        for name, value in (("K", 2), ("D", 2))
        if name in [knob for knob, _, _ in knobs(decoder.Settings)]
    }
    if "window" not in [knob for knob, _, _ in knobs(decoder.Settings)]:
        return decoder.Settings(**values)
    for window in range(3, 97):
        try:
            return decoder.Settings(window=window, **values)
        except SettingError:
            continue
    raise AssertionError("no window is large enough")


# Every lossless decoder in DECODERS, with its defaults


@pytest.mark.parametrize("name", LOSSLESS)
def test_a_lossless_decoder_samples_the_models_distribution_with_keyed_noise(name: str) -> None:
    decoder = DECODERS[name](CountingToy((2, 2), 3), small(DECODERS[name]))
    assert lossless(decoder, 1200) > FALSE_ALARM


@quickly
@pytest.mark.parametrize("name", LOSSLESS)
def test_a_lossless_decoder_samples_the_models_distribution_around_forced_tokens(name: str) -> None:
    model = CountingToy((2, 2), 3, forced=True)
    assert lossless(DECODERS[name](model, small(DECODERS[name])), 1500) > FALSE_ALARM
    assert model.seen["forced"] > 1500


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
    *variants("jacobi", window=[2, 3, 16], init=["random", "vertical sample", "random"]),
    *variants("sjd", window=[3] * 5, init=INIT_SCHEMES),
    *variants("sjd", window=[2, 16], init=["random", "vertical repeat"]),
    *variants(
        "scd",
        coupling=["gumbel"] * 3 + ["maximal"] * 3,
        window=[2, 3, 32] * 2,
        fresh=["one-hot", "uniform", "one-hot"] * 2,
    ),
    *variants("scd", coupling=["gumbel", "maximal"], window=[3] * 2, init=["vertical repeat"] * 2),
    *variants("gsd", window=[3, 3], G=[1, 1], order=["ascending", "descending"]),
    *variants("gsd", window=[4], reading=["paper"], G=[1], init=["horizontal sample"]),
    *variants(
        "lantern",
        delta=[0.0] * 3,
        depth=[1, 2, 5],
        draws=["sampled", "sampled", "top-1"],
        k=[3] * 3,
    ),
    *variants("lantern", delta=[0.0], drafter=["jacobi"], window=[3], k=[3]),
    *variants("lantern", bound=["lambda"], lam=[1.0], depth=[2], k=[3]),
    *variants(
        "lantern",
        drafts=["tree"] * 4,
        delta=[0.0] * 4,
        depth=[1, 2, 3, 2],
        width=[2, 1, 2, 2],
        nodes=[2, 2, 5, 60],
        k=[3] * 4,
    ),
    *variants("sjd-pac", PD=[False] * 3, AC=[True, False, True], window=[3, 3, 2]),
]


@quickly
@pytest.mark.parametrize(("name", "settings"), CHAINS)
def test_chains(name: str, settings: dict[str, object]) -> None:
    model = CountingToy((2, 2), 3)
    decoder = DECODERS[name](model, DECODERS[name].Settings(**settings))
    assert lossless(decoder, 1500) > FALSE_ALARM
    assert model.seen["bonus"] > 50
    assert model.seen["resampled"] > 50
    assert model.seen["end of image"] > 50
    late = "depth" in settings  # a drafter drafts from the second step on
    longest = min(
        settings["depth"] + 1 if late else settings.get("window", 16), model.length - late
    )
    for length in range(1, longest + 1):
        assert model.seen[f"length {length}"] > 5


TREES = [
    (reading, K, D, AC)
    for reading, K, D in [
        ("full", 2, 3),
        ("full", 3, 2),
        ("full", 3, 3),
        ("spine", 2, 2),
        ("spine", 3, 3),
        ("lanes", 2, 3),
        ("lanes", 3, 2),
        ("deep", 2, 2),
        ("deep", 3, 1),
        ("full", 8, 2),
    ]
    for AC in (True, False)
]


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


@quickly
@pytest.mark.parametrize(("reading", "K", "D", "AC"), TREES)
def test_trees(reading: str, K: int, D: int, AC: bool) -> None:
    model = CountingToy((2, 2), 4 if K == 3 else 3)  # K tokens in all would leave nothing to reject
    decoder = SJDPAC(model, SJDPAC.Settings(window=40, K=K, D=D, tree=reading, AC=AC))
    assert lossless(decoder, 1800) > FALSE_ALARM
    assert model.seen["end of image"] > 50
    assert model.seen["rejected"] > 50
    ways = ways_off(decoder._tree(model.length - 1))
    assert ways
    for leaves, nodes in ways:
        assert model.seen[f"left at depth {leaves} for {nodes}"] > 2, (leaves, nodes)


@quickly
@pytest.mark.parametrize(
    ("reading", "K", "D"), [("full", 2, 3), ("spine", 2, 3), ("lanes", 3, 3), ("deep", 2, 2)]
)
def test_trees_around_forced_tokens(reading: str, K: int, D: int) -> None:
    model = CountingToy((2, 2), 3, forced=True)
    decoder = SJDPAC(model, SJDPAC.Settings(window=30, K=K, D=D, tree=reading))
    assert lossless(decoder, 1500) > FALSE_ALARM
    assert min(model.seen["forced"], model.seen["off the spine"], model.seen["end of image"]) > 100


@quickly
@pytest.mark.parametrize("window", [4, 5])
def test_a_tree_window_of_which_all_is_accepted(window: int) -> None:
    """Small windows, so that the spine often ends well before the image."""
    model = CountingToy((1, 5), 3)
    assert lossless(SJDPAC(model, SJDPAC.Settings(window=window, K=2, D=2)), 1500) > FALSE_ALARM
    assert model.seen[f"length {window - 1}"] > 100


@quickly
@pytest.mark.parametrize("forced", [False, True])
def test_lanterns_trees_leave_every_path(forced: bool) -> None:
    model = CountingToy((2, 2), 4, forced=forced)
    tree = {"drafts": "tree", "depth": 2, "width": 2, "nodes": 6, "delta": 0.0}
    assert lossless(Lantern(model, LanternSettings(**tree)), 1800) > FALSE_ALARM
    for leaves, nodes in [(1, 1), (1, 2), (2, 1)]:
        assert model.seen[f"left at depth {leaves} for {nodes}"] > 50 * (not forced or nodes == 1)


# Planted bugs


def crafted(first: list[float], after_zero: list[float], after_others: list[float]) -> CountingToy:
    """Three tokens: the distribution of the first, then by whether the token before is 0."""
    codes = len(first)
    model = CountingToy((1, 3), codes)
    p = torch.tensor(after_others).expand(codes + 1, codes + 1, codes).clone()
    p[:, 0], p[codes, codes] = torch.tensor(after_zero), torch.tensor(first)
    model.logits = p.clamp_min(1e-3).log()
    return model


def contrasts() -> CountingToy:
    """After an odd token a flat distribution, after an even one a sharp one."""
    model = CountingToy((1, 3), 5)
    model.logits = torch.zeros(6, 6, 5)
    for token in range(0, 5, 2):
        model.logits[:, token, (token + 1) % 5] = 5.0
    return model


def extreme() -> CountingToy:
    """Where a 0 came before, less than 1e-30 is left beside the likeliest token; as logits with
    gaps of 7.6 are at temperature 0.1."""
    model = crafted([0.02, 0.98, 0, 0], [1, 0, 0, 0], [0.02, 0.9, 0.04, 0.04])
    model.logits[:, 0] = torch.tensor([1.0, 2e-36, 1e-33, 1e-33]).log()
    return model


def zero_then(p: Sequence[float]) -> Callable[[], CountingToy]:
    """The first token is 0, the others all have distribution p."""
    return lambda: crafted([1.0] + [0.0] * (len(p) - 1), list(p), list(p))


def independent(p: Sequence[float]) -> Callable[[], CountingToy]:
    """Every token has distribution p."""
    return lambda: crafted(list(p), list(p), list(p))


def depends_on_zero() -> CountingToy:
    return crafted([1.0, 0, 0, 0], [0.5, 0, 0, 0.5], [0.26, 0.37, 0.37, 0])


SMALL_TREE = {"drafts": "tree", "depth": 2, "width": 2, "nodes": 4, "k": 2, "delta": 0.0}
BUGS = [
    (planted.OldDraftDistribution, SJD, lambda: CountingToy((1, 4), 3), {"window": 4}),
    (planted.ResampledFromP, SJD, lambda: CountingToy((1, 4), 3, seed=1), {"window": 4}),
    (planted.BonusFromThePad, SJD, lambda: CountingToy((1, 4), 3), {"window": 3}),
    (planted.RefreshedWithAcceptDraw, SJD, lambda: CountingToy((1, 4), 3, seed=1), {"window": 4}),
    (
        planted.ReplacedWithTheDraftsNoise,
        SCD,
        lambda: crafted([1.0, 0, 0, 0], [0, 0.75, 0, 0.25], [0.5, 0.5, 0, 0]),
        {"window": 4},
    ),
    (planted.NoiseOfTheRow, SCD, lambda: CountingToy((1, 4), 3), {"window": 4}),
    *(
        (
            planted.CoupledWithOldDistribution,
            SCD,
            lambda: CountingToy((1, 4), 3),
            {"window": 4, "coupling": coupling},
        )
        for coupling in ("gumbel", "maximal")
    ),
    (
        planted.UnkeptRedrawnFromP,
        SCD,
        zero_then((0.8, 0.2, 0)),
        {"window": 4, "coupling": "maximal", "fresh": "uniform"},
    ),
    (
        planted.KeptByTheTestsNumber,
        SCD,
        lambda: crafted([1.0, 0, 0, 0], [0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]),
        {"window": 4, "coupling": "maximal", "fresh": "uniform"},
    ),
    (planted.StaleJacobi, Jacobi, lambda: CountingToy((1, 4), 3), {"window": 4}),
    (planted.LongestPathWins, SJDPAC, contrasts, {"window": 10, "K": 2, "D": 3}),
    (planted.CandidatesFromTheResidual, SJDPAC, depends_on_zero, {"window": 10, "K": 2, "D": 2}),
    (
        planted.SpineRedrawnAfterAllCandidates,
        SJDPAC,
        zero_then((0.6, 0.4, 0, 0)),
        {"window": 12, "K": 2, "D": 3},
    ),
    (
        planted.FullAcceptanceFromThePad,
        SJDPAC,
        lambda: CountingToy((1, 4), 3),
        {"window": 3, "PD": False},
    ),
    (
        planted.CandidatesWithReplacement,
        SJDPAC,
        independent((0.55, 0.45, 0)),
        {"window": 10, "K": 2, "D": 2},
    ),
    (planted.CandidatesWithAFloor, SJDPAC, extreme, {"window": 16, "K": 3, "D": 3}),
    (
        planted.CandidatesVerifiedWithTheSpinesQ,
        SJDPAC,
        independent((0.55, 0.45, 0)),
        {"window": 10, "K": 2, "D": 2},
    ),
    (
        planted.ContinuedWithStaleDistribution,
        SJDPAC,
        lambda: CountingToy((1, 4), 3),
        {"window": 6, "PD": False},
    ),
    (planted.ContinuedFromP, SJDPAC, zero_then((0.8, 0.2, 0)), {"window": 4, "PD": False}),
    (planted.ChildrenOfARejectedNode, Lantern, lambda: CountingToy((1, 4), 3), SMALL_TREE),
    (planted.RejectedChildKept, Lantern, lambda: CountingToy((1, 4), 3), SMALL_TREE),
    (planted.NeighboursOfTheRejectedRemoved, Lantern, lambda: CountingToy((1, 4), 3), SMALL_TREE),
    (planted.BonusFromTheRoot, Lantern, lambda: CountingToy((1, 4), 3), SMALL_TREE),
]


@quickly
@pytest.mark.parametrize(
    ("bug", "sound", "toy", "settings"), BUGS, ids=[bug[0].__name__ for bug in BUGS]
)
def test_a_planted_bug_is_caught_where_the_sound_decoder_passes(
    bug: type[WindowDecoder],
    sound: type[WindowDecoder],
    toy: Callable[[], CountingToy],
    settings: dict[str, object],
) -> None:
    wrong, right = bug(toy(), bug.Settings(**settings)), sound(toy(), sound.Settings(**settings))
    joint, sequences = wrong.model.joint_distribution(), sample(wrong, 0)
    result, rounds = 1.0, 0
    while result > PLANTED and rounds < 12:
        sequences += sample(wrong, 1000, 1000 * rounds)
        result, rounds = smallest_p_value(sequences, joint), rounds + 1
    print(f"{bug.__name__}: p = {result:.2g} after {1000 * rounds} decodes")
    assert result < PLANTED
    assert lossless(right, 1000 * rounds, rounds=1) > FALSE_ALARM


# Shared noise


@pytest.mark.parametrize("init", INIT_SCHEMES)
@pytest.mark.parametrize("forced", [False, True])
def test_fixed_point_is_vanilla_ar_token_for_token(init: str, forced: bool) -> None:
    model = Toy((4, 4), 16, forced=forced)
    ar = VanillaAR(model)
    for seed in range(15):
        expected = ar.generate("", seed)
        for window in (2, 5, 32):
            assert (
                FixedPoint(model, JacobiWindowSettings(window=window, init=init)).generate("", seed)
                == expected
            )


@pytest.mark.parametrize(
    "name", [name for name, decoder in DECODERS.items() if decoder.badge is Badge.IDENTICAL]
)
def test_a_decoder_that_says_identical_is_vanilla_ar_token_for_token(name: str) -> None:
    model = Toy((3, 4), 12)
    for seed in range(40):
        assert DECODERS[name](model, small(DECODERS[name])).generate("", seed) == VanillaAR(
            model
        ).generate("", seed)
