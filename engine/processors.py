"""The number of processors that this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def processors(cgroup: Path = CGROUP) -> int:
    """Return the number of processors that the scheduler and the container allow, rounded up."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # Linux alone has it
        count = os.cpu_count() or 1
    return max(1, min(count, math.ceil(_quota(cgroup))))


def _quota(cgroup: Path) -> float:
    """Return the container's limit on processor time, in processors; all if it has no limit.

    The limit is that of cgroup v2, or else of v1.
    """
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join((cgroup / name).read_text() for name in names).split()
            if int(quota) > 0:
                return int(quota) / int(period)
        except (OSError, ValueError):  # "max", and -1 of v1, where there is none
            continue
    return os.cpu_count() or 1
