"""The page, with its races on a Ray cluster.

The page uses a running cluster, or a new cluster on this machine that ends with this program.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import math
import os
import re
import secrets
import signal
import socket
import time

from pydantic import ValidationError

from cluster.connection import JOINED, LOCAL, ROOT, connection
from cluster.options import Options

WATCH_SECONDS = 2.0  # between looks at the application
GONE = (
    "Photo Finish has ended: its application on the cluster is gone. Somebody deleted it or shut"
    " down Ray Serve."
)
# A part of Ray's message about what takes longer than 30 seconds, and what it means here.
SLOW = {
    "to be scheduled": "The cluster has no room for all of it: `ray status` on its head says what"
    " is missing.",
    "to initialize": "It is still starting: loading a model may take minutes.",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m cluster", description=__doc__)
    parser.add_argument("--address", help="a running cluster, as ray.init takes it")
    parser.add_argument(
        "--racers",
        type=int,
        nargs=2,
        default=(1, 2),
        metavar=("LEAST", "MOST"),
        help="number of racers: at least, even while nobody races, and at most",
    )
    parser.add_argument("--cpus", type=float, default=1, help="CPU cores of each racer")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of each racer, whole ones")
    parser.add_argument("--lanes-apart", action="store_true", help="one lane per racer")
    parser.add_argument("--host", default="127.0.0.1", help="to serve on; a cluster's head serves")
    parser.add_argument("--port", type=int, default=7860, help="to serve on")
    parser.add_argument(
        "--route", default="/", help="path of the page, if a cluster serves others: /photo-finish"
    )
    args = parser.parse_args()
    least, most = args.racers
    try:
        options = Options(
            least=least, most=most, cpus=args.cpus, gpus=args.gpus, lanes_apart=args.lanes_apart
        )
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
        parser.error("; ".join(lines).removeprefix(": ").removeprefix("Value error, "))
    if not re.fullmatch("/|(/[A-Za-z0-9_-]+)+", args.route):
        parser.error("--route is a path such as /photo-finish")
    for name, value in (JOINED if args.address else LOCAL).items():
        os.environ.setdefault(name, value)
    if not args.address:
        machine = [("cores", args.cpus, os.cpu_count() or 1)]
        if args.gpus:
            import torch

            machine += [("GPUs", args.gpus, torch.cuda.device_count())]
        for what, each, here in machine:
            if least * each > here:
                parser.error(
                    f"{least} racers of {each:g} {what} need {least * each:g}, but this machine"
                    f" has {here}"
                )
        _check_port(args.host, args.port)
        # Ray's workers look for modules only in the working directory, which may be another one.
        path = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([path] if path else [])])
    with contextlib.suppress(KeyboardInterrupt):
        serve(options, args.address, args.host, args.port, args.route)


def serve(options: Options, address: str | None, host: str, port: int, route: str) -> None:
    """Serve the page until interrupted.

    Raises SystemExit with a message if the page cannot be served, or if its application is
    deleted.
    """
    from ray import serve
    from ray.exceptions import RayError

    # A name of its own: Serve would replace another application of that name, and this program
    # must delete only its own.
    name = f"photo-finish-{secrets.token_hex(4)}"
    _end_at_sigterm()
    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    with connection(address):
        _end_at_sigterm()  # again: Ray's handler aborts a program that takes 3 seconds to end
        _say_what_is_missing(options)
        _start_serve(host, port)
        try:
            _deploy(options, name, route)
            place = " of the cluster's head" if address else ""
            _watch(name, f"http://{host}:{port}{route.rstrip('/')}{place}")
        except RayError as error:  # Serve's controller has died
            raise SystemExit(GONE) from error
        finally:
            with contextlib.suppress(RayError, TimeoutError):
                serve.delete(name)


def _start_serve(host: str, port: int) -> None:
    """Start Ray Serve if the cluster does not run it yet.

    Raises SystemExit if Serve cannot listen on this address. A cluster has one Serve, which
    listens on one address only.
    """
    from ray import serve
    from ray.serve._private.api import serve_start  # serve.start does not say what runs already

    where = f"{host}:{port}"
    try:
        served = serve_start(
            proxy_location="HeadOnly",
            http_options={"host": host, "port": port, "request_timeout_s": None},
            global_logging_config={"log_level": "WARNING"},
        ).http_config
    except (RuntimeError, TimeoutError) as error:  # Serve was started, but cannot listen there
        serve.shutdown()  # otherwise the cluster's Serve would keep this address
        raise SystemExit(
            f"Photo Finish cannot start: {where} of the cluster's head is in use, or the head may"
            " not serve on it. Choose another port with --port."
        ) from error
    if (served.host, served.port) != (host, port):
        raise SystemExit(
            f"Photo Finish cannot start: the cluster's Ray Serve listens only on {served.host}:"
            f"{served.port}, not on {where}. Give --host {served.host} --port {served.port}, or"
            " end that Serve first if nobody needs it: `serve shutdown`."
        )


def _deploy(options: Options, name: str, route: str) -> None:
    """Send the application to Serve. Raises SystemExit if another application has the route."""
    from ray import serve
    from ray.serve.exceptions import RayServeException

    from cluster.application import application

    page = serve.RunTarget(application(options), name, route)
    try:
        serve.run_many([page], wait_for_applications_running=False)
    except RayServeException as error:
        why = str(error).rpartition("RayServeException: ")[2].strip()
        raise SystemExit(
            f"Photo Finish cannot start: {why} End that application, or choose another path for"
            " this one with --route."
        ) from error


def _say_what_is_missing(options: Options) -> None:
    """Print a message if even the idle cluster has no room for the least number of racers.

    Serve then waits for more machines.
    """
    import ray

    needs = {kind: n for kind, n in (("CPU", options.cpus), ("GPU", options.gpus)) if n}
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    room = sum(
        min((machine.get(kind, 0) // n for kind, n in needs.items()), default=math.inf)
        for machine in machines
    )
    if room < options.least:
        print(
            f"Photo Finish waits for machines: the cluster has room for {room:g} racers of"
            f" {options.cpus:g} cores and {options.gpus} GPUs each, but {options.least} are"
            " needed.",
            flush=True,
        )


def _watch(name: str, where: str) -> None:
    """Print why the page is not served yet; once it is, print its address. Never returns.

    Raises SystemExit if the application cannot start, or once it is gone.
    """
    import ray
    from ray import serve

    reason, serves = "", False
    while True:
        application = serve.status().applications.get(name)
        if application is None or application.status == "DELETING":
            raise SystemExit(GONE)
        messages = [each.message for each in application.deployments.values() if each.message]
        why = "\n".join(dict.fromkeys(map(_plain, messages)))
        if application.status == "DEPLOY_FAILED":
            raise SystemExit(f"Photo Finish cannot start: {application.message}\n{why}")
        if application.status == "RUNNING" and not serves:
            serves = True
            (node, *_) = ray.nodes()
            print(
                f"Photo Finish is on {where}, its metrics on http://{node['NodeManagerAddress']}:"
                f"{node['MetricsExportPort']}/metrics",
                flush=True,
            )
        elif why not in ("", reason) and not serves:
            reason = why
            print(f"Photo Finish is not on the cluster yet. {why}", flush=True)
        time.sleep(WATCH_SECONDS)


def _plain(message: str) -> str:
    """Return the explanation that SLOW has for Ray's `message`; without one, return `message`.

    SLOW maps parts of messages to explanations. The first part that `message` contains counts.
    """
    return next((words for part, words in SLOW.items() if part in message), message)


def _end_at_sigterm() -> None:
    """Make SIGTERM end the program and its cluster, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def _check_port(host: str, port: int) -> None:
    """Raise SystemExit if this machine cannot serve on the port; Ray would retry for ever."""
    try:
        with socket.create_server((host, port)):
            pass
    except (OSError, OverflowError) as error:
        raise SystemExit(
            f"Photo Finish cannot start: {host} port {port} is in use, or this machine may not"
            " serve on it. End the program that uses it, or choose another port with --port."
        ) from error


if __name__ == "__main__":
    main()
