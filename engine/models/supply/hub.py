"""Downloads files from the Hugging Face hub, at pinned revisions, into the hub's own cache.

HF_HOME and HF_HUB_OFFLINE are honoured. Every failure is a ModelError that says what to do. After a
broken connection the client asks for the rest of the file. A download that is started again keeps
the complete files and fetches the incomplete ones from their beginning.
"""

from __future__ import annotations

import errno
import io
import logging
from pathlib import Path
from typing import Any

from huggingface_hub import (
    HfApi,
    constants,
    errors,
    get_cached_repo_tree,
    snapshot_download,
    try_to_load_from_cache,
)
from tqdm import tqdm

from engine.models.supply.card import TORCHSCRIPT, ModelCard, ModelError, RepoFiles
from engine.models.supply.progress import Phase, Progress, Report
from engine.models.supply.weights import differing, shards

HUB_SECONDS = 10.0  # time limit for the hub to answer
# A host's own folder of weights; the files of a repository are in its subfolder owner/name.
folder_of_weights: Path | None = None
_ENDINGS = (".safetensors", ".pt", ".bin", TORCHSCRIPT)

_NAMED = 6  # missing files that a sentence names

log = logging.getLogger(__name__)


def set_folders(cache: Path | None, weights: Path | None) -> None:
    """Set the folder for downloads, and the host's own folder of weights.

    If `cache` is None, downloads go to the hub's own cache. The folder of weights has a subfolder
    owner/name for each repository whose files the host brought. If `weights` is None, there is no
    such folder.
    """
    global folder_of_weights
    if cache is not None:
        # The hub's client read its environment when it was imported.
        constants.HF_HUB_CACHE = str(cache)
    folder_of_weights = weights


def fetch_all(card: ModelCard, report: Report = lambda progress: None) -> dict[str, Path]:
    """Fetch every source of a model; return the folder of each part."""
    width = 1 / len(card.repos)

    def fetch_part(index: int, source: RepoFiles) -> Path:
        return fetch(source, lambda progress: report(progress.within(index * width, width)))

    return {source.part: fetch_part(i, source) for i, source in enumerate(card.repos)}


def fetch(source: RepoFiles, report: Report = lambda progress: None) -> Path:
    """Return the folder with the source's files, after downloading those that are missing.

    If the folder of weights has a folder for the source, that folder is returned and nothing is
    downloaded. Otherwise the folder is in the hub's cache. If files had to be downloaded, all files
    are compared with their pinned digests. Raises ModelError if files are missing, differ, or
    cannot be downloaded.
    """
    report(Progress(Phase.LOOKING_UP, 0.0))
    if (here := own_folder(source)) is not None:
        complete(source, here)
        return here
    compared = not source.digests or at_hand(source) is not None
    try:
        folder = _snapshot(source, tqdm_class=_bar(report))
    # connections fail with the classes of whatever HTTP library the hub's client uses
    except Exception as error:
        # The path is for the host; visitors read the message.
        cache, kind = constants.HF_HUB_CACHE, type(error).__name__
        log.warning("%s could not be fetched into %s: %s: %s", source.repo, cache, kind, error)
        raise ModelError(explain(source, error)) from error
    complete(source, folder)
    if not compared:
        _reject_others(source, folder)
    report(Progress(Phase.DOWNLOADING, 1.0))
    return folder


def _reject_others(source: RepoFiles, folder: Path) -> None:
    """Remove the files in `folder` whose digest is not the pinned one.

    The folder is in the hub's cache, and the next start would use these files. If any file was
    removed, raises ModelError, which names the removed files.
    """
    others = differing(folder, source.digests)
    for name in others:
        (folder / name).resolve().unlink()
        (folder / name).unlink(missing_ok=True)
    if others:
        raise ModelError(
            f"What was downloaded of {source.repo} is not what was pinned: {', '.join(others)} has"
            " another digest, and was removed. Try again, and if it comes again, pin the repository"
            " anew."
        )


def own_folder(source: RepoFiles) -> Path | None:
    """Return the source's folder in the host's own folder of weights (`set_folders`), or None."""
    folder = folder_of_weights and folder_of_weights / source.repo
    return folder if folder and folder.is_dir() else None


def at_hand(source: RepoFiles) -> Path | None:
    """Return the folder on this machine with a source's files, or None.

    If the host's own folder of weights has a folder for the source, that folder is returned. Raises
    ModelError if weight files are missing there. Otherwise the folder is in the hub's cache; the
    result is None if files are missing in the cache.
    """
    if (folder := own_folder(source)) is not None:
        complete(source, folder)
        return folder
    try:
        folder = _snapshot(source, local_files_only=True)
        complete(source, folder)
    except Exception:  # one of the client's many classes, or from `complete`
        return None
    return folder


def _snapshot(source: RepoFiles, **options: Any) -> Path:
    patterns = list(source.files)
    return Path(
        snapshot_download(source.repo, revision=source.revision, allow_patterns=patterns, **options)
    )


