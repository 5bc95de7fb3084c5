"""The bench: races lanes over several prompts and seeds on one machine, for figures.

`photo-finish bench` prints a card for people and, last, one line of JSON. Speed-ups are ratios
within one run: the lanes take turns, so a slow moment of the machine affects all of them.
Intervals are 95% (Student's t over the races).

`--prompt TEXT --seed 7 --seeds 5` races one prompt from seeds 7 to 11. Lanes of one decoder
with different values of a knob, `--lanes sjd:window=16,sjd:window=32`, are a sweep.

`--infill` fills in parts of pictures instead: see tools/bench/infill.py. `--peer generate` runs
transformers' own `generate` beside vanilla AR: see tools/bench/peer.py. `--grids 24,48,90`
draws on large grids with random weights: see tools/bench/grids.py.

`--model janus-pro-1b --random-weights` times a public model on a machine that lacks the model's
weights. A pass costs the same as with them. But a lane's number of passes depends on the weights,
and so does every speed-up.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from engine.decoders import DECODERS, DEFAULT
from engine.models.base import ImageModel
from engine.models.supply.card import ModelError
from engine.numerics.intervals import mean, mean_text
from engine.race import Lane, Race, RaceRequest
from engine.race.hardware import device_name, machine_of
from engine.race.request import lane_names, parse_lane
from engine.settings import SettingError
from engine.terminal import say
from engine.trace import MAX_SIDE, LaneState, LaneStats
from tools.bench import grids as bench_grids
from tools.bench import infill as bench_infill
from tools.bench import peer as bench_peer
from tools.race import add_model_options, load_model, sampling_of, set_threads

PROMPTS = (
    "red apple on sky clouds",
    "cat and dog on green grass",
    "rocket on night stars at the top right",
    "woman above bicycle on yellow sand",
    "three penguins on white snow",
    "guitar, drum, violin and trumpet on red",
)


@dataclass(slots=True)
class LaneRun:
    """A lane's results of one race.

    Attributes:
        stats: the lane's stats.
        shift: the lane's mean shift.
        waited: the seconds of the lane's turns, including work that the lane's clock does not
            count, such as making the rows that record its steps.
    """

    stats: LaneStats = field(default_factory=LaneStats)
    shift: float | None = None
    waited: float = 0.0


def race(model: ImageModel, request: RaceRequest) -> list[LaneRun]:
    """Run one race to its end. Raises RuntimeError if a lane fails."""
    runs = [LaneRun() for _ in request.lanes]
    begin = time.perf_counter()
    for frame in Race(model, request):
        if frame.state is LaneState.FAILED:
            raise RuntimeError(f"{request.lanes[frame.lane].decoder} failed: {frame.error}")
        run = runs[frame.lane]
        if frame.step:
            run.stats.add(frame.step)
        run.waited += time.perf_counter() - begin
        begin = time.perf_counter()
    for run in runs:
        run.shift = run.stats.mean_shift()  # makes the rows
        run.waited += time.perf_counter() - begin
        begin = time.perf_counter()
    return runs


def figures(lane: Sequence[LaneRun], baseline: Sequence[LaneRun] | None) -> dict[str, Any]:
    """Return one lane's figures over its races: mostly means with 95% intervals.

    `baseline` has vanilla AR's runs in the same races. Without it, the speed-up is left out.
    """
    runs = [run.stats for run in lane]
    steps = [len(run.lengths) for run in runs]

    def per_step(part: str) -> dict[str, float]:
        return mean(
            [1e3 * getattr(run.seconds, part) / n for run, n in zip(runs, steps, strict=True)]
        )

    result: dict[str, Any] = {
        "nfe": mean([run.nfe for run in runs]),
        "step_compression": mean([run.step_compression for run in runs]),
        "mean_acceptance_length": mean([run.mean_acceptance_length for run in runs]),
        "acceptance_histogram": dict(
            sorted(Counter(n for run in runs for n in run.lengths).items())
        ),
        "drafter_passes": mean([run.drafter_passes for run in runs]),
        "seconds": mean([run.seconds.total for run in runs]),
        "ms_per_pass": per_step("forward"),
        "ms_per_step": {
            part: per_step(part) for part in ("total", "forward", "verify", "cache", "draft")
        },
        "outside_forward": mean([1 - run.seconds.forward / run.seconds.total for run in runs]),
        "not_charged": mean([run.waited / run.stats.seconds.total - 1 for run in lane]),
    }
    shifts = [run.shift for run in lane if run.shift is not None]
    result["shift"] = mean(shifts) if shifts else None  # None for lanes that test no drafts
    if baseline:
        pairs = [(ar.stats.seconds, run.seconds) for ar, run in zip(baseline, runs, strict=True)]
        result["speed_up"] = mean([ar.total / own.total for ar, own in pairs])
    return result


def card(result: dict[str, Any]) -> str:
    """Return the figures as a table in Markdown."""
    rows = [
        (
            f"{result['model']}{' with random weights' * result['random_weights']}, "
            f"{result['races']} races ({result['prompts']} prompts x {result['seeds']} seeds), "
            f"{result['machine']}"
        ),
        "",
        (
            "| lane | passes | tokens / pass | seconds | speed-up over AR | ms / pass | outside"
            " forward | not charged |"
        ),
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, f in result["lanes"].items():
        speed_up = mean_text(f["speed_up"]) if "speed_up" in f else "-"
        rows.append(
            f"| {DECODERS[name.partition(':')[0]].title}{name[len(name.partition(':')[0]) :]} |"
            f" {mean_text(f['nfe'])} | {mean_text(f['step_compression'])} |"
            f" {f['seconds']['mean']:.2f} | {speed_up} | {f['ms_per_pass']['mean']:.1f} |"
            f" {100 * f['outside_forward']['mean']:.0f}% | {100 * f['not_charged']['mean']:.1f}% |"
        )
    return "\n".join(rows)


def add_bench_command(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__.partition("\n\n")[0]
    parser.add_argument(
        "--lanes", help="comma-separated, by default those of a new race; knobs as in sjd:window=32"
    )
    parser.add_argument("--infill", action="store_true", help="fill in parts of pictures")
    parser.add_argument(
        "--peer",
        choices=["generate"],
        help="time transformers' own generate on the same weights, by turns with vanilla AR",
    )
    parser.add_argument(
        "--grids",
        metavar="SIDES",
        help="comma-separated sides of large grids, drawn by a small network with random weights",
    )
    parser.add_argument(
        "--prompts", type=int, default=len(PROMPTS), help="how many of the built-in prompts"
    )
    parser.add_argument("--prompt", metavar="TEXT", help="instead of the built-in prompts")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="first seed; by default %(default)s")
    add_model_options(parser)
    parser.set_defaults(run=run_bench, parser=parser)


def run_bench(args: argparse.Namespace) -> None:
    """Race, and print a card and one line of JSON.

    Exits with 2 for arguments that cannot be raced. Raises RuntimeError if a lane fails.
    """
    parser: argparse.ArgumentParser = args.parser
    if not 1 <= args.prompts <= len(PROMPTS) or args.seeds < 1:
        parser.error(f"--prompts must be 1 to {len(PROMPTS)}, and --seeds at least 1")
    if (args.prompt is not None or args.seed) and (args.infill or args.peer or args.grids):
        parser.error("--prompt and --seed are for races: leave out --infill, --peer and --grids")
    if args.peer:
        run_peer(args)
        return
    if args.grids:
        run_grids(args)
        return
    usual = bench_infill.LANES if args.infill else DEFAULT
    names = [text.strip() for text in args.lanes.split(",")] if args.lanes else list(usual)
    try:
        lanes = [parse_lane(name) for name in names]
        model = load_model(args)
        model.sampling = sampling_of(args, model.sampling)
        model.sampling.check(model.plan.length)
    except (SettingError, ModelError) as error:
        parser.error(str(error))
    if args.infill:
        infill_report(model, names, lanes, args)
        return
    try:
        prompts = PROMPTS[: args.prompts] if args.prompt is None else (args.prompt,)
        seeds = range(args.seed, args.seed + args.seeds)
        requests = [
            RaceRequest(prompt, seed, tuple(lanes), model.sampling, model.name)
            for prompt in prompts
            for seed in seeds
        ]
    except SettingError as error:
        parser.error(str(error))
    race(model, replace(requests[0], seed=1000))  # warms up caches and allocators; not counted
    runs: list[list[LaneRun]] = []
    interrupt: KeyboardInterrupt | None = None
    try:
        for request in requests:
            runs.append(race(model, request))
            done = f"{len(runs)}/{len(requests)} {request.prompt}, seed {request.seed}"
            print(done, file=sys.stderr)
    except KeyboardInterrupt as error:
        if not runs:
            raise
        interrupt = error  # raised once the figures of the finished races are printed
    by_lane = list(zip(*runs, strict=True))
    ar = by_lane[names.index("ar")] if "ar" in names else None
    result = {
        "model": model.name,
        "random_weights": args.random_weights,
        "machine": machine_of(model),
        "torch": torch.__version__,
        "races": len(runs),
        "prompts": len(prompts),
        "seeds": args.seeds,
        "lanes": {
            name: figures(lane_runs, ar) for name, lane_runs in zip(names, by_lane, strict=True)
        },
    }
    say(card(result), end="\n\n")
    say(json.dumps(result))
    if interrupt:
        raise interrupt


def infill_report(
    model: ImageModel, names: list[str], lanes: list[Lane], args: argparse.Namespace
) -> None:
    """Fill in pictures, and print the figures as a card and one line of JSON."""
    runs = bench_infill.run(model, names, lanes, PROMPTS[: args.prompts], args.seeds)
    result = {
        "model": model.name,
        "machine": machine_of(model),
        "torch": torch.__version__,
        "races": args.prompts * args.seeds,
        "lanes": names,
        "figures": {
            f"{kind} {share:.0%} {order} {name}": {
                figure: mean([run[figure] for run in races]) for figure in races[0]
            }
            for (kind, share, order, name), races in runs.items()
        },
    }
    titles = lane_names([lane.plain() for lane in lanes])
    fills = len(bench_infill.MASKS) * args.prompts * args.seeds
    heading = f"{model.name}, each figure of {fills} fills, {result['machine']}"
    say(bench_infill.card(heading, runs, dict(zip(names, titles, strict=True))), end="\n\n")
    say(json.dumps(result))


def run_grids(args: argparse.Namespace) -> None:
    """Draw on large grids, and print the lanes' figures as a card and one line of JSON."""
    parser: argparse.ArgumentParser = args.parser
    names = args.lanes.split(",") if args.lanes else list(bench_grids.LANES)
    sides = [int(side) if side.isdecimal() else 0 for side in args.grids.split(",")]
    if not all(2 <= side <= MAX_SIDE for side in sides):
        parser.error(f"a grid's side must be a whole number from 2 to {MAX_SIDE}")
    try:
        for name in names:
            parse_lane(name)
        set_threads(args)
    except SettingError as error:
        parser.error(str(error))
    results = bench_grids.run(sides, names, lambda line: print(line, file=sys.stderr))
    machine = device_name(torch.device("cpu"))
    heading = f"a small network with random weights, one picture each, {machine}"
    say(bench_grids.card(heading, results), end="\n\n")
    say(json.dumps({"machine": machine, "torch": torch.__version__, "grids": results}))


