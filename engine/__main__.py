"""`python -m engine race "red apple on sky clouds" --seed 7 --lanes ar,sjd --out race.json`."""

from __future__ import annotations

import argparse

from engine.check.command import add_check_command
from engine.commands.infill import add_infill_command
from engine.commands.judge import add_judge_command
from engine.commands.models import add_models_command
from engine.commands.race import add_race_command


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m engine")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_race_command(commands.add_parser("race", help="race decoders over one prompt and seed"))
    add_infill_command(commands.add_parser("infill", help="fill in part of a picture"))
    add_judge_command(commands.add_parser("judge", help="whether a decoder is lossless, exactly"))
    add_models_command(commands.add_parser("models", help="what races here; fetch or check one"))
    add_check_command(commands.add_parser("check", help="whether races run here as they should"))
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
