"""The Python that `make` takes, with scripts in place of the interpreters of other versions, and
what it does where another package came than was uploaded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from tests.pages import ROOT, page
from tests.tools.test_packages import WRONG, report
from tools.packages import read

# `-c`: Python's answer if this were its version; `-m venv FOLDER`: a folder that names the script.
SCRIPT = """#!/bin/sh
version='import sys; sys.version_info = ({numbers}, "final", 0); exec(sys.argv[1])'
case $1 in
-c) exec {python} -IS -c "$version" "$2" ;;
-m) mkdir "$3" && echo "${{0##*/}}" >"$3/python" ;;
esac
"""
BROKEN = "#!/bin/sh\nexit 127\n"  # as pyenv's are for the versions that it does not switch on
INHERITED = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "PYTHON")
REQUIRED = SpecifierSet(tomllib.loads(page("pyproject.toml"))["project"]["requires-python"])


class Machine:
    """A machine whose only Pythons are the ones added. `make` there has made .venv, or fails."""

    def __init__(self, folder: Path) -> None:
        self.commands, self.venv = folder / "bin", folder / "venv"
        self.commands.mkdir()
        for tool in ("sh", "make", "mkdir", "rm", "touch", "id"):
            (self.commands / tool).symlink_to(shutil.which(tool))

    def add(self, name: str, version: str | None) -> None:
        numbers = (version or "").replace(".", ", ")
        text = SCRIPT.format(python=sys.executable, numbers=numbers) if version else BROKEN
        (self.commands / name).write_text(text, "utf-8")
        (self.commands / name).chmod(0o755)

    def make(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["make", "--silent", f"VENV={self.venv}", *arguments, f"{self.venv}/.made"]
        # Without what a `make` that runs these tests has set.
        own = {key: value for key, value in os.environ.items() if key not in INHERITED}
        environment = own | {"PATH": str(self.commands)}
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
        )

    def chosen(self, *arguments: str) -> str:
        done = self.make(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return (self.venv / "python").read_text("utf-8").strip()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("pythons", "chosen"),
    [
        ({"python3": "3.13.5", "python3.12": "3.12.9"}, "python3"),
        ({"python3": "3.9.2", "python3.11": "3.11.2", "python3.13": "3.13.5"}, "python3.13"),
        ({"python3": "3.10.13", "python3.14": None, "python3.12": "3.12.1"}, "python3.12"),
        ({"python3": "3.15.0", "python3.14": "3.14.7"}, "python3.14"),
        ({"python3.11": "3.11.7"}, "python3.11"),
    ],
    ids=["Debian 13", "old python3", "pyenv", "new python3", "no python3"],
)
def test_make_takes_python3_or_the_newest_that_is_in_range(machine, pythons, chosen) -> None:
    for name, version in pythons.items():
        machine.add(name, version)
    assert machine.chosen() == chosen


def test_make_takes_the_python_that_is_named(machine) -> None:
    machine.add("python3", "3.13.5")
    machine.add("mine", "3.14.0")
    assert machine.chosen("PYTHON=mine") == "mine"


@pytest.mark.parametrize("minor", [10, 11, 14, 15])
def test_make_runs_on_the_pythons_that_the_package_asks_for(machine, minor) -> None:
    machine.add("python3", f"3.{minor}.1")
    assert (machine.make().returncode == 0) == (f"3.{minor}.1" in REQUIRED)


@pytest.mark.parametrize("version", ["2.7.18", "3.10.13", "3.15.0", None])
def test_make_says_what_to_install_where_no_python_is_in_range(machine, version) -> None:
    if version:
        machine.add("python3", version)
    done = machine.make()
    assert done.returncode != 0
    assert (
        f"Photo Finish needs Python 3.11 to 3.14; python3 is {version or 'missing'}." in done.stdout
    )
    assert "apt-get install python3 python3-venv" in done.stdout
    assert f"make PYTHON=python3.13 {machine.venv}/.made" in done.stdout
    assert "Traceback" not in done.stderr
    assert not machine.venv.exists()


@pytest.mark.parametrize("name", ["python3", "python3.13"])
def test_make_says_which_package_makes_virtual_environments(machine, name) -> None:
    machine.add(name, "3.13.5")
    (machine.commands / "mkdir").unlink()
    done = machine.make()
    assert done.returncode != 0
    assert f"apt-get install {name}-venv" in done.stdout


@pytest.mark.parametrize("digest", [min(read(page("hashes.txt"))["anyio", "4.16.0"]), WRONG])
def test_make_keeps_no_environment_with_a_package_that_is_another(tmp_path: Path, digest) -> None:
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / ".made").touch()
    (venv / "bin" / "python").symlink_to(sys.executable)
    came = tmp_path / "came.json"
    came.write_text(json.dumps(report("anyio", "4.16.0", digest)))
    (venv / "bin" / "pip").write_text(f"#!/bin/sh\ncp {came} {venv}/installed.json\n")
    (venv / "bin" / "pip").chmod(0o755)
    own = {key: value for key, value in os.environ.items() if key not in INHERITED}
    command = ["make", f"VENV={venv}", f"{venv}/.run"]
    done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == venv.exists() == (digest != WRONG), done.stderr
    assert ("Do not use this environment" in done.stderr) == (digest == WRONG)
