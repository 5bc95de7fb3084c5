"""Runs the browser's tests again and again beside two busy processes, each run with other delays.

    python -m tests.browser.soak --runs 5 --seed 7

Prints a table of the runs, and exits with 1 where a test failed. What is delayed stands in
`tests.browser.delays`."""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import randrange

BUSY = 2  # processes
# By file; with `loadfile`, tests/conftest.py keeps all of them on one worker.
PYTEST = ("-m", "pytest", "-q", "-n", "4", "--dist", "loadscope", "tests/browser", "--no-header")


@contextmanager
def busy_processes() -> Iterator[None]:
    """In sessions of their own, as other users' are: Linux shares processors out by session, and in
    this one they would leave the tests' browsers a fifth."""
    spin = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(spin, start_new_session=True) for _ in range(BUSY)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def run(seed: int) -> tuple[int, list[str], str]:
    """The exit status of one run, its failed tests, and all that it printed."""
    done = subprocess.run(
        [sys.executable, *PYTEST],
        env={**os.environ, "SOAK_SEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
    return done.returncode, failed, done.stdout + done.stderr


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.browser.soak", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, help="of the first run; the others count on from it")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is busy ends with it
    first = randrange(10**6) if options.seed is None else options.seed
    print("| run | seed | minutes | failed tests |\n| --- | --- | --- | --- |", flush=True)
    wrong = 0
    with busy_processes():
        for number, seed in enumerate(range(first, first + options.runs), 1):
            began = time.monotonic()
            status, failed, output = run(seed)
            wrong += status != 0
            minutes = (time.monotonic() - began) / 60
            said = ", ".join(failed) or ("none" if status == 0 else f"pytest ended with {status}")
            print(f"| {number} | {seed} | {minutes:.1f} | {said} |", flush=True)
            if status:
                print(output, file=sys.stderr, flush=True)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
