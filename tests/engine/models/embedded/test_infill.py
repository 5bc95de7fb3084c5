"""The embedded model's infillings: with nothing known the raster model; windows, trees and parallel
questions against the network's own pass; races that fill in."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.decoders import DECODERS
from engine.decoders.ar import VanillaAR
from engine.decoders.assd import ASSDSettings
from engine.infilling import MASKED, Fills, Infilling
from engine.models.base import planned
from engine.models.context import BodyContext
from engine.models.embedded.infill import EmbeddedInfill, EmbeddedInfiller
from engine.models.embedded.model import EmbeddedModel
from engine.race import Lane
from engine.settings import Sampling, SettingError
from engine.trace import LaneState, Trace
from tests.engine.models.families import TINY
from tests.engine.models.families.tiny import save
from tests.floats import EXACT, widen
from tests.races import race_of

PROMPT = "red apple on sky clouds"
TINY_EMBEDDED, SIDE = TINY["embedded"], 4
CELLS = SIDE * SIDE
CODES = torch.randint(0, 30, (CELLS,), generator=torch.Generator().manual_seed(5)).tolist()
BOX = [cell // SIDE < 3 and cell % SIDE >= 1 for cell in range(CELLS)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedModel:
    """With weights for infilling: the raster ones, and a `next` that is not zero."""
    folder: Path = tmp_path_factory.mktemp("weights") / "weights"
    shutil.copytree(TINY_EMBEDDED.folders["weights"], folder)
    network = EmbeddedInfill.continued(TINY_EMBEDDED.target)
    torch.nn.init.normal_(network.next.weight, generator=torch.Generator().manual_seed(1))
    save(network, folder / "infill")
    found = TINY_EMBEDDED.load({"weights": folder})
    widen(found.filler.network)
    return found


def infilling(mask: list[bool] = BOX, order: str = "spread") -> Infilling:
    return Infilling.of_mask(CODES, mask, order)


def test_without_weights_it_draws_pictures_on_alone(model: EmbeddedModel) -> None:
    assert (TINY_EMBEDDED.model.fills_in, model.fills_in) == (Fills.BELOW, Fills.ANY)
    with pytest.raises(SettingError, match="cannot fill in another part"):
        planned(TINY_EMBEDDED.model, infilling())


@torch.inference_mode()
def test_with_everything_masked_and_next_at_zero_it_is_the_raster_model() -> None:
    raster = TINY_EMBEDDED.load(TINY_EMBEDDED.folders)
    network = widen(EmbeddedInfill.continued(raster.target).eval())
    assert not network.next.weight.any()
    view = EmbeddedInfiller(raster, network, "")
    contexts = [(each, each.start(PROMPT, 2.0)) for each in (raster, view)]
    for tokens, kept in (([0, 7, 9, 3], 3), ([9, 5, 5], 1)):
        rows = [each.forward(ctx, torch.tensor(tokens)) for each, ctx in contexts]
        torch.testing.assert_close(rows[1], rows[0], **EXACT)
        for _, ctx in contexts:
            ctx.keep(list(range(kept)))


def whole_logits(model: EmbeddedModel, some: Infilling, filled: list[int]) -> torch.Tensor:
    """Logits [n + 1, V] of every masked cell after the first ones hold `filled` [n], by the
    network's own causal pass without a cache."""
    network, first = model.filler.network, 17
    masked, known = some.cells((SIDE, SIDE)), [i for i in range(CELLS) if some.known[i] != MASKED]
    cells = torch.tensor([*known, *masked[: len(filled)]])
    codes = torch.tensor([*(some.known[cell] for cell in known), *filled])
    asked = torch.tensor([MASKED] * (first - 1 + len(known)) + list(masked[: len(filled) + 1]))
    ids = model.caption_ids(PROMPT, True)
    rows = network.embed_codes(codes, cells).expand(2, -1, -1)
    inputs = torch.cat([network.embed_caption(ids), rows], 1) + network.embed_asking(asked)
    own = torch.cat([torch.arange(first), first + cells])
    queries = torch.where(asked >= 0, first - 1 + asked, own)
    states = network.states(inputs, own.expand(2, -1), queries.expand(2, -1))
    logits = network.lm_head(states[:, -len(filled) - 1 :])
    return logits[1] + 2.0 * (logits[0] - logits[1])


@torch.inference_mode()
@pytest.mark.parametrize("order", ["raster", "spread"])
@pytest.mark.parametrize("mask", [BOX, [True] * CELLS, [cell == 0 for cell in range(CELLS)]])
def test_windows_equal_one_pass(model: EmbeddedModel, order: str, mask: list[bool]) -> None:
    some = infilling(mask, order)
    view, plan = planned(model, some)
    count = min(8, plan.length - 1)
    filled = torch.arange(20, 20 + count).tolist()
    expected = whole_logits(model, some, filled)
    ctx, root, done = view.start(PROMPT, 2.0, plan=plan), 0, 0
    while done < count:
        window = torch.tensor([root, *filled[done : done + 4]])
        rows = view.forward(ctx, window)
        torch.testing.assert_close(rows, expected[done : done + len(window)], **EXACT)
        ctx.keep([0, 1])
        root, done = filled[done + 1], done + 2
    alone = view.forward(view.start(PROMPT, 2.0, plan=plan), torch.tensor([0]))
    torch.testing.assert_close(alone, expected[:1], **EXACT)


