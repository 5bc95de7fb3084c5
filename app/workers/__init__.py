"""Running a race on a device: in the page's process, on ZeroGPU or on a cluster's racer."""
