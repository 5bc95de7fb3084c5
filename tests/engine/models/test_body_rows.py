"""A raster model whose rows advance each at its own pace, against one pass of transformers' own
layers over all that was ever read."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from engine.decoders.decode_state import DecodeState, Verification, Window
from engine.decoders.front_state import FrontState, FrontWindow
from engine.decoders.rows import ParallelRows
from engine.models import body
from engine.models.body import guide
from engine.settings import Sampling
from engine.trace import StepTable
from tests.engine.models.families import RASTER, TINY
from tests.engine.recorded_graph import capture
from tests.floats import EXACT


class Watched(ParallelRows):
    """Keeps of each pass: of each row of its window the token it was fed, the position it asks for
    and that for which its p is drawn from, whether it is a root, and p; and the rows that stay."""

    def begin(self, prompt: str, seed: int) -> FrontState:
        self.passes: list[dict[str, list]] = []
        return super().begin(prompt, seed)

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        assert isinstance(state, FrontState)
        assert isinstance(window, FrontWindow)
        asked = state.numbers.asked.tolist()
        roots = (state.numbers.number == 0).tolist()
        places = state.numbers.place.tolist()
        facts = {"asked": asked, "places": places, "roots": roots}
        seen = {"fed": window.fed.tolist(), "p": list(p), **facts}
        self.passes.append(seen)
        return super().verify(state, window, p)

    def kept(self, state: DecodeState, path: list[int]) -> list[int]:
        self.passes[-1]["kept"] = list(super().kept(state, path))
        return self.passes[-1]["kept"]


def sight(passes: list[dict[str, list]]) -> Tensor:
    """Which of all rows of all windows each of them sees, written out: of earlier passes those that
    were kept, of its own the roots and its own front's up to itself; none that stands later."""
    rows = [
        (n, at, asked - 1, root, at in seen["kept"], front)
        for n, seen in enumerate(passes)
        for at, (asked, root, front) in enumerate(
            zip(seen["asked"], seen["roots"], fronts_of(seen["roots"]), strict=True)
        )
    ]
    found = torch.zeros(len(rows), len(rows), dtype=torch.bool)
    for i, (n, at, place, _, _, front) in enumerate(rows):
        for j, (other_n, other_at, other_place, root, kept, other_front) in enumerate(rows):
            earlier = other_n < n and kept
            own = other_n == n and (root or (front == other_front and other_at <= at))
            found[i, j] = (earlier or own) and other_place <= place
    return found


def fronts_of(roots: list[bool]) -> list[int]:
    return torch.tensor(roots).cumsum(0).tolist()


@pytest.mark.parametrize(("guidance", "guided_tokens"), [(1.0, 0), (2.0, 0), (2.0, 7)])
@pytest.mark.parametrize("name", RASTER)
@torch.inference_mode()
def test_a_row_sees_what_is_committed_before_it_and_its_own_drafts(
    name: str, guidance: float, guided_tokens: int
) -> None:
    tiny = RASTER[name]
    model, prompt = tiny.model, tiny.prompts[0]
    settings = ParallelRows.Settings(c=2, window=3)
    decoder = Watched(model, settings, Sampling(guidance, guided_tokens, top_k=0))
    tokens = decoder.generate(prompt, 3)
    assert len(tokens) == model.plan.length
    assert max(sum(seen["roots"]) for seen in decoder.passes) > 1, "several rows at once"
    fed = torch.tensor([token for seen in decoder.passes for token in seen["fed"]])
    asked = torch.tensor([at for seen in decoder.passes for at in seen["asked"]])
    begin = model.prompt(prompt, guidance != 1)
    R, P = begin.embeddings.shape[:2]
    # The first root is the prompt's last row, whatever token stands for it.
    own = model.embed(fed[1:], asked[1:] - 1).expand(R, -1, -1)
    whole = torch.ones(P + len(fed) - 1, P + len(fed) - 1, dtype=torch.bool).tril()
    whole[P - 1 :, P - 1 :] = sight(decoder.passes)
    start = torch.tensor(begin.start)[:, None]
    there = torch.arange(len(whole)) >= start
    mask = whole & there[:, None] | torch.eye(len(whole), dtype=torch.bool)
    places = torch.cat([torch.arange(P), P - 1 + asked[1:]])
    states = model.body(
        inputs_embeds=torch.cat([begin.embeddings, own], 1),
        attention_mask=body.additive_mask(mask, torch.float64)[:, None],
        position_ids=model.position_ids(places, start[:, 0]),
        use_cache=False,
    ).last_hidden_state
    logits = model.head(states[:, P - 1 :])
    guided = (asked < guided_tokens)[:, None] if guided_tokens else torch.tensor(True)
    expected = torch.where(guided, guide(logits, guidance), logits[0])
    drawn_from = (
        pair for seen in decoder.passes for pair in zip(seen["places"], seen["p"], strict=True)
    )
    compared = set()
    for (place, p), logits in zip(drawn_from, expected, strict=True):
        if place < model.plan.length and model.forced_ids[place] < 0:
            torch.testing.assert_close(p, torch.softmax(logits, -1), **EXACT)
            compared.add(place)
    assert len(compared) == (model.forced_ids < 0).sum()


@pytest.mark.parametrize("name", TINY)
@torch.inference_mode()
def test_static_shapes_and_captured_steps_change_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through two buckets of the cache and more, and through the end of guidance; again, which
    captures nothing; and with another seed."""
    monkeypatch.setattr(body, "BUCKET", 16)
    tiny = TINY[name]
    sampling = Sampling(guidance=2.0, guided_tokens=7, top_k=8)
    decoder = ParallelRows(tiny.model, ParallelRows.Settings(c=2, window=3), sampling)

    def drawn(seed: int) -> tuple[list[int], bytes]:
        table = StepTable.join([step.rows for step in decoder.steps(tiny.prompts[0], seed)])
        return table.tokens, table.places.tobytes()

    expected = [drawn(seed) for seed in (5, 6)]
    forced = [fixed >= 0 for fixed in tiny.forced_ids]
    for tokens, _ in expected:
        assert all(
            token == fixed if is_forced else token < tiny.card.codes
            for token, fixed, is_forced in zip(tokens, tiny.forced_ids, forced, strict=True)
        )
    monkeypatch.setattr(tiny.model, "static", True)
    assert drawn(5) == expected[0]
    monkeypatch.setattr(tiny.model, "capture", lambda: capture)
    for seed in (5, 6, 5):
        assert drawn(seed) == expected[seed - 5]
