"""The command `photo-finish race`: runs a race in a terminal and prints its table as it goes.

This module also has the options that other commands share.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from engine.decoders import DECODERS, WHOLE
from engine.models import load
from engine.models.base import ImageModel
from engine.models.supply import hub
from engine.models.supply.card import CARDS, ModelError
from engine.models.supply.device import DTYPES
from engine.models.supply.progress import Progress
from engine.processors import processors
from engine.race import Race, RaceRequest
from engine.race.captures import try_captures
from engine.race.request import SAMPLING, build_settings, lane_names, parse_lane
from engine.settings import Sampling, SettingError
from engine.terminal import say, writable
from engine.trace import Frame, LaneState, LaneStats
from visualize.pictures.recorded_race import record

_COLUMNS = f"{'tokens':>12}{'passes':>8}{'seconds':>9}{'tokens/pass':>13}  "
_UPDATE_SECONDS = 1


def add_race_command(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt")
    parser.add_argument("--seed", type=int, default=0, help="by default %(default)s")
    parser.add_argument(
        "--lanes",
        default=",".join(name for name, d in DECODERS.items() if d.default),
        help=f"comma-separated, up to eight of {', '.join(WHOLE)}; knobs as in"
        " sjd:window=32;init=horizontal repeat; by default %(default)s",
    )
    add_out_option(parser)
    add_model_options(parser)
    parser.set_defaults(run=run_race, parser=parser)


def add_out_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=writable, help="write the race here, with its pictures; the page opens it"
    )


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `load_model` and `sampling_of` read."""
    parser.add_argument(
        "--model",
        choices=CARDS,
        default="embedded",
        metavar="NAME",
        help=f"one of {', '.join(CARDS)}",
    )
    parser.add_argument(
        "--random-weights",
        action="store_true",
        help="use random weights of its true size: no download, and a pass takes the same time",
    )
    parser.add_argument(
        "--guided-tokens",
        type=int,
        metavar="N",
        help="guide only the first N tokens, 0 for all; by default as the model does",
    )
    parser.add_argument(
        "--drafter",
        action="store_true",
        help="LANTERN drafts with its authors' EAGLE network for this model: research only",
    )
    parser.add_argument(
        "--graphs",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="capture steps as CUDA graphs on a CUDA device, if a trial finds that nothing changes",
    )
    add_machine_options(parser, "cpu")
    parser.add_argument(
        "--threads",
        type=int,
        help="threads of the processor, by default one per core; the page races the embedded model"
        " on 1 thread with two cores, on 2 with more",
    )


def add_machine_options(parser: argparse.ArgumentParser, device: str) -> None:
    """Add the options for the device, its dtype, TorchScript files and the folder of weights.

    `device` is the default of --device. `choose_folders` reads the folder of weights.
    """
    parser.add_argument("--device", default=device, help="cpu, cuda, cuda:0 .. or auto")
    parser.add_argument(
        "--dtype",
        choices=["auto", *DTYPES, "int8"],
        default="auto",
        help="int8 is for the embedded model on a processor",
    )
    parser.add_argument(
        "--torchscript",
        action="store_true",
        help="let a model's TorchScript file (SimpleAR's decoder) run code of its own",
    )
    parser.add_argument(
        "--weights",
        type=Path,
        metavar="FOLDER",
        default=os.environ.get("PHOTO_FINISH_WEIGHTS") or None,
        help="folder of weights already on this machine, each repository in its folder owner/name;"
        " by default PHOTO_FINISH_WEIGHTS",
    )


def choose_folders(args: argparse.Namespace) -> None:
    """Set the weights' folder from the options, the downloads' folder from PHOTO_FINISH_CACHE.

    Raises ModelError if the folder of weights does not exist.
    """
    cache = os.environ.get("PHOTO_FINISH_CACHE")
    weights = args.weights and args.weights.expanduser()
    if weights is not None and not weights.is_dir():
        raise ModelError(f"There is no folder {weights} of weights.")
    hub.set_folders(Path(cache).expanduser() if cache else None, weights)


def sampling_of(args: argparse.Namespace, own: Sampling) -> Sampling:
    """Return a model's `own` sampling, changed as the options say. Raises SettingError."""
    if args.guided_tokens is None:
        return own
    values = asdict(own) | {"guided_tokens": args.guided_tokens}
    sampling: Sampling = build_settings(SAMPLING, values)
    return sampling


