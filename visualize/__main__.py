"""`python -m visualize race "red apple" --out race.json`: the engine's commands, whose trace
has its pictures here."""

from __future__ import annotations

import argparse

from engine.commands.infill import add_infill_command
from engine.commands.race import add_race_command
from visualize.pictures.recorded_race import record


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m visualize")
    add_race_commands(parser.add_subparsers(required=True, metavar="COMMAND"))
    args = parser.parse_args()
    args.run(args)


def add_race_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    race = commands.add_parser("race", help="race decoders over one prompt and seed")
    add_race_command(race)
    infill = commands.add_parser("infill", help="fill in part of a picture")
    add_infill_command(infill)
    for command in (race, infill):
        command.set_defaults(dumps=lambda trace, model: record(trace, model).dumps())


if __name__ == "__main__":
    main()
