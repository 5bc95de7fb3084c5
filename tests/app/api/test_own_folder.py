"""Files of visitors, where the temporary folder is everybody's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.pages import ROOT
from tests.ports import free_port

# The page over a toy, which says when it is served.
PAGE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import gradio as gr
from app.page.launch import serve
from app.page.layout import build
from engine.judge.toys import Toy
from tests.app.conftest import NONE_RECORDED, toy_pool
wait = gr.Blocks.block_thread
gr.Blocks.block_thread = lambda demo: [print("served", flush=True), wait(demo)]
pool = toy_pool(Toy())
serve(build(pool, NONE_RECORDED), pool)
"""


@pytest.mark.parametrize(("named", "end"), [(False, signal.SIGINT), (True, signal.SIGTERM)])
def test_files_go_into_a_folder_of_its_own_which_goes_with_the_page(
    tmp_path: Path, named: bool, end: signal.Signals
) -> None:
    """Unless the host names one. In gradio's usual place lies what nobody can write into."""
    shared, others = tmp_path / "shared", tmp_path / "named"
    shared.mkdir()
    (shared / "gradio").write_text("another user's")
    environment = {**os.environ, "TMPDIR": str(shared)} | {"GRADIO_TEMP_DIR": str(others)}
    if not named:
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
                page.send_signal(end)
                page.communicate(timeout=300)
            finally:
                page.kill()
    (path,) = answer.json()
    if named:
        assert Path(path).is_relative_to(others)
    else:
        assert Path(path).relative_to(shared).parts[0].startswith("photo-finish-")
    assert os.listdir(shared) == ["gradio"]
