"""`python -m cluster` where it cannot start, and what it sends to a cluster."""

from __future__ import annotations

import os
import socket
import sys
from types import SimpleNamespace

import pytest
import ray
import ray.serve
from ray._private.runtime_env.packaging import _get_excludes

from cluster import __main__ as cli
from cluster.options import Options
from tests.pages import ROOT


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


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_cluster_that_does_not_answer_is_said_in_words(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"{scheme}127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(SystemExit, match=f"no Ray cluster answers at {address}"):
        cli.connect(address)


def test_a_cluster_is_sent_the_code_and_the_settings_and_no_secret(monkeypatch) -> None:
    calls: list[dict[str, object]] = []
    monkeypatch.setattr(ray, "init", lambda *_, **options: calls.append(options))
    monkeypatch.setenv("PHOTO_FINISH_QUEUE_SIZE", "60")
    monkeypatch.setenv("HF_TOKEN", "secret")
    cli.connect("auto")
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
    monkeypatch.setattr(cli, "connect", lambda address: None)
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
    monkeypatch, tmp_path, before
) -> None:
    token, usual = tmp_path / ".ray" / "auth_token", os.umask(0o022)
    token.parent.mkdir()
    if before:
        token.write_text("readable to all")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(ray, "init", lambda **_: token.write_text("secret"))
    try:
        cli.connect(None)
    finally:
        os.umask(usual)
    assert token.stat().st_mode & 0o777 == 0o600


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
