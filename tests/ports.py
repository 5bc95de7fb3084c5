"""A port of this machine for a server that takes a given one, and whether the server answers. A
port that the system chose may be anybody's by the time the server takes it."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from urllib.request import urlopen

# Where Linux chooses no port (ip_local_port_range), and Ray none for its workers.
PORTS = range(20_000, 32_768)


@contextmanager
def free_port() -> Iterator[int]:
    """A port of 127.0.0.1 that nobody serves, and that nobody else gets here, in any process, until
    this is left."""
    for port in random.Random().sample(PORTS, len(PORTS)):
        with socket.socket(socket.AF_UNIX) as name, socket.socket() as probe:
            try:
                name.bind(f"\0photo-finish-test-{port}")  # no file: it goes with its process
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            probe.close()
            yield port
            return
    raise OSError("no port is free")


def answers(url: str) -> bool:
    """Whether the address has a page."""
    # httpx reads all certificates for each request: it would take the starting server's time
    try:
        with urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except (OSError, HTTPException):
        return False
