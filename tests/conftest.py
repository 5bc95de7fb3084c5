"""What every test relies on: one thread a worker, and examples that are the same on every run."""

from __future__ import annotations

import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)  # pytest-xdist runs a worker a core; results do not depend on it
settings.register_profile(
    "photo-finish",
    deadline=None,  # a shared machine is slow at times, which is no failure
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("photo-finish")
