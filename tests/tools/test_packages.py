from __future__ import annotations

from typing import Any

import pytest

from tests.pages import page
from tools.packages import TORCH_FILE, faults, pins, read, uploaded

RIGHT, WRONG = "a" * 64, "b" * 64
KNOWN = {("anyio", "4.16.0"): {RIGHT}, ("torch", "2.13.0"): {RIGHT}}


def report(name: str, version: str, digest: str, old: bool = False) -> dict[str, Any]:
    """What pip reports; `old`: as its versions of Debian 12 do."""
    archive = {"hash": f"sha256={digest}"} if old else {"hashes": {"sha256": digest}}
    info = {"url": f"https://index.example/{name}.whl", "archive_info": archive}
    return {"install": [{"metadata": {"name": name, "version": version}, "download_info": info}]}


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize(
    ("name", "version", "digest", "words"),
    [
        ("anyio", "4.16.0", RIGHT, ""),
        ("torch", "2.13.0+cpu", RIGHT, ""),
        ("nvidia-cudnn-cu13", "9.20.0.48", WRONG, ""),
        ("anyio", "4.16.0", WRONG, "anyio 4.16.0 from https://index.example/anyio.whl has a hash"),
        ("anyio", "4.16.0", "", "has a hash that is not"),
        ("anyio", "4.16.1", RIGHT, "anyio 4.16.1 is not in hashes.txt"),
        ("nvidia", "1.0", RIGHT, "nvidia 1.0 is not in hashes.txt"),
    ],
)
def test_what_came_is_what_was_uploaded(name, version, digest, words, old) -> None:
    found = faults(report(name, version, digest, old), KNOWN)
    assert len(found) == bool(words)
    assert words in "".join(found)


def test_a_source_has_no_hash_and_is_a_fault() -> None:
    whole = report("anyio", "4.16.0", RIGHT)
    whole["install"][0]["download_info"] = {"url": "git+https://example.org", "vcs_info": {}}
    assert len(faults(whole, KNOWN)) == 1


def test_every_pin_has_its_hashes() -> None:
    hashes = read(page("hashes.txt"))
    assert set(hashes) == set(pins(page("constraints.txt")))
    assert all(len(digest) == 64 for digests in hashes.values() for digest in digests)
    assert all(hashes.values())


def test_hashes_are_of_wheels_for_the_pythons_that_are_supported() -> None:
    supported = (
        "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torch-2.13.0-cp314-cp314-win_amd64.whl",
        "torch-2.13.0-py3-none-any.whl",
        "torch-2.13.0-py2.py3-none-any.whl",
        "torch-2.13.0-cp38-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    )
    others = (
        "torch-2.13.0-cp310-cp310-win_amd64.whl",
        "torch-2.13.1-py3-none-any.whl",
        "torch-2.13.0.tar.gz",
    )
    files = [(file, f"{i}") for i, file in enumerate((*supported, *others))]
    assert uploaded(files, "2.13.0") == {str(i) for i in range(len(supported))}


def test_a_page_of_pytorchs_index_is_read() -> None:
    file = "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl"
    line = f'<a href="https://download-r2.pytorch.org/whl/cpu/{file}#sha256={RIGHT}" data-x="">'
    assert TORCH_FILE.findall(line) == [(file, RIGHT)]
