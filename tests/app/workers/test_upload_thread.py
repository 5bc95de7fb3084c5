"""What visitors upload is read by one thread, which keeps nothing of it."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.workers.upload_thread import read_upload


class Large:
    """Stands in for what a file is read into."""


def test_uploads_are_read_one_after_another_on_one_thread() -> None:
    at_once, most = set[int](), []

    def read(number: int) -> str:
        at_once.add(number)
        most.append(len(at_once))
        at_once.remove(number)
        return threading.current_thread().name

    with ThreadPoolExecutor(8) as callers:
        names = set(callers.map(lambda number: read_upload(read, number), range(40)))
    assert len(names) == 1
    assert max(most) == 1


def test_an_error_keeps_nothing_of_what_was_read() -> None:
    kept = []

    def decode(large: Large) -> None:
        kept.append(weakref.ref(large))
        raise OSError("cut off")

    def read() -> None:
        large = Large()
        try:
            decode(large)
        except OSError as error:
            raise ValueError("no picture") from error

    with pytest.raises(ValueError, match="no picture") as caught:
        read_upload(read)
    gc.collect()
    assert isinstance(caught.value.__cause__, OSError)
    assert kept[0]() is None
