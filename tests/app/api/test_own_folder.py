"""Files of visitors, where the temporary folder is everybody's."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
from gradio import routes

from app.api.own_folder import have_own_folder
from tests.app.conftest import wait_until
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


def break_off_upload(port: int, folder: Path) -> None:
    """Sends the half of a file, and returns once the page has removed it."""
    head = (
        "POST /gradio_api/upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        '--x\r\nContent-Disposition: form-data; name="files"; filename="half.json"\r\n\r\nhalf'
    )
    begun = partial(folder.glob, "photo-finish-*/tmp*")
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head.encode())
        wait_until(lambda: any(begun()))
    wait_until(lambda: not any(begun()))


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
                break_off_upload(port, tmp_path)
                url = f"http://127.0.0.1:{port}/gradio_api/upload"
                files = {"files": ("race.json", b"a visitor's")}
                answer = httpx.post(url, files=files, timeout=300)
                kept = [path for path in tmp_path.rglob("*") if path.is_file()]
                page.terminate()
                page.communicate(timeout=300)
            finally:
                page.kill()
    (path,) = answer.json()
    assert sorted(kept) == [tmp_path / "gradio", Path(path)]
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
