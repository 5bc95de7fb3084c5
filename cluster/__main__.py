"""The page with its races on a Ray cluster: on a running one, or on one of its own, which is
started on this machine and ends with this program."""

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
    "Photo Finish has ended: its application on the cluster is gone. Somebody deleted it, or shut"
    " Ray Serve down."
)
# What Ray says where something takes longer than 30 seconds, and what that means here.
SLOW = {
    "to be scheduled": "The cluster has no room for all of it: `ray status` on its head says what"
    " is missing.",
    "to initialize": "It is still starting: loading a model may take minutes.",
}


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
    parser.add_argument("--host", default="127.0.0.1", help="to serve on; of a cluster, its head's")
    parser.add_argument("--port", type=int, default=7860, help="to serve on")
    parser.add_argument(
        "--route", default="/", help="path of the page, beside others of a cluster: /photo-finish"
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
                    f"{least} racers of {each:g} {what} need {least * each:g}, and this machine"
                    f" has {here}"
                )
        _check_port(args.host, args.port)
        # Ray's workers look for modules in the working directory alone, which need not be this one.
        path = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([path] if path else [])])
    with contextlib.suppress(KeyboardInterrupt):
        serve(options, args.address, args.host, args.port, args.route)


def serve(options: Options, address: str | None, host: str, port: int, route: str) -> None:
    """Serves until it is interrupted. Raises SystemExit with a message where it cannot, and where
    its application goes."""
    from ray import serve
    from ray.exceptions import RayError

    # Nobody else's: Serve would replace an application of the same name, and this program deletes
    # its own alone.
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
        except RayError as error:  # of Serve's controller, which has died
            raise SystemExit(GONE) from error
        finally:
            with contextlib.suppress(RayError, TimeoutError):
                serve.delete(name)


def _start_serve(host: str, port: int) -> None:
    """Starts Serve, where the cluster does not have it. Raises SystemExit where it cannot serve
    here: a cluster has one Serve, which listens on one address."""
    from ray import serve
    from ray.serve._private.api import serve_start  # serve.start does not say what runs already

    where = f"{host}:{port}"
    try:
        served = serve_start(
            proxy_location="HeadOnly",
            http_options={"host": host, "port": port, "request_timeout_s": None},
            global_logging_config={"log_level": "WARNING"},
        ).http_config
    except (RuntimeError, TimeoutError) as error:  # what was started cannot listen there
        serve.shutdown()  # or the cluster's Serve would have this address for good
        raise SystemExit(
            f"Photo Finish cannot start: {where} of the cluster's head is in use, or not its to"
            " serve. Choose another: --port."
        ) from error
    if (served.host, served.port) != (host, port):
        raise SystemExit(
            f"Photo Finish cannot start: the cluster's Ray Serve listens on {served.host}:"
            f"{served.port} alone, not on {where}. Give --host {served.host} --port {served.port},"
            " or, where nobody needs it, end it first: `serve shutdown`."
        )


def _deploy(options: Options, name: str, route: str) -> None:
    """Sends the application to Serve. Raises SystemExit where another one has its route."""
    from ray import serve
    from ray.serve.exceptions import RayServeException

    from cluster.application import application

    page = serve.RunTarget(application(options), name, route)
    try:
        serve.run_many([page], wait_for_applications_running=False)
    except RayServeException as error:
        why = str(error).rpartition("RayServeException: ")[2].strip()
        raise SystemExit(
            f"Photo Finish cannot start: {why} End that one, or choose another path for this one:"
            " --route."
        ) from error


def _say_what_is_missing(options: Options) -> None:
    """Says so where the cluster has too few machines, however idle: Serve waits for more."""
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
            f" {options.cpus:g} cores and {options.gpus} GPUs each, and {options.least} have to be"
            " there.",
            flush=True,
        )


def _watch(name: str, where: str) -> None:
    """Says when the application serves, and what keeps it from that. Returns never; raises
    SystemExit where it cannot start, and where it is gone."""
    import ray
    from ray import serve

    said, serves = "", False
    while True:
        found = serve.status().applications.get(name)
        if found is None or found.status == "DELETING":
            raise SystemExit(GONE)
        messages = [each.message for each in found.deployments.values() if each.message]
        why = "\n".join(dict.fromkeys(map(_plain, messages)))
        if found.status == "DEPLOY_FAILED":
            raise SystemExit(f"Photo Finish cannot start: {found.message}\n{why}")
        if found.status == "RUNNING" and not serves:
            serves = True
            (node, *_) = ray.nodes()
            print(
                f"Photo Finish is on {where}, its metrics on http://{node['NodeManagerAddress']}:"
                f"{node['MetricsExportPort']}/metrics",
                flush=True,
            )
        elif why not in ("", said) and not serves:
            said = why
            print(f"Photo Finish is not on the cluster yet. {why}", flush=True)
        time.sleep(WATCH_SECONDS)


def _plain(message: str) -> str:
    """Return Ray's message, or what it means here."""
    return next((words for part, words in SLOW.items() if part in message), message)


def _end_at_sigterm() -> None:
    """On SIGTERM the program ends as at Ctrl-C, and its cluster with it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


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
