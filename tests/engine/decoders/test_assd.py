"""ASSD's guarantees: Lemma 1, Theorem 1, Theorem 2, on every mask; its planted bugs are with all
others in test_exact.py, beside a mask on which it is exact itself."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core import Plan
from engine.decoders import DECODERS, FILLING
from engine.decoders.assd import ASSD, DRAFTS, ASSDSettings
from engine.decoders.base import Badge
from engine.decoders.jacobi_window import INIT_SCHEMES
from engine.decoders.parallel import Parallel, ParallelSettings, rounds
from engine.decoders.sjd import SJD
from engine.decoders.window import WindowDecoder
from engine.infilling import ORDERS
from engine.models.base import planned
from engine.settings import SettingError
from engine.trace import Status
from engine.trace.shares import NONE
from tests.engine.decoders.test_exact import small
from tests.floats import STORED
from tests.infill_toys import masks
from tests.steps import Spot, spots
from tools.judge.enumeration import CLOSE, distance, enumerated, exactly
from tools.judge.toys import InfillToy, Toy, infilling

exact = exactly()
MASKS = masks(4)
Filling = tuple[InfillToy, Plan]
HALF = (True, False, True, True, False, True)


def filling(mask: tuple[bool, ...], order: str, toy: InfillToy | None = None) -> Filling:
    toy = toy or InfillToy((2, 3), 2, seed=3)
    _, plan = planned(toy, infilling(mask, order, toy.vocab_size, seed=sum(mask)))
    return toy, plan


def assd(filling: Filling, settings: ASSDSettings | None = None) -> ASSD:
    toy, plan = filling
    return ASSD(toy, settings, plan=plan)


def off(decoder: ASSD) -> float:
    """How far what it decodes is from the model's joint distribution."""
    return distance(enumerated(decoder).joint, decoder.model.joint_distribution(decoder.plan))


# Theorem 2


@pytest.mark.exact
@exact
@pytest.mark.parametrize("settings", [ASSDSettings(k=3), ASSDSettings(drafts="n-gram", k=2)])
def test_every_masks_joint_distribution_is_the_models(settings: ASSDSettings) -> None:
    for i, mask in enumerate(MASKS):
        toy = InfillToy((2, 2), 2, seed=3)
        assert off(assd(filling(mask, ORDERS[i % 2], toy), settings)) < CLOSE, mask


@pytest.mark.exact
@exact
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("knobs", [*({"k": k} for k in (2, 4, 5)), {"drafts": "n-gram", "k": 3}])
def test_the_joint_distribution_whatever_k_and_order(knobs: dict, order: str) -> None:
    assert off(assd(filling(HALF, order), ASSDSettings(**knobs))) < CLOSE


@pytest.mark.exact
@exact
def test_the_joint_distribution_of_three_codes() -> None:
    toy = InfillToy((1, 3), 3, seed=5)
    for drafts in ("self", "n-gram"):
        whole = filling((True,) * 3, "spread", toy)
        assert off(assd(whole, ASSDSettings(drafts=drafts, k=3))) < CLOSE


def test_the_order_matters_to_the_toy() -> None:
    """Else it could not tell a wrong order from the right one."""
    (toy, spread), (_, raster) = (filling((True,) * 6, order) for order in ORDERS)
    assert spread.cells != raster.cells
    in_raster = {
        tuple(token for _, token in sorted(zip(spread.cells, tokens, strict=True))): chance
        for tokens, chance in toy.joint_distribution(spread).items()
    }
    assert distance(in_raster, toy.joint_distribution(raster)) > 1e-3


# Lemma 1 and Theorem 1


@st.composite
def fillings(draw: st.DrawFn) -> Filling:
    height, width = draw(st.sampled_from([(1, 1), (1, 7), (2, 3), (3, 2), (2, 4)]))
    mask = draw(st.lists(st.booleans(), min_size=height * width, max_size=height * width))
    mask[draw(st.integers(0, len(mask) - 1))] = True
    toy = InfillToy((height, width), 2, seed=draw(st.integers(0, 3)))
    return filling(tuple(mask), draw(st.sampled_from(ORDERS)), toy)


@settings(max_examples=80, deadline=None)
@given(fillings(), st.sampled_from(DRAFTS), st.integers(2, 9), st.integers(0, 2**53))
@torch.inference_mode()
def test_never_more_passes_than_cells(filling: Filling, drafts: str, k: int, seed: int) -> None:
    steps = list(assd(filling, ASSDSettings(drafts=drafts, k=k)).steps("", seed))
    assert steps[-1].after == filling[1].length
    assert steps[-1].nfe == len(steps) <= filling[1].length


