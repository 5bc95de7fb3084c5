"""Pins the public models: writes the hash of each repository's newest commit into revisions.json.

`python -m engine.models.supply.pin_revisions` pins all of them, with `REPO ..` some. A pinned
repository is downloaded at that commit, whatever is pushed later; one that is not (null) at its
main branch.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from huggingface_hub import HfApi

from engine.models.supply.card import REVISIONS, Source
from engine.models.supply.hub import explain


def pin(repos: Sequence[str], file: Path = REVISIONS) -> list[str]:
    """Pins these repositories in `file`; returns a message for each that could not be looked up and
    stays as it was."""
    pinned: dict[str, str | None] = json.loads(file.read_text("utf-8"))
    failures = []
    for repo in repos:
        try:
            pinned[repo] = HfApi().model_info(repo, revision="main").sha
        except Exception as error:  # as in hub.fetch: connections fail with many classes
            failures.append(explain(Source("", repo, "main", ()), error))
    file.write_text(json.dumps(pinned, indent=2) + "\n", "utf-8")
    return failures


def main() -> None:
    known = list(json.loads(REVISIONS.read_text("utf-8")))
    parser = argparse.ArgumentParser(
        prog="python -m engine.models.supply.pin_revisions", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "repos", nargs="*", choices=[*known, []], metavar="REPO", help=f"some of {', '.join(known)}"
    )
    if failures := pin(parser.parse_args().repos or known):
        sys.exit("\n".join(failures))
    print(f"pinned in {REVISIONS}")


if __name__ == "__main__":
    main()
