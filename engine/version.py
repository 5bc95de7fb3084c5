"""The version of Photo Finish."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path


def version() -> str:
    """Return the version of the installed package, or of the checkout."""
    project = Path(__file__).resolve().parents[1] / "pyproject.toml"
    if project.is_file():
        number: str = tomllib.loads(project.read_text("utf-8"))["project"]["version"]
        return number
    try:
        return metadata("photo-finish")["Version"]
    except PackageNotFoundError:
        return "unknown"
