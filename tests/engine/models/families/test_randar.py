"""What is RandAR's alone: any cells in any order, against its sequence written out; the rest is in
`test_families.py` and `test_family_files.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor

from engine.decoders import DECODERS
from engine.decoders.base import Decoder
from engine.graphs import Captures
from engine.infilling import MASKED, Infilling
from engine.models import body
from engine.models.base import Parents, planned
from engine.models.context import BodyContext
from engine.models.families.llamagen_weights import (
    GPT_UNUSED,
    RandARNetwork,
    config,
    gpt_key,
    split_qkv,
)
from engine.models.supply.card import CARDS
from engine.models.supply.weights import fill
from engine.settings import Sampling
from tests.engine.models.families import RANDAR
from tests.engine.models.families.llamagen import SIDE, gpt_shapes, layers
from tests.engine.models.families.randar import CELLS
from tests.engine.recorded_graph import capture
from tests.floats import EXACT
from tests.variants import further

PROMPT = RANDAR.prompts[0]
CODES = torch.randint(0, 40, (CELLS,), generator=torch.Generator().manual_seed(5)).tolist()
BOX = [cell // SIDE < 3 and cell % SIDE >= 1 for cell in range(CELLS)]
ALL = [True] * CELLS
GUIDANCE = 3.0
KNOBS = {
    "sjd-pac": {"window": 12, "K": 2, "D": 3},
    "assd": {"k": 4},
    "assd n-gram": {"k": 4, "drafts": "n-gram"},
    "parallel": {"T": 4},
    "rows": {"c": 2, "window": 3},
    "rows postponed": {"c": 1, "window": 2, "lower_rows": "postponed"},
    "zipar": {"s": 2},
}


@dataclass
class Pass:
    """A window's tokens, the rows that they follow (a root itself), the positions that they ask
    for, and their logits. `first`: of a picture. `kept`: the rows that stay."""

    first: bool
    tokens: list[int]
    parents: list[int]
    targets: list[int]
    logits: Tensor
    kept: list[int] = field(default_factory=list)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[Pass]:
    """Those that the model runs from here on."""
    found, model = list[Pass](), RANDAR.model
    forward, keep = model.forward, BodyContext.keep

    def watched(
        ctx: BodyContext, tokens: Tensor, parents: Parents = None, targets: Tensor | None = None
    ) -> Tensor:
        rows, first, behind = range(len(tokens)), not ctx.cache.base, ctx.committed
        logits = forward(ctx, tokens, parents, targets)
        if parents is None:  # of several fronts all are roots
            parents = tuple(max(0, row - (not ctx.plan.fronts)) for row in rows)
        asked = [behind + row for row in rows] if targets is None else targets.tolist()
        found.append(Pass(first, tokens.tolist(), list(parents), asked, logits))
        return logits

    def watched_keep(ctx: BodyContext, rows: Sequence[int], frontier: int | None = None) -> None:
        found[-1].kept = list(rows)
        keep(ctx, rows, frontier)

    monkeypatch.setattr(model, "forward", watched)
    monkeypatch.setattr(BodyContext, "keep", watched_keep)
    return found


def decoder(name: str, sampling: Sampling, infilling: Infilling | None = None) -> Decoder:
    kind = DECODERS[name.split()[0]]
    model, plan = planned(RANDAR.model, infilling)
    return kind(model, kind.Settings(**KNOBS.get(name, {})), sampling, plan)


@pytest.mark.parametrize("guided_tokens", [0, 4])
@pytest.mark.parametrize(
    ("mask", "order"), [(BOX, "spread"), *further((BOX, "raster"), (ALL, "spread"))]
)
@pytest.mark.parametrize("name", ["ar", "scd", "sjd-pac", "assd", "assd n-gram", "parallel"])
@torch.inference_mode()
def test_every_row_has_the_p_of_one_token_at_a_time(
    name: str, mask: list[bool], order: str, guided_tokens: int, passes: list[Pass]
) -> None:
    """Of the cell that it asks for, behind what is known and the tokens that it follows, whatever
    other cells the passes before have asked for."""
    infilling = Infilling.of_mask(CODES, mask, order)
    decoder(name, Sampling(GUIDANCE, guided_tokens, top_k=0), infilling).generate(PROMPT, 3)
    known = [cell for cell in range(CELLS) if infilling.known[cell] != MASKED]
    cells, codes = infilling.cells((SIDE, SIDE)), [infilling.known[cell] for cell in known]
    kept, ahead = list[int](), 0
    for each in passes:
        if each.first:  # a price is found in a pass over the whole
            kept = []
        paths = list[list[int]]()
        for row, (token, parent) in enumerate(zip(each.tokens, each.parents, strict=True)):
            before = kept if parent == row else paths[parent]
            # Whatever id stands there, the first root is the last known token, or the class.
            paths.append(kept if each.first and parent == row else [*before, token])
        for path, target, found in zip(paths, each.targets, each.logits, strict=True):
            ahead = max(ahead, target - len(path))
            guidance = GUIDANCE if not guided_tokens or target < guided_tokens else 1.0
            asked = [*known, *cells[: len(path)], cells[target]]
            numbers = torch.full((len(asked),), len(known) + target)
            expected = RANDAR.in_order(PROMPT, asked, [*codes, *path], guidance, numbers)
            torch.testing.assert_close(found, expected[-1], **EXACT)
        kept = paths[each.kept[-1]]
    assert (ahead > 0) == (name in ("assd", "parallel"))


@pytest.mark.parametrize("guided_tokens", [*further(0), 7])
@pytest.mark.parametrize("name", ["rows", "rows postponed", "zipar"])
@torch.inference_mode()
def test_rows_at_once_see_instructions_as_the_tokens_behind_which_they_stand(
    name: str, guided_tokens: int, passes: list[Pass]
) -> None:
    """The sequence is the one of raster order, without what is not there yet: a token sees what is
    committed before it, and what it follows; an instruction is seen by no other row of its pass
    but by those that follow it."""
    decoding = decoder(name, Sampling(GUIDANCE, guided_tokens, top_k=0))
    decoding.generate(PROMPT, 3)
    slots = [*decoding.plan.slots, CELLS]
    prices = next(n for n, each in enumerate(passes) if n and each.first)
    del passes[prices:]  # found in raster order
    rows = list[tuple[int, int, int, bool, set[int]]]()  # pass, token, cell asked for, kept, path
    for n, each in enumerate(passes):
        start = len(rows)
        for row, (token, parent) in enumerate(zip(each.tokens, each.parents, strict=True)):
            path = set() if parent == row else rows[start + parent][4] | {start + parent}
            rows.append((n, token, slots[each.targets[row]], row in each.kept, path))
    size, first = 2 * len(rows), [n for n, *_ in rows]
    seen = torch.eye(size, dtype=torch.bool)
    for i, (n, _, asked, _, path) in enumerate(rows):
        seen[2 * i + 1, 2 * i] = True
        for j, (other, _, before, kept, follows) in enumerate(rows):
            is_there = j in path or (other < n and kept)
            both = [2 * i, 2 * i + 1]
            seen[both, 2 * j] |= before <= asked and (is_there or (other == n and not follows))
            seen[both, 2 * j + 1] |= before < asked and is_there
    assert max(map(first.count, first)) > 2, "several rows at once"
    there = [n for n, (_, _, asked, *_) in enumerate(rows) if asked < CELLS]
    some = torch.tensor([part for n in there for part in (2 * n, 2 * n + 1)])
    # The token that is read to ask for a cell stands in the cell before it, the first one is none.
    where = [at for n in there for at in (rows[n][2] - 1, rows[n][2])]
    own = RANDAR.embed(torch.tensor([rows[n][1] for n in there]))
    asking = torch.stack([RANDAR.instruction(rows[n][2]) for n in there])
    picture = torch.stack([own, asking], 1).flatten(0, 1)
    found = []
    for condition in RANDAR.rows(PROMPT, True)[0]:
        inputs = torch.cat([condition, picture[1:]])
        at = [None, *where[1:]]
        found.append(layers(RANDAR.gpt, inputs, at, seen[some][:, some])[1::2])
    targets = torch.tensor([target for each in passes for target in each.targets])[there]
    logits = torch.cat([each.logits for each in passes])[there]
    expected = RANDAR.guided(found, targets, GUIDANCE)
    guided = (targets < (guided_tokens or CELLS))[:, None]
    torch.testing.assert_close(logits, torch.where(guided, expected, found[0]), **EXACT)


@pytest.mark.parametrize("name", ["sjd-pac", "assd", "assd n-gram", "parallel"])
def test_static_shapes_change_nothing_of_what_is_filled_in(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through two buckets of the cache and more, and through the end of guidance; and again."""
    monkeypatch.setattr(body, "BUCKET", 16)
    filling = decoder(name, Sampling(GUIDANCE, 4, top_k=8), Infilling.of_mask(CODES, BOX))
    expected = filling.generate(PROMPT, 3)
    monkeypatch.setattr(RANDAR.model, "static", True)
    monkeypatch.setattr(RANDAR.model, "captures", Captures(lambda: capture))
    assert [filling.generate(PROMPT, 3) for _ in range(2)] == [expected, expected]


def test_the_published_layout_goes_in_whole_at_true_size() -> None:
    """Strictly, without a byte of memory."""
    sizes = config(CARDS["randar-l"])
    shapes = gpt_shapes(sizes.gpt) | {"pos_instruct_embeddings": (1, sizes.gpt.hidden_size)}
    with torch.device("meta"):
        stored = {key: torch.empty(shape) for key, shape in shapes.items()}
        fill(RandARNetwork(sizes.gpt), split_qkv(stored, sizes.gpt), gpt_key, GPT_UNUSED)
    assert (sizes.gpt.head_dim, sizes.gpt.num_hidden_layers) == (64, 24)
