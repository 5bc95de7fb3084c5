"""How many processors this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def processors(cgroup: Path = CGROUP) -> int:
    """Of the machine, those that its scheduler gives this process, within a container's quota,
    rounded up."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # Linux alone has it
        count = os.cpu_count() or 1
    return max(1, min(count, math.ceil(_quota(cgroup))))


def _quota(cgroup: Path) -> float:
    """Processors' time that a container has, in processors: of cgroup v2, or of v1."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join((cgroup / name).read_text() for name in names).split()
            if int(quota) > 0:
                return int(quota) / int(period)
        except (OSError, ValueError):  # "max", and -1 of v1, where there is none
            continue
    return os.cpu_count() or 1
