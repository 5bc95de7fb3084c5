"""A race's life: how it is asked for, waits in the queue, runs, is watched and is kept."""
