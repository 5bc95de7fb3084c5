"""The command `photo-finish`: the page, and the commands of a terminal."""

from __future__ import annotations

import argparse

from engine.bench.__main__ import add_bench_command
from engine.check.command import add_check_command
from engine.commands.judge import add_judge_command
from engine.commands.models import add_models_command
from visualize.__main__ import add_race_commands
from visualize.figures.counterexample import counterexample_svg


def main() -> None:
    parser = argparse.ArgumentParser(prog="photo-finish")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    page = commands.add_parser("page", help="serve the page, on http://127.0.0.1:7860")
    page.set_defaults(run=serve_page)
    add_race_commands(commands)
    add_bench_command(commands.add_parser("bench", help="figures of many races"))
    judge = commands.add_parser("judge", help="whether a decoder is lossless, exactly")
    add_judge_command(judge, draw=counterexample_svg)
    add_models_command(commands.add_parser("models", help="what races here; fetch or check one"))
    add_check_command(commands.add_parser("check", help="whether races run here as they should"))
    args = parser.parse_args()
    args.run(args)


def serve_page(_: argparse.Namespace) -> None:
    from app.__main__ import main as serve  # reads the page's settings from the environment

    serve()


if __name__ == "__main__":
    main()
