"""The preview decoder, distilled from the VQ decoder.

    python -m train.preview --minutes 5 --fall 6.5
    python -m train.preview --figures

The loss is the squared error to the VQ decoder's pixels, for the codes of training scenes. Every
other scene is half-made, like a picture during a race, and its loss covers the known cells only.
The VQ decoder draws the scenes once, before the training. `--figures` trains nothing: it prints the
figures in weights/README.md, measured with the saved weights.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from engine.models import distil
from engine.models.distil import canvases, half_made
from engine.models.embedded.model import EmbeddedModel
from engine.models.embedded.networks import EmbeddedVQ
from engine.models.preview import FILE, PreviewDecoder
from engine.numerics.intervals import mean
from engine.trace import Trace
from train.captions import load
from train.evaluate import KINDS
from train.loop import DEVICE, LARGER, stage_parser, train
from train.sample import draw_codes
from train.scenes import scene
from train.target import load_target
from train.tokenizer import load_vq, stacked, to_pixels

SCENES, BATCH = 8000, 8
SHARES = (1.0, 0.75, 0.5, 0.25)  # shares of a picture's cells that are known, in the figures
STREAM = 200  # of scenes; the target trains on others
RACES = Path("static/races")
Draw = Callable[[np.ndarray], np.ndarray]  # codes int [B, h, w] to uint8 [B, H, W, 3]


@torch.inference_mode()
def pool(vq: EmbeddedVQ, seed: int, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return training scenes as codes [N, h, w], pictures [N, H, W, 3] and known cells [N, h, w].

    Every other scene is half-made. The pictures are uint8, drawn by the VQ decoder; known cells
    are bool.
    """
    parts = []
    for first in range(0, count, BATCH):
        indices = range(first, min(first + BATCH, count))
        shown = stacked([scene(STREAM + seed, i)[1] for i in indices])
        parts.append(vq.encode(to_pixels(shown)))
    codes, known = canvases(torch.cat(parts), torch.Generator().manual_seed(seed))
    drawn = [
        ((vq.decode(some).clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1)
        for some in codes.split(BATCH)
    ]
    return codes, torch.cat(drawn), known


def raced(folder: Path = RACES) -> np.ndarray:
    """Return all recorded races' finished grids of codes, int [N, h, w], without duplicates."""
    traces = [Trace.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    grids = [
        trace.tokens(lane).reshape(trace.header.grid)
        for trace in traces
        for lane in range(len(trace.header.lanes))
    ]
    return np.unique([grid for grid in grids if (grid >= 0).all()], axis=0)


def sampled(weights: Path, count: int) -> np.ndarray:
    """Return grids of codes, int [N, h, w], that vanilla AR draws for held-out captions.

    The captions are the first `count` of each kind in KINDS.
    """
    captions = [what.caption for kind in KINDS.values() for what, _ in kind.scenes(count)]
    tokenizer, target = load(weights / "captions/tokenizer.json"), load_target(weights / "target")
    ids = torch.tensor([x.ids for x in tokenizer.encode_batch(captions)], device=DEVICE)
    sampling = EmbeddedModel(weights).sampling
    side = int(target.config.image_tokens**0.5)
    return draw_codes(target, ids, sampling, 0).view(-1, side, side).cpu().numpy()


def psnr(pixels: Draw, shown: Draw, grids: np.ndarray, share: float = 1.0) -> list[float]:
    """Return, for each grid, the PSNR in dB between the pictures of two decoders.

    `pixels` draws the true picture, `shown` the one to measure. Only the first `share` of the cells
    is known, and only the known cells are compared.
    """
    values = []
    for grid in torch.from_numpy(grids)[:, None]:
        codes, known = half_made(grid, round(share * grid[0].numel()))
        true, seen = (draw(codes.numpy())[0].astype(float) for draw in (pixels, shown))
        side = len(true) // grid.shape[1]
        cells = known[0].numpy().repeat(side, 0).repeat(side, 1)
        values.append(20 * np.log10(255 / np.sqrt(np.square(true - seen)[cells].mean())))
    return values


def one_colour(model: EmbeddedModel) -> Draw:
    """Return a decoder that draws each cell in one colour.

    A code's colour is the mean colour of a picture in which every cell has this code.
    """
    codes = np.arange(model.vocab_size)[:, None, None].repeat(2, 1).repeat(2, 2)
    colours = model.pixels(codes).mean((1, 2)).round().astype(np.uint8)
    side = model.pixels(codes[:1]).shape[1] // 2
    return lambda grids: colours[grids].repeat(side, -3).repeat(side, -2)


def seconds(draw: Draw, grids: np.ndarray) -> float:
    """Return the seconds that `draw` takes to draw the grids, the shortest of 15 timings."""

    def times() -> Iterator[float]:
        for _ in range(15):
            begin = time.perf_counter()
            draw(grids)
            yield time.perf_counter() - begin

    return min(times())


def print_figures(weights: Path) -> None:
    """Print the saved preview decoder's speed, and its PSNR on pictures not seen in training.

    The speed is relative to the VQ decoder's, on one thread. The PSNR of four other decoders is
    printed for comparison. Two are fitted on random grids, by the long fit and by the short fit of
    public models' preview decoders (`distil.WHOLE`, `distil.SHORT`). The third begins like the long
    fit but takes no step: it draws a fixed patch for each code. The fourth draws one colour for
    each code.
    """
    torch.set_num_threads(1)
    model = EmbeddedModel(weights)
    assert model.preview is not None
    drawn = {"recorded races": raced(), "held-out captions": sampled(weights, 16)}
    for count in (1, 7):
        some = drawn["recorded races"][:count]
        ratio = seconds(model.pixels, some) / seconds(model.preview, some)
        print(f"{count} at a time: {ratio:.1f} times as fast as the VQ decoder")
    for name, draw in {
        "these weights": model.preview,
        "fitted on random grids": distil.fit_random(model, distil.WHOLE).pictures,
        "fitted as on a processor": distil.fit_random(model, distil.SHORT).pictures,
        "no step": distil.fit_random(model, replace(distil.WHOLE, steps=0)).pictures,
        "one colour a code": one_colour(model),
    }.items():
        for where, grids in drawn.items():
            means = [mean(psnr(model.pixels, draw, grids, share)) for share in SHARES]
            text = ", ".join(f"{x['mean']:.2f} ± {x['plus_minus']:.2f}" for x in means)
            print(f"{name}, {len(grids)} pictures of {where}: {text} dB with {SHARES} known")


def main() -> None:
    parser = stage_parser(__doc__, minutes=5, weights="weights/preview")
    parser.add_argument("--figures", action="store_true", help="print the saved weights' figures")
    args = parser.parse_args()
    if args.figures:
        print_figures(args.weights.parent)
        return
    vq = load_vq(args.weights.parent / "vq").to(memory_format=torch.channels_last)
    codes, pictures, known = pool(vq, args.seed, SCENES)
    torch.manual_seed(args.seed)
    side = pictures.shape[1] // codes.shape[1]
    network = PreviewDecoder(vq.config.codes, side).to(DEVICE)
    distil.start(network, vq.codebook, codes, pictures)

    def loss_of(step: int, fallen: float) -> tuple[Tensor, dict[str, float]]:
        some = torch.randint(len(codes), (BATCH * LARGER,), device=DEVICE)
        loss = distil.loss(network, codes[some], pictures[some], known[some])
        return loss, {"db": -10 * math.log10(loss.item() / 4)}

    def save() -> None:
        args.weights.mkdir(parents=True, exist_ok=True)
        network.save(args.weights / FILE)

    optimizer = torch.optim.Adam(network.parameters(), lr=distil.RATE, betas=(0.9, 0.98))
    train("preview", network, [optimizer], loss_of, save, args)


if __name__ == "__main__":
    main()
