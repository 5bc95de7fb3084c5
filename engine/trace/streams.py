"""Streams: bytes packed into compressed text, and read back from text of any origin."""

from __future__ import annotations

import base64
import lzma
import zlib
from typing import Any

MAX_UNPACKED = 64 * 2**20  # bytes of one lane's tables together
# No context between bytes: a table's bytes of one kind stand together. The reader takes no more
# memory than the dictionary, whatever a file says.
FILTERS = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**22, "lc": 0, "lp": 0, "pb": 0}]


class PackingError(ValueError):
    """Packed bytes are unreadable, or cannot come from a race; the message says why."""


def pack(data: bytes) -> str:
    """Return bytes as the base64 of a raw LZMA2 stream."""
    return base64.b64encode(lzma.compress(data, lzma.FORMAT_RAW, filters=FILTERS)).decode()


def unpack(text: Any, room: int = MAX_UNPACKED) -> bytes:
    """Return the bytes that `pack` compressed.

    Raises PackingError for an unreadable text, or if there are more than `room` bytes.
    """
    return _unpack(text, lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=FILTERS), room)


def unpack_zlib(text: Any, room: int = MAX_UNPACKED) -> bytes:
    """Return the bytes of a zlib stream, as in files of version 4; otherwise like `unpack`."""
    return _unpack(text, zlib.decompressobj(), room)


def _unpack(text: Any, stream: Any, room: int) -> bytes:
    if not isinstance(text, str):
        raise PackingError("a table is not text")
    try:
        raw: bytes = stream.decompress(base64.b64decode(text, validate=True), room + 1)
    except (ValueError, zlib.error, lzma.LZMAError) as error:
        raise PackingError("a table is not readable") from error
    if len(raw) > room:
        raise PackingError("it holds more than a race can leave")
    if not stream.eof:
        raise PackingError("a table is cut off")
    return raw
