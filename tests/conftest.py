"""What every test relies on: each worker has one thread, hypothesis tries the same examples on
every run, slow files start first, and the browser's share a worker. A run ends with the seconds
that each folder took.

No test may depend on how fast a lane or a machine is. To prove it, `TEST_CLOCK_SEED=1 make test`
multiplies each lane's seconds by a factor from 1/8 to 8, drawn for the seed and the decoder, in the
tests' processes and in the servers that they start; other seeds draw other factors. A test that
needs to know how long steps take sets the clocks: `tests.clocks.set_clocks`. (The variables are not
called PHOTO_FINISH_..: the page rejects those that are none of its settings.)

`TEST_EXAMPLES=500 make test` has hypothesis try 500 new examples a test.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests.clocks import scale_clocks

# Triton reads it when it is imported: its kernels run on a processor then.
os.environ["TRITON_INTERPRET"] = "1"
# Gradio reads it when it is imported. Its usual folder is everybody's: where another user made it,
# nothing can be written there, and a page that ends deletes what another one has there, too.
FILES = tempfile.TemporaryDirectory(prefix="photo-finish-gradio-")
os.environ["GRADIO_TEMP_DIR"] = FILES.name

HERE = Path(__file__).parent
# What takes longest, longest first: it starts in this order and before all else, so that at the end
# no worker waits for another. `--quick` leaves it out: tests that drive a browser, a running page
# or a cluster, start workers or wait for races in them, sample until a distribution shows, build a
# family's networks, train, or encode, the notebook and the wheel.
SLOW = (
    "browser",
    "cluster",
    "abuse",
    "engine/decoders/test_exact.py",
    "engine/models",
    "engine/decoders/test_rules.py",
    "tools/bench",
    "test_notebooks.py",
    "test_wheel.py",
    "train",
    "app/models/test_model_pool.py",
    "visualize/film/test_film.py",
    "app/api/test_api.py",
    "app/api/test_own_folder.py",
    "app/workers/test_zerogpu.py",
    "app/races/test_families.py",
)
assert all((HERE / name).exists() for name in SLOW)

# pytest-xdist runs a worker a core. Tests of floats hold with any number: `make processors`.
torch.set_num_threads(int(os.environ.get("TEST_THREADS", "1")))
examples = os.environ.get("TEST_EXAMPLES")
settings.register_profile(
    "photo-finish",
    deadline=None,  # a shared machine is slow at times, which is no failure
    derandomize=examples is None,
    max_examples=int(examples or 20),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("photo-finish")

if seed := os.environ.get("TEST_CLOCK_SEED"):
    scale_clocks(seed)


def rank(path: Path) -> int:
    """A place in SLOW; those that are not in it share the last."""
    name = path.relative_to(HERE).as_posix()
    return next((i for i, slow in enumerate(SLOW) if f"{name}/".startswith(f"{slow}/")), len(SLOW))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="without what is slow")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # None leaves the decision to pytest
    return True if config.getoption("quick") and rank(collection_path) < len(SLOW) else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank(item.path))


class Scheduling(LoadFileScheduling):
    """A file's tests stay on one worker, and those of all of the browser's files on the same one. A
    page, its server and its test want 1.4 cores, so two of them at once slow each other down."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "browser" if file.startswith("tests/browser/") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the tests of each folder took, with their fixtures, of all workers together."""
    seconds = Counter[str]()
    for report in itertools.chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            _, *path = report.nodeid.partition("::")[0].split("/")
            seconds["/".join(path[:-1][:2]) or path[0]] += report.duration
    parts = [f"{name} {taken:.0f} s" for name, taken in seconds.most_common() if taken >= 0.5]
    if parts:
        terminalreporter.section("seconds by folder")
        terminalreporter.write_line(", ".join(parts))
