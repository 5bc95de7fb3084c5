"""Compression of the answers of the page's server."""

from __future__ import annotations

import re
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware

LEVEL = 5  # 9 takes twice as long for 2% less


class Compression(GZipMiddleware):
    """Middleware that compresses answers for clients that take gzip.

    Starlette and the stream of a race only look for the word "gzip" in the request. So they
    would also compress for `gzip;q=0` and for `x-gzipped`. This middleware replaces the
    request's Accept-Encoding by "gzip" or "identity".
    """

    def __init__(self, app: Any) -> None:
        super().__init__(app, compresslevel=LEVEL)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = MutableHeaders(scope=scope)
            accepted = ",".join(headers.getlist("Accept-Encoding"))
            headers["Accept-Encoding"] = "gzip" if takes_gzip(accepted) else "identity"
        await super().__call__(scope, receive, send)


def takes_gzip(accepted: str) -> bool:
    """Return whether the Accept-Encoding field `accepted` allows gzip (RFC 9110, 12.5.3)."""
    codings = (part.partition(";") for part in accepted.lower().split(","))
    weights = {coding.strip(): re.sub(r"\s", "", weight) for coding, _, weight in codings}
    weight = weights.get("gzip", weights.get("x-gzip", weights.get("*")))
    return weight is not None and not re.fullmatch(r"q=0(\.0*)?", weight)
