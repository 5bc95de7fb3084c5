"""Fetching from the hub: the calls of its client, and the message of each failure.
No network is used."""

from __future__ import annotations

import dataclasses
import errno
import json
import re
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import httpx2
import pytest
from huggingface_hub import HfApi, constants, errors, snapshot_download
from huggingface_hub.file_download import repo_folder_name

from engine.models.supply import hub, pin_revisions
from engine.models.supply.card import CARDS, ModelError, RepoFiles
from engine.models.supply.progress import Phase, Progress

HASH = "0123456789abcdef" * 2 + "01234567"
SOURCE = RepoFiles(
    "model", "someone/painter", HASH, ("config.json", "*.safetensors", "*.index.json")
)
ELSEWHERE = RepoFiles("model", "someone/else", "main", ("*.json",))
# What the hub says of a repository's files: the large one's SHA-256, and git's blob ids.
LARGE = SimpleNamespace(sha256="a" * 64)
SIBLINGS = [
    SimpleNamespace(rfilename="model.safetensors", lfs=LARGE, blob_id="b" * 40),
    SimpleNamespace(rfilename="config.json", lfs=None, blob_id="c" * 40),
    SimpleNamespace(rfilename="painting.png", lfs=None, blob_id="d" * 40),
]
NEWEST = SimpleNamespace(sha="f" * 40, siblings=SIBLINGS)
PINNED = {"commit": "f" * 40, "files": {"model.safetensors": LARGE.sha256, "config.json": "c" * 40}}


def http(
    status: int, kind: type[errors.HfHubHTTPError] = errors.HfHubHTTPError
) -> errors.HfHubHTTPError:
    request = httpx2.Request("GET", "https://huggingface.co/api/models/someone/painter")
    return kind(f"{status} for url secret-token", response=httpx2.Response(status, request=request))


PAGE = "https://huggingface.co/someone"
PIN = "`python -m engine.models.supply.pin_revisions"
ABSENT = "not on this machine, or not all of it"
LACKS = rf"{ABSENT}: the hub's cache lacks config.json, \*.safetensors, \*.index.json\. "
ALONE = r"The hub cannot be reached: check the connection \(behind a proxy: HTTPS_PROXY\) and try"
FAILED = "could not be downloaded"
FAILURES: list[tuple[Exception, str]] = [
    (errors.IncompleteSnapshotError("", "/x"), f"{LACKS}{ALONE}"),
    (errors.LocalEntryNotFoundError("nothing"), f"{LACKS}{ALONE} .* .PHOTO_FINISH_WEIGHTS"),
    (errors.OfflineModeIsEnabled("offline"), rf"{LACKS}.*HF_HUB_OFFLINE is set.: unset it, or"),
    (http(401), r"rejects someone/painter \(HTTP 401\): check that HF_TOKEN"),
    (http(429), "asks for a pause"),
    (http(503), r"has a problem with someone/painter \(HTTP 503\): try again"),
    (OSError(errno.ENOSPC, "No space"), "The disk is full: someone/painter did not fit .*HF_HOME"),
    (PermissionError(errno.EACCES, "Permission denied"), "cannot be written to: set HF_HOME"),
    (httpx2.ConnectError("no route"), rf"{FAILED} \(ConnectError\): check the connection"),
    (RuntimeError("xet went away"), rf"{FAILED} \(RuntimeError\)"),
]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache of the hub's layout with one repository in it, on a machine that may ask nobody; its
    folder of files."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / repo_folder_name(repo_id=SOURCE.repo, repo_type="model")
    snapshot = repository / "snapshots" / HASH
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(HASH)
    (snapshot / "config.json").write_text("{}")
    (snapshot / "model.safetensors").write_bytes(b"weights")
    return snapshot


@pytest.mark.parametrize(
    ("error", "message"), FAILURES, ids=[type(error).__name__ for error, _ in FAILURES]
)
def test_each_failure_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "snapshot_download", Mock(side_effect=error))
    with pytest.raises(ModelError, match=message) as caught:
        hub.fetch(SOURCE)
    assert "secret-token" not in str(caught.value)
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("revision", [HASH, "main"])
def test_offline_the_cache_is_used(offline: Path, revision: str) -> None:
    reports: list[Progress] = []
    source = dataclasses.replace(SOURCE, revision=revision)
    assert hub.fetch(source, reports.append) == offline
    assert reports == [Progress(Phase.LOOKING_UP, 0.0), Progress(Phase.DOWNLOADING, 1.0)]


def test_offline_missing_files_are_reported(offline: Path) -> None:
    message = r"someone/else is not on this machine, .*HF_HUB_OFFLINE.*hf download someone/else"
    with pytest.raises(ModelError, match=message):
        hub.fetch(ELSEWHERE)


