"""Files of visitors, where the temporary folder is everybody's. tests/test_wheel.py has the whole
page's."""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from gradio import routes

from app.api.own_folder import have_own_folder


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