@settings(max_examples=50, deadline=None)
@given(fillings(), st.integers(2, 9), st.integers(0, 2**53))
@torch.inference_mode()
def test_the_first_draft_is_committed_by_the_pass_that_drew_it(
    filling: Filling, k: int, seed: int
) -> None:
    """Lemma 1 by construction: no number decides about it. Behind it stand the other drafts, of
    which the next pass verifies every one."""
    steps, length = list(assd(filling, ASSDSettings(k=k)).steps("", seed)), filling[1].length
    for before, after in zip(steps[::2], [*steps[1::2], None], strict=False):
        assert before.committed["status"].tolist() == [Status.FRESH]
        assert (before.positions["uniform"] == NONE).all()
        assert len(before.window) == min(k - 1, length - before.after)
        assert (before.window["status"] == Status.REFINED).all()
        if after is None:
            assert before.after == length
            continue
        drafted = before.window["token"].tolist()
        if before.after + len(drafted) == length and len(drafted) < k:  # to the end
            assert after.positions["draft"].tolist()[: len(drafted) - 1] == drafted[:-1]
            assert after.after == length or after.committed["status"][-1] == Status.RESAMPLED
        else:
            assert after.positions["draft"].tolist() == drafted
            accepted = (after.committed["status"] == Status.ACCEPTED).all()
            assert accepted == (len(after.committed) == len(drafted)) or (
                after.committed["status"][-1] == Status.RESAMPLED
            )


def test_it_needs_an_infilling() -> None:
    for decoder in (ASSD, Parallel):
        with pytest.raises(SettingError, match="fills in pictures"):
            decoder(Toy((2, 2), 3))


# What is recorded


def recorded(decoder: WindowDecoder) -> list[Spot]:
    """Committed positions of 30 fillings."""
    with torch.inference_mode():
        decoded = [list(decoder.steps("", seed)) for seed in range(30)]
    return [
        spot
        for steps in decoded
        for step, found in zip(steps, spots(steps), strict=True)
        for spot in found[: step.after - step.before]
    ]


@pytest.mark.parametrize("knobs", [{"k": 3}, {"drafts": "n-gram", "k": 3}], ids=str)
def test_tests_are_recorded_with_their_numbers_and_without_a_shift(knobs: dict) -> None:
    found = recorded(assd(filling((True,) * 6, "spread"), ASSDSettings(**knobs)))
    assert len(found) == 6 * 30
    tested = [spot for spot in found if spot.draft is not None]
    assert len(tested) > 30
    for spot in tested:
        passed = spot.uniform < spot.acceptance
        assert spot.status == (Status.ACCEPTED if passed else Status.RESAMPLED)
        assert spot.shift == 0
        assert spot.q > 0
    assert {spot.status for spot in found if spot.draft is None} == {Status.FRESH}


def test_parallel_decoding_has_a_shift_where_a_draft_was_read() -> None:
    toy, plan = filling((True,) * 6, "raster")
    found = recorded(Parallel(toy, ParallelSettings(T=3), plan=plan))
    read = [spot for spot in found if spot.draft is not None]
    assert {spot.acceptance for spot in read} == {1.0}
    assert {spot.status for spot in read} == {Status.ACCEPTED}
    assert sum(spot.shift for spot in read) / len(read) > 0.01
    assert all(spot.shift == pytest.approx(spot.tv, abs=STORED) for spot in read)


# Every other decoder on an infilling


@exact
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "sjd" else pytest.mark.exact)
        for name, each in DECODERS.items()
        if each.badge is not Badge.CHANGED_DISTRIBUTION
    ],
)
def test_a_lossless_decoder_has_the_infillings_joint_distribution(name: str) -> None:
    toy, plan = filling((True, False, False, True, False, True), "spread", InfillToy((2, 3), 2))
    settings = ASSDSettings(k=3) if name == "assd" else small(DECODERS[name])
    assert off(DECODERS[name](toy, settings, plan=plan)) < CLOSE


def test_every_decoder_finishes_every_initialisation() -> None:
    toy, plan = filling((True,) * 6, "spread")
    for name in FILLING:
        assert len(DECODERS[name](toy, plan=plan).generate("", 1)) == 6, name
    for init in INIT_SCHEMES:
        decoder = SJD(toy, SJD.Settings(init=init, window=4), plan=plan)
        assert len(decoder.generate("", 1)) == 6


# Parallel decoding


@pytest.mark.parametrize("T", [1, 2, 5, 64])
@pytest.mark.parametrize("length", [1, 2, 6, 256])
def test_rounds_follow_the_cosine(length: int, T: int) -> None:
    ends = rounds(length, T)
    assert ends[0] == 0
    assert ends[-1] == length
    assert len(ends) - 1 == min(T, length) or len(ends) - 1 < T
    sizes = [after - before for before, after in itertools.pairwise(ends)]
    assert min(sizes) >= 1
    if length == 256 and T == 5:
        assert ends == (0, 13, 49, 106, 177, 256)


@torch.inference_mode()
def test_parallel_takes_t_passes_and_samples_a_rounds_cells_independently() -> None:
    toy, plan = filling((True,) * 6, "raster")
    for T in (1, 2, 3):
        steps = list(Parallel(toy, ParallelSettings(T=T), plan=plan).steps("", 1))
        assert len(steps) == T
    counts = torch.zeros(6)
    for seed in range(200):
        decoder = Parallel(toy, ParallelSettings(T=1), plan=plan)
        counts += torch.tensor(decoder.generate("", seed))
    expected = torch.stack([torch.softmax(toy.logits_of(plan, (), i), -1)[1] for i in range(6)])
    spread = (expected * (1 - expected) / 200).sqrt()
    assert ((counts / 200 - expected).abs() < 5.5 * spread).all()
