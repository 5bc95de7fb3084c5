"""The command `photo-finish infill`: fills in part of a traced picture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from engine.decoders import FILLING
from engine.infilling import ORDERS, Infilling, box_mask
from engine.models.base import ImageModel
from engine.models.supply.card import ModelError
from engine.race import Race, RaceRequest
from engine.race.request import Lane, parse_lane
from engine.settings import SettingError
from engine.trace import Trace, TraceError
from tools.race import add_model_options, add_out_option, load_model, print_race, sampling_of


def add_infill_command(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", type=Path, help="a saved race with the picture to change")
    parser.add_argument("--lane", type=int, default=1, help="the lane with the picture, from 1")
    parser.add_argument("--box", default="4,4,8,8", help="top,left,height,width in tokens")
    parser.add_argument("--prompt", help="caption, by default the race's")
    parser.add_argument("--order", choices=ORDERS, default=ORDERS[0])
    parser.add_argument("--text", type=reject_text, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help="by default %(default)s")
    parser.add_argument(
        "--lanes",
        default="ar,assd,assd:drafts=n-gram",
        help="as in `race`, with assd and parallel too; by default %(default)s",
    )
    add_out_option(parser)
    add_model_options(parser)
    parser.set_defaults(run=run_infill, parser=parser)


def reject_text(text: str) -> NoReturn:
    """Reject the former option --text. Raises ArgumentTypeError that says what to do instead."""
    raise argparse.ArgumentTypeError(
        "to fill in blanks of a text, run python -m examples.fill_in_text"
    )


def run_infill(args: argparse.Namespace) -> None:
    """Run a race that fills in part of a traced picture, and print it.

    Exits with 1 if a lane failed, with 2 for arguments that cannot be raced.
    """
    parser: argparse.ArgumentParser = args.parser
    try:
        lanes = tuple(parse_lane(text.strip(), offered=FILLING) for text in args.lanes.split(","))
        race = picture_race(args, lanes)
    except (SettingError, ModelError, TraceError, OSError) as error:
        parser.error(str(error))
    print_race(race, args.out)


def picture_race(args: argparse.Namespace, lanes: tuple[Lane, ...]) -> Race:
    """Return the race that fills in a box of a traced lane's picture.

    Raises SettingError, TraceError, ModelError, and OSError if the trace cannot be read.
    """
    trace = Trace.loads(args.trace.read_bytes())
    model: ImageModel = load_model(args)
    codes = final_codes(trace, args.lane - 1)
    try:
        top, left, height, width = (int(number) for number in args.box.split(","))
    except ValueError as error:
        raise SettingError(f"--box must be top,left,height,width, not {args.box!r:.40}") from error
    rows, columns = trace.header.grid
    if not (0 <= top < top + height <= rows and 0 <= left < left + width <= columns):
        raise SettingError(f"--box {args.box:.40} is not inside the {rows} x {columns} tokens.")
    mask = box_mask(trace.header.grid, top, left, height, width)
    infilling = Infilling.of_mask(codes, mask, args.order)
    prompt = args.prompt if args.prompt is not None else trace.header.prompt
    sampling = sampling_of(args, trace.header.sampling)
    return Race(model, RaceRequest(prompt, args.seed, lanes, sampling, model.name, infilling))


def final_codes(trace: Trace, lane: int) -> list[int]:
    """Return the codes of a lane's finished picture in raster order.

    Raises SettingError if there is no such lane, or if it did not finish its picture.
    """
    lanes = len(trace.header.lanes)
    if not 0 <= lane < lanes:
        raise SettingError(f"The race has lanes 1 to {lanes}, not {lane + 1}.")
    codes: list[int] = trace.tokens(lane).tolist()
    if min(codes) < 0:
        raise SettingError(f"Lane {lane + 1} did not finish its picture.")
    return codes