def require(card: ModelCard) -> None:
    """Raise ModelError if a model's files are neither on this machine nor on a reachable hub.

    The hub has to answer within HUB_SECONDS. Nothing is downloaded.
    """
    for source in card.repos:
        if at_hand(source):
            continue
        try:
            HfApi().model_info(source.repo, revision=source.revision, timeout=HUB_SECONDS)
        except Exception as error:
            raise ModelError(explain(source, error)) from error


def explain(source: RepoFiles, error: Exception) -> str:
    """Return a message for the user: what went wrong and what to do.

    Subclasses are tested before their bases. For the hub's client a gated repository is a kind of
    missing repository, and an incomplete snapshot a kind of missing entry.
    """
    page = f"https://huggingface.co/{source.repo}"
    offline = constants.is_offline_mode()
    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(
        error.__cause__, errors.HfHubHTTPError
    ):
        return explain(source, error.__cause__)  # the hub was reached, and its answer says more
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
            f" engine.models.supply.pin_revisions {source.repo}` pins the one that it has now."
        )
    if isinstance(error, (errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError)):
        bring = (
            f"bring the files into the hub's cache (`hf download {source.repo}`) or into a folder"
            " of weights (PHOTO_FINISH_WEIGHTS, or --weights of a command)."
        )
        if offline or isinstance(error, errors.OfflineModeIsEnabled):
            return (
                f"{absent(source)}. This machine may not ask the hub (HF_HUB_OFFLINE is set): unset"
                f" it, or {bring}"
            )
        return (
            f"{absent(source)}. The hub cannot be reached: check the connection (behind a proxy:"
            f" HTTPS_PROXY) and try again, or {bring}"
        )
    if isinstance(error, errors.HfHubHTTPError):
        return _http_error(source, error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"The disk is full: {source.repo} did not fit into the hub's cache. Free some"
            " room, or set HF_HOME to a folder on a larger disk; files that are whole stay."
        )
    if isinstance(error, PermissionError):
        return "The hub's cache cannot be written to: set HF_HOME to a folder that can."
    return (
        f"{source.repo} could not be downloaded ({type(error).__name__}): check the connection, and"
        " try again; files that are whole stay."
    )


def absent(source: RepoFiles) -> str:
    """Return a sentence for the user on the files of a source that this machine lacks.

    The sentence names the files that are not in the hub's cache. It can do so if an earlier
    download listed the files or if they are pinned. Otherwise it names the patterns of the files.
    """
    try:
        listed = [each.path for each in get_cached_repo_tree(source.repo, revision=source.revision)]
    except errors.CachedRepoTreeNotFoundError:
        listed = [name for name, _ in source.digests]
    lacks = [
        name
        for name in list(filter(source.takes, listed)) or source.files
        if not isinstance(try_to_load_from_cache(source.repo, name, revision=source.revision), str)
    ]
    words = f"{source.repo} is not on this machine, or not all of it"
    if lacks:
        more = f" and {len(lacks) - _NAMED} more" if len(lacks) > _NAMED else ""
        words += f": the hub's cache lacks {', '.join(lacks[:_NAMED])}{more}"
    return words


def _http_error(source: RepoFiles, error: errors.HfHubHTTPError) -> str:
    status = error.response.status_code
    if status in (401, 403):
        return (
            f"The hub rejects {source.repo} (HTTP {status}): check that HF_TOKEN is valid and may"
            " read it."
        )
    if status == 429:
        return (
            "The hub asks for a pause (HTTP 429): try again in a few minutes, or set HF_TOKEN,"
            " which has more requests free."
        )
    return f"The hub has a problem with {source.repo} (HTTP {status}): try again in a few minutes."


def complete(source: RepoFiles, folder: Path) -> None:
    """Raise ModelError if weight files are missing in `folder`.

    The hub's client does not notice missing files in a cache that another program filled.
    """
    again = "delete its folder, and the next start downloads it again"
    if folder == own_folder(source):
        again = "bring it into the folder of weights"
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
        and _has_weights(source)
        and not any(p.suffix in _ENDINGS and p.is_file() for p in folder.iterdir())
    ):
        raise ModelError(
            f"{source.repo} has no file of weights here, or only half of one: {again}."
        )


def _has_weights(source: RepoFiles) -> bool:
    return any(name.endswith((*_ENDINGS, "*")) for name in source.files)


def _bar(report: Report) -> type[tqdm]:
    """Return a class of progress bars that draw nothing, but report the bytes downloaded.

    The hub's client makes one bar for bytes received, one for bytes written and one for files. The
    report follows the larger of the two byte counts.
    """
    furthest = 0

    class Bar(tqdm):
        monitor_interval = 0  # else tqdm starts a thread for each such class, which never ends

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)  # an argument of the client's own bars
            super().__init__(*args, **{**kwargs, "file": io.StringIO(), "disable": False})

        def update(self, n: float | None = 1) -> bool | None:
            nonlocal furthest
            drawn = super().update(n)
            if self.unit == "B" and self.total and self.n > furthest:
                furthest = int(self.n)
                total = int(max(self.total, furthest))
                report(Progress(Phase.DOWNLOADING, furthest / total, furthest, total))
            return drawn

    return Bar
