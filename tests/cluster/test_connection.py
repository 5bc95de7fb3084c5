"""What `python -m cluster` sends to a cluster, and one of its own."""

from __future__ import annotations

import os
import re
import socket
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import ray
from ray._private.runtime_env.packaging import _get_excludes, create_package
from ray.exceptions import AuthenticationError

from cluster import connection as module
from cluster.connection import LEFT_OUT, LOCAL, PATH_BYTES, SENT, SOCKET, connection
from tests.pages import ROOT, page
from tests.ports import free_port


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_cluster_that_does_not_answer_is_said_in_words(scheme: str) -> None:
    with free_port() as port:
        address = f"{scheme}127.0.0.1:{port}"
        words = f"no Ray cluster answers at {address}"
        with pytest.raises(SystemExit, match=words), connection(address):
            pass


@pytest.mark.parametrize("answer", [None, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0"])
def test_what_listens_there_and_is_no_cluster_is_said_in_words(monkeypatch, answer) -> None:
    """It says nothing, hangs up, or speaks of something else."""
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(ray, "init", lambda *_, **__: pytest.fail("it would wait"))
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as other:

        def serve() -> socket.socket:
            client, _ = server.accept()
            if answer is not None:
                client.sendall(answer)
                with suppress(OSError):  # who has read enough may have hung up
                    client.shutdown(socket.SHUT_WR)
            return client

        served = other.submit(serve)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        words = f"no Ray cluster answers at {address}"
        with pytest.raises(SystemExit, match=words), connection(address):
            pass
        served.result().close()


def test_auto_with_rays_own_variable_to_nobody_is_said_in_words_and_asks_ray_nothing(
    monkeypatch,
) -> None:
    monkeypatch.setattr(ray, "init", lambda *_, **__: pytest.fail("it would wait"))
    with free_port() as port:
        address = f"127.0.0.1:{port}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        words = f"no Ray cluster answers at {address}"
        with pytest.raises(SystemExit, match=words), connection("auto"):
            pass


def test_a_wrong_token_is_said_in_words(monkeypatch) -> None:
    def init(*_: object, **__: object) -> None:
        raise RuntimeError("no connection") from AuthenticationError("wrong token")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(SystemExit, match="asks for a token"), connection("auto"):
        pass


def test_a_cluster_is_sent_the_code_and_the_settings_and_no_secret(monkeypatch) -> None:
    calls: list[dict[str, object]] = []
    monkeypatch.setattr(ray, "init", lambda *_, **options: calls.append(options))
    monkeypatch.setenv("PHOTO_FINISH_QUEUE_SIZE", "60")
    monkeypatch.setenv("HF_TOKEN", "secret")
    with connection("auto"):
        environment = calls[0]["runtime_env"]
    assert environment["working_dir"] == str(ROOT)
    assert environment["env_vars"]["PHOTO_FINISH_QUEUE_SIZE"] == "60"
    assert "secret" not in str(environment)


def test_a_cluster_is_sent_what_the_wheel_holds_but_the_tools() -> None:
    """By Ray's own reading of the patterns."""
    listed = re.search(r"^FOLDERS = \((.+)\)$", page("setup.py"), re.MULTILINE)[1]
    left_out = _get_excludes(ROOT, LEFT_OUT)
    assert not left_out(ROOT), "all of it would be left out"
    sent = {name for name in os.listdir(ROOT) if not left_out(ROOT / name)}
    assert sent == set(SENT) == set(re.findall(r"\w+", listed)) - {"tools"}


def test_a_secret_in_the_checkout_does_not_travel(tmp_path) -> None:
    sent = {"app/page/layout.py", "weights/model.safetensors", "static/races/a.json"}
    secrets = {".env", "id_rsa", "docs/key", "application", ".git/config", "app/.env"}
    secrets |= {"weights/.netrc", "app/.git/config", "my_app/app/key", "app/__pycache__/a.pyc"}
    for name in sent | secrets:
        file = tmp_path / "checkout" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("a")
    package = tmp_path / "package.zip"
    create_package(str(tmp_path / "checkout"), package, True, excludes=LEFT_OUT)
    with zipfile.ZipFile(package) as made:
        assert {name for name in made.namelist() if not name.endswith("/")} == sent


@pytest.mark.parametrize("before", [True, False])
def test_the_token_of_a_cluster_of_this_machine_is_its_users_alone(
    monkeypatch, home, before
) -> None:
    token = home / ".ray" / "auth_token"
    token.parent.mkdir()
    if before:
        token.write_text("readable to all")
    monkeypatch.setattr(ray, "init", lambda *_, **__: token.write_text("secret"))
    with connection(None):
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
    with pytest.raises(KeyboardInterrupt), connection(None):
        pass
    ((address, folder),) = calls
    assert address == "local"
    assert len(f"{folder}/{SOCKET}") <= PATH_BYTES
    assert not folder.exists()


def test_rays_environment_keeps_a_cluster_of_this_machine_to_it() -> None:
    """The tests' own is started in it (conftest.py)."""
    assert LOCAL["RAY_AUTH_MODE"] == "token"
    assert LOCAL["RAY_USAGE_STATS_ENABLED"] == "0"
    assert ray.util.get_node_ip_address() == "127.0.0.1"
