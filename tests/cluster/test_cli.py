"""`python -m cluster` where it cannot start, and what it sends to a cluster."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import ray
import ray.serve
from ray._private.runtime_env.packaging import _get_excludes

from cluster import __main__ as cli
from cluster.options import Options
from tests.pages import ROOT
from tests.ports import free_port


@pytest.fixture
def start(monkeypatch):
    """Calls the command; returns what it would serve."""

    def start(*arguments: str) -> list[object]:
        served: list[object] = []
        monkeypatch.setattr(sys, "argv", ["cluster", *arguments])
        monkeypatch.setattr(cli, "serve", lambda *options: served.append(options))
        cli.main()
        return served

    return start


def test_a_port_in_use_is_said_in_words(start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit) as caught:
        start("--port", str(port := taken.getsockname()[1]))
    assert caught.value.code == (
        f"Photo Finish cannot start: 127.0.0.1 port {port} is in use, or not this machine's to"
        " serve. End what uses it, or choose another: --port."
    )


FRACTION = "Input should be a valid integer, got a number with a fractional part"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--racers", "3", "2"), "at least 3 racers and at most 2"),
        (("--racers", "0", "2"), "least: Input should be greater than or equal to 1"),
        (("--gpus", "-1"), "gpus: Input should be greater than or equal to 0"),
        (("--gpus", "0.5"), f"gpus: {FRACTION}"),
        (("--cpus", "3"), "1 racers of 3 cores need 3, and this machine has 2"),
        (("--racers", "3", "3"), "3 racers of 1 cores need 3, and this machine has 2"),
    ],
)
def test_options_without_sense_are_said_in_words(
    start, capsys, monkeypatch, arguments, message
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    with pytest.raises(SystemExit):
        start("--port", "0", *arguments)
    assert capsys.readouterr().err.endswith(f"error: {message}\n")


def test_rays_workers_find_the_code_wherever_the_command_is_started(start, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "others")
    assert start("--port", "0")
    assert os.environ["PYTHONPATH"] == f"{ROOT}{os.pathsep}others"


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_cluster_that_does_not_answer_is_said_in_words(scheme: str) -> None:
    with free_port() as port:
        address = f"{scheme}127.0.0.1:{port}"
        words = f"no Ray cluster answers at {address}"
        with pytest.raises(SystemExit, match=words), cli.connection(address):
            pass


def test_a_cluster_is_sent_the_code_and_the_settings_and_no_secret(monkeypatch) -> None:
    calls: list[dict[str, object]] = []
    monkeypatch.setattr(ray, "init", lambda *_, **options: calls.append(options))
    monkeypatch.setenv("PHOTO_FINISH_QUEUE_SIZE", "60")
    monkeypatch.setenv("HF_TOKEN", "secret")
    with cli.connection("auto"):
        environment = calls[0]["runtime_env"]
    assert environment["working_dir"] == str(ROOT)
    assert environment["env_vars"]["PHOTO_FINISH_QUEUE_SIZE"] == "60"
    assert "secret" not in str(environment)


def test_a_cluster_is_sent_what_a_race_needs_and_nothing_else() -> None:
    """By Ray's own reading of the patterns."""
    left_out = _get_excludes(ROOT, cli.LEFT_OUT)
    sent = {name for name in os.listdir(ROOT) if not left_out(ROOT / name)}
    assert not left_out(ROOT), "all of it would be left out"
    assert sent >= {"app", "app.py", "cluster", "engine", "static", "visualize", "weights"}
    assert not sent & {".git", ".venv", "docs", "examples", "node_modules", "tests", "train"}


def test_why_a_deployment_failed_is_said(monkeypatch) -> None:
    def run(application: object) -> None:
        raise RuntimeError("Failed to update the deployments ['page'].")

    page = SimpleNamespace(message="No module named 'cluster'")
    deployments = {"page": page, "racer": SimpleNamespace(message="")}
    status = SimpleNamespace(applications={"default": SimpleNamespace(deployments=deployments)})
    monkeypatch.setattr(cli, "connection", lambda address: nullcontext())
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
    for name, does in {"start": lambda **_: None, "run": run, "status": lambda: status}.items():
        monkeypatch.setattr(ray.serve, name, does)
    monkeypatch.setattr(ray.serve, "shutdown", lambda: None)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with pytest.raises(SystemExit) as caught:
        cli.serve(Options(), "auto", "127.0.0.1", 1)
    words = "Photo Finish cannot start: Failed to update the deployments ['page'].\n"
    assert caught.value.code == f"{words}page: No module named 'cluster'"


@pytest.mark.parametrize("before", [True, False])
def test_the_token_of_a_cluster_of_this_machine_is_its_users_alone(
    monkeypatch, home, before
) -> None:
    token = home / ".ray" / "auth_token"
    token.parent.mkdir()
    if before:
        token.write_text("readable to all")
    monkeypatch.setattr(ray, "init", lambda *_, **__: token.write_text("secret"))
    with cli.connection(None):
        assert token.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("depth", [0, 90])
def test_a_cluster_without_an_address_is_its_own_in_a_folder_that_goes_with_it(
    monkeypatch, tmp_path, depth
) -> None:
    """However long the temporary folder's path is, and also if it is interrupted while it starts;
    test_nodes.py starts one."""
    calls: list[tuple[str, Path]] = []

    def init(address: str, _temp_dir: str, **_: object) -> None:
        folder = Path(_temp_dir)
        calls.append((address, folder.parent))
        folder.mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr(ray, "init", init)
    if depth:
        (long := tmp_path / ("x" * depth)).mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(long))
    with pytest.raises(KeyboardInterrupt), cli.connection(None):
        pass
    ((address, folder),) = calls
    assert address == "local"
    assert len(f"{folder}/{cli.SOCKET}") <= cli.PATH_BYTES
    assert not folder.exists()


def test_options_come_from_the_command_line(start) -> None:
    changed = Options(least=1, most=3, cpus=0.5, gpus=1, lanes_apart=True)
    arguments = "--racers 1 3 --cpus 0.5 --gpus 1 --lanes-apart"
    for text, options in (("", Options()), (arguments, changed)):
        assert start("--port", "0", *text.split()) == [(options, None, "127.0.0.1", 0)]


def test_rays_environment_keeps_a_cluster_of_this_machine_to_it() -> None:
    """The tests' own is started in it (conftest.py)."""
    assert cli.LOCAL["RAY_AUTH_MODE"] == "token"
    assert cli.LOCAL["RAY_USAGE_STATS_ENABLED"] == "0"
    assert ray.util.get_node_ip_address() == "127.0.0.1"
