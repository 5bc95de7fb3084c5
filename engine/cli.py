"""A race in a terminal: a table as it goes, and the final one."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from engine.decoders import DECODERS
from engine.models import load
from engine.models.base import ImageModel
from engine.models.card import CARDS, ModelError
from engine.models.device import DTYPES
from engine.race import Lane, Race, check
from engine.settings import SettingError, knobs
from engine.trace import Frame, LaneState, LaneStats

_COLUMNS = f"{'lane':14}{'tokens':>12}{'passes':>8}{'seconds':>9}{'tokens/pass':>13}  "


def lane(text: str) -> Lane:
    """A lane from "sjd" or "sjd:window=32;init=horizontal repeat". Raises SettingError."""
    name, _, rest = text.partition(":")
    if name not in DECODERS:
        raise SettingError(f"There is no decoder called {name!r}; there are {', '.join(DECODERS)}.")
    kinds = {knob: type(default) for knob, _, default in knobs(DECODERS[name].Settings)}
    values = {}
    for pair in filter(None, rest.split(";")):
        key, _, value = pair.partition("=")
        if key not in kinds:
            raise SettingError(f"{name} has no knob {key!r}; it has {', '.join(kinds) or 'none'}.")
        if kinds[key] is bool:
            if value not in ("true", "false"):
                raise SettingError(f"{key} of {name} is true or false, not {value!r}.")
            values[key] = value == "true"
            continue
        try:
            values[key] = kinds[key](value)
        except ValueError as error:
            raise SettingError(f"{key} of {name} is a number, not {value!r}.") from error
    return Lane(name, DECODERS[name].Settings(**values))


def offer_models(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose a model."""
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
        help="its true size, random weights: nothing is downloaded, a pass costs what it costs",
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:0 .. or auto")
    parser.add_argument("--dtype", choices=["auto", *DTYPES], default="auto")


def chosen_model(args: argparse.Namespace) -> ImageModel:
    """The model that the options of `offer_models` choose; tells on stderr how far it is. Raises
    ModelError."""
    told = [""]

    def progress(share: float, words: str) -> None:
        if (line := f"{share:4.0%} {words}") != told[0]:
            told[0] = line
            print(line, file=sys.stderr)

    return load(args.model, args.device, args.dtype, progress=progress, random=args.random_weights)


def table(
    lanes: Sequence[Lane], stats: Sequence[LaneStats], states: Sequence[LaneState], length: int
) -> str:
    """The stats as text, one row a lane."""
    rows = [_COLUMNS]
    for entry, standing, state in zip(lanes, stats, states, strict=True):
        rows.append(
            f"{DECODERS[entry.decoder].title:14}{standing.frontier:6}/{length:<5}{standing.nfe:8}{standing.seconds.total:9.2f}"
            f"{standing.step_compression:13.2f}  {state.value}"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m engine.race", description="Race decoders over one prompt and seed."
    )
    parser.add_argument("prompt")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--lanes",
        default=",".join(name for name, d in DECODERS.items() if d.default),
        help="comma-separated; knobs as in sjd:window=32;init=horizontal repeat",
    )
    parser.add_argument("--out", type=Path, help="write the trace here")
    offer_models(parser)
    args = parser.parse_args()
    if args.out and not args.out.parent.is_dir():
        parser.error(f"there is no folder {args.out.parent} to write the trace to")
    try:
        lanes = [lane(text.strip()) for text in args.lanes.split(",")]
        check(lanes, args.prompt, args.seed)  # before the model is loaded, which may take minutes
        race = Race(chosen_model(args), lanes, args.prompt, args.seed)
    except (SettingError, ModelError) as error:
        parser.error(str(error))
    frames: list[Frame] = []
    stats = [LaneStats() for _ in race.lanes]
    states = [LaneState.WAITING for _ in race.lanes]
    shown = 0.0
    try:
        for frame in race:
            frames.append(frame)
            states[frame.lane] = frame.state
            if frame.step:
                stats[frame.lane].add(frame.step)
            if frame.error:
                print(
                    f"{DECODERS[race.lanes[frame.lane].decoder].title} failed: {frame.error}",
                    file=sys.stderr,
                )
            if time.monotonic() - shown > 1:
                print(table(race.lanes, stats, states, race.model.length), end="\n\n")
                shown = time.monotonic()
    except KeyboardInterrupt:
        print("stopped")
    print(table(race.lanes, stats, states, race.model.length))
    trace = race.trace(frames)
    print(f"\n{race.prompt!r}, seed {race.seed}, on {trace.header.machine}")
    if args.out:
        args.out.write_text(trace.dumps())
        print(f"trace: {args.out}")
    if LaneState.FAILED in states:
        sys.exit(1)
