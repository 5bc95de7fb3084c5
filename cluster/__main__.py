"""The page with its races on a Ray cluster: on a running one, or on one of its own, which is
started on this machine and ends with this program."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from cluster.options import Options

ROOT = Path(__file__).parent.parent
# What no replica needs of the folder that is sent to a remote cluster, in patterns as of a
# .gitignore. "/.*" would leave the folder itself out, as Ray reads it.
LEFT_OUT = ["/.?*", "/node_modules", "/docs", "/examples", "/tests", "/train"]
# Environment variables of a cluster that is started here. Ray reads them when it is imported.
LOCAL = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # then it listens on loopback alone, on Linux too
    "RAY_AUTH_MODE": "token",  # in ~/.ray, so that no other user of this machine gets in
    "RAY_USAGE_STATS_ENABLED": "0",
}
# The longest name of a socket in a folder that is made for Ray, and the longest path that a system
# takes for one.
SOCKET = "ray/session_2026-01-01_00-00-00_000000_1234567/sockets/plasma_store.1"
PATH_BYTES = 103


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m cluster", description=__doc__)
    parser.add_argument("--address", help="of a running cluster, as ray.init takes it")
    parser.add_argument(
        "--racers",
        type=int,
        nargs=2,
        default=(1, 2),
        metavar=("LEAST", "MOST"),
        help="so many at least, also while nobody races, and so many at most",
    )
    parser.add_argument("--cpus", type=float, default=1, help="CPU cores of each racer")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of each racer, whole ones")
    parser.add_argument("--lanes-apart", action="store_true", help="a lane a racer")
    parser.add_argument("--host", default="127.0.0.1", help="to serve on; of a cluster, its nodes'")
    parser.add_argument("--port", type=int, default=7860, help="to serve on")
    args = parser.parse_args()
    least, most = args.racers
    try:
        options = Options(
            least=least, most=most, cpus=args.cpus, gpus=args.gpus, lanes_apart=args.lanes_apart
        )
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
        parser.error("; ".join(lines).removeprefix(": ").removeprefix("Value error, "))
    if not args.address:
        cores = os.cpu_count() or 1
        if least * args.cpus > cores:
            parser.error(
                f"{least} racers of {args.cpus:g} cores need {least * args.cpus:g}, and this"
                f" machine has {cores}"
            )
        _check_port(args.host, args.port)
        for name, value in LOCAL.items():
            os.environ.setdefault(name, value)
        # Ray's workers look for modules in the working directory alone, which need not be this one.
        path = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([path] if path else [])])
    with contextlib.suppress(KeyboardInterrupt):
        serve(options, args.address, args.host, args.port)


def serve(options: Options, address: str | None, host: str, port: int) -> None:
    """Serves until it is interrupted. Raises SystemExit with a message where it cannot."""
    import ray
    from ray import serve

    from cluster.application import application

    _end_at_sigterm()
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    with connection(address):
        _end_at_sigterm()  # again: Ray's handler aborts a program that takes 3 seconds to end
        if not address and options.gpus > ray.cluster_resources().get("GPU", 0):
            raise SystemExit("Photo Finish cannot start: Ray finds too few GPUs on this machine.")
        serve.start(
            proxy_location="HeadOnly",
            http_options={"host": host, "port": port, "request_timeout_s": None},
            logging_config={"log_level": "WARNING"},
        )
        try:
            serve.run(application(options))
            (node, *_) = ray.nodes()
            print(
                f"Photo Finish is on http://{host}:{port}"
                + (" of the cluster's head" if address else "")
                + f", its metrics on http://{node['NodeManagerAddress']}:"
                f"{node['MetricsExportPort']}/metrics",
                flush=True,
            )
            threading.Event().wait()
        except RuntimeError as error:
            started = serve.status().applications["default"].deployments
            why = [f"{name}: {each.message}" for name, each in started.items() if each.message]
            raise SystemExit("\n".join([f"Photo Finish cannot start: {error}", *why])) from error
        finally:
            serve.shutdown()


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

    settings = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("PHOTO_FINISH_") or name == "HF_HUB_OFFLINE"
    }
    environment = {"env_vars": settings, "working_dir": str(ROOT), "excludes": LEFT_OUT}
    where = urlsplit("//" + address.rpartition("//")[2])
    try:
        if where.port:  # Ray would try for minutes
            socket.create_connection((where.hostname, where.port), timeout=10).close()
        ray.init(address, runtime_env=environment, log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise SystemExit(
            f"Photo Finish cannot start: no Ray cluster answers at {address}. `ray status` on its"
            f" head says whether it runs; its version of Ray must be {ray.__version__}."
        ) from error


def ray_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for all files of a cluster of this machine, which only its user can read and which
    is removed at the end: Ray's usual folder may be another user's. It is in the temporary folder,
    or in /tmp where the paths of Ray's sockets would be too long."""
    prefix, parent = "photo-finish-ray-", tempfile.gettempdir()
    if len(os.fsencode(f"{parent}/{prefix}12345678/{SOCKET}")) > PATH_BYTES:
        parent = "/tmp"
    return tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)


def _end_at_sigterm() -> None:
    """On SIGTERM the program ends as at Ctrl-C, and its cluster with it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def _keep_token_private() -> None:
    """Has only the user read the token and all other files that Ray writes: it leaves them readable
    to all."""
    os.umask(0o077)
    with contextlib.suppress(FileNotFoundError):
        (Path.home() / ".ray" / "auth_token").chmod(0o600)


def _check_port(host: str, port: int) -> None:
    """Raises SystemExit if this machine cannot serve on it: Ray would try again for ever."""
    try:
        with socket.create_server((host, port)):
            pass
    except (OSError, OverflowError) as error:
        raise SystemExit(
            f"Photo Finish cannot start: {host} port {port} is in use, or not this machine's to"
            " serve. End what uses it, or choose another: --port."
        ) from error


if __name__ == "__main__":
    main()
