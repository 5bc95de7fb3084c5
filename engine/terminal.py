"""What all commands print, and the files that they are asked to write."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TextIO


def say(text: str, stream: TextIO | None = None, end: str = "\n") -> bool:
    """Prints at once, to stdout by default; what the stream's encoding lacks is escaped. False
    where nobody reads it any more, as behind `| head`: what is printed later goes nowhere."""
    stream = stream or sys.stdout
    encoding = stream.encoding or "utf-8"
    try:
        print(
            text.encode(encoding, "backslashreplace").decode(encoding),
            end=end,
            file=stream,
            flush=True,
        )
    except BrokenPipeError:
        # or Python would print it, too, at its end, when it flushes the stream
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return False
    return True


def writable(name: str) -> Path:
    """The file of that name, as the `type` of an option. Raises ArgumentTypeError where it could
    not be written, which is said before what takes minutes."""
    file = Path(name)
    try:
        if file.is_dir():
            raise argparse.ArgumentTypeError(f"{file} is a folder: name a file in it")
        if not file.parent.is_dir():
            raise argparse.ArgumentTypeError(f"there is no folder {file.parent} to write it to")
        there = file if file.exists() else file.parent
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{error.strerror}: {name!r:.80}") from error
    if not os.access(there, os.W_OK):
        raise argparse.ArgumentTypeError(f"{there} cannot be written to: name another file")
    return file
