"""The report of a check: Markdown for people, and the same findings as JSON for programs."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import asdict

import numpy
import torch
import transformers

from engine.models.body import BodyModel
from engine.models.supply.card import GIB
from engine.models.supply.device import available
from engine.race.hardware import device_name
from engine.version import version
from tools.check.finding import Finding, Grade

MARKS = {Grade.GOOD: "good", Grade.FAULT: "**fault**", Grade.LEFT_OUT: "left out"}


def facts(model: BodyModel) -> dict[str, str]:
    """Return, by label, the report's words on the machine and the versions of its software."""
    device = model.device
    free = available(device)
    entries = {
        "device": device_name(device),
        "free memory": "unknown" if free is None else f"{free / GIB:.1f} GiB",
        "dtype": str(model.dtype).removeprefix("torch."),
        "system": platform.platform(),
        "versions": f"Photo Finish {version()}, Python {platform.python_version()}, torch"
        f" {torch.__version__}, transformers {transformers.__version__}, NumPy {numpy.__version__}",
    }
    if device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(device)
        entries["CUDA"] = f"{torch.version.cuda}, compute capability {major}.{minor}, {_driver()}"
    return entries


def _driver() -> str:
    program = shutil.which("nvidia-smi")
    if program is None:
        return "driver unknown"
    query = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    output = subprocess.run(query, capture_output=True, text=True, check=False, timeout=60).stdout
    return f"driver {output.split()[0]}" if output.split() else "driver unknown"


def line(finding: Finding) -> str:
    """Return a finding as a line of text."""
    return f"{finding.outcome.value:>8}  {finding.name}: {finding.text}"


def as_markdown(command: str, about: dict[str, str], findings: Sequence[Finding]) -> str:
    """Return the report as a Markdown file that can be attached to an issue."""
    rows = ["# Photo Finish, check", "", f"`{command}`", ""]
    rows += [f"* {name}: {value}" for name, value in about.items()]
    rows += ["", summary(findings), "", "| | what | found |", "| --- | --- | --- |"]
    for finding in findings:
        cells = (MARKS[finding.outcome], finding.name, finding.text)
        escaped = (" ".join(cell.replace("|", "\\|").split()) for cell in cells)
        rows.append(f"| {' | '.join(escaped)} |")
    return "\n".join([*rows, "", "```json", as_json(command, about, findings), "```", ""])


def as_json(command: str, about: dict[str, str], findings: Sequence[Finding]) -> str:
    """Return the report as one line of JSON."""
    listed = [asdict(finding) | {"outcome": finding.outcome.value} for finding in findings]
    return json.dumps({"command": command, "machine": about, "findings": listed})


def summary(findings: Sequence[Finding]) -> str:
    """Return a sentence that names the faults, if there are any."""
    faults = [finding.name for finding in findings if finding.outcome is Grade.FAULT]
    if not faults:
        return "No fault was found."
    return f"{len(faults)} fault{'s' * (len(faults) > 1)}: {'; '.join(faults)}."
