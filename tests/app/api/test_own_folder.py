"""Files of visitors, where the temporary folder is everybody's."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import httpx
from gradio import routes

from app.api.own_folder import have_own_folder
from tests.pages import ROOT
from tests.ports import free_port

# The page over a toy, which says when it is served.
PAGE = """
import gradio as gr
from app.page.launch import serve
from app.page.layout import build
from tools.judge.toys import Toy
from tests.app.conftest import NONE_RECORDED, toy_pool
wait = gr.Blocks.block_thread
gr.Blocks.block_thread = lambda demo: [print("served", flush=True), wait(demo)]
pool = toy_pool(Toy())
serve(build(pool, NONE_RECORDED), pool)
"""


def test_files_go_into_a_folder_of_its_own_which_goes_with_the_page(tmp_path: Path) -> None:
    """In gradio's usual place lies what nobody can write into."""
    (tmp_path / "gradio").write_text("another user's")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    del environment["GRADIO_TEMP_DIR"]
    with free_port() as port:
        environment["GRADIO_SERVER_PORT"] = str(port)
        with subprocess.Popen(
            [sys.executable, "-c", PAGE],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as page:
            try:
                assert any(line == "served\n" for line in page.stdout)
                url = f"http://127.0.0.1:{port}/gradio_api/upload"
                files = {"files": ("race.json", b"a visitor's")}
                answer = httpx.post(url, files=files, timeout=300)
                page.terminate()
                page.communicate(timeout=300)
            finally:
                page.kill()
    (path,) = answer.json()
    assert Path(path).relative_to(tmp_path).parts[0].startswith("photo-finish-")
    assert os.listdir(tmp_path) == ["gradio"]


def test_a_folder_that_the_host_names_is_used(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "mkdtemp", None)
    have_own_folder()
    assert os.environ["GRADIO_TEMP_DIR"] == str(tmp_path)


def test_it_goes_with_a_process_that_ends_by_itself(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", "")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(routes, "DEFAULT_TEMP_DIR", "")
    ends: list[Callable[[], None]] = []
    monkeypatch.setattr(atexit, "register", ends.append)
    have_own_folder()
    assert os.listdir(tmp_path) == [Path(routes.DEFAULT_TEMP_DIR).name]
    (end,) = ends
    end()
    assert os.listdir(tmp_path) == []
