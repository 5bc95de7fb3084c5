"""Quality against passes: how much quality relaxed lanes lose for their speed.

    python -m train.quality --pictures 500 --out visualize/figures/quality.json

Every lane of LANES draws the same held-out captions from the same seeds, in `--workers`
processes of one thread each. The file is saved after each caption, so that it always has the
same number of pictures for each lane. The same command resumes a stopped run.
docs/performance.md says what is measured.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import multiprocessing
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch

from engine.decoders import DECODERS, WHOLE
from engine.infilling import MASKED, Infilling
from engine.models.base import ImageModel, planned
from engine.models.embedded.model import EmbeddedModel
from engine.models.likelihood import teacher_forced
from engine.models.supply.card import WEIGHTS
from engine.numerics.distributions import gather, logits_to_probs
from engine.processors import processors
from engine.race.hardware import machine_of
from engine.race.request import parse_lane
from engine.reader.reader import describe
from engine.reader.scene import Scene
from engine.settings import Sampling
from engine.trace import LaneStats, StepTable
from engine.trace.quality import Judge, Picture, Point, Quality
from train.evaluate import PLAIN, TEST
from train.glyphs import SIDE
from train.judge import is_nearest
from train.loop import at_sigterm
from train.scenes import scene, vocabulary

LANES = (
    "ar",
    "jacobi",
    "fpi",
    "sjd",
    "scd",
    "scd:coupling=maximal",
    "scd:coupling=threshold",
    "sjd-pac",
    *(f"gsd:G={size}" for size in (3, 10, 50, 100)),
    *(f"lantern:delta={delta}" for delta in (0.05, 0.4)),
    *(f"lantern:bound=lambda;lam={lam}" for lam in (2.0, 5.0)),
    *(f"sjd-relaxed:relax=amplify;k={k}" for k in (2.0, 5.0)),
    *(f"sjd-relaxed:relax=add;e={e}" for e in (0.02, 0.1)),
    "sjd-relaxed:relax=anneal;k=5.0",
    *(f"sjd-relaxed:relax=entropy;nats={nats}" for nats in (2.0, 4.0, 9.0)),
    *(f"sjd-plus-plus:tau={tau}" for tau in (1.0, 0.5, 0.25)),
    "sjd-relaxed:relax=runs",
    *(f"auto-correct:rounds={rounds}" for rounds in (6, 4, 3, 2)),
    *(f"zipar:s={lag}" for lag in (8, 4, 2, 1)),
    *(f"parallel:T={rounds}" for rounds in (32, 16, 8, 4)),
    *(f"rows:c={context};draws={draws}" for draws in ("coupled", "fresh") for context in (8, 4, 2)),
)
CANDIDATES = 100


def captions(world: dict[str, list[str]]) -> Iterator[Scene]:
    """Yield, in order, the held-out scenes of stream TEST that have only things the model knows.

    `world["glyphs"]` has the names that the model knows. The scenes have all layouts. Things have
    their own colours and their usual size.
    """
    for index in itertools.count():
        what, _ = scene(TEST, index, held=True, **PLAIN)
        if set(what.things) <= set(world["glyphs"]):
            yield what


def judge_of(world: dict[str, list[str]]) -> Judge | None:
    """Return the test that judges the model's pictures, or None if they cannot be judged.

    The judge compares pictures with the things that train/ draws now. So it can judge only a model
    that knows exactly these things; `world["glyphs"]` has the things that the model knows.
    """
    names = vocabulary()[0]
    return Judge(CANDIDATES, len(names), SIDE) if tuple(world["glyphs"]) == names else None


def draw(
    model: ImageModel, lane: str, prompt: str, seed: int
) -> tuple[np.ndarray, int, float | None]:
    """Draw a picture with a lane; return its tokens [length], the passes and the mean shift.

    The tokens are in the model's own order, whatever the order in which the lane draws them. The
    mean shift is None if it is unknown. A decoder that can only fill in parts fills in the whole
    picture, in spread order.
    """
    parsed = parse_lane(lane)
    everything = Infilling((MASKED,) * model.plan.length, "spread")
    filling = None if parsed.decoder in WHOLE else everything
    drawn_by, plan = planned(model, filling)
    decoder = DECODERS[parsed.decoder](drawn_by, parsed.settings, model.sampling, plan)
    tables, stats = list[StepTable](), LaneStats()
    with torch.inference_mode():
        for step in decoder.steps(prompt, seed):
            tables.append(step.rows)
            stats.add(step)
    tokens = np.array(StepTable.join(tables).tokens)
    shift = 0.0 if parsed.decoder == "ar" else stats.mean_shift()
    return tokens[np.argsort(decoder.plan.slots)], stats.nfe, shift


def log_p(
    model: ImageModel, prompt: str, tokens: np.ndarray, sampling: Sampling
) -> tuple[float, int]:
    """Return a picture's log-probability in nats, and how many tokens top-k or top-p excludes.

    The picture is its tokens [length]. The probability is the model's, teacher-forced, at the
    guidance and the temperature of `sampling`, before top-k and top-p. A relaxed rule, or rounding,
    may commit tokens that top-k or top-p excludes. After top-k and top-p, one such token would give
    the picture probability 0.
    """
    sequence = torch.from_numpy(tokens).to(model.device)
    free = model.forced_ids.to(model.device) < 0
    read = teacher_forced(model, model.plan, prompt, sampling, sequence)[free]
    codes = sequence[free]
    scaled = torch.log_softmax(read.double() / sampling.temperature, -1)
    cut = gather(logits_to_probs(read, sampling, None), codes) == 0
    return float(gather(scaled, codes).sum()), int(cut.sum())


def measure(model: ImageModel, lane: str, what: Scene, index: int, judge: Judge | None) -> Picture:
    """Measure picture `index` of a lane.

    The judge compares each thing with candidates: the right thing and others, drawn at random.
    Picture `index` of every lane has the same candidates.
    """
    prompt = describe(what)  # the reader would take the layout's word for a count or a pair
    tokens, passes, shift = draw(model, lane, prompt, index)
    nats, cut = log_p(model, prompt, tokens, model.sampling)
    right = None
    if judge:
        pixels = model.pixels(tokens[np.array(model.plan.cells) >= 0].reshape(model.grid))
        rng = np.random.default_rng((TEST, index))
        right = is_nearest(pixels, what, rng, judge.candidates)
    kept = None if shift is None else round(shift, 5)
    return Picture(passes, kept, round(nats, 3), cut, right)


class Measurement:
    """Measures pictures that lanes draw with the model in a folder of weights."""

    def __init__(self, weights: Path) -> None:
        torch.set_num_threads(1)  # more threads gain little here; processes share the lanes
        self.model = EmbeddedModel(weights)
        self.judge = judge_of(self.model.world)
        self._scenes: list[Scene] = []
        self._further = captions(self.model.world)

    def picture(self, lane: str, index: int) -> Picture:
        """Return the measures of picture number `index` of a lane."""
        self._scenes += itertools.islice(self._further, max(0, index + 1 - len(self._scenes)))
        return measure(self.model, lane, self._scenes[index], index, self.judge)


measurement = functools.cache(Measurement)  # one in each process


def picture(weights: Path, lane: str, index: int) -> Picture:
    """Return the measures of picture number `index` of a lane; a process loads the model once."""
    return measurement(weights).picture(lane, index)


def in_order(workers: Executor, ahead: int) -> Callable[..., Iterator[Picture]]:
    """Return a `map` over worker processes that yields results in the order of the calls.

    Up to `ahead` calls are submitted beyond the one whose result is read next. They keep the
    workers busy while the reader saves a caption. The limit leaves few calls to finish when the
    measurement is told to stop.
    """

    def spread(
        call: Callable[[str, int], Picture], lanes: Iterable[str], indices: Iterable[int]
    ) -> Iterator[Picture]:
        waiting = deque[Future[Picture]]()
        for lane, index in zip(lanes, indices, strict=True):
            waiting.append(workers.submit(call, lane, index))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        for future in waiting:
            yield future.result()

    return spread


def resume(file: Path, empty: Quality) -> Quality:
    """Return the measurement in `file`, or `empty` if there is no file.

    Raises ValueError if the file was measured with other lanes, code, weights or settings.
    """
    measurement = Quality.load(file) if file.exists() else empty
    if not measurement.continues(empty):
        raise ValueError(
            f"{file} was measured with other code, weights or settings: give another file with"
            " --out"
        )
    return measurement


def run(
    quality: Quality,
    file: Path,
    pictures: int,
    picture: Callable[[str, int], Picture],
    report: Callable[[str], None],
    spread: Callable[..., Iterator[Picture]] = map,
) -> None:
    """Draw until each lane has `pictures` pictures; save after each caption.

    Args:
        quality: the measurement so far.
        file: where the measurement is saved.
        pictures: how many pictures each lane should have.
        picture: `picture(lane, index)` draws and measures one picture.
        report: prints the progress and the time that is left.
        spread: a `map` over processes.
    """
    lanes, spent = [point.lane for point in quality.points], list[float]()
    indices = range(len(quality), pictures)
    drawn = spread(picture, lanes * len(indices), (index for index in indices for _ in lanes))
    for index in indices:
        begun = time.perf_counter()
        quality = quality.extended(list(itertools.islice(drawn, len(lanes))))
        quality.save(file)
        spent.append(time.perf_counter() - begun)
        hours = (pictures - index - 1) * statistics.fmean(spent) / 3600
        report(f"{index + 1}/{pictures} captions, {spent[-1]:.1f} s, {hours:.1f} h to go")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pictures", type=int, default=500, help="of each lane")
    parser.add_argument("--out", type=Path, default=Path("visualize/figures/quality.json"))
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--workers", type=int, default=processors(), help="processes")
    args = parser.parse_args()
    if args.workers < 1:
        parser.error(f"--workers must be 1 or more, not {args.workers}")
    measured = measurement(args.weights)
    model, judge = measured.model, measured.judge
    if judge is None:
        print("nothing is judged: train/ draws other things than these weights", file=sys.stderr)
    describe = ["git", "-C", str(WEIGHTS.parent), "describe", "--always", "--dirty", "--abbrev=12"]
    empty = Quality(
        model=model.name,
        weights=model.weights,
        sampling=model.sampling,
        tokens=sum(cell >= 0 for cell in model.plan.cells),
        captions=f"held-out captions of train.scenes, stream {TEST}",
        judge=judge,
        commit=subprocess.run(describe, check=True, capture_output=True, text=True).stdout.strip(),
        machine=machine_of(model),
        date=datetime.now(UTC).date().isoformat(),
        points=tuple(Point(lane) for lane in LANES),
    )
    try:
        begun = resume(args.out, empty)
    except ValueError as error:
        parser.error(str(error))
    draw_one = functools.partial(picture, args.weights)
    report = functools.partial(print, flush=True)
    spawn = multiprocessing.get_context("spawn")
    with (
        at_sigterm(lambda *_: sys.exit(143)),  # ends the workers too
        ProcessPoolExecutor(args.workers, spawn) as workers,
    ):
        run(begun, args.out, args.pictures, draw_one, report, in_order(workers, 2 * args.workers))


if __name__ == "__main__":
    main()