def run_peer(args: argparse.Namespace) -> None:
    """Time `generate` beside vanilla AR, and print the figures as a card and one line of JSON."""
    parser: argparse.ArgumentParser = args.parser
    if args.infill or args.lanes or args.guided_tokens:
        parser.error(
            "--peer generate draws whole pictures with every token guided, beside vanilla AR only:"
            " leave out --infill, --lanes and --guided-tokens"
        )
    try:
        bench_peer.require_peer(args.model)
        model = load_model(args)
    except (SettingError, ModelError) as error:
        parser.error(str(error))
    generate = bench_peer.peer_of(model, model.sampling)
    bench_peer.run_round(model, generate, PROMPTS[0], 1000)  # warms both up; not counted
    rounds: list[bench_peer.Round] = []
    for prompt in PROMPTS[: args.prompts]:
        for seed in range(args.seeds):
            rounds.append(bench_peer.run_round(model, generate, prompt, seed))
            print(
                f"{len(rounds)}/{args.prompts * args.seeds} {prompt}, seed {seed}", file=sys.stderr
            )
    result = {
        "model": model.name,
        "random_weights": args.random_weights,
        "machine": machine_of(model),
        "torch": torch.__version__,
        "rounds": len(rounds),
        "prompts": args.prompts,
        "seeds": args.seeds,
        "peer": args.peer,
        **bench_peer.figures(rounds),
    }
    heading = (
        f"{model.name}{' with random weights' * args.random_weights}, {len(rounds)} rounds"
        f" ({args.prompts} prompts x {args.seeds} seeds), {result['machine']}"
    )
    say(bench_peer.card(heading, result), end="\n\n")
    say(json.dumps(result))
