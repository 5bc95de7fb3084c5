"""What a host reads besides the code: the README's front matter, the requirements, the Dockerfile.

No image can be built where the tests run, so the Dockerfile is held against the repository, and its
health check is run.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from PIL import Image

from engine.models.supply.card import CARDS
from tests.pages import ROOT, imports, page

COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
ZERO_GPU = ("2.8.0", "2.9.1", "2.10.0", "2.11.0")  # the torch that ZeroGPU has
# Spaces' configuration reference, and `license`, which the hub reads from every repository.
NEEDED = {
    *("title", "emoji", "colorFrom", "colorTo", "sdk", "sdk_version", "python_version"),
    *("app_file", "short_description", "models", "thumbnail", "license"),
}
KNOWN = NEEDED | {
    *("suggested_hardware", "app_port", "base_path", "fullWidth", "header", "datasets", "tags"),
    *("pinned", "hf_oauth", "hf_oauth_scopes", "disable_embedding"),
    *("startup_duration_timeout", "custom_headers", "preload_from_hub"),
}
CODE = ("app", "engine", "tools", "visualize")


@pytest.fixture(scope="module")
def front() -> dict[str, Any]:
    opening, matter, _ = page("README.md").split("---\n", 2)
    assert opening == "", "front matter begins the file"
    return yaml.safe_load(matter)


def environment(python: str) -> dict[str, str]:
    """What the markers of requirements ask for."""
    return {"python_version": python.rpartition(".")[0], "python_full_version": python}


def requirements(
    name: str = "requirements.txt", python: str = platform.python_version()
) -> dict[str, Requirement]:
    """The lines that hold on this Python, or on another."""
    lines = [line.split(" #")[0].strip() for line in page(name).splitlines()]
    read = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {
        canonicalize_name(each.name): each
        for each in read
        if each.marker is None or each.marker.evaluate(environment(python))
    }


def pins(python: str = platform.python_version()) -> dict[str, str]:
    read = requirements("constraints.txt", python)
    assert all(re.fullmatch(r"==[0-9a-z.+]+", str(each.specifier)) for each in read.values())
    return {name: str(each.specifier).removeprefix("==") for name, each in read.items()}


def test_front_matter_has_what_a_space_needs_and_nothing_unknown(front) -> None:
    assert NEEDED <= front.keys() <= KNOWN
    assert front["sdk"] == "gradio"
    assert {front["colorFrom"], front["colorTo"]} <= COLOURS
    assert len(front["emoji"]) == 1
    assert ord(front["emoji"]) > 0x2000
    assert front["header"] in ("mini", "default")
    assert 1 <= len(front["short_description"]) <= 60
    assert (ROOT / front["app_file"]).is_file()


def test_space_runs_the_gradio_that_is_tested(front) -> None:
    assert front["sdk_version"] == importlib.metadata.version("gradio") == pins()["gradio"]


def test_space_runs_a_python_that_is_supported(front) -> None:
    project = tomllib.loads(page("pyproject.toml"))["project"]
    assert front["python_version"] in ("3.10.13", "3.12.12"), "ZeroGPU has no other"
    assert front["python_version"] in SpecifierSet(project["requires-python"])
    assert front["license"] == project["license"].lower()


def test_models_are_those_that_race_unless_the_host_says_otherwise(front) -> None:
    repos = [
        source.repo for card in CARDS.values() if not card.research_only for source in card.repos
    ]
    assert front["models"] == list(dict.fromkeys(repos))


def test_thumbnail_is_an_address_of_a_picture_in_the_repository(front) -> None:
    match = re.fullmatch(
        r"https://huggingface\.co/spaces/[\w-]+/[\w-]+/resolve/main/(.+)", front["thumbnail"]
    )
    with Image.open(ROOT / match[1]) as picture:
        assert picture.size == (1200, 630)  # what social networks show


def test_every_requirement_is_met_by_what_is_tested() -> None:
    pinned = pins()
    for name, requirement in (requirements() | requirements("requirements-dev.txt")).items():
        assert pinned[name] in requirement.specifier, name
    assert {name: importlib.metadata.version(name).split("+")[0] for name in pinned} == pinned


def test_a_space_can_keep_its_gradio_and_zero_gpu_its_torch(front) -> None:
    asked = requirements()
    assert all(version in asked["torch"].specifier for version in ZERO_GPU)
    assert front["sdk_version"] in asked["gradio"].specifier
    assert "spaces" not in asked, "a Space brings its own"
    python = front["python_version"]
    pinned, extra = pins(python), environment(python) | {"extra": "mcp"}
    for line in importlib.metadata.requires("gradio"):
        theirs = Requirement(line)
        if theirs.marker is None or theirs.marker.evaluate(extra):
            assert pinned[canonicalize_name(theirs.name)] in theirs.specifier, line


def test_requirements_are_what_the_code_imports() -> None:
    files = [file for folder in CODE for file in (ROOT / folder).rglob("*.py")]
    names = {name.split(".")[0] for file in [ROOT / "app.py", *files] for name in imports(file)}
    homes = importlib.metadata.packages_distributions()
    # A Space brings the one, PyTorch for a GPU the other.
    third = names - set(sys.stdlib_module_names) - set(CODE) - {"spaces", "triton"}
    assert third <= homes.keys()
    missing = {
        name
        for name in third
        if not {canonicalize_name(home) for home in homes[name]} & requirements().keys()
    }
    assert missing <= {"anyio", "fastapi", "pydantic", "starlette"}, (
        "gradio brings them, and says which"
    )


def test_the_page_alone_needs_no_ray_and_a_cluster_has_the_version_that_is_tested() -> None:
    ray = requirements("requirements-cluster.txt")["ray"]
    assert str(ray.specifier) == f"=={pins()['ray']}"
    assert not requirements().keys() & requirements("requirements-cluster.txt").keys()


@pytest.fixture(scope="module")
def docker() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, in order."""
    text = re.sub(r"\\\n\s*", "", page("Dockerfile"))
    return [
        (line.split(" ", 1)[0], line.split(" ", 1)[1])
        for line in text.splitlines()
        if line and not line.startswith("#")
    ]