@pytest.mark.parametrize("revision", ["main", HASH])
def test_offline_half_a_download_names_what_did_not_come(offline: Path, revision: str) -> None:
    """By the listing that a download leaves in the cache."""
    trees = offline.parents[1] / "trees"
    trees.mkdir()
    shards = [f"model-{i}.safetensors" for i in range(7)]
    names = ("config.json", "model.safetensors", "painting.png", *shards)
    files = {name: {"size": 7, "blob_id": "a" * 40} for name in names}
    (trees / f"{HASH}.json").write_text(json.dumps({"format_version": 1, "files": files}))
    lacks = rf"{ABSENT}: the hub's cache lacks {', '.join(shards[:6])} and 1 more\. .*OFFLINE"
    with pytest.raises(ModelError, match=lacks):
        hub.fetch(dataclasses.replace(SOURCE, revision=revision))


def test_what_is_pinned_is_missed_by_its_name(offline: Path) -> None:
    digests = (("config.json", "c" * 40), ("tail.safetensors", LARGE.sha256))
    source = dataclasses.replace(SOURCE, revision="e" * 40, digests=digests)
    assert hub.absent(source).endswith("lacks config.json, tail.safetensors")


INDEX, MAP = "model.safetensors.index.json", '{"weight_map": {"a": "b.safetensors"}}'


@pytest.mark.parametrize(
    ("wanted", "present", "text", "message"),
    [
        ("*.safetensors", None, "", "no file of weights here"),
        ("model*", "config.json", "{}", "no file of weights here"),
        ("gpt.pt", "vq.pt", "", r"gpt\.pt is missing"),
        ("decoder.jit", "encoder.jit", "", r"decoder\.jit is missing"),
        ("*.safetensors", INDEX, MAP, r"b\.safetensors is missing"),
        ("*.safetensors", INDEX, "half of", "not an index of weights"),
    ],
)
def test_a_cache_that_others_filled_is_looked_through(
    tmp_path: Path, wanted: str, present: str | None, text: str, message: str
) -> None:
    if present:
        (tmp_path / present).write_text(text)
    with pytest.raises(ModelError, match=message):
        hub.complete(dataclasses.replace(SOURCE, files=(wanted,)), tmp_path)


