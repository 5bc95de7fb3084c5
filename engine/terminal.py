"""The output of all commands, and a check of the files that commands are asked to write."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TextIO


def say(text: str, stream: TextIO | None = None, end: str = "\n") -> bool:
    """Print a text to `stream`, or to stdout if None, and flush the stream.

    Characters that the stream's encoding lacks are escaped. Returns False if nobody reads the
    stream any more, as with `| head`; later output is then dropped.
    """
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
        # Otherwise Python, which flushes the stream when it exits, would print the error too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return False
    return True


def writable(name: str) -> Path:
    """Return the path of a file that can be written, for use as the `type` of an option.

    The file is opened for writing and left unchanged, so that an error comes before minutes of
    work. Raises ArgumentTypeError if the file cannot be written.
    """
    file = Path(name)
    try:
        if file.is_dir():
            raise argparse.ArgumentTypeError(f"{file} is a folder: name a file in it")
        if not file.parent.is_dir():
            raise argparse.ArgumentTypeError(f"there is no folder {file.parent} to write it to")
        there = file.exists()
        if there and not file.is_file():
            raise argparse.ArgumentTypeError(f"{file} is a device or a pipe: name a file")
        file.open("ab").close()
        if not there:
            file.unlink()
    except OSError as error:
        raise argparse.ArgumentTypeError(
            f"{name!r:.80} cannot be written to ({error.strerror}): name another file"
        ) from error
    return file
