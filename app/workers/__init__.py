"""A race on a device: in the page's process, on ZeroGPU or on a racer of a cluster."""
