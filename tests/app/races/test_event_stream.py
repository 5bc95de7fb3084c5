from __future__ import annotations

import zlib

from pydantic import BaseModel

from app.races.event_stream import GZIP, NOTHING, EventStream


class Data(BaseModel):
    text: str


def test_every_chunk_can_be_read_once_it_is_there_and_nothing_fits_between() -> None:
    """Also behind others that look alike, of which a compressor only says where they stand."""
    stream, unzip, events = EventStream(), zlib.decompressobj(GZIP), []
    for number in range(3):
        stream.add("update", number, Data(text="the same words again " * 20))
        events.append(unzip.decompress(stream.chunks[-1]).decode())
        assert unzip.decompress(NOTHING) == b""
    stream.close()
    assert unzip.decompress(stream.chunks[-1]) == b""
    assert unzip.eof
    words = "the same words again " * 20
    assert events == [
        f'event: update\nid: {number}\ndata: {{"text":"{words}"}}\n\n' for number in range(3)
    ]
    assert sum(map(len, stream.chunks)) < len("".join(events)) / 5
