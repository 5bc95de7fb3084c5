"""A stdout that nobody reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO


@contextmanager
def unread() -> Iterator[TextIO]:
    """stdout goes to a reader that has ended, as behind `| head -1`, and line by line: what is long
    does not wait in a buffer until the end."""
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w", 1) as stream, redirect_stdout(stream):
        yield stream
