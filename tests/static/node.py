"""The board's modules under node."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.trace.rows import dtypes

HERE = Path(__file__).parent
ENV = {**os.environ, "DTYPES": json.dumps(asdict(dtypes()))}  # for step tables written by hand


def report(what: str, data: Any) -> Any:
    """What tests/static/report.js says of `data`."""
    done = subprocess.run(
        ["node", HERE / "report.js", what],
        input=json.dumps(data),
        env=ENV,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
