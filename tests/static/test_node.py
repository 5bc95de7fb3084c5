"""The tests that are written in JavaScript: `node --test "tests/static/**/*.test.js"`."""

from __future__ import annotations

import subprocess

from tests.static.node import HERE


def test_the_modules_pass_their_tests() -> None:
    files = sorted(HERE.rglob("*.test.js"))
    assert len(files) > 5
    done = subprocess.run(
        ["node", "--test", *files],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
