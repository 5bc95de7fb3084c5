"""Files from the Hugging Face hub, at pinned revisions, into its own cache (HF_HOME says where;
HF_HUB_OFFLINE is honoured).

Every failure is a ModelError that says what to do. What was downloaded before a failure stays: the
next try goes on from there.
"""

from __future__ import annotations

import errno
import io
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from huggingface_hub import constants, errors, snapshot_download
from tqdm import tqdm

from engine.models.card import ModelError, Source
from engine.models.weights import shards

Progress = Callable[[float, str], None]
_GB = 1e9  # as the hub's pages count
_ENDINGS = (".safetensors", ".pt", ".bin")
_OFFLINE = "This machine may not ask the hub (HF_HUB_OFFLINE is set)"

log = logging.getLogger(__name__)


def fetch(source: Source, progress: Progress | None = None) -> Path:
    """The folder where the source's files lie, downloaded where they do not yet. `progress` hears
    the share of bytes that is here and a sentence; it may be called from several threads. Raises
    ModelError."""
    tell = progress or (lambda share, words: None)
    tell(0.0, f"Looking for {source.repo}")
    try:
        folder = Path(
            snapshot_download(
                source.repo,
                revision=source.revision,
                allow_patterns=list(source.files),
                tqdm_class=_bar(source, tell),
            )
        )
    # connections fail with the classes of whatever HTTP library the hub's client uses
    except Exception as error:
        log.warning("%s could not be fetched: %s: %s", source.repo, type(error).__name__, error)
        raise ModelError(explain(source, error)) from error
    complete(source, folder)
    tell(1.0, f"{source.repo} is here")
    return folder


def explain(source: Source, error: Exception) -> str:
    """What went wrong, and what to do, in words for a visitor. The more special class comes first:
    a gated repository is a kind of one that is not found, an incomplete snapshot a kind of missing
    entry."""
    page = f"https://huggingface.co/{source.repo}"
    offline = constants.is_offline_mode()
    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(
        error.__cause__, errors.HfHubHTTPError
    ):
        return explain(source, error.__cause__)  # the hub was reached, and what it said tells more
    if isinstance(error, errors.GatedRepoError):
        return (
            f"{source.repo} is gated: accept its licence on {page}, then set HF_TOKEN to a token of"
            " that account (on a Space: a secret of that name) and start again."
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return (
            f"{source.repo} is not on the hub, or not for everyone: look at {page}; if it is"
            " private, set HF_TOKEN to a token that may read it."
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return (
            f"{source.repo} has no revision {source.revision}: `python -m"
            f" engine.models.pin_revisions {source.repo}` pins the one that it has now."
        )
    if isinstance(error, errors.IncompleteSnapshotError):
        why = _OFFLINE if offline else "The hub cannot be reached"
        return (
            f"{source.repo} is only half downloaded. {why}: connect, and try again; the download"
            " goes on where it broke off."
        )
    if isinstance(error, errors.OfflineModeIsEnabled) or (
        offline and isinstance(error, errors.LocalEntryNotFoundError)
    ):
        return (
            f"{source.repo} is not on this machine, or not all of it. {_OFFLINE}: unset it, or"
            f" bring the files into {constants.HF_HUB_CACHE} with `hf download {source.repo}`."
        )
    if isinstance(error, errors.LocalEntryNotFoundError):
        return (
            f"{source.repo} is not on this machine, or not all of it, and the hub cannot be"
            " reached: check the connection, and try again."
        )
    if isinstance(error, errors.HfHubHTTPError):
        return _refused(source, error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"The disk is full: {source.repo} did not fit into {constants.HF_HUB_CACHE}. Free some"
            " room, or set HF_HOME to a folder on a larger disk; the download goes on where it"
            " broke off."
        )
    if isinstance(error, PermissionError):
        return f"{constants.HF_HUB_CACHE} cannot be written to: set HF_HOME to a folder that can."
    return (
        f"{source.repo} could not be downloaded ({type(error).__name__}): check the connection, and"
        " try again."
    )


def _refused(source: Source, error: errors.HfHubHTTPError) -> str:
    status = error.response.status_code
    if status in (401, 403):
        return (
            f"The hub refuses {source.repo} (HTTP {status}): check that HF_TOKEN is valid and may"
            " read it."
        )
    if status == 429:
        return (
            "The hub asks for a pause (HTTP 429): try again in a few minutes, or set HF_TOKEN,"
            " which has more requests free."
        )
    return f"The hub has a problem with {source.repo} (HTTP {status}): try again in a few minutes."


def complete(source: Source, folder: Path) -> None:
    """Raises ModelError where `folder` lacks files of weights: the hub's client cannot tell for a
    cache filled by others."""
    again = f"delete {folder}, and the next start downloads it again"
    for index in sorted(folder.glob("*.safetensors.index.json")):
        for shard in shards(index):
            if not (folder / shard).is_file():
                raise ModelError(
                    f"{source.repo} is only half downloaded, {shard} is missing: {again}."
                )
    named = [name for name in source.files if name.endswith(_ENDINGS) and "*" not in name]
    for name in named:
        if not (folder / name).is_file():
            raise ModelError(f"{source.repo} is only half downloaded, {name} is missing: {again}.")
    if (
        not named
        and _weighty(source)
        and not any(p.suffix in _ENDINGS and p.is_file() for p in folder.iterdir())
    ):
        raise ModelError(
            f"{source.repo} has no file of weights here, or only half of one: {again}."
        )


def _weighty(source: Source) -> bool:
    return any(name.endswith((*_ENDINGS, "*")) for name in source.files)


def _bar(source: Source, tell: Progress) -> type[tqdm]:
    """A progress bar for the hub's client that draws nothing and tells how many bytes are here. The
    client makes one for bytes received, one for bytes written and one for files; the one that
    counts most bytes is the one to follow."""
    furthest = 0.0

    class Bar(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)  # the client's own bars have one
            super().__init__(*args, **{**kwargs, "file": io.StringIO(), "disable": False})

        def update(self, n: float | None = 1) -> bool | None:
            nonlocal furthest
            shown = super().update(n)
            if self.unit == "B" and self.total and self.n > furthest:
                furthest = self.n
                here, total = self.n / _GB, max(self.total, self.n) / _GB
                tell(here / total, f"Downloading {source.repo}: {here:.1f} of {total:.1f} GB")
            return shown

    return Bar
