"""Checks pip's report: every installed file must have a hash that hashes.txt lists.

    pip install --only-binary :all: --report installed.json ...
    python tools/packages.py installed.json
    python tools/packages.py --write

hashes.txt lists the hashes of the files that the packages' makers uploaded. The last command writes
hashes.txt anew for the pins of constraints.txt. This program needs only Python, since it runs
before any installed package does.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

ROOT = Path(__file__).parent.parent
HASHES, CONSTRAINTS = ROOT / "hashes.txt", ROOT / "constraints.txt"
PIN = re.compile(r"^([\w.-]+)==([\w.]+)", re.M)
# The page of the package index that lists a package's files (PEP 503 and PEP 691).
INDEX = "https://pypi.org/simple/{}/"
JSON = {"Accept": "application/vnd.pypi.simple.v1+json"}
TORCH_CPU = "https://download.pytorch.org/whl/cpu/torch/"
TORCH_FILE = re.compile(r'href="[^"#]*/(torch-[^"#]+\.whl)#sha256=([0-9a-f]{64})"')
# The tags (PEP 425) of wheels for the supported versions of Python.
PYTHONS = re.compile(r"-(py3|py2\.py3|cp31[1-4]|cp3\d+-abi3)(-|\.)")
# NVIDIA's libraries: torch's build with CUDA itself pins their versions.
UNCHECKED = re.compile(r"nvidia-|cuda-")
TAMPERED = "Do not use this environment: a package of it may have been tampered with."
Hashes = dict[tuple[str, str], set[str]]  # by name and version


def normal(name: str) -> str:
    """Return a package's name in the normal form of PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(constraints: str) -> list[tuple[str, str]]:
    """Return (name, version) for each pin in a constraints file."""
    return [(normal(name), version) for name, version in PIN.findall(constraints)]


def read(text: str) -> Hashes:
    """Read the `text` of hashes.txt: a line NAME==VERSION, then a line for each of its hashes."""
    hashes: Hashes = {}
    for block in re.split(r"\n(?=\S)", text.strip()):
        pin, *listed = block.split()
        name, _, version = pin.partition("==")
        hashes[name, version] = set(listed)
    return hashes


def faults(report: dict[str, Any], hashes: Hashes) -> list[str]:
    """Return a sentence for each package in pip's `report` whose hash is not in `hashes`.

    NVIDIA's libraries (UNCHECKED) are left out if `hashes` does not list them.
    """
    sentences = []
    for item in report["install"]:
        name, version = normal(item["metadata"]["name"]), item["metadata"]["version"]
        archive = item["download_info"].get("archive_info", {})
        _, _, only = archive.get("hash", "").partition("=")  # the only field in Debian 12's pip
        digest = archive.get("hashes", {}).get("sha256", only)
        known = hashes.get((name, version.partition("+")[0]))
        if known is None and not UNCHECKED.match(name):
            sentences.append(f"{name} {version} is not in hashes.txt.")
        elif known is not None and digest not in known:
            url = item["download_info"]["url"]
            sentences.append(f"{name} {version} from {url} has a hash that is not in hashes.txt.")
    return sentences


def uploaded(files: Iterable[tuple[str, str]], version: str) -> set[str]:
    """Return the hashes of the wheels of `version` that suit a supported Python.

    `files` has the name and the hash of each file.
    """
    return {
        digest
        for file, digest in files
        if file.endswith(".whl")
        and file.split("-")[1].partition("+")[0] == version
        and PYTHONS.search(file)
    }


def fetch(name: str, version: str) -> set[str]:
    """Return the hashes that PyPI lists for the wheels of package `name`, version `version`."""
    with urlopen(Request(INDEX.format(name), headers=JSON), timeout=60) as answer:
        files = json.load(answer)["files"]
    return uploaded(((file["filename"], file["hashes"]["sha256"]) for file in files), version)


def fetch_torch_cpu(version: str) -> set[str]:
    """Return the hashes of torch's wheels without CUDA, which PyTorch's own index lists."""
    with urlopen(TORCH_CPU, timeout=60) as answer:
        page = answer.read().decode().replace("%2B", "+")
    return uploaded(TORCH_FILE.findall(page), version)


def write() -> None:
    """Write hashes.txt. Raises URLError if an index does not answer."""
    blocks = []
    for name, version in sorted(pins(CONSTRAINTS.read_text("utf-8"))):
        digests = fetch(name, version)
        if name == "torch":
            digests |= fetch_torch_cpu(version)
        blocks.append("\n    ".join([f"{name}=={version}", *sorted(digests)]))
    HASHES.write_text("\n".join(blocks) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python tools/packages.py", description=__doc__)
    parser.add_argument("report", nargs="?", help="what `pip install --report` wrote")
    parser.add_argument("--write", action="store_true", help="write hashes.txt anew")
    options = parser.parse_args()
    if options.write:
        write()
        return
    if options.report is None:
        parser.error("name the report of pip, or --write")
    report = json.loads(Path(options.report).read_text("utf-8"))
    if sentences := faults(report, read(HASHES.read_text("utf-8"))):
        sys.exit("\n".join([*sentences, TAMPERED]))


if __name__ == "__main__":
    main()
