"""The wheel, built from the checkout's files as they stand and used where there is no checkout: in
an environment of its own, which sees the packages of this one."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PathDistribution
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement

from photo_finish.__main__ import main
from tests.app.conftest import wait_until
from tests.pages import ROOT, page
from tests.ports import answers, free_port

FOLDERS = ("app/", "cluster/", "engine/", "static/", "tools/", "visualize/", "weights/")
FILES = ("requirements.txt", "requirements-cluster.txt", "requirements-dev.txt")


def checkout_files() -> list[str]:
    """Files that are committed or may be, without those that were deleted."""
    # whoever owns the folder: in a container it is another user
    command = ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if (ROOT / name).is_file()]


@dataclass(frozen=True)
class Installed:
    """`bin` has the commands, `packages` is site-packages, `folder` has nothing in it at first."""

    bin: Path
    packages: Path
    folder: Path

    def start(self, *command: str, **variables: str) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.Popen(
            [self.bin / command[0], *command[1:]],
            cwd=self.folder,
            env=kept | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *command: str, status: int = 0, **variables: str) -> str:
        """What the command prints; fails where it ends with another status."""
        with self.start(*command, **variables) as process:
            printed, _ = process.communicate(timeout=300)
        assert process.returncode == status, printed
        return printed


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    top = tmp_path_factory.mktemp("wheel")
    source, built, made, empty = (top / name for name in ("source", "built", "made", "empty"))
    for name in checkout_files():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)
    empty.mkdir()

    def python(*arguments: object, cwd: Path = top) -> None:
        subprocess.run([sys.executable, *map(str, arguments)], cwd=cwd, check=True)

    # the wheel from the sdist, which so has to have what the wheel is made of
    build = f"from setuptools.build_meta import build_sdist; build_sdist({str(built)!r})"
    python("-c", build, cwd=source)
    offline = ("--no-deps", "--no-index")
    (sdist,) = built.iterdir()
    python("-m", "pip", "wheel", "--no-build-isolation", *offline, "--wheel-dir", built, sdist)
    python("-m", "venv", "--without-pip", made)
    (packages,) = made.glob("lib/*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    (wheel,) = built.glob("*.whl")
    python("-m", "pip", "--python", made / "bin" / "python", "install", *offline, wheel)
    return Installed(made / "bin", packages, empty)


def test_everything_lies_in_one_folder_and_nothing_is_left_out(installed: Installed) -> None:
    tops = {path.name for path in installed.packages.iterdir()} - {"others.pth"}
    (about,) = tops - {"photo_finish"}
    assert re.fullmatch(r"photo_finish-[\d.]+\.dist-info", about)
    root = installed.packages / "photo_finish"
    there = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    ours = {name for name in checkout_files() if name.startswith(FOLDERS)}
    ours |= {path.name for path in (ROOT / "photo_finish").glob("*.py")}
    assert {name for name in there if not name.endswith(".pyc")} == ours


def applies(line: str) -> bool:
    """Whether a requirement is one of this machine."""
    marker = Requirement(line).marker
    return marker is None or marker.evaluate()


def test_it_requires_what_the_files_of_requirements_say(installed: Installed) -> None:
    (about,) = installed.packages.glob("photo_finish-*.dist-info")
    required = [Requirement(line) for line in PathDistribution(about).requires]
    everyone, cluster, tests = (
        {
            Requirement(line.partition(";")[0])
            for line in page(name).splitlines()
            if not line.startswith("#") and applies(line)
        }
        for name in FILES
    )
    for extra, lines in (("", set()), ("cluster", cluster), ("test", cluster | tests)):
        needed = {
            Requirement(str(each).partition(";")[0])
            for each in required
            if not each.marker or each.marker.evaluate({"extra": extra})
        }
        assert needed == everyone | lines, extra


def test_lower_bounds_are_the_versions_that_the_tests_run_on() -> None:
    """A bound below them would be a promise that nothing tries."""
    lines = (line.partition(";")[0].strip() for line in page("constraints.txt").splitlines())
    pins = dict(line.split("==") for line in lines if "==" in line)
    required = map(Requirement, page("requirements.txt").splitlines()[2:])
    lowest = {
        each.name: bound.version
        for each in required
        for bound in each.specifier
        if bound.operator == ">="
    }
    del lowest["torch"]  # ZeroGPU's is older
    assert len(lowest) > 10
    for name, version in lowest.items():
        pinned = pins.get(name, pins.get(name.replace("-", "_"), ""))
        assert f"{pinned}.".startswith(f"{version}."), name


def break_off_upload(port: int, folder: Path) -> None:
    """Sends the half of a file, and returns once the page has removed it."""
    head = (
        "POST /gradio_api/upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        '--x\r\nContent-Disposition: form-data; name="files"; filename="half.json"\r\n\r\nhalf'
    )
    begun = partial(folder.glob, "photo-finish-*/tmp*")
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head.encode())
        wait_until(lambda: any(begun()))
    wait_until(lambda: not any(begun()))


def test_it_serves_the_page_and_its_visitors_files_go_with_it(
    installed: Installed, tmp_path: Path
) -> None:
    """The temporary folder is everybody's: what gradio puts there lies in the page's own folder,
    even where nobody can write into gradio's usual one."""
    (tmp_path / "gradio").write_text("another user's")
    served, path = "", ""
    with free_port() as port:
        variables = {
            "GRADIO_SERVER_PORT": str(port),
            "GRADIO_TEMP_DIR": "",
            "TMPDIR": str(tmp_path),
        }
        serving = installed.start("photo-finish", "page", **variables)
        url = f"http://127.0.0.1:{port}/"
        try:
            wait_until(lambda: answers(url) or serving.poll() is not None)
            if serving.poll() is None:
                served = httpx.get(url, timeout=300).text
                break_off_upload(port, tmp_path)
                files = {"files": ("race.json", b"a visitor's")}
                answer = httpx.post(f"{url}gradio_api/upload", files=files, timeout=300)
                (path,) = answer.json()
                kept = [file for file in tmp_path.rglob("*") if file.is_file()]
        finally:
            serving.terminate()
            printed, _ = serving.communicate(timeout=300)
    assert "Race board" in served, printed
    for race in (ROOT / "static" / "races").glob("*.json"):
        assert rf"\"{race.stem}\"" in served  # in the board's facts, which are text
    assert sorted(kept) == [tmp_path / "gradio", Path(path)]
    assert Path(path).relative_to(tmp_path).parts[0].startswith("photo-finish-")
    assert os.listdir(tmp_path) == ["gradio"]


