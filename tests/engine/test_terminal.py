"""Where what commands print goes, and the files that they are asked to write."""

from __future__ import annotations

import argparse
import errno
import io
import os
import re
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from engine.terminal import say, writable
from tests.unread import unread


def test_a_stream_that_nobody_reads_takes_what_comes_later() -> None:
    with unread() as stream:
        assert say("red apple") is False
        assert say("cactus")
        stream.flush()  # as at the program's end


@pytest.mark.parametrize(
    ("encoding", "printed"), [("utf-8", "a 🍎 ± é"), ("cp1252", "a \\U0001f34e ± é")]
)
def test_what_an_encoding_lacks_is_escaped(encoding: str, printed: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding)
    assert say("a 🍎 ± é", stream, end="")
    assert raw.getvalue().decode(encoding) == printed


def test_a_file_that_can_be_written_is_not_touched(tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text("a race")
    for name in ("old.json", "new.json"):
        assert writable(str(tmp_path / name)) == tmp_path / name
    assert os.listdir(tmp_path) == ["old.json"]
    assert old.read_text() == "a race"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "{} is a folder: name a file in it"),
        ("none/race.json", "there is no folder {}/none to write it to"),
        ("file/race.json", "there is no folder {}/file to write it to"),
        ("a" * 300, "cannot be written to (File name too long): name another file"),
        ("pipe", "{}/pipe is a device or a pipe: name a file"),
    ],
)
def test_a_file_that_cannot_be_written_is_said_in_words(
    tmp_path: Path, name: str, words: str
) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(argparse.ArgumentTypeError, match=re.escape(words.format(tmp_path))):
        writable(f"{tmp_path}/{name}")


@pytest.mark.parametrize("name", ["race.json", "new.json"])
def test_a_file_without_permission_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "race.json").touch()
    denied = Mock(side_effect=PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    monkeypatch.setattr(Path, "open", denied)  # the superuser may write anywhere
    words = re.escape("cannot be written to (Permission denied): name another file")
    with pytest.raises(argparse.ArgumentTypeError, match=words):
        writable(str(tmp_path / name))
    assert os.listdir(tmp_path) == ["race.json"]


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_a_file_in_a_folder_of_the_system_is_said_in_words() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="cannot be written to"):
        writable("/proc/race.json")
