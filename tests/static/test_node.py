"""The tests that are written in JavaScript, in one process of node."""

from __future__ import annotations

import subprocess

from tests.static.node import ENV, HERE


def test_the_modules_pass_their_tests() -> None:
    files = sorted(HERE.rglob("*.test.js"))
    assert len(files) > 5
    done = subprocess.run(
        ["node", "--test-reporter=tap", "--input-type=module"],
        input="".join(f"import './{file.relative_to(HERE)}';\n" for file in files),
        cwd=HERE,
        env=ENV,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# fail 0" in done.stdout
