"""Stage 6: evaluation of infilling. `python -m train.evaluate_infill`

Writes `weights/infill/evaluation.json`, and `samples.png` beside it: held-out pictures, the same
with their glyph's square masked, and what is filled in, for the picture's own caption and for
another glyph's. weights/README.md explains each figure.
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
from engine.models.embedded import EmbeddedModel
from train.captions import load
from train.evaluate import scores, sheet
from train.infill import SHARES, held_out_nats
from train.judge import GroundJudge
from train.loop import DEVICE
from train.scenes import Words, scene
from train.target import GRID, box
from train.tokenizer import load_vq

TEST = 9  # stream of scenes
PATCH = 8


def encode(model: EmbeddedModel, pixels: np.ndarray) -> list[int]:
    """The codes of a picture, uint8 [128, 128, 3], in raster order."""
    seen = torch.from_numpy(pixels).to(model.device).permute(2, 0, 1)[None].float() / 127.5 - 1
    codes: list[int] = model.vq.encode(seen).flatten().tolist()
    return codes


def fill(model: EmbeddedModel, infilling: Infilling, caption: str, seed: int) -> list[int]:
    """The picture's codes in raster order, the masked ones sampled one after the other."""
    view, codes = model.infill(infilling), list(infilling.known)
    for cell, code in zip(view.cells, VanillaAR(view).generate(caption, seed), strict=True):
        codes[cell] = code
    return codes


@torch.inference_mode()
def fill_glyphs(
    model: EmbeddedModel, pictures: list[list[int]], labels: list[Words], order: str
) -> np.ndarray:
    """Pictures [N, 128, 128, 3] whose glyph's square is filled in anew, each to its label."""
    found = []
    for seed, (codes, what) in enumerate(zip(tqdm(pictures), labels, strict=True)):
        infilling = Infilling.of_mask(codes, box(what.place).tolist(), order)
        found.append(fill(model, infilling, what.caption(), seed))
    return model.pixels(np.array(found).reshape(-1, GRID, GRID))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--captions", type=int, default=100)
    parser.add_argument("--weights", type=Path, default=Path("weights"))
    args = parser.parse_args()
    model, judge = EmbeddedModel(args.weights, str(DEVICE)), GroundJudge.learn()
    tokenizer, vq = load(args.weights / "captions/tokenizer.json"), load_vq(args.weights / "vq")
    nats = {
        order: {
            f"{share:.0%} masked": held_out_nats(
                model.infill_network, vq, tokenizer, share, order, batches=8, seed=TEST
            )
            for share in SHARES
        }
        for order in ORDERS
    }
    scenes = [scene(TEST, i, held_out=True) for i in range(args.captions)]
    labels, real = [what for what, _ in scenes], [pixels for _, pixels in scenes]
    with torch.inference_mode():
        codes = [encode(model, pixels) for pixels in real]
    shown = {order: fill_glyphs(model, codes, labels, order) for order in ORDERS}
    # Another glyph at the same place: does the caption win over what is known?
    glyphs = [what.glyph for what in labels]
    others = [
        dataclasses.replace(what, glyph=glyph)
        for what, glyph in zip(labels, glyphs[1:] + glyphs[:1], strict=True)
    ]
    changed = fill_glyphs(model, codes, others, ORDERS[0])
    figures = {
        "captions": args.captions,
        "held_out_nats_per_masked_cell": nats,
        "glyph_filled_in": {order: scores(judge, shown[order], labels) for order in ORDERS},
        "another_glyph_filled_in": scores(judge, changed, others),
        "control_real": scores(judge, np.stack(real), labels),
    }
    folder = args.weights / "infill"
    (folder / "evaluation.json").write_text(json.dumps(figures, indent=1) + "\n")
    masked = np.stack(real)
    for picture, what in zip(masked, labels, strict=True):
        cells = box(what.place).reshape(GRID, GRID).numpy()
        picture[cells.repeat(PATCH, 0).repeat(PATCH, 1)] = 127
    rows = np.stack([np.stack(real), masked, shown[ORDERS[0]], changed], 1)[:12]
    sheet(rows.reshape(-1, *rows.shape[2:]), 8).save(folder / "samples.png", optimize=True)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
