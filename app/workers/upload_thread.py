"""The one thread that reads what visitors upload.

The thread gives memory back to the system after each upload. A small file may be large in
memory, and glibc keeps freed memory for each thread that took some.
"""

from __future__ import annotations

import ctypes
import os
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

Values = ParamSpec("Values")
Result = TypeVar("Result")

_thread = ThreadPoolExecutor(1, "upload")
# of glibc; other C libraries have none
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None


def read_upload(
    read: Callable[Values, Result], *values: Values.args, **named: Values.kwargs
) -> Result:
    """Call `read` in the upload thread, after earlier uploads; return or raise as `read` does."""
    return _thread.submit(partial(_read, read, *values, **named)).result()


def _read(read: Callable[Values, Result], *values: Values.args, **named: Values.kwargs) -> Result:
    try:
        return read(*values, **named)
    except Exception as error:
        # Who gets it may keep it for long, and with it all that was read.
        each: BaseException | None = error
        while each is not None:
            traceback.clear_frames(each.__traceback__)
            each = each.__cause__ or each.__context__
        raise
    finally:
        if _trim is not None:
            _trim(0)
