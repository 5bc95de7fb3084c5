from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["engine", "photo_finish.__main__", "app.settings"])
def test_without_docstrings_it_ends_with_a_sentence(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-OO", "-c", f"import {module}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Photo Finish cannot start with PYTHONOPTIMIZE=2")
    assert len(done.stderr.splitlines()) == 1
