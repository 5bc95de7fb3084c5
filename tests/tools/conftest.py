"""A folder of weights that commands load a model from."""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
from pathlib import Path

import pytest

from engine.models.families import published
from engine.models.supply.card import CARDS
from tests.engine.models.families import JANUS

NAME = JANUS.card.name
(SOURCE,) = JANUS.card.repos


def folder_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of weights, with the tiny model in the place of Janus-Pro 1B, pinned with the
    digests of its files."""
    root = tmp_path / "weights"
    files = shutil.copytree(JANUS.folders["model"], root / SOURCE.repo)
    digests = tuple(
        (file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files.iterdir()
    )
    source = dataclasses.replace(SOURCE, revision="a" * 40, digests=digests)
    monkeypatch.setitem(CARDS, NAME, dataclasses.replace(JANUS.card, repos=(source,)))
    monkeypatch.setitem(published.PUBLISHED, NAME, JANUS.published)
    return root


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return folder_of(monkeypatch, tmp_path)
