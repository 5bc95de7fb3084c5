"""Pins the public models to their repositories' newest commits, in revisions.json.

Without arguments, `python -m engine.models.supply.pin_revisions` pins all repositories; with `REPO
..` it pins only the repositories named. revisions.json gets each repository's commit, and a digest
for each file that a model downloads. A pinned repository is downloaded at that commit, whatever is
pushed later, and its files are compared with their digests. A repository that is not pinned (null)
is downloaded at its main branch, and its files are compared with nothing. The digests are the hub's
own: SHA-256 for a large file, and git's blob id for a small one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi

from engine.models.supply.card import CARDS, REVISIONS, RepoFiles
from engine.models.supply.hub import explain


def pin(repos: Sequence[str], file: Path = REVISIONS) -> list[str]:
    """Pin `repos` in `file`; return a message for each repository that could not be looked up.

    The entry of such a repository stays as it was.
    """
    pinned: dict[str, dict[str, Any] | None] = json.loads(file.read_text("utf-8"))
    drafters = [card.drafter.source for card in CARDS.values() if card.drafter]
    sources = [*(source for card in CARDS.values() for source in card.repos), *drafters]
    failures = []
    for repo in repos:
        try:
            info = HfApi().model_info(repo, revision="main", files_metadata=True)
        except Exception as error:  # as in hub.fetch: connections fail with many classes
            failures.append(explain(RepoFiles("", repo, "main", ()), error))
            continue
        files = {
            each.rfilename: each.lfs.sha256 if each.lfs else each.blob_id
            for each in info.siblings or ()
            if any(s.repo == repo and s.takes(each.rfilename) for s in sources)
        }
        pinned[repo] = {"commit": info.sha, "files": files}
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
