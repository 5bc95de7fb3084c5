"""Traces as version 4 wrote them: a race that its program left, and what makes others."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from engine.trace import Trace

FILE = Path(__file__).with_suffix(".json")
# Of the bytes of all rows of all its lanes' tables, as that program read them.
SHA256 = "b383da78b38cce18ec458deae62714abd21b89be6a6cc01d34ed11df81bc0b20"


def pack(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


def unpack(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


def pack_rows(rows: np.ndarray) -> str:
    return pack(rows.view("u1").reshape(len(rows), rows.itemsize).T.tobytes())


def unpack_rows(text: str, dtype: np.dtype) -> np.ndarray:
    planes = np.frombuffer(unpack(text), "u1").reshape(dtype.itemsize, -1)
    return np.ascontiguousarray(planes.T).reshape(-1).view(dtype)


def plain(trace: Trace) -> dict[str, Any]:
    """The trace as a file of version 4, parsed."""
    file = json.loads(trace.dumps())
    tables = (trace.table(i).arrays() for i in range(len(trace.header.lanes)))
    lanes = [{name: pack_rows(rows) for name, rows in table.items()} for table in tables]
    return file | {"version": 4, "lanes": lanes, "codebook": pack(trace.codebook)}
