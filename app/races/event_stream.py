"""EventStream: server-sent events (WHATWG HTML, section 9.2), compressed once for all readers."""

from __future__ import annotations

import zlib

from pydantic import BaseModel

GZIP = 16 + zlib.MAX_WBITS
# They ask a proxy not to hold events back, and a cache not to keep them.
HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
# A block of deflate that holds nothing, which may stand between any two chunks: it shows a proxy
# that the stream goes on.
NOTHING = b"\x00\x00\x00\xff\xff"


class EventStream:
    """A stream of events. Its `chunks`, joined in order, are one gzip stream.

    Every reader gets whole chunks, from the first chunk on.
    """

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        # Most of what is sent are numbers that look random, for which this is made.
        self._gzip = zlib.compressobj(9, wbits=GZIP, strategy=zlib.Z_FILTERED)

    def add(self, event: str, number: int, data: BaseModel) -> None:
        """Add an event; by its `number`, a reader knows which events it has already read."""
        text = f"event: {event}\nid: {number}\ndata: {data.model_dump_json(exclude_unset=True)}\n\n"
        chunk = self._gzip.compress(text.encode()) + self._gzip.flush(zlib.Z_SYNC_FLUSH)
        self.chunks.append(chunk)

    def close(self) -> None:
        self.chunks.append(self._gzip.flush())
