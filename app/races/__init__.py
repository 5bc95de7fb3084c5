"""A race's life: a visitor asks for it; it waits in the queue, runs, is watched and is kept."""