WHERE = "import engine.settings, visualize, app; print(engine.settings.__file__, app.__file__)"
MISSING = "ModuleNotFoundError: No module named 'engine"


def test_one_import_makes_the_folders_importable(installed: Installed) -> None:
    root = installed.packages / "photo_finish"
    assert MISSING in installed.run("python", "-c", WHERE, status=1)
    printed = installed.run("python", "-c", f"import photo_finish; {WHERE}")
    assert printed.split() == [f"{root}/engine/settings.py", f"{root}/app/__init__.py"]


def test_a_package_of_the_same_name_gives_way_unless_it_was_imported_before(
    installed: Installed, tmp_path: Path
) -> None:
    (tmp_path / "engine.py").touch()
    after, before = (
        f"import {names}; {WHERE}" for names in ("photo_finish", "engine, photo_finish")
    )
    printed = installed.run("python", "-c", after, PYTHONPATH=str(tmp_path))
    assert printed.startswith(f"{installed.packages}/photo_finish/engine/")
    printed = installed.run("python", "-c", before, status=1, PYTHONPATH=str(tmp_path))
    assert MISSING in printed


def test_a_module_that_is_a_command_runs_as_a_part_of_it(installed: Installed) -> None:
    assert "usage: " in installed.run("python", "-m", "photo_finish.tools.judge.vectors", "--help")


def test_a_checkout_has_the_command_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["photo_finish", "--help"])
    with pytest.raises(SystemExit):
        main()
    offered = re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert offered == ["page", "race", "infill", "bench", "judge", "models", "check"]
