"""The bench of large grids, `photo-finish bench --grids 24,48,90`: what rows of a picture at
once save there, in passes, and what a pass of theirs costs.

The network is LlamaGen's class with six narrow layers and random weights, so that grids of any size
take seconds. Its distributions are made about as uneven as a trained model's by a low temperature,
but depend on their context as random weights do: passes are not a public model's, and how they grow
with the grid, how many rows a pass reads and what it costs are what is measured.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import JanusVQVAEConfig, LlamaConfig, T5Config

from engine.decoders import DECODERS
from engine.models.base import ImageModel
from engine.models.families.llamagen import LlamaGenModel
from engine.models.families.llamagen_weights import Sizes
from engine.models.supply.card import CARDS
from engine.race.request import parse_lane
from engine.settings import Sampling
from engine.trace import LaneStats

LANES = ("ar", "scd", "zipar:s=8", "zipar", "rows:c=16", "rows:c=8", "rows")
CODES, WIDTH, LAYERS = 1024, 256, 6
TEMPERATURE = 0.15
_CPU = torch.device("cpu")
FEW = 64  # passes of vanilla AR, of which one takes as long as any other


@dataclass(frozen=True, slots=True)
class GridRun:
    """One picture of one lane: forward passes, window rows a pass, milliseconds of a forward pass,
    and the mean price of a token, where the lane knows it."""

    passes: int
    rows: float
    milliseconds: float
    shift: float | None


def random_model(
    side: int, device: torch.device = _CPU, dtype: torch.dtype = torch.float32
) -> LlamaGenModel:
    """A narrow LlamaGen of side x side tokens, the same weights at every call."""
    gpt = LlamaConfig(
        vocab_size=CODES,
        hidden_size=WIDTH,
        intermediate_size=4 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        caption_slots=16,
        caption_width=32,
    )
    text = T5Config(
        vocab_size=264,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=1,
        num_heads=2,
        feed_forward_proj="gated-gelu",
        use_cache=False,
    )
    vq = JanusVQVAEConfig(num_embeddings=CODES, base_channels=32)
    card = dataclasses.replace(
        CARDS["llamagen-512"],
        name=f"random {side} x {side}",
        grid=(side, side),
        codes=CODES,
        length=side * side,
        sampling=Sampling(guidance=2.0, temperature=TEMPERATURE, top_k=256),
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes = Sizes(gpt, vq, text)
        return LlamaGenModel(card, None, device, dtype, sizes=sizes)


@torch.inference_mode()
def run_lane(model: ImageModel, name: str, seed: int) -> GridRun:
    """Draws one picture; of vanilla AR, whose passes are as many as the tokens, a part."""
    lane, stats, rows = parse_lane(name), LaneStats(), 0
    decoder = DECODERS[lane.decoder](model, lane.settings, model.sampling)
    for step in decoder.steps("red apple on sky clouds", seed):
        stats.add(step)
        rows += int(step.rows.steps["rows"][0])
        if lane.decoder == "ar" and stats.nfe == FEW:
            break
    passes = model.plan.length if lane.decoder == "ar" else stats.nfe
    milliseconds = 1e3 * stats.seconds.forward / stats.nfe
    return GridRun(passes, rows / stats.nfe, milliseconds, stats.mean_shift())


def run(
    sides: Sequence[int], names: Sequence[str], report: Callable[[str], None]
) -> dict[str, dict[str, dict[str, Any]]]:
    """The runs of each lane on each grid, as `GridRun`'s fields; `report` gets each one's name."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for side in sides:
        model, grid = random_model(side), f"{side} x {side}"
        found[grid] = {}
        for name in names:
            found[grid][name] = dataclasses.asdict(run_lane(model, name, 0))
            report(f"{grid} {name}")
    return found


def card(heading: str, found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """The figures as a table in Markdown."""
    lines = [
        heading,
        "",
        "| grid | lane | passes | tokens / pass | rows / pass | ms / pass | over vanilla AR's |"
        " shift |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for grid, runs in found.items():
        tokens = int(grid.split(" x ")[0]) ** 2
        for name, one in runs.items():
            ratio = one["milliseconds"] / runs["ar"]["milliseconds"] if "ar" in runs else 0.0
            lines.append(
                f"| {grid} | {name} | {one['passes']} | {tokens / one['passes']:.1f} |"
                f" {one['rows']:.1f} | {one['milliseconds']:.1f} | {ratio:.1f} |"
                f" {'-' if one['shift'] is None else format(one['shift'], '.3f')} |"
            )
    return "\n".join(lines)
