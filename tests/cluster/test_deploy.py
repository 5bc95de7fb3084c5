"""The files of deploy/, as far as they can be checked without a cluster."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config
from ray.serve.schema import ServeDeploySchema

from app import settings
from cluster.connection import SENT
from cluster.options import Options
from tests.pages import ROOT, page

FOLDER = ROOT / "deploy"


def read(name: str) -> dict[str, Any]:
    return yaml.safe_load((FOLDER / name).read_text("utf-8"))


@pytest.fixture
def service() -> dict[str, Any]:
    return read("kuberay.yaml")


@pytest.fixture
def serving(service) -> ServeDeploySchema:
    return ServeDeploySchema.model_validate(yaml.safe_load(service["spec"]["serveConfigV2"]))


def pods(service: dict[str, Any]) -> list[dict[str, Any]]:
    ray = service["spec"]["rayClusterConfig"]
    groups = [ray["headGroupSpec"], *ray["workerGroupSpecs"]]
    return [group["template"]["spec"] for group in groups]


def test_kuberay_serves_an_application_that_is_there_with_options_that_it_has(serving) -> None:
    (application,) = serving.applications
    module, name = application.import_path.split(":")
    build = getattr(importlib.import_module(module), name)
    assert build(Options(**application.args))
    assert application.route_prefix == "/"


def test_kuberay_sets_settings_that_the_page_reads(serving, monkeypatch) -> None:
    variables = serving.applications[0].runtime_env["env_vars"]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert settings.read(variables).queue_size == int(variables["PHOTO_FINISH_QUEUE_SIZE"])


def test_kuberay_has_what_its_service_needs(service) -> None:
    assert (service["apiVersion"], service["kind"]) == ("ray.io/v1", "RayService")
    ray = service["spec"]["rayClusterConfig"]
    assert f"ray[serve]=={ray['rayVersion']}" in page("requirements-cluster.txt")
    assert ray["authOptions"] == {"mode": "token"}
    home = re.search(r"^WORKDIR (.+)$", page("Dockerfile"), re.MULTILINE)[1]
    for pod in pods(service):
        # Kubernetes' names for the service photo-finish-serve-svc begin as our settings do.
        assert pod["enableServiceLinks"] is False
        (container,) = pod["containers"]
        assert {"name": "PYTHONPATH", "value": home} in container["env"]
        assert container["resources"]["requests"] == container["resources"]["limits"]


def test_kuberays_racers_fit_their_machines_and_there_are_enough(service, serving) -> None:
    options = Options(**serving.applications[0].args)
    (group,) = service["spec"]["rayClusterConfig"]["workerGroupSpecs"]
    limits = group["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert limits["nvidia.com/gpu"] == options.gpus
    assert limits["cpu"] >= options.cpus
    assert (group["minReplicas"], group["maxReplicas"]) == (options.least, options.most)


def test_the_head_opens_the_ports_that_are_served(service, serving) -> None:
    head, worker = (pod["containers"][0] for pod in pods(service))
    ports = {port["name"]: port["containerPort"] for port in head["ports"]}
    assert ports["serve"] == serving.http_options.port
    assert ports["metrics"] == worker["ports"][0]["containerPort"] == 8080


def test_the_cluster_file_is_one_that_ray_takes() -> None:
    config = read("ray-cluster.yaml")
    validate_config(prepare_config(config))
    workers = config["provider"]["worker_ips"]
    assert len(workers) == len(set(workers)) == config["max_workers"]


def test_the_cluster_files_own_command_is_one_of_ours() -> None:
    text = (FOLDER / "ray-cluster.yaml").read_text("utf-8")
    options = re.search(r"-m cluster (.+?)'", text)[1]
    known = set(re.findall(r'add_argument\(\s*"(--[\w-]+)"', page("cluster/__main__.py")))
    assert set(re.findall(r"--[\w-]+", options)) < known


def test_the_cluster_files_machines_are_sent_what_the_page_needs_and_no_more() -> None:
    config = read("ray-cluster.yaml")
    mounts = config["file_mounts"]
    assert mounts.pop("~/.ray/auth_token") == "~/.ray/auth_token"
    home = "~/photo-finish/"
    assert all(there == home + here for there, here in mounts.items())
    files = {"requirements.txt", "requirements-cluster.txt", "constraints.txt"}
    assert set(mounts.values()) == files | set(SENT)
    assert config["rsync_exclude"] == [".*", "__pycache__"]
