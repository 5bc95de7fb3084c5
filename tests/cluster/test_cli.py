"""`python -m cluster` where it cannot start, and what it sends to a cluster."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
import ray

from cluster import __main__ as cli
from cluster.application import Options
from tests.pages import ROOT


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cluster", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_a_port_in_use_is_said_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = start("--port", str(port))
    assert ended.returncode == 1
    assert not ended.stdout
    assert ended.stderr == (
        f"Photo Finish cannot start: 127.0.0.1 port {port} is in use, or not this machine's to"
        " serve. End what uses it, or choose another: --port.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--racers", "3", "2"), "at least 3 racers and at most 2"),
        (("--racers", "0", "2"), "least: Input should be greater than or equal to 1"),
        (("--gpus", "-1"), "gpus: Input should be greater than or equal to 0"),
    ],
)
def test_options_that_make_no_sense_are_said_in_words(monkeypatch, capsys, arguments, message):
    monkeypatch.setattr(sys, "argv", ["cluster", "--port", "0", *arguments])
    with pytest.raises(SystemExit):
        cli.main()
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
    for left_out in environment["excludes"]:
        assert left_out == "/.*" or left_out[1:] in {*os.listdir(ROOT), "node_modules"}


def test_a_cluster_of_this_machine_listens_on_loopback_with_a_token(monkeypatch) -> None:
    assert cli.LOCAL["RAY_AUTH_MODE"] == "token"
    assert cli.LOCAL["RAY_USAGE_STATS_ENABLED"] == "0"
    found = subprocess.run(
        [sys.executable, "-c", "import ray; print(ray.util.get_node_ip_address())"],
        env=os.environ | cli.LOCAL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.stdout.strip() == "127.0.0.1"


def test_options_are_those_of_the_command_line() -> None:
    assert Options() == Options(least=1, most=2, cpus=1, gpus=0, lanes_apart=False)
