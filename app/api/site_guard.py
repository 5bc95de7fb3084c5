"""ASGI middleware that rejects requests from other sites' pages, but not from programs.

A page of another site can make a visitor's browser send requests to this server. An ordinary
request of this kind names the other site in Origin. If the other site makes its own name lead to
this machine (DNS rebinding), the request names the other site in Host.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from app.settings import ANY_PAGE, SETTINGS

LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Of a Space: no DNS but Hugging Face's own has names below it.
SPACES = ".hf.space"
HUB = "huggingface.co"  # shows a Space, and asks it what can be called there
NAMED = " If it should, its host must add the name to PHOTO_FINISH_HOSTS."
OTHER_NAME = f"This page does not answer under the name in this address.{NAMED}"
OTHER_SITE = f"This page does not answer to another site's page.{NAMED}"


def names_of(environment: Mapping[str, str] = os.environ) -> frozenset[str]:
    """Return the host names that SiteGuard accepts, in Host as well as in Origin.

    They are this machine's own names and the names in the setting `hosts`. That setting has names
    under which a proxy serves the page, and names of other sites whose pages may call it. On a
    Space, the names of the Space and the hub are accepted too.
    """
    names = [*LOOPBACK, socket.gethostname(), environment.get("GRADIO_SERVER_NAME", "")]
    if "SPACE_ID" in environment:  # with a domain of its own it has several
        names += [HUB, *environment.get("SPACE_HOST", "").split(",")]
    return frozenset(name.strip().strip("[]").lower() for name in (*names, *SETTINGS.hosts)) - {""}


def frame_policy(
    frames: Collection[str] = SETTINGS.frames, environment: Mapping[str, str] = os.environ
) -> str:
    """Return the part of Content Security Policy that says who may show the page in a frame.

    Allowed are the page's own site, the sites in `frames`, and on a Space the hub. The part is
    empty if any page is allowed.
    """
    if ANY_PAGE in frames:
        return ""
    hub = [f"https://{HUB}"] if "SPACE_ID" in environment else []
    return " ".join(["; frame-ancestors 'self'", *hub, *frames])


class SiteGuard:
    """Rejects requests to a host name that is not in `names`, and requests from other sites' pages.

    An IP address is always accepted as the host; on a Space, so is every name below hf.space. A
    request without Origin counts as a program's, and not as one from another site's page.
    """

    def __init__(self, app: Any, names: Collection[str]) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else {}
        host, origin = headers.get("host"), headers.get("origin")
        name = _hostname(f"//{host}") if host else ""
        if host and not self._is_ours(name):
            await JSONResponse({"error": OTHER_NAME}, 421)(scope, receive, send)
        elif origin and _hostname(origin) not in {*self._names, name or None}:
            await JSONResponse({"error": OTHER_SITE}, 403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_ours(self, name: str) -> bool:
        spaces = HUB in self._names and name.endswith(SPACES)
        return name in self._names or spaces or _is_address(name)


def _hostname(url: str) -> str:
    """Return a URL's host in lower case without a port; "" if the URL has no host.

    For example, the value "null" of the header Origin has no host.
    """
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