def test_docker_copies_what_is_there_and_what_the_page_needs(docker) -> None:
    copied = {source for word, rest in docker if word == "COPY" for source in rest.split()[:-1]}
    assert all((ROOT / source).exists() for source in copied)
    assert {"app.py", *CODE, "static", "weights"} <= copied
    allowed = {line[1:] for line in page(".dockerignore").splitlines() if line.startswith("!")}
    assert allowed == copied


def test_docker_runs_as_an_ordinary_user_who_owns_none_of_the_code(docker) -> None:
    words = [word for word, _ in docker]
    assert words.index("USER") < words.index("CMD")
    assert max(i for i, word in enumerate(words) if word == "COPY") < words.index("USER")
    user = dict(docker)["USER"]
    assert any(
        word == "RUN" and rest.startswith("useradd") and rest.split()[-1] == user
        for word, rest in docker
    )
    assert "--chown" not in " ".join(rest for _, rest in docker)


def test_docker_serves_the_port_that_it_names_and_looks_after(docker, front) -> None:
    said = dict(docker)
    environment = dict(pair.split("=") for pair in said["ENV"].split())
    assert environment["GRADIO_SERVER_NAME"] == "0.0.0.0"
    assert environment["GRADIO_SERVER_PORT"] == said["EXPOSE"] == "7860"
    assert json.loads(said["CMD"]) == ["python", front["app_file"]]
    assert said["FROM"].startswith(f"python:{front['python_version'].rsplit('.', 1)[0]}")
    assert re.search(r"@sha256:[0-9a-f]{64}$", said["FROM"])  # a tag may name other bytes tomorrow


@pytest.mark.parametrize(
    ("name", "status", "healthy"),
    [
        ("0.0.0.0", 200, True),
        ("0.0.0.0", 500, False),
        ("127.0.0.1", 200, True),  # another name than the image's
    ],
)
def test_health_check_tells_a_page_that_answers_from_one_that_does_not(
    docker, name, status, healthy
) -> None:
    """Whatever the host sets: the port is not the image's, and a proxy answers nothing."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = HTTPServer(("127.0.0.1", 0), Page)
    Thread(target=server.serve_forever, daemon=True).start()
    command = json.loads(dict(docker)["HEALTHCHECK"].split("CMD ")[1])
    assert command[:2] == ["python", "-c"]
    set_by_host = {"GRADIO_SERVER_NAME": name, "GRADIO_SERVER_PORT": str(server.server_port)}
    environment = {**os.environ, **set_by_host, "HTTP_PROXY": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, *command[1:]], env=environment, capture_output=True, timeout=300
    )
    server.shutdown()
    server.server_close()
    assert (done.returncode == 0) == healthy
