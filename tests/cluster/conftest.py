"""Ray as the tests start it: theirs alone, whatever other clusters run beside them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cluster.connection import LOCAL, ray_folder

# Before ray is imported.
os.environ.update(LOCAL)
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)  # none is left in the home folder
# Metrics come after a second instead of ten. A race waits a minute instead of a second for a racer
# that has its model, where one had it: a busy machine may take longer to say which one has it.
os.environ |= {
    "RAY_metrics_report_interval_ms": "1000",
    "RAY_SERVE_MULTIPLEXED_MODEL_ID_MATCHING_TIMEOUT_S": "60",
}

import pytest


def patiently(start: Callable[[], Any]) -> Any:
    """Starts a node of Ray, which gives it half a minute and has no setting for that: too little
    for a machine on which two suites run."""
    for _ in range(5):
        try:
            return start()
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    return start()


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A home folder, and the usual umask, for a program that changes what is in the one and the
    other."""
    monkeypatch.setenv("HOME", str(tmp_path))
    umask = os.umask(0o022)
    yield tmp_path
    os.umask(umask)


@pytest.fixture(scope="module")
def usual_folder() -> Iterator[Path]:
    """Where Ray starts a cluster if it gets no other folder, and finds one to join: the tests'
    alone."""
    with ray_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", folder)
        yield Path(folder) / "ray"