def set_threads(args: argparse.Namespace) -> None:
    """Set torch's number of threads.

    The default is torch's own number, but no more than a container's quota. Raises SettingError for
    a number below 1.
    """
    if args.threads is None:
        if processors() < torch.get_num_threads():
            torch.set_num_threads(processors())
        return
    if args.threads < 1:
        raise SettingError(f"--threads must be 1 or more, not {args.threads}.")
    torch.set_num_threads(args.threads)


def load_model(args: argparse.Namespace) -> ImageModel:
    """Load the model that the options name, with progress on stderr.

    Torch's threads and the folders of weights and downloads are set first. Then the model is
    loaded, and its CUDA graphs are tried (`try_captures`). Raises ModelError and SettingError.
    """
    printed = ""
    set_threads(args)
    choose_folders(args)

    def print_progress(progress: Progress) -> None:
        nonlocal printed
        if (line := progress.text(CARDS[args.model].title)) != printed:
            say(printed := line, sys.stderr)

    model = load(
        args.model,
        args.device,
        args.dtype,
        progress=print_progress,
        random=args.random_weights,
        drafter=args.drafter,
        graphs=args.graphs,
        torchscript=args.torchscript,
    )
    try_captures(model)
    return model


def run_race(args: argparse.Namespace) -> None:
    """Run a race and print it.

    Exits with 2 for arguments that cannot be raced, and with 1 where `print_race` does.
    """
    parser: argparse.ArgumentParser = args.parser
    try:
        # Check before the model is loaded: that may take minutes.
        texts = args.lanes.split(",")
        lanes = tuple(parse_lane(text.strip(), offered=WHOLE) for text in texts)
        sampling = sampling_of(args, CARDS[args.model].sampling)
        request = RaceRequest(args.prompt, args.seed, lanes, sampling, args.model)
        race = Race(load_model(args), request)
    except (SettingError, ModelError) as error:
        parser.error(str(error))
    print_race(race, args.out)


def print_race(race: Race, out: Path | None) -> None:
    """Run a race; print its stats every second, its final stats, and the path of its trace.

    Exits with 1 if a lane failed, if the trace could not be written, or if nobody reads what is
    printed and `out` is None.

    Args:
        race: the race to run.
        out: the file for the trace and its pictures.
    """
    request, names = race.request, lane_names([lane.plain() for lane in race.request.lanes])
    frames: list[Frame] = []
    stats = [LaneStats() for _ in names]
    states = [LaneState.WAITING for _ in names]
    printed = 0.0
    interrupt: KeyboardInterrupt | None = None
    try:
        for frame in race:
            frames.append(frame)
            states[frame.lane] = frame.state
            if frame.step:
                stats[frame.lane].add(frame.step)
            if frame.error:
                say(f"{names[frame.lane]} failed: {frame.error}", sys.stderr)
            if time.monotonic() - printed > _UPDATE_SECONDS:
                lines = standings(names, stats, states, race.plan.length)
                if not say(lines, end="\n\n") and out is None:
                    sys.exit(1)
                printed = time.monotonic()
    except KeyboardInterrupt as error:
        interrupt = error
    trace = race.trace(frames)
    written = None
    if out:
        try:
            out.write_text(record(trace, race.model).dumps(), "utf-8")
            written = f"trace: {out}"
        except OSError as error:
            say(f"the trace could not be written to {out}: {error.strerror}", sys.stderr)
    say(standings(names, stats, states, race.plan.length))
    say(f"\n{request.prompt!r}, seed {request.seed}, on {trace.header.machine}")
    if written:
        say(written)
    if interrupt:
        raise interrupt
    if LaneState.FAILED in states or (out and not written):
        sys.exit(1)


def standings(
    names: Sequence[str], stats: Sequence[LaneStats], states: Sequence[LaneState], length: int
) -> str:
    """Return the stats as text, one row for each lane.

    `length` is the picture's number of sequence positions.
    """
    width = max(14, *(len(name) + 2 for name in names))
    rows = [f"{'lane':{width}}{_COLUMNS}"]
    for name, standing, state in zip(names, stats, states, strict=True):
        rows.append(
            f"{name:{width}}{standing.frontier:6}/{length:<5}{standing.nfe:8}"
            f"{standing.seconds.total:9.2f}{standing.step_compression:13.2f}  {state.value}"
        )
    return "\n".join(rows)
