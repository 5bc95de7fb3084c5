"""The command `photo-finish check`: whether races run correctly on this machine, and how fast.

The check takes minutes. Whoever hosts the page runs it before anybody races.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from functools import partial
from pathlib import Path

import torch

from engine.models import load, prepared
from engine.models.body import BodyModel
from engine.models.supply.card import ModelError
from engine.settings import SettingError
from engine.terminal import say, writable
from tools.bench.grids import random_model
from tools.check import lanes, races, report, speed, steps
from tools.check.finding import Check, Finding, Grade, Subject, run
from tools.race import add_model_options, load_model

SIDE = 8  # of the small model's grid
# By name. The order matters: only the first race captures graphs, and the profiler that counts
# launches slows down the checks after it.
CHECKS: dict[str, Check] = {
    "races": races.check_races,
    "lanes": lanes.check_lanes,
    "failed captures": lanes.check_failed_capture,
    "logits": lanes.check_logits,
    "speed": speed.check_speed,
    "shares": speed.check_shares,
    "steps": steps.check_steps,
    "pictures": races.check_pictures,
    "memory": races.check_out_of_memory,
    "transformers": speed.check_peer,
}
SMALL = ("lanes", "failed captures", "logits")  # also run on the small model


def add_check_command(parser: argparse.ArgumentParser) -> None:
    add_model_options(parser)
    parser.set_defaults(device="auto")
    parser.add_argument(
        "--out",
        type=writable,
        default=Path("photo-finish-check.md"),
        metavar="FILE",
        help="the report, to attach to an issue; by default %(default)s",
    )
    parser.set_defaults(run=run_check, parser=parser)


def run_check(args: argparse.Namespace) -> None:
    """Print the findings as they come, then one line of JSON, and write the report.

    Exits with 1 if there is a fault, with 2 if the model cannot be loaded.
    """
    try:
        model = load_model(args)
    except (SettingError, ModelError) as error:
        args.parser.error(str(error))
    assert isinstance(model, BodyModel), "every family's model is one"
    command, about = f"photo-finish check {shlex.join(sys.argv[2:])}".strip(), report.facts(model)
    for name, value in about.items():
        say(f"{name}: {value}")
    findings = findings_of(model, args)
    say(f"\n{report.summary(findings)}")
    try:
        args.out.write_text(report.as_markdown(command, about, findings), "utf-8")
        say(f"report: {args.out}")
    except OSError as error:
        say(f"the report could not be written to {args.out}: {error.strerror}", sys.stderr)
    say(report.as_json(command, about, findings))
    if any(finding.outcome is Grade.FAULT for finding in findings):
        sys.exit(1)


def findings_of(model: BodyModel, args: argparse.Namespace) -> list[Finding]:
    """Run all checks, print each finding as it comes, and return the findings."""
    findings: list[Finding] = []

    def twin(device: torch.device, dtype: torch.dtype) -> BodyModel:
        loaded = load(args.model, str(device), dtype, random=args.random_weights, graphs=False)
        assert isinstance(loaded, BodyModel), "as the model itself"
        return loaded

    small = prepared(random_model(SIDE, model.device), args.graphs)
    subjects = [
        (Subject(small, partial(random_model, SIDE)), SMALL),
        (Subject(model, twin), tuple(CHECKS)),
    ]
    for subject, names in subjects:
        for name in names:
            for finding in run(CHECKS[name], subject, name):
                findings.append(finding)
                say(report.line(finding))
    return findings
