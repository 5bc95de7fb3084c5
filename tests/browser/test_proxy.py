"""The page behind a proxy that tells it another address than the visitor's browser has."""

from __future__ import annotations

import re
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from tests.browser.acts import finished, prompted, race

Rewrite = Callable[[bytes], bytes]
# nginx's `proxy_set_header Host $host`
WITHOUT_PORT = (rb"(?im)^(host: 127\.0\.0\.1):\d+", rb"\1")
# TLS ends in front of the page, which is told so, or not
OTHER_SCHEME = (rb"(?im)^host: ", b"X-Forwarded-Proto: https\r\nHost: ")
# below a path
BELOW = (rb"(?m)^(GET|POST) /photo-finish/", rb"\1 /")


@contextmanager
def proxy(url: str, rewrite: Rewrite) -> Iterator[str]:
    """The address of a server that passes connections on to the page at `url`, but for what
    `rewrite` makes of each part that the browser sends."""
    behind = urlsplit(url)

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection((behind.hostname, behind.port)) as page:
                answers = threading.Thread(target=passes, args=(page, self.request, bytes))
                answers.start()
                passes(self.request, page, rewrite)
                answers.join()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, block_on_close = True, False

    with Server(("127.0.0.1", 0), Connection) as server:
        serves = threading.Thread(target=server.serve_forever)
        serves.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            serves.join()


def passes(source: socket.socket, target: socket.socket, rewrite: Rewrite) -> None:
    """Passes on what comes, to the end of the connection."""
    try:
        while data := source.recv(2**16):
            target.sendall(rewrite(data))
        target.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        target.close()


@pytest.fixture
def behind(recorded_url: str) -> Iterator[str]:
    def rewrite(data: bytes) -> bytes:
        for wrong, right in (WITHOUT_PORT, OTHER_SCHEME, BELOW):
            data = re.sub(wrong, right, data)
        return data

    with proxy(recorded_url, rewrite) as url:
        yield f"{url}photo-finish/"


def test_the_board_has_its_files_whatever_the_page_is_told_of_its_address(
    behind, open_page
) -> None:
    page = open_page(behind)
    prompted(page, "cactus on yellow sand")
    race(page, prompt="octopus")
    finished(page)
    prompted(page, "octopus")
