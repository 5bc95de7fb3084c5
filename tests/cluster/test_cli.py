"""`python -m cluster` where it cannot start, and what it waits for."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import ray
import ray.serve
import ray.serve._private.api
import torch
from ray.exceptions import RayActorError

from cluster import __main__ as cli
from cluster.options import Options
from tests.pages import ROOT

NODE = {
    "Alive": True,
    "Resources": {"CPU": 4.0},
    "NodeManagerAddress": "192.0.2.1",
    "MetricsExportPort": 8080,
}


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
        f"Photo Finish cannot start: 127.0.0.1 port {port} is in use, or this machine may not"
        " serve on it. End the program that uses it, or choose another port with --port."
    )


FRACTION = "Input should be a valid integer, got a number with a fractional part"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--racers", "3", "2"), "the least number of racers, 3, is above the most, 2"),
        (("--racers", "0", "2"), "least: Input should be greater than or equal to 1"),
        (("--gpus", "-1"), "gpus: Input should be greater than or equal to 0"),
        (("--gpus", "0.5"), f"gpus: {FRACTION}"),
        (("--cpus", "3"), "1 racers of 3 cores need 3, but this machine has 2"),
        (("--racers", "3", "3"), "3 racers of 1 cores need 3, but this machine has 2"),
        (("--gpus", "1"), "1 racers of 1 GPUs need 1, but this machine has 0"),
        (("--route", "class"), "--route is a path such as /photo-finish"),
        (("--route", "/class/"), "--route is a path such as /photo-finish"),
    ],
)
def test_options_without_sense_are_said_in_words(
    start, capsys, monkeypatch, arguments, message
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(SystemExit):
        start("--port", "0", *arguments)
    assert capsys.readouterr().err.endswith(f"error: {message}\n")


def test_rays_workers_find_the_code_wherever_the_command_is_started(start, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "others")
    assert start("--port", "0")
    assert os.environ["PYTHONPATH"] == f"{ROOT}{os.pathsep}others"


def test_options_come_from_the_command_line(start, monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    changed = Options(least=1, most=3, cpus=0.5, gpus=1, lanes_apart=True)
    arguments = "--racers 1 3 --cpus 0.5 --gpus 1 --lanes-apart"
    for text, options in (("", Options()), (arguments, changed)):
        assert start("--port", "0", *text.split()) == [(options, None, "127.0.0.1", 0, "/")]


@pytest.fixture
def serve(monkeypatch):
    """Calls `serve` on a cluster where its application is, one look after another, as said; None:
    it is not there. The cluster's Serve has port 1. Returns the sentence with which it ends, its
    application deleted."""

    def serve(statuses: list[object], port: int = 1) -> str:
        deployed, deleted, listed = [], [], iter(statuses)

        def status() -> object:
            found = next(listed)
            if isinstance(found, Exception):
                raise found
            names = [each.name for each in deployed]
            return SimpleNamespace(applications={name: found for name in names if found})

        running = SimpleNamespace(http_config=SimpleNamespace(host="127.0.0.1", port=1))
        monkeypatch.setattr(cli, "connection", lambda address: nullcontext())
        monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
        monkeypatch.setattr(cli, "WATCH_SECONDS", 0)
        monkeypatch.setattr(ray, "nodes", lambda: [NODE])
        monkeypatch.setattr(ray.serve._private.api, "serve_start", lambda **_: running)
        monkeypatch.setattr(ray.serve, "run_many", lambda apps, **_: deployed.extend(apps))
        monkeypatch.setattr(ray.serve, "status", status)
        monkeypatch.setattr(ray.serve, "delete", deleted.append)
        with pytest.raises(SystemExit) as caught:
            cli.serve(Options(gpus=1), "auto", "127.0.0.1", port, "/class")
        assert deleted == [each.name for each in deployed]
        return caught.value.code

    return serve


def test_another_port_than_serves_is_said_in_words(serve) -> None:
    assert "listens only on 127.0.0.1:1, not on 127.0.0.1:2. Give --host" in serve([], port=2)


def application(status: str, **why: str) -> object:
    deployments = {name: SimpleNamespace(message=text) for name, text in why.items()}
    return SimpleNamespace(status=status, message="It failed.", deployments=deployments)


def test_why_a_deployment_failed_is_said(serve) -> None:
    failed = application("DEPLOY_FAILED", page="No module named 'cluster'", racer="")
    words = "Photo Finish cannot start: It failed.\nNo module named 'cluster'"
    assert serve([failed]) == words


def test_what_it_waits_for_is_said_at_once_and_as_it_changes(serve, capsys) -> None:
    slow = (
        "Deployment '{}' has 1 replicas that have taken more than 30s to initialize.\nThis may be"
    )
    waits = application("DEPLOYING", racer="No GPU is free.", page="")
    starts = application("DEPLOYING", racer=slow.format("racer"), page=slow.format("page"))
    serve([application("DEPLOYING"), waits, waits, starts, application("RUNNING"), None])
    assert capsys.readouterr().out.splitlines() == [
        "Photo Finish waits for machines: the cluster has room for 0 racers of 1 cores and 1 GPUs"
        " each, but 1 are needed.",
        "Photo Finish is not on the cluster yet. No GPU is free.",
        "Photo Finish is not on the cluster yet. It is still starting: loading a model may take"
        " minutes.",
        "Photo Finish is on http://127.0.0.1:1/class of the cluster's head, its metrics on"
        " http://192.0.2.1:8080/metrics",
    ]


@pytest.mark.parametrize("end", [None, application("DELETING"), RayActorError()])
def test_it_ends_with_a_sentence_when_its_application_is_gone(serve, end) -> None:
    assert serve([application("RUNNING"), end]) == cli.GONE