def asked(view: EmbeddedInfiller, ctx: BodyContext, root: int, *ahead: int) -> torch.Tensor:
    """Rows that ask for the positions so far ahead of the next one."""
    rows = torch.tensor([root] * len(ahead))
    return view.forward(ctx, rows, range(len(rows)), ctx.committed + torch.tensor(ahead))


@torch.inference_mode()
@pytest.mark.parametrize("committed", [[], [11, 12, 13]])
def test_rows_that_ask_ahead_know_what_is_committed_alone(
    model: EmbeddedModel, committed: list[int]
) -> None:
    """Row i of the root's copies gives position n + i, as one pass does that asks for it, whatever
    the others ask for; the root's own row is the chain's."""
    view, plan = planned(model, infilling())
    ctx, (*_, root) = view.start(PROMPT, 2.0, plan=plan), (0, *committed)
    if committed:
        view.forward(ctx, torch.tensor([0, *committed]))
        ctx.keep(range(len(committed)))
    chain, rows = view.forward(ctx, torch.tensor([root])), asked(view, ctx, root, 0, 1, 2, 3)
    torch.testing.assert_close(rows[:1], chain, **EXACT)
    for i in (1, 3):
        torch.testing.assert_close(asked(view, ctx, root, 0, i)[1], rows[i], **EXACT)
    assert (rows[1:] - rows[:1]).abs().amax(-1).min() > 0.1


@torch.inference_mode()
def test_guidance_goes_by_what_a_row_asks_for(model: EmbeddedModel) -> None:
    """Behind three tokens, with guidance for five: for rows that ask ahead, and for a chain."""
    (view, plan), found = planned(model, infilling()), []
    for how in ((2.0, 5), (2.0, 0), (1.0, 0)):
        ctx = view.start(PROMPT, *how, plan)
        view.forward(ctx, torch.tensor([0, 11, 12, 13]))
        ctx.keep([0, 1, 2])
        ahead = asked(view, ctx, 13, 0, 1, 2, 3)
        found.append((ahead, view.forward(ctx, torch.tensor([13, 7, 8, 9]))))
    for rows, guided, alone in zip(*found, strict=True):
        torch.testing.assert_close(rows, torch.cat([guided[:2], alone[2:]]), **EXACT)
        assert (guided - alone).abs().amax(-1).min() > 0.1


@pytest.mark.parametrize("guided_tokens", [4, 12])  # of 9 to fill in, of 16 in all
def test_every_lane_fills_in_and_the_trace_is_read_back(
    model: EmbeddedModel, guided_tokens: int
) -> None:
    lanes = [Lane(name) for name in ("sjd", "lantern", "sjd-pac", "assd", "parallel")]
    lanes.append(Lane("assd", ASSDSettings(drafts="n-gram")))
    sampling = Sampling(guided_tokens=guided_tokens)
    race = race_of(model, lanes, PROMPT, 3, sampling, infilling=infilling())
    frames = list(race)
    finished = [frame.lane for frame in frames if frame.state is LaneState.FINISHED]
    assert sorted(finished) == list(range(6))
    trace = Trace.loads(race.trace(frames).dumps())
    assert trace.header.infilling == infilling()
    assert trace.header.cells == infilling().cells((SIDE, SIDE))
    for lane in range(6):
        committed = trace.table(lane).positions[trace.table(lane).committed]
        assert len(committed) == infilling().masked


def test_fixed_point_fills_in_what_vanilla_ar_does(model: EmbeddedModel) -> None:
    view, plan = planned(model, infilling(order="raster"))
    for guided_tokens in (0, 4):
        sampling = Sampling(guided_tokens=guided_tokens, top_k=8)
        ar = VanillaAR(view, sampling=sampling, plan=plan).generate(PROMPT, 4)
        assert DECODERS["fpi"](view, None, sampling, plan).generate(PROMPT, 4) == ar


def test_pixels_codes_and_swatches_are_the_models(model: EmbeddedModel) -> None:
    view = model.filler
    codes = np.array(CODES).reshape(SIDE, SIDE)
    assert np.array_equal(view.pixels(codes), model.pixels(codes))
    assert view.codebook is model.codebook  # and so one table of neighbours
    view.swatches = b"drawn once"
    assert model.swatches == b"drawn once"
    model.swatches = None


def test_an_infilling_that_does_not_fit_is_rejected(model: EmbeddedModel) -> None:
    for known in ((MASKED,) * (CELLS - 1), (MASKED, model.vocab_size, *CODES[2:])):
        with pytest.raises(SettingError, match="does not fit 4 x 4 cells of"):
            planned(model, Infilling(known))
