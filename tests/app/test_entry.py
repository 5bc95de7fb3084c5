"""The ways to start the page. `app/` is a package, and app.py stands beside it."""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path

import gradio as gr
import pytest

import app.handlers
from tests.toy import Toy

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def toy(monkeypatch) -> None:
    monkeypatch.setattr(app.handlers, "load_model", lambda: Toy((4, 4), 16))


def test_app_py_makes_the_page_and_is_short() -> None:
    assert isinstance(runpy.run_path(str(ROOT / "app.py"), run_name="space_app")["demo"], gr.Blocks)
    assert len((ROOT / "app.py").read_text().splitlines()) <= 25


def test_the_package_wins_over_the_script() -> None:
    assert importlib.import_module("app").__file__ == str(ROOT / "app" / "__init__.py")


def test_module_launches_the_same_page(monkeypatch) -> None:
    launched = []
    monkeypatch.setattr(gr.Blocks, "launch", lambda demo, **kwargs: launched.append(kwargs))
    runpy.run_module("app", run_name="__main__")
    assert launched[0]["show_error"] is False
