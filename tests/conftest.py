"""What every test relies on: one thread a worker, and examples that are the same on every run.

No test may depend on how fast a lane or a machine is. To prove it, `TEST_CLOCK_SEED=1 make test`
multiplies each lane's seconds by a factor from 1/8 to 8, drawn for the seed and the decoder, in the
tests' processes and in the servers that they start; other seeds draw other factors. A test that
needs to know how long steps take sets the clocks: `tests.clocks.set_clocks`. (The variable is not
called PHOTO_FINISH_..: the page rejects those that are none of its settings.)
"""

from __future__ import annotations

import os

import torch
from hypothesis import HealthCheck, settings

from tests.clocks import scale_clocks

torch.set_num_threads(1)  # pytest-xdist runs a worker a core; results do not depend on it
settings.register_profile(
    "photo-finish",
    deadline=None,  # a shared machine is slow at times, which is no failure
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("photo-finish")

if seed := os.environ.get("TEST_CLOCK_SEED"):
    scale_clocks(seed)
