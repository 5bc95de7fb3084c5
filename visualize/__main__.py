"""`python -m visualize race "red apple" --out race.json`: the engine's commands, whose trace
has its pictures here."""

from __future__ import annotations

import argparse

from engine.commands.infill import add_infill_command
from engine.commands.race import add_race_command
from visualize.recorded_race import record


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m visualize")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, add_command in (("race", add_race_command), ("infill", add_infill_command)):
        words = f"as python -m engine {name}, and its trace has the pictures"
        add_command(commands.add_parser(name, help=words))
    args = parser.parse_args()
    args.dumps = lambda trace, model: record(trace, model).dumps()
    args.run(args)


if __name__ == "__main__":
    main()
