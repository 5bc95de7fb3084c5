"""The board's modules under node."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def report(what: str, data: Any) -> Any:
    """What tests/static/report.js says of `data`."""
    done = subprocess.run(
        ["node", HERE / "report.js", what],
        input=json.dumps(data),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
