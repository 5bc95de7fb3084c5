"""The numeric tests as other processors round: `make processors`.

ATen and MKL choose their kernels by the processor, or by a variable those of an older one;
how a sum is split depends on the number of threads as well. Each run is a pytest of ROOMS under one
such choice, in which this module is a plugin that measures which share of its tolerance every
comparison of floats uses. A test that fails ends in exit status 1, and so does a share above LIMIT:
what uses most of its tolerance here fails on the next processor.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing._comparison import default_tolerances

TESTS = Path(__file__).parent
ROOT = TESTS.parent
ROOMS = ("tests/engine/decoders", "tests/engine/models", "tests/engine/numerics", "tests/train")
# Of these the slow ones that compare no floats: sums that are exact, files, recordings, workers.
LEFT_OUT = (
    "tests/engine/decoders/test_exact.py",
    "tests/engine/decoders/test_static.py",
    "tests/engine/models/embedded/test_model.py",
    "tests/engine/models/families/test_family_files.py",
    "tests/train/test_judge.py",
    "tests/train/test_quality.py",
)
VARIABLES = (
    {},
    {"ATEN_CPU_CAPABILITY": "default"},
    {"ATEN_CPU_CAPABILITY": "avx2"},
    {"MKL_CBWR": "COMPATIBLE"},
    {"MKL_CBWR": "AVX2"},
)
THREADS = (1, 2, 4)
LIMIT = 0.5
SHARES = "TEST_SHARES"  # the folder into which a run's processes write what they measured


@dataclass(frozen=True)
class Use:
    """The largest share of its tolerance that a comparison used, and in which test."""

    share: float
    test: str


def main() -> None:
    uses: dict[str, tuple[Use, str]] = {}
    failed = False
    for variables in VARIABLES:
        for threads in THREADS:
            name = " ".join([*(f"{k}={v}" for k, v in variables.items()), f"{threads} threads"])
            begun = time.perf_counter()
            passed, summary, found = run(variables, threads)
            failed |= not passed
            for place, use in found.items():
                if place not in uses or use.share > uses[place][0].share:
                    uses[place] = use, name
            most = max((use.share for use in found.values()), default=0.0)
            seconds = time.perf_counter() - begun
            print(f"{name}: {summary}; largest share {most:.3f}; {seconds:.0f} s", flush=True)
    print(f"\nThe share of its tolerance that each of {len(uses)} comparisons used, at most:\n")
    for place, (use, name) in sorted(uses.items(), key=lambda each: -each[1][0].share):
        print(f"{use.share:9.2g}  {place}  {use.test}  ({name})")
    above = [place for place, (use, _) in uses.items() if use.share > LIMIT]
    if above:
        print(f"\nAbove {LIMIT}: {', '.join(above)}")
    sys.exit(1 if failed or above or not uses else 0)


def run(variables: dict[str, str], threads: int) -> tuple[bool, str, dict[str, Use]]:
    """One pytest: whether it passed, its last line, and by file and line what it measured. What
    fails is printed."""
    with tempfile.TemporaryDirectory() as folder:
        left_out = [f"--ignore={name}" for name in LEFT_OUT]
        options = ["-q", "-n", str(os.cpu_count()), "--dist", "loadfile"]
        options += ["-p", "tests.processors", "-p", "no:cacheprovider", *left_out]
        # Threads that wait for one another are not to take the processor from those at work.
        own = {"TEST_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE", SHARES: folder}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *ROOMS],
            cwd=ROOT,
            env=os.environ | variables | own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            print(done.stdout)
        found: dict[str, Use] = {}
        for file in Path(folder).iterdir():
            for place, values in json.loads(file.read_text("utf-8")).items():
                use = Use(**values)
                if place not in found or use.share > found[place].share:
                    found[place] = use
        return done.returncode == 0, done.stdout.strip().rpartition("\n")[2], found


# The plugin


measured: dict[str, Use] = {}  # by file and line


def pytest_configure(config: pytest.Config) -> None:
    if SHARES in os.environ:
        torch.testing.assert_close = measuring(torch.testing.assert_close, of_tensors)
        np.testing.assert_allclose = measuring(np.testing.assert_allclose, of_arrays)
        approx = type(pytest.approx(0.0))
        approx.__eq__ = measuring(approx.__eq__, of_approx)


def pytest_unconfigure(config: pytest.Config) -> None:
    if SHARES in os.environ and measured:
        content = {place: vars(use) for place, use in measured.items()}
        file = Path(os.environ[SHARES]) / f"{os.getpid()}.json"
        file.write_text(json.dumps(content), "utf-8")


def measuring(compare: Callable[..., Any], share: Callable[..., Iterator[float]]) -> Any:
    """The comparison, which notes the largest of its shares if it holds: what fails is said by its
    test."""

    def compared(*args: Any, **options: Any) -> Any:
        result = compare(*args, **options)
        if result is not False:
            note(max(share(*args, **options), default=0.0))
        return result

    return compared


def note(share: float) -> None:
    frame: FrameType | None = sys._getframe(2)
    while frame and not (at := Path(frame.f_code.co_filename)).is_relative_to(TESTS):
        frame = frame.f_back
    if frame is None or at == Path(__file__):
        return  # within a library, or within another comparison
    place = f"{at.relative_to(ROOT)}:{frame.f_lineno}"
    test = re.sub(r" \(\w+\)$", "", os.environ.get("PYTEST_CURRENT_TEST", ""))
    if place not in measured or share > measured[place].share:
        measured[place] = Use(share, test.rpartition("::")[2])


def of_tensors(
    actual: Any, expected: Any, *, rtol: float | None = None, atol: float | None = None, **_: Any
) -> Iterator[float]:
    if isinstance(actual, (list, tuple)):
        for one, other in zip(actual, expected, strict=True):
            yield from of_tensors(one, other, rtol=rtol, atol=atol)
    elif torch.is_tensor(actual) and actual.is_floating_point():
        if rtol is None or atol is None:
            rtol, atol = default_tolerances(actual, expected)
        found, right = (each.detach().double().numpy() for each in (actual, expected))
        yield from of_arrays(found, right, rtol, atol)


def of_arrays(
    actual: Any, expected: Any, rtol: float = 1e-7, atol: float = 0.0, **_: Any
) -> Iterator[float]:
    found, right = np.broadcast_arrays(np.asarray(actual, float), np.asarray(expected, float))
    with np.errstate(invalid="ignore"):
        off = np.abs(found - right)
        some = off > 0  # neither equal nor infinite alike
    if some.any():
        yield float((off[some] / (atol + rtol * np.abs(right[some]))).max())
    elif found.size:
        yield 0.0


def of_approx(expected: Any, actual: Any) -> Iterator[float]:
    if isinstance(actual, (int, float, np.number)) and not isinstance(actual, bool):
        off = abs(float(actual) - float(expected.expected))
        yield off / expected.tolerance if off else 0.0


if __name__ == "__main__":
    main()