def test_a_link_to_a_blob_that_is_gone_is_half_a_download(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").symlink_to(tmp_path / "blob")
    with pytest.raises(ModelError, match="half of one"):
        hub.complete(SOURCE, tmp_path)


def test_a_tokenizer_needs_no_weights(tmp_path: Path) -> None:
    hub.complete(dataclasses.replace(SOURCE, files=("tokenizer.json",)), tmp_path)


def test_progress_counts_bytes_from_any_thread_and_never_goes_back(
    monkeypatch: pytest.MonkeyPatch, offline: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def download(repo: str, **options: Any) -> str:
        bar = options["tqdm_class"]
        received, written = (
            bar(desc=d, total=0, initial=0, unit="B", unit_scale=True, name="x") for d in "ab"
        )
        written.total = received.total = 4_000_000_000
        for _ in range(4):
            for each in (received, written):
                worker = threading.Thread(target=each.update, args=(1_000_000_000,))
                worker.start()
                worker.join()
        with bar(total=3, desc="Fetching 3 files") as files:
            files.update(3)
        return str(offline)

    monkeypatch.setattr(hub, "snapshot_download", download)
    reports: list[Progress] = []
    before = set(threading.enumerate())
    hub.fetch(SOURCE, reports.append)
    new = set(threading.enumerate()) - before
    assert "tqdm_monitor" not in {thread.name for thread in new}
    assert [progress.fraction for progress in reports] == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
    assert reports[2] == Progress(Phase.DOWNLOADING, 0.5, 2_000_000_000, 4_000_000_000)
    assert capfd.readouterr() == ("", ""), "the page's bar is the only one"


FILES = {"config.json": b"{}", "model.safetensors": bytes(200_000), "painting.png": b"not needed"}
# Of the two that are downloaded, as `git hash-object` and `sha256sum` have them.
DIGESTS = (
    ("config.json", "9e26dfeeb6e641a33dae4961196235bdb965b21b"),
    ("model.safetensors", "4cbbd9be0cba685835755f827758705db5a413c5494c34262cd25946a73e7582"),
)


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """A hub on this machine that the real client talks to: one repository at one commit, and some
    that it rejects. Its requests, in order."""
    requests: list[str] = []

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            requests.append(path)
            repository = "/".join(path.removeprefix("/api/models").split("/")[1:3])
            if repository in REJECTED:
                status, code = REJECTED[repository]
                return self.answer(status, b"{}", {"X-Error-Code": code})
            ids = {name: f"{i:040d}" for i, name in enumerate(FILES)}
            if path.startswith(f"/api/models/{SOURCE.repo}/tree/{HASH}"):
                tree = [
                    {"type": "file", "path": name, "size": len(FILES[name]), "oid": ids[name]}
                    for name in FILES
                ]
                return self.answer(200, json.dumps(tree).encode(), {})
            name = path.removeprefix(f"/{SOURCE.repo}/resolve/{HASH}/")
            if name in FILES:
                headers = {"X-Repo-Commit": HASH, "ETag": f'"{ids[name]}"'}
                asked = self.headers.get("Range")
                if asked is None:
                    return self.answer(200, FILES[name], headers)
                begin = int(asked.removeprefix("bytes=").removesuffix("-"))
                requests.append(asked)
                return self.answer(206, FILES[name][begin:], headers)
            return self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})

        do_HEAD = do_GET

        def answer(self, status: int, data: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for key, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(
                    data[: BROKEN_OFF.pop()] if BROKEN_OFF and len(data) > 10**5 else data
                )

        def log_message(self, *args: object) -> None:
            """Keeps quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    here = {"endpoint": f"http://127.0.0.1:{server.server_port}", "cache_dir": tmp_path}
    monkeypatch.setattr(hub, "snapshot_download", partial(snapshot_download, **here, token=False))
    yield requests
    server.shutdown()
    server.server_close()


BROKEN_OFF: list[int] = []  # how much of a large file is sent before the connection ends
REJECTED = {
    "someone/gated": (403, "GatedRepo"),
    "someone/hidden": (404, "RepoNotFound"),
    "someone/closed": (403, ""),
}


def test_the_real_client_downloads_the_files_and_reports_progress(
    far: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    reports: list[Progress] = []
    folder = hub.fetch(SOURCE, reports.append)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        n: FILES[n] for n in ("config.json", "model.safetensors")
    }
    assert not any("painting" in path for path in far)
    fractions = [progress.fraction for progress in reports]
    assert fractions == sorted(fractions)
    assert any(progress.phase is Phase.DOWNLOADING and progress.total for progress in reports)
    assert "%" not in capfd.readouterr().err, "the client draws no bar of its own"
    before = len(far)
    assert hub.fetch(SOURCE) == folder
    assert not any("resolve" in path for path in far[before:]), "what is here is not fetched again"


def test_a_connection_that_breaks_off_goes_on_where_it_did(
    far: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 10_000)
    BROKEN_OFF.append(70_000)
    folder = hub.fetch(SOURCE)
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert "bytes=70000-" in far


def test_half_a_download_is_completed_and_what_was_whole_is_not_fetched_again(
    far: list[str], tmp_path: Path
) -> None:
    folder = hub.fetch(SOURCE)
    file = folder / "model.safetensors"
    file.resolve().unlink()
    file.unlink()
    before = len(far)
    hub.fetch(SOURCE)
    assert file.read_bytes() == FILES["model.safetensors"]
    assert not any("config.json" in path for path in far[before:])


def test_a_download_is_compared_with_its_digests_once(
    far: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = dataclasses.replace(SOURCE, digests=DIGESTS)
    hub.fetch(source)
    monkeypatch.setattr(hub, "differing", Mock(side_effect=AssertionError))
    hub.fetch(source)


def test_a_download_that_is_not_what_was_pinned_is_removed(far: list[str]) -> None:
    source = dataclasses.replace(SOURCE, digests=(DIGESTS[0], ("model.safetensors", "a" * 64)))
    for _ in range(2):  # the second time it is not taken for the right one
        with pytest.raises(ModelError) as caught:
            hub.fetch(source)
        assert str(caught.value).startswith(
            "What was downloaded of someone/painter is not what was pinned: model.safetensors has"
            " another digest, and was removed."
        )
    assert sum("model.safetensors" in path for path in far) >= 2


@pytest.mark.parametrize(
    ("repo", "revision", "message"),
    [
        ("someone/gated", HASH, f"is gated: accept its licence on {PAGE}/gated, then set HF_TOKEN"),
        ("someone/hidden", HASH, "someone/hidden is not on the hub, or not for everyone"),
        ("someone/painter", "f" * 40, f"no revision {'f' * 40}: {PIN} someone/painter`"),
        (
            "someone/closed",
            HASH,
            r"The hub rejects someone/closed \(HTTP 403\): check that HF_TOKEN",
        ),
    ],
)
def test_the_hubs_answers_become_messages(
    far: list[str], repo: str, revision: str, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        hub.fetch(dataclasses.replace(SOURCE, repo=repo, revision=revision))


@pytest.fixture
def revisions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    file = tmp_path / "revisions.json"
    file.write_text(json.dumps({"someone/painter": None, "someone/else": PINNED}))
    card = dataclasses.replace(CARDS["janus-pro-1b"], repos=(SOURCE, ELSEWHERE), drafter=None)
    monkeypatch.setattr(pin_revisions, "CARDS", {"janus-pro-1b": card})
    return file


def test_pinning_writes_hash_and_digests_and_keeps_what_it_cannot_ask(
    monkeypatch: pytest.MonkeyPatch, revisions: Path
) -> None:
    def info(self: HfApi, repo: str, revision: str, files_metadata: bool) -> SimpleNamespace:
        assert revision == "main"
        assert files_metadata
        if repo == "someone/else":
            raise http(404, errors.RepositoryNotFoundError)
        return NEWEST

    monkeypatch.setattr(HfApi, "model_info", info)
    (failure,) = pin_revisions.pin(["someone/painter", "someone/else"], revisions)
    assert "someone/else is not on the hub" in failure
    assert json.loads(revisions.read_text()) == {"someone/painter": PINNED, "someone/else": PINNED}


def test_the_pinning_command(
    monkeypatch: pytest.MonkeyPatch, revisions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pin_revisions, "REVISIONS", revisions)
    monkeypatch.setattr(pin_revisions.pin, "__defaults__", (revisions,))
    monkeypatch.setattr(HfApi, "model_info", lambda *args, **options: NEWEST)
    monkeypatch.setattr(sys, "argv", ["pin"])
    pin_revisions.main()
    assert f"pinned in {revisions}" in capsys.readouterr().out
    pinned = json.loads(revisions.read_text())
    assert {repo: list(pin["files"]) for repo, pin in pinned.items()} == {
        "someone/painter": ["model.safetensors", "config.json"],
        "someone/else": ["config.json"],
    }
    monkeypatch.setattr(HfApi, "model_info", Mock(side_effect=errors.OfflineModeIsEnabled("")))
    monkeypatch.setattr(sys, "argv", ["pin", "someone/else"])
    with pytest.raises(SystemExit, match=re.escape("someone/else is not on this machine")):
        pin_revisions.main()
    monkeypatch.setattr(sys, "argv", ["pin", "no/such"])
    with pytest.raises(SystemExit) as caught:
        pin_revisions.main()
    assert caught.value.code == 2


def test_a_model_is_to_be_had_where_its_files_are_here_or_the_hub_answers(
    monkeypatch: pytest.MonkeyPatch, offline: Path
) -> None:
    here = dataclasses.replace(CARDS["janus-pro-1b"], repos=(SOURCE,))
    hub.require(here)
    away = dataclasses.replace(here, repos=(SOURCE, ELSEWHERE))
    with pytest.raises(ModelError, match="someone/else is not on this machine"):
        hub.require(away)
    asked = list[str]()
    monkeypatch.setattr(HfApi, "model_info", lambda self, repo, **options: asked.append(repo))
    hub.require(away)
    assert asked == ["someone/else"]


@pytest.fixture
def weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The source's folder in a folder of weights, without any file; the hub is not asked."""
    monkeypatch.setattr(hub, "folder_of_weights", tmp_path)
    monkeypatch.setattr(hub, "snapshot_download", None)
    monkeypatch.setattr(hub, "HfApi", None)
    folder = tmp_path / "someone" / "painter"
    folder.mkdir(parents=True)
    return folder


def test_weights_that_a_host_has_are_read_where_they_are(weights: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        (weights / name).touch()
    assert hub.fetch(SOURCE) == weights
    hub.require(dataclasses.replace(CARDS["janus-pro-1b"], repos=(SOURCE,)))


def test_a_file_that_is_missing_there_is_named_without_the_folder(weights: Path) -> None:
    index = {"weight_map": {"key": "model-00001-of-00001.safetensors"}}
    (weights / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError) as caught:
        hub.fetch(SOURCE)
    assert str(caught.value) == (
        "someone/painter is only half downloaded, model-00001-of-00001.safetensors is missing:"
        " bring it into the folder of weights."
    )


def test_what_is_not_among_them_comes_from_the_hub(
    weights: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "model.safetensors").touch()
    monkeypatch.setattr(hub, "snapshot_download", lambda repo, **options: str(tmp_path))
    assert hub.fetch(dataclasses.replace(SOURCE, repo="someone/else")) == tmp_path
