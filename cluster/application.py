"""The Serve application that `python -m cluster`, `serve run` and KubeRay start."""

from __future__ import annotations

from ray import serve

from cluster import page, racer
from cluster.options import Options


def application(options: Options) -> serve.Application:
    racers = racer.deployment(options.least, options.most, options.cpus, options.gpus)
    return page.deployment().bind(racers.bind(), options.most, options.lanes_apart)
