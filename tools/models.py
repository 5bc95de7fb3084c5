"""The command `photo-finish models`: lists the models that race here, and what each needs.

The command also downloads a model, or compares its files with their pinned digests and its greedy
tokens with those that the authors published.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from huggingface_hub import constants
from tqdm import tqdm

from engine.models import load
from engine.models.supply import hub
from engine.models.supply.card import CARDS, GIB, ModelCard, ModelError, RepoFiles
from engine.models.supply.device import (
    available,
    required_bytes,
    resolve_device,
    resolve_dtype,
    shortage,
)
from engine.models.supply.progress import Progress
from engine.models.supply.weights import differing
from engine.race.hardware import device_name
from engine.race.passes import lane_seconds
from engine.race.request import Lane
from tools.race import add_machine_options, choose_folders

_HEAD = (
    "name",
    "model",
    "download",
    "memory",
    "fits",
    "vanilla AR",
    "SCD at most",
    "files",
    "pinned",
    "raced",
    "licence",
)


def add_models_command(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--fetch", choices=CARDS, metavar="NAME", help="download a model's missing files"
    )
    what.add_argument(
        "--check",
        choices=CARDS,
        metavar="NAME",
        help="compare a model's files with their pinned digests, and its numbers with published"
        " ones",
    )
    add_machine_options(parser, "auto")
    parser.set_defaults(run=run_models, parser=parser)


def run_models(args: argparse.Namespace) -> None:
    """Run the command. Exits with 1 if a check finds a difference, with 2 if it cannot run."""
    try:
        choose_folders(args)
        if args.fetch:
            fetch(CARDS[args.fetch])
        elif args.check:
            sys.exit(check(CARDS[args.check], args))
        else:
            print(listing(resolve_device(args.device), args.dtype))
    except ModelError as error:
        args.parser.error(str(error))


def listing(device: torch.device, wanted: str) -> str:
    """Return a table with a row for each model, and sentences that explain its columns.

    `wanted` is the dtype that the user asked for.
    """
    on_cpu, dtype = device.type == "cpu", resolve_dtype(device, wanted)
    rows: list[Sequence[str]] = [_HEAD]
    for card in CARDS.values():
        own = dtype if card.repos else torch.float32
        seconds = ["not measured"] * 2
        if on_cpu:
            seconds = [_duration(lane_seconds(card, own, Lane(name))) for name in ("ar", "scd")]
        rows.append(
            (
                card.name,
                card.title,
                f"{card.download / 1e9:.1f} GB" if card.download else "none",
                _gib(required_bytes(card, own)),
                "no" if shortage(card, device, own) else "yes",
                *seconds,
                _files(card),
                _pinned(card.repos),
                card.raced or "never",
                card.licence,
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    free = available(device)
    places = (
        f"{hub.folder_of_weights or 'the folder of --weights'}, then in {constants.HF_HUB_CACHE}"
    )
    lines += [
        "",
        f"Memory is that of two lanes on {device_name(device) if on_cpu else device}, in"
        f" {str(dtype).removeprefix('torch.')}"
        + (f"; {_gib(free)} are free." if free is not None else "."),
        "Seconds are those of a picture, estimated from a pass that was timed just now."
        if on_cpu
        else "Seconds are measured on a CPU alone.",
        f"Files are looked for in {places}.",
        "Raced says by whom a model was, with its true weights. Never: not by the makers of this"
        " repository, who can reach no hub; they race small random models of its layout. Tell them"
        " how yours goes.",
    ]
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    for limit, length, unit in ((100, 1, "s"), (6000, 60, "min")):
        if seconds < limit:
            return f"{max(1, round(seconds / length))} {unit}"
    return f"{round(seconds / 3600)} h"


def _gib(count: int) -> str:
    return f"{count / GIB:.1f} GiB"


def _files(card: ModelCard) -> str:
    try:
        here = [hub.at_hand(source) is not None for source in card.repos]
    except ModelError:  # a folder of weights has some of the files only
        return "incomplete"
    return "here" if all(here) else "some here" if any(here) else "missing"


def _pinned(sources: Sequence[RepoFiles]) -> str:
    count = sum(source.revision != "main" for source in sources)
    if count == len(sources):
        return "yes"
    return f"{count} of {len(sources)}" if count else "no"


def fetch(card: ModelCard) -> None:
    """Download a model's missing files, with a bar on stderr, and print their folders.

    Raises ModelError.
    """
    if not card.repos:
        print(f"{card.title} comes with the page: there is nothing to download.")
        return
    with tqdm(total=1.0, bar_format="{desc} |{bar}| {remaining} left", leave=False) as bar:

        def show(progress: Progress) -> None:
            bar.n = progress.fraction
            bar.set_description_str(progress.text(card.title))

        folders = hub.fetch_all(card, show)
    for source in card.repos:
        print(f"{source.repo}, {', '.join(source.files)}: {folders[source.part]}")


def check(card: ModelCard, args: argparse.Namespace) -> int:
    """Compare a model's files with their pinned digests, and its tokens with published ones.

    The tokens are those of greedy decoding; without published ones, only the files are compared.
    Prints the result. Returns 1 if something differs, else 0. Raises ModelError if files are
    missing or cannot be loaded.
    """
    # Imported late: the families import transformers, which takes seconds.
    from engine.models.families.janus import JanusModel
    from engine.models.families.published import PUBLISHED, compare

    folders: dict[str, Path] = {}
    others: list[str] = []
    for source in card.repos:
        folder = hub.at_hand(source)
        if folder is None:
            raise ModelError(
                f"{hub.absent(source)}. `{args.parser.prog} --fetch {card.name}` downloads it."
            )
        folders[source.part] = folder
        others += [f"{name} of {source.repo}" for name in _compare(source, folder)]
    published = PUBLISHED.get(card.name)
    dtype = published.dtype if published and args.dtype == "auto" else args.dtype
    print(f"Loading {card.title}.", file=sys.stderr)
    model = load(
        card.name, args.device, dtype, folder=folders or None, torchscript=args.torchscript
    )
    print("loaded: no weight is missing, unexpected or of another shape")
    result = "They load, and nothing was published to compare their numbers with."
    if published is not None:
        assert isinstance(model, JanusModel)
        report = compare(model, published)
        print(f"published: {len(report.ranks)} greedy tokens, {published.source}")
        print(
            f"each given the tokens before it, {report.likeliest} are the likeliest here; the"
            f" worst rank is {max(report.ranks)} of {report.codes:,} codes"
        )
        print(
            f"greedy decoding gives the first {report.greedy} of them here"
            + (
                "; after a different one all differ, and rounding decides between codes that are"
                " nearly equally likely"
                if report.greedy < len(report.ranks)
                else ""
            )
        )
        result = "The weights at hand give the authors' numbers."
        if report.prompt_tokens != published.prompt_tokens:
            others.append(
                f"the prompt, {report.prompt_tokens} tokens instead of {published.prompt_tokens}"
            )
        elif not report.same:
            least = f", with at least {report.least} the likeliest" if report.least else ""
            others.append(
                f"the numbers: with the authors' weights all {len(report.ranks)} tokens are among"
                f" the {report.most} likeliest codes{least}"
            )
    print(f"What differs: {'; '.join(others)}." if others else result)
    return 1 if others else 0


def _compare(source: RepoFiles, folder: Path) -> list[str]:
    """Print how a source's files compare with their digests; return the files that differ."""
    others = differing(folder, source.digests)
    if source.digests:
        words = f"pinned, {len(source.digests)} digests: {', '.join(others) or 'none'} differs"
    elif source.revision != "main":
        words = f"pinned at {source.revision[:12]}, without digests: nothing to compare with"
    else:
        words = "not pinned: nothing to compare with"
    print(f"{source.repo}, in {folder}: {words}")
    return others
