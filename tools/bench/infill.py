"""The bench of infillings, `photo-finish bench --infill`.

For each lane and order it prints the passes for several shares of masked cells, and the seconds,
entropy and log-likelihood for the largest share, as Tables 1 and 5 of the ASSD paper do.

Each race fills in scattered cells, or a box, of a picture that vanilla AR drew for the prompt.
The log-likelihood of the filled-in cells is the model's own, in the race's order, with guidance
and temperature but without top-k and top-p. On average, a lossless lane must have the same
log-likelihood as vanilla AR.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch

from engine.core import Plan
from engine.decoders.ar import VanillaAR
from engine.infilling import ORDERS, Infilling, box_mask
from engine.models.base import ImageModel
from engine.models.likelihood import teacher_forced
from engine.numerics.distributions import gather
from engine.numerics.intervals import mean, mean_text
from engine.race import MAX_LANES, Lane, Race, RaceRequest
from engine.settings import Sampling
from engine.trace import LaneState, LaneStats

LANES = (
    "ar",
    "assd:k=2",
    "assd:k=3",
    "assd:k=4",
    "assd",
    "assd:k=8",
    "assd:k=15",
    "assd:drafts=n-gram",
    "sjd",
    "scd",
    "sjd-pac",
    "parallel",
)
SHARES = (0.05, 0.25, 0.5, 0.95)
MASKS = ("scattered", "box")
Runs = dict[tuple[str, float, str, str], list[dict[str, float]]]  # mask, share, order, lane


def draw_mask(kind: str, share: float, grid: tuple[int, int], seed: int) -> np.ndarray:
    """Return a mask of about `share` of a grid's cells: bool [cells], in raster order.

    The masked cells are a rectangle if `kind` is "box", and scattered if it is "scattered".
    """
    rng, (height, width) = np.random.default_rng(seed), grid
    if kind == "scattered":
        mask, count = np.zeros(height * width, bool), max(1, round(share * height * width))
        mask[rng.choice(height * width, count, replace=False)] = True
        return mask
    rows = max(1, round(height * math.sqrt(share)))
    columns = min(width, max(1, round(share * height * width / rows)))
    top, left = rng.integers(0, height - rows + 1), rng.integers(0, width - columns + 1)
    return np.array(box_mask(grid, int(top), int(left), rows, columns))


def log_likelihood(
    model: ImageModel, plan: Plan, prompt: str, sampling: Sampling, tokens: Sequence[int]
) -> float:
    """Return the log-likelihood, in nats, of the `tokens` of all filled-in cells.

    The tokens are in the order of `plan`.
    """
    filled = torch.tensor(tokens, device=model.device)
    logits = teacher_forced(model, plan, prompt, sampling, filled) / sampling.temperature
    return float(gather(logits.double().log_softmax(-1), filled).sum())


def entropy(tokens: Sequence[int]) -> float:
    """Return the Shannon entropy, in nats, of how often each code occurs."""
    shares = np.array(list(Counter(tokens).values())) / len(tokens)
    return float(-(shares * np.log(shares)).sum())


def fill(
    model: ImageModel, lanes: Sequence[Lane], prompt: str, seed: int, infilling: Infilling
) -> list[dict[str, float]]:
    """Run one race; return each lane's passes, seconds, entropy and other figures.

    Raises RuntimeError if a lane fails.
    """
    request = RaceRequest(prompt, seed, tuple(lanes), model.sampling, model.name, infilling)
    race = Race(model, request)
    stats = [LaneStats() for _ in lanes]
    tokens: list[list[int]] = [[] for _ in lanes]
    for frame in race:
        if frame.state is LaneState.FAILED:
            raise RuntimeError(f"{lanes[frame.lane].decoder} failed: {frame.error}")
        if frame.step:
            stats[frame.lane].add(frame.step)
            tokens[frame.lane] += frame.step.committed["token"].tolist()
    return [
        {
            "cells": len(filled),
            "passes": lane.nfe,
            "passes_per_cell": lane.nfe / len(filled),
            "seconds": lane.seconds.total,
            "entropy": entropy(filled),
            "log_likelihood_per_cell": log_likelihood(
                race.model, race.plan, prompt, model.sampling, filled
            )
            / len(filled),
        }
        for lane, filled in zip(stats, tokens, strict=True)
    ]


def run(
    model: ImageModel,
    names: Sequence[str],
    lanes: Sequence[Lane],
    prompts: Sequence[str],
    seeds: int,
) -> Runs:
    """Fill in pictures with all lanes, and return each lane's figures of every race.

    Vanilla AR draws a picture for each prompt and seed. All lanes fill in each mask of the picture
    twice: once in raster order and once in spread order, with the same noise seed. `names` has a
    name for each lane, under which its figures are kept.
    """
    runs: Runs = {}
    for number, prompt in enumerate(prompts):
        for seed in range(seeds):
            codes = VanillaAR(model).generate(prompt, seed)
            for kind in MASKS:
                for share in SHARES:
                    mask = draw_mask(kind, share, model.grid, 1000 * number + seed)
                    for order in ORDERS:
                        infilling = Infilling.of_mask(codes, mask.tolist(), order)
                        raced = [
                            figures
                            for first in range(0, len(lanes), MAX_LANES)
                            for figures in fill(
                                model, lanes[first : first + MAX_LANES], prompt, seed, infilling
                            )
                        ]
                        for name, figures in zip(names, raced, strict=True):
                            runs.setdefault((kind, share, order, name), []).append(figures)
    return runs


def card(heading: str, runs: Runs, titles: dict[str, str]) -> str:
    """Return the figures, averaged over both kinds of mask, as two tables in Markdown.

    The first table has passes per token by order and share of masked cells. The second has entropy,
    log p and seconds by order, for the largest share.
    """

    def cell(name: str, share: float, order: str, what: str) -> str:
        f = mean([fill[what] for kind in MASKS for fill in runs[kind, share, order, name]])
        return f"{f['mean']:.2f}" if what == "seconds" else mean_text(f)

    def table(title: str, columns: dict[str, tuple[float, str, str]]) -> list[str]:
        rows = [f"| {title} | {' | '.join(columns)} |", f"| --- |{' --- |' * len(columns)}"]
        for name, lane in titles.items():
            cells = (cell(name, *column) for column in columns.values())
            rows.append(f"| {lane} | {' | '.join(cells)} |")
        return rows

    passes = {
        f"{order}, {share:.0%} masked": (share, order, "passes_per_cell")
        for order in ORDERS
        for share in SHARES
    }
    most = max(SHARES)
    whats = {"entropy": "entropy", "log p a token": "log_likelihood_per_cell", "seconds": "seconds"}
    rest = {
        f"{title}, {order}": (most, order, what)
        for title, what in whats.items()
        for order in ORDERS
    }
    tables = [table("passes a token", passes), table(f"{most:.0%} masked", rest)]
    return "\n".join([heading, "", *tables[0], "", *tables[1]])
