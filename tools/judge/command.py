"""The command `photo-finish judge my_rule.py`: says whether a decoder is lossless.

If it is not lossless, the verdict says by how much the decoder's distribution differs from vanilla
AR's, and gives the smallest case that differs.
"""

from __future__ import annotations

import argparse
import sys
from multiprocessing import get_all_start_methods
from pathlib import Path

from engine.decoders import BUILT_IN, DECODERS
from engine.decoders.base import Badge, Decoder
from engine.decoders.outside import DecoderError, checked, classes_of
from engine.decoders.verdict import Verdict, VerdictFile, source_of, write_verdicts
from engine.processors import processors
from engine.terminal import say
from tools.judge.judge import judge
from tools.judge.words import in_words
from visualize.figures.counterexample import counterexample_svg


def add_judge_command(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "decoder",
        metavar="FILE or NAME",
        help="a Python file with classes of Decoder, whose verdict is written beside it; or one of"
        f" {', '.join(DECODERS)}",
    )
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.set_defaults(run=run_judge, parser=parser)


def run_judge(args: argparse.Namespace) -> None:
    """Judge decoders and print the verdicts.

    Exits with 1 if a decoder fails a check or does not keep what its badge says. If interrupted,
    prints what is known, writes nothing, and raises KeyboardInterrupt again.
    """
    try:
        decoders = _decoders(args.decoder)
    except DecoderError as error:
        args.parser.error(str(error))
    processes = min(2, processors()) if "fork" in get_all_start_methods() else 1
    verdicts = list[Verdict]()
    for decoder in decoders:
        verdicts.append(judge(decoder, _progress, processes))
        if stopped := verdicts[-1].stopped:
            break
    _progress("")
    source = source_of(decoders[0])
    if source is not None and decoders[0].name not in BUILT_IN and not stopped:
        try:
            written = [write_verdicts(source, verdicts), *_draw(source, verdicts)]
            say(f"written: {', '.join(map(str, written))}", sys.stderr)
        except OSError as error:
            say(f"nothing is written beside {source}: {error.strerror}", sys.stderr)
    if args.json:
        say(VerdictFile(verdicts=tuple(verdicts)).model_dump_json(indent=1))
    else:
        say("\n\n".join(map(in_words, verdicts)))
    if stopped:
        raise KeyboardInterrupt
    sys.exit(0 if all(map(_kept, verdicts)) else 1)


def _decoders(which: str) -> list[type[Decoder]]:
    if which in DECODERS:
        return [DECODERS[which]]
    if not which.endswith(".py"):
        raise DecoderError(
            f"there is no decoder {which!r}: give a file that ends with .py, or one of"
            f" {', '.join(DECODERS)}."
        )
    decoders: dict[str, type[Decoder]] = {}
    for each in classes_of(Path(which)):
        decoders[each.name] = checked(each, {*BUILT_IN, *decoders})
    return list(decoders.values())


def _kept(verdict: Verdict) -> bool:
    """Return whether every check passed and the badge promises no more than was found."""
    promises = [Badge.CHANGED_DISTRIBUTION, Badge.SAME_DISTRIBUTION, Badge.IDENTICAL]
    badge = verdict.outcome.badge
    kept = badge in promises and promises.index(badge) >= promises.index(Badge(verdict.claim))
    return kept and all(check.passed for check in verdict.checks)


def _draw(source: Path, verdicts: list[Verdict]) -> list[Path]:
    """Write a picture of each counterexample beside the file; return the paths."""
    written = []
    for verdict in verdicts:
        if verdict.counterexample is not None:
            path = source.with_name(f"{source.stem}.{verdict.decoder}.svg")
            path.write_text(counterexample_svg(verdict), "utf-8")
            written.append(path)
    return written


def _progress(line: str) -> None:
    """Print a line over the previous one, if stderr is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
