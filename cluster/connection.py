"""A connection to Ray: to a running cluster, or to one of its own."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parent.parent
# A remote cluster gets the wheel's folders without the tools, and no hidden file.
SENT = ("app", "cluster", "engine", "static", "visualize", "weights")
# All else, in patterns as of a .gitignore, of which the last that fits counts. Ray asks about the
# folder itself too, as ".".
LEFT_OUT = ["/*", "!/.", *(f"!/{folder}" for folder in SENT), ".?*", "__pycache__"]
# Environment variables for Ray, which reads them when it is imported: of a cluster that is started
# here, and of this program where it joins one.
LOCAL = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # then it listens on loopback alone, on Linux too
    "RAY_AUTH_MODE": "token",  # in ~/.ray, so that no other user of this machine gets in
    "RAY_USAGE_STATS_ENABLED": "0",
}
# One try of half a minute at most, where Ray would have twenty.
JOINED = {"RAY_gcs_server_port_wait_time_s": "1"}
ANSWER_SECONDS = 15.0  # in which a cluster's head has to say that it is one
# What a client of HTTP/2 says first, with an empty frame of settings, and the type of the frame
# that a server answers with (RFC 9113, 3.4 and 6.5). Ray's head speaks gRPC, and so HTTP/2.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
SETTINGS = 4
# The longest name of a socket in a folder that is made for Ray, and the longest path that a system
# takes for one.
SOCKET = "ray/session_2026-01-01_00-00-00_000000_1234567/sockets/plasma_store.1"
PATH_BYTES = 103


@contextlib.contextmanager
def connection(address: str | None) -> Iterator[None]:
    """A connection to a running cluster, which is sent this folder and the settings; without an
    address to a cluster of its own, which ends with it. Raises SystemExit with a message."""
    import ray

    with contextlib.ExitStack() as ends:
        if address:
            ends.callback(ray.shutdown)
            _join(address)
        else:
            folder = ends.enter_context(ray_folder())
            # Ray kills the page's process, which then removes nothing.
            os.environ.setdefault("GRADIO_TEMP_DIR", os.path.join(folder, "gradio"))
            # They write into the folder until they have ended.
            ends.callback(ray.shutdown, wait_for_processes=True)
            _keep_token_private()
            # "local" passes over any cluster that runs here or that RAY_ADDRESS names: it is
            # somebody else's, and what this program ends at its end would be theirs.
            ray.init(
                "local",
                _temp_dir=os.path.join(folder, "ray"),
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        yield


def _join(address: str) -> None:
    import ray

    if address == "auto":  # as Ray takes it, but said in words, and without its minute's wait
        address = os.environ.get("RAY_ADDRESS") or address
    settings = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("PHOTO_FINISH_") or name == "HF_HUB_OFFLINE"
    }
    environment = {"env_vars": settings, "working_dir": str(ROOT), "excludes": LEFT_OUT}
    where = urlsplit("//" + address.rpartition("//")[2])
    try:
        if where.port:
            _greet(where.hostname or "", where.port)
        ray.init(address, runtime_env=environment, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        if "AuthenticationError" in f"{error!r} {error.__cause__!r}":
            raise SystemExit(
                f"Photo Finish cannot start: the Ray cluster at {address} asks for a token, and"
                " this program has none or another. Set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to"
                " what ~/.ray/auth_token holds on its head."
            ) from error
        raise SystemExit(
            f"Photo Finish cannot start: no Ray cluster answers at {address}. `ray status` on its"
            f" head says whether it runs; its version of Ray must be {ray.__version__}, and its"
            " token, if it has one, this program's RAY_AUTH_TOKEN."
        ) from error


def _greet(host: str, port: int) -> None:
    """Raise OSError where no head of a cluster answers; Ray would try for minutes."""
    deadline = time.monotonic() + ANSWER_SECONDS
    with socket.create_connection((host, port), timeout=ANSWER_SECONDS) as connection:
        if os.environ.get("RAY_USE_TLS") == "1":  # it says nothing in plain words
            return
        connection.sendall(PREFACE)
        head = b""
        while len(head) < 4:
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            if not (part := connection.recv(9)):
                break
            head += part
        if head[3:4] != bytes([SETTINGS]):
            raise ConnectionError("this is no server of HTTP/2")


def ray_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for all files of a cluster of this machine, which only its user can read and which
    is removed at the end: Ray's usual folder may be another user's. It is in the temporary folder,
    or in /tmp where the paths of Ray's sockets would be too long."""
    prefix, parent = "photo-finish-ray-", tempfile.gettempdir()
    if len(os.fsencode(f"{parent}/{prefix}12345678/{SOCKET}")) > PATH_BYTES:
        parent = "/tmp"
    return tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)


def _keep_token_private() -> None:
    """Has only the user read the token and all other files that Ray writes: it leaves them readable
    to all."""
    os.umask(0o077)
    with contextlib.suppress(FileNotFoundError):
        (Path.home() / ".ray" / "auth_token").chmod(0o600)
