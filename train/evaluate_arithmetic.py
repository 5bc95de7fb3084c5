"""Counts right pictures as a lane draws them on this machine, in float32 or in 8 bits.

    python -m train.evaluate_arithmetic
    python -m train.evaluate_arithmetic --dtype int8

Prints, for each kind of held-out captions (`train.evaluate`), the share of right pictures with its
95% interval. The fixed point draws the pictures, which are vanilla AR's.
"""

from __future__ import annotations

import argparse
import json

import torch
from torch import Tensor
from tqdm import tqdm

from engine.decoders.fpi import FixedPoint
from engine.models.embedded.model import EmbeddedModel
from train.evaluate import KINDS, scores
from train.judge import GroundJudge
from train.sample import pictures


class Captioned(EmbeddedModel):
    """The embedded model, which reads captions in their canonical form instead of prompts."""

    def caption_ids(self, text: str, guided: bool) -> Tensor:
        ids = torch.tensor([self.tokenizer.encode(text).ids])
        return torch.cat([ids, torch.zeros_like(ids)]) if guided else ids


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--captions", type=int, default=500, help="of each kind")
    parser.add_argument("--dtype", choices=["float32", "int8"], default="float32")
    args = parser.parse_args()
    torch.set_num_threads(1)
    model, judge = Captioned(eight_bits=args.dtype == "int8"), GroundJudge.learn()
    print(model.runtime, flush=True)
    lane = FixedPoint(model)
    for name, kind in KINDS.items():
        labels = [what for what, _ in kind.scenes(args.captions)]
        codes = [lane.generate(what.caption, seed) for seed, what in enumerate(tqdm(labels))]
        shown = pictures(model.vq, torch.tensor(codes))
        right = scores(judge, shown, labels, equal=kind.equal)["right"]
        print(name, json.dumps(right), flush=True)


if __name__ == "__main__":
    main()
