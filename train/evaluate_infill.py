"""Stage 6: evaluation of infilling.

    python -m train.evaluate_infill

Writes `weights/infill/evaluation.json`, and the contact sheet `samples.png` beside it. For each of
12 held-out pictures the sheet shows four: the picture, the picture with one thing's square masked,
and that square filled in twice. The first filling is for the picture's own caption. The second is
for a caption with another thing in that square. weights/README.md explains each figure.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from engine.decoders.ar import VanillaAR
from engine.infilling import ORDERS, Infilling
from engine.models.base import planned
from engine.models.embedded.model import EmbeddedModel
from engine.reader.reader import describe
from engine.reader.scene import Scene
from train.captions import load
from train.evaluate import PLAIN, share, sheet
from train.infill import SHARES, held_out_nats
from train.judge import nearest
from train.loop import DEVICE
from train.scenes import PATCH, scene
from train.target import GRID, boxes
from train.tokenizer import load_vq, stacked, to_pixels

TEST = 9  # stream of scenes


def fill(model: EmbeddedModel, infilling: Infilling, prompt: str, seed: int) -> list[int]:
    """Sample the masked codes one by one; return the whole picture's codes in raster order."""
    filler, plan = planned(model, infilling)
    codes = list(infilling.known)
    drawn = VanillaAR(filler, plan=plan).generate(prompt, seed)
    for cell, code in zip(plan.cells, drawn, strict=True):
        codes[cell] = code
    return codes


@torch.inference_mode()
def fill_things(
    model: EmbeddedModel,
    pictures: list[list[int]],
    labels: list[Scene],
    squares: list[int],
    order: str,
) -> np.ndarray:
    """Fill in one thing's square of each picture; return the pictures [N, 160, 160, 3].

    `pictures` has the codes of each picture. In picture i, the square of thing number `squares[i]`
    of the scene `labels[i]` is masked. The prompt describes this scene.
    """
    grids = []
    for seed, (codes, what, square) in enumerate(zip(tqdm(pictures), labels, squares, strict=True)):
        infilling = Infilling.of_mask(codes, boxes(what)[square].tolist(), order)
        grids.append(fill(model, infilling, describe(what), seed))
    return model.pixels(np.array(grids).reshape(-1, GRID, GRID))


def filled_scores(
    images: np.ndarray, labels: list[Scene], squares: list[int]
) -> dict[str, dict[str, float]]:
    """Return the share of filled squares that show the right thing, by each of two tests.

    A square shows the thing that is nearest to it. In the test "glyph_of_100" this is the nearest
    of the right thing and 99 others, drawn at random; in "glyph_of_all" it is the nearest of all
    things. The result has the figures of `share` for each test.
    """
    rng, pairs = np.random.default_rng(0), list(zip(labels, squares, strict=True))
    return {
        name: share(
            [
                nearest(picture, what, rng, candidates)[square] == what.things[square]
                for picture, (what, square) in zip(images, pairs, strict=True)
            ]
        )
        for name, candidates in (("glyph_of_100", 100), ("glyph_of_all", None))
    }


def other_thing(what: Scene, square: int, thing: str) -> Scene:
    """Return the scene `what` with `thing` in place of the thing in square `square`."""
    things = (*what.things[:square], thing, *what.things[square + 1 :])
    return dataclasses.replace(what, things=things)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--captions", type=int, default=100)
    parser.add_argument("--weights", type=Path, default=Path("weights"))
    args = parser.parse_args()
    model = EmbeddedModel(args.weights, str(DEVICE))
    assert model.filler is not None, "train.infill has made its weights"
    tokenizer, vq = load(args.weights / "captions/tokenizer.json"), load_vq(args.weights / "vq")
    nats = {
        order: {
            f"{share:.0%} masked": held_out_nats(
                model.filler.network, vq, tokenizer, share, order, batches=8, seed=TEST, **PLAIN
            )
            for share in SHARES
        }
        for order in ORDERS
    }
    scenes = [scene(TEST, i, held=True, **PLAIN) for i in range(args.captions)]
    labels, real = [what for what, _ in scenes], np.stack([pixels for _, pixels in scenes])
    squares = [i % len(what.things) for i, what in enumerate(labels)]
    with torch.inference_mode():
        codes = [vq.encode(to_pixels(stacked([pixels]))).flatten().tolist() for pixels in real]
    shown = {order: fill_things(model, codes, labels, squares, order) for order in ORDERS}
    # Another thing in the same square shows whether the caption wins over the known cells.
    things = [what.things[square] for what, square in zip(labels, squares, strict=True)]
    others = list(map(other_thing, labels, squares, things[1:] + things[:1]))
    changed = fill_things(model, codes, others, squares, ORDERS[0])
    figures = {
        "captions": args.captions,
        "held_out_nats_per_masked_cell": nats,
        "glyph_filled_in": {
            order: filled_scores(shown[order], labels, squares) for order in ORDERS
        },
        "another_glyph_filled_in": filled_scores(changed, others, squares),
        "control_real": filled_scores(real, labels, squares),
    }
    folder = args.weights / "infill"
    (folder / "evaluation.json").write_text(json.dumps(figures, indent=1) + "\n")
    masked = real.copy()
    for picture, what, square in zip(masked, labels, squares, strict=True):
        cells = boxes(what)[square].view(GRID, GRID).numpy()
        picture[cells.repeat(PATCH, 0).repeat(PATCH, 1)] = 127
    rows = np.stack([real, masked, shown[ORDERS[0]], changed], 1)[:12]
    sheet(rows.reshape(-1, *rows.shape[2:]), 8).save(folder / "samples.png", optimize=True)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
