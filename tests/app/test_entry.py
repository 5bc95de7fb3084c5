"""The ways to start the page. `app/` is a package, and app.py stands beside it."""

from __future__ import annotations

import importlib
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import gradio as gr
import pytest
from gradio import http_server

import app.models.model_loader
from app.api.page_blocks import PageBlocks
from app.page.launch import serve
from app.page.layout import build
from tests.app.conftest import NONE_RECORDED, toy_pool
from tools.judge.toys import Toy

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def loads(monkeypatch) -> list[str]:
    """What was loaded to start the page."""
    loads: list[str] = []
    monkeypatch.setattr(app.models.model_loader, "load", loads.append)
    return loads


def test_app_py_makes_the_page_without_a_model_and_is_short(loads) -> None:
    assert isinstance(runpy.run_path(str(ROOT / "app.py"), run_name="space_app")["demo"], gr.Blocks)
    assert loads == []
    assert len((ROOT / "app.py").read_text().splitlines()) <= 25


def test_the_package_wins_over_the_script() -> None:
    assert importlib.import_module("app").__file__ == str(ROOT / "app" / "__init__.py")


# app.py as the first process of a container, over a page that only waits
CONTAINER = """
import runpy, signal, sys, types
for name in ("app.page.launch", "app.page.layout", "app.models.model_pool"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["app.models.model_pool"].default_pool = lambda: None
sys.modules["app.page.layout"].build = lambda pool: None
def serve(demo, pool):
    print("serving", flush=True)
    while True:
        signal.pause()
sys.modules["app.page.launch"].serve = serve
runpy.run_path("app.py", run_name="__main__")
"""
UNSHARE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]


@pytest.mark.skipif(
    subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode != 0,
    reason="this machine lets nobody make a process namespace",
)
def test_the_first_process_of_a_container_ends_at_sigterm() -> None:
    command = [*UNSHARE, sys.executable, "-c", CONTAINER]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as outer:
        try:
            assert outer.stdout.readline() == "serving\n"
            inner = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text()
            os.kill(int(inner), signal.SIGTERM)
            assert outer.wait(300) == 128 + signal.SIGTERM
        finally:
            outer.kill()


def test_module_serves_the_page_before_it_loads_the_model(monkeypatch, loads) -> None:
    order = []
    monkeypatch.setattr(
        PageBlocks, "launch", lambda demo, **kwargs: order.append(kwargs["show_error"])
    )
    monkeypatch.setattr(
        app.models.model_loader.ModelLoader, "start", lambda loader: order.append("load")
    )
    monkeypatch.setattr(gr.Blocks, "block_thread", lambda demo: order.append("wait"))
    runpy.run_module("app", run_name="__main__")
    assert order == [False, "load", "wait"]


@pytest.mark.parametrize("port", ["abc", "", "-1", "65536"])
def test_a_port_that_is_none_ends_the_start_with_words(monkeypatch, port) -> None:
    monkeypatch.setenv("GRADIO_SERVER_PORT", port)
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(ROOT / "app" / "__init__.py"))
    assert caught.value.code == (
        f"Photo Finish cannot start: GRADIO_SERVER_PORT={port!r} is no port, a number from 0 to"
        " 65535."
    )


def test_a_port_that_is_in_use_ends_the_start_with_words(monkeypatch) -> None:
    pool = toy_pool(Toy())
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        monkeypatch.setattr(http_server, "INITIAL_PORT_VALUE", port)
        monkeypatch.setattr(gr.Blocks, "block_thread", gr.Blocks.close)  # if it were served
        with pytest.raises(SystemExit) as caught:
            serve(build(pool, NONE_RECORDED), pool)
    assert f"Photo Finish cannot start: 127.0.0.1 port {port} is in use" in caught.value.code
    assert f"GRADIO_SERVER_PORT={port + 1 if port < 65535 else 7860}." in caught.value.code


def test_where_no_temporary_folder_can_be_written_the_start_ends_with_words(monkeypatch) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    with pytest.raises(SystemExit, match="Name a folder that it may write into: TMPDIR=/folder"):
        runpy.run_path(str(ROOT / "app" / "__init__.py"))


@pytest.mark.parametrize("reason", ["a file stands there", "read-only"])
def test_a_named_folder_that_cannot_be_written_ends_the_start_with_words(
    monkeypatch, tmp_path: Path, reason: str
) -> None:
    folder = tmp_path / "files"
    if reason == "read-only":  # to root, too, as on a read-only disk
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    else:
        folder.write_text("")
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(folder))
    with pytest.raises(SystemExit, match=f"cannot write into GRADIO_TEMP_DIR='{folder}'"):
        runpy.run_path(str(ROOT / "app" / "__init__.py"))
