"""The command `photo-finish`: the page, and the tools for a terminal.

In a checkout the command is `python -m photo_finish`.
"""

from __future__ import annotations

import argparse
import signal
import sys

from engine.terminal import say
from tools.bench.command import add_bench_command
from tools.check.command import add_check_command
from tools.infill import add_infill_command
from tools.judge.command import add_judge_command
from tools.models import add_models_command
from tools.race import add_race_command

INTERRUPTED, TERMINATED = 130, 143  # exit statuses after Ctrl-C and SIGTERM, as in shells


def main() -> None:
    """Run the command that the program's arguments name.

    Ctrl-C and SIGTERM raise KeyboardInterrupt in the command. The command may then print what
    it knows so far, and raises KeyboardInterrupt again.
    """
    parser = argparse.ArgumentParser(prog="photo-finish")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    page = commands.add_parser("page", help="serve the page, on http://127.0.0.1:7860")
    page.set_defaults(run=serve_page)
    add_race_command(commands.add_parser("race", help="race decoders over one prompt and seed"))
    add_infill_command(commands.add_parser("infill", help="fill in part of a picture"))
    add_bench_command(commands.add_parser("bench", help="measure many races"))
    add_judge_command(commands.add_parser("judge", help="say whether a decoder is lossless"))
    add_models_command(commands.add_parser("models", help="list, fetch or check models"))
    add_check_command(commands.add_parser("check", help="check how races run here"))
    args = parser.parse_args()
    status = INTERRUPTED

    def terminate(*_: object) -> None:
        nonlocal status
        status = TERMINATED
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        args.run(args)
    except KeyboardInterrupt:
        say("\nStopped before its end.", sys.stderr)
        sys.exit(status)
    finally:
        signal.signal(signal.SIGTERM, before)


def serve_page(_: argparse.Namespace) -> None:
    from app.__main__ import main as serve  # reads the page's settings from the environment

    serve()


if __name__ == "__main__":
    main()
