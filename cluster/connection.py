"""The connection to Ray: to a running cluster, or to a cluster that this program starts."""

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
# The folders that a remote cluster is sent: the wheel's without the tools, and no hidden file.
SENT = ("app", "cluster", "engine", "static", "visualize", "weights")
# Patterns for everything else, as in a .gitignore: the last one that matches counts. Ray also asks
# about the folder itself, as ".".
LEFT_OUT = ["/*", "!/.", *(f"!/{folder}" for folder in SENT), ".?*", "__pycache__"]
# Environment variables, which Ray reads when it is imported: LOCAL for a cluster that is started
# here, JOINED for this program when it joins one.
LOCAL = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # listen on loopback only, on Linux too
    "RAY_AUTH_MODE": "token",  # kept in ~/.ray: no other user of this machine gets in
    "RAY_USAGE_STATS_ENABLED": "0",
}
# Makes one attempt of at most half a minute; Ray would make twenty attempts.
JOINED = {"RAY_gcs_server_port_wait_time_s": "1"}
ANSWER_SECONDS = 15.0  # until a cluster's head must have answered
# The first bytes of an HTTP/2 client, with an empty SETTINGS frame, and the type of the frame that
# a server answers with (RFC 9113, 3.4 and 6.5). Ray's head speaks gRPC, and therefore HTTP/2.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
SETTINGS = 4
# The longest name of a socket within Ray's folder, and the longest path that systems allow for a
# socket.
SOCKET = "ray/session_2026-01-01_00-00-00_000000_1234567/sockets/plasma_store.1"
PATH_BYTES = 103


@contextlib.contextmanager
def connection(address: str | None) -> Iterator[None]:
    """Connect to a running cluster, or to a new cluster that ends with the connection.

    A running cluster receives the folders that SENT lists. It also receives this program's
    environment variables PHOTO_FINISH_... and HF_HUB_OFFLINE. Raises SystemExit with a message if
    the running cluster does not answer, or if it rejects this program.

    Args:
        address: the running cluster's address; None starts a new cluster on this machine.
    """
    import ray

    with contextlib.ExitStack() as ends:
        if address:
            ends.callback(ray.shutdown)
            _join(address)
        else:
            folder = ends.enter_context(ray_folder())
            # Ray kills the page's process, so that it cannot remove its own files.
            os.environ.setdefault("GRADIO_TEMP_DIR", os.path.join(folder, "gradio"))
            # Ray's processes write into the folder until they have ended.
            ends.callback(ray.shutdown, wait_for_processes=True)
            _keep_token_private()
            # "local" ignores any cluster that runs here or that RAY_ADDRESS names: it is somebody
            # else's, and this program must not end it.
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

    if address == "auto":  # what Ray does, without its wait of a minute, and with a clear message
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
                " this program has no token or a wrong one. Set RAY_AUTH_MODE=token, and"
                " RAY_AUTH_TOKEN to the content of ~/.ray/auth_token on the cluster's head."
            ) from error
        raise SystemExit(
            f"Photo Finish cannot start: no Ray cluster answers at {address}. Run `ray status` on"
            f" its head to see whether it runs. It must run Ray {ray.__version__}; if it has a"
            " token, set RAY_AUTH_TOKEN to it."
        ) from error


def _greet(host: str, port: int) -> None:
    """Raise OSError if no cluster's head answers at this address; Ray would try for minutes."""
    deadline = time.monotonic() + ANSWER_SECONDS
    with socket.create_connection((host, port), timeout=ANSWER_SECONDS) as connection:
        if os.environ.get("RAY_USE_TLS") == "1":  # it does not answer unencrypted
            return
        connection.sendall(PREFACE)
        head = b""
        while len(head) < 4:
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            if not (part := connection.recv(9)):
                break
            head += part
        if head[3:4] != bytes([SETTINGS]):
            raise ConnectionError("the server does not speak HTTP/2")


def ray_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a new temporary folder for all files of a cluster on this machine.

    Only this program's user can read the folder. Ray's usual folder may belong to another user.
    The new folder is in the system's folder for temporary files, or in /tmp if the paths of Ray's
    sockets would otherwise be too long.
    """
    prefix, parent = "photo-finish-ray-", tempfile.gettempdir()
    if len(os.fsencode(f"{parent}/{prefix}12345678/{SOCKET}")) > PATH_BYTES:
        parent = "/tmp"
    return tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)


def _keep_token_private() -> None:
    """Make Ray's access token, and all files that Ray will write, readable to this user only.

    By default Ray's files are readable to all users. This sets the process's umask.
    """
    os.umask(0o077)
    with contextlib.suppress(FileNotFoundError):
        (Path.home() / ".ray" / "auth_token").chmod(0o600)
