"""The bench of large grids, `photo-finish bench --grids 24,48,90`.

It measures how many passes are saved by drawing several rows of a picture at once, and what
such a pass costs. The network is LlamaGen's class with six narrow layers and random weights, so
that grids of any size take seconds. A low temperature makes its distributions about as uneven
as a trained model's. But a distribution depends on the earlier tokens in a random way, so a
public model takes other numbers of passes. The figures show how passes grow with the grid, how
many rows a pass reads, and what a pass costs.
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
FEW = 64  # passes of vanilla AR that are timed, since all take about the same time


@dataclass(frozen=True, slots=True)
class GridRun:
    """The figures of one lane's picture.

    Attributes:
        passes: the number of forward passes for the whole picture.
        rows: the mean number of window rows that a pass reads.
        milliseconds: the mean time of a forward pass.
        shift: the lane's shift (`LaneStats.mean_shift`); None if it is unknown.
    """

    passes: int
    rows: float
    milliseconds: float
    shift: float | None


def random_model(
    side: int, device: torch.device = _CPU, dtype: torch.dtype = torch.float32
) -> LlamaGenModel:
    """Return a narrow LlamaGen of side x side tokens, with the same weights at every call."""
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
    """Draw one picture and return its figures.

    Vanilla AR stops after FEW passes, since all its passes take about the same time. Its means are
    those of these passes. Its number of passes is still that of a whole picture, one per token.
    """
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
    """Run each lane on each grid; after each run, call `report` with the grid and the lane.

    Returns:
        For each grid, such as "24 x 24", and each lane in it: the `GridRun` as a dict.
    """
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for side in sides:
        model, grid = random_model(side), f"{side} x {side}"
        results[grid] = {}
        for name in names:
            results[grid][name] = dataclasses.asdict(run_lane(model, name, 0))
            report(f"{grid} {name}")
    return results


def card(heading: str, results: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Return the figures as a table in Markdown."""
    lines = [
        heading,
        "",
        "| grid | lane | passes | tokens / pass | rows / pass | ms / pass | over vanilla AR's |"
        " shift |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for grid, runs in results.items():
        tokens = int(grid.split(" x ")[0]) ** 2
        for name, one in runs.items():
            ratio = one["milliseconds"] / runs["ar"]["milliseconds"] if "ar" in runs else 0.0
            lines.append(
                f"| {grid} | {name} | {one['passes']} | {tokens / one['passes']:.1f} |"
                f" {one['rows']:.1f} | {one['milliseconds']:.1f} | {ratio:.1f} |"
                f" {'-' if one['shift'] is None else format(one['shift'], '.3f')} |"
            )
    return "\n".join(lines)
