"""The routes of Gradio that stay open: those that the page, `gradio_client` and curl use.

Gradio has other routes. They write a visitor's text or a film of the visitor's screen to the disk,
let prompts edit code, or forward files from elsewhere. A route that a later Gradio adds stays
closed until it is named here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.responses import JSONResponse
from starlette.routing import Match, Route

NOTHING = "There is nothing at this address."
READ = (
    # the page and its files
    "/",
    "/assets/{path:path}",
    "/static/{path:path}",
    "/svelte/{path:path}",
    "/favicon.ico",
    "/manifest.json",
    "/robots.txt",
    "/theme.css",
    "/gradio_api/theme.css",
    # what it is made of, and what can be called
    "/config",
    "/gradio_api/info",
    "/gradio_api/openapi.json",
    # whether it is the same server as before
    "/gradio_api/app_id",
    # ends at once: page_blocks.py answers it
    "/gradio_api/heartbeat/{session_hash}",
    "/gradio_api/startup-events",
    # answers of calls
    "/gradio_api/queue/data",
    "/gradio_api/call/{api_name}/{event_id}",
    "/gradio_api/call/v2/{api_name}/{event_id}",
    # files that visitors brought or made
    "/gradio_api/upload_progress",
    "/gradio_api/file={path_or_url:path}",
)
WRITTEN = (
    "/gradio_api/upload",
    # calls
    "/gradio_api/queue/join",
    "/gradio_api/run/{api_name}",
    "/gradio_api/call/{api_name}",
    "/gradio_api/call/v2/{api_name}",
    "/gradio_api/cancel",
    "/gradio_api/reset",
)


class OpenRoutes:
    """ASGI middleware that answers a request with 404 unless its route is open.

    `own` has the page's own routes, which are open to every method. Gradio's routes in READ are
    open to GET, and those in WRITTEN to POST.
    """

    def __init__(self, app: Any, own: Sequence[Route]) -> None:
        self._app, self._own = app, own
        self._open = [Route(path, app, methods=["GET"]) for path in READ]
        self._open += [Route(path, app, methods=["POST"]) for path in WRITTEN]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not self._is_open(scope):
            await JSONResponse({"error": NOTHING}, 404)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_open(self, scope: Any) -> bool:
        # by another method one of its own is answered with 405, as a client of MCP expects
        own = any(route.matches(scope)[0] is not Match.NONE for route in self._own)
        return own or any(route.matches(scope)[0] is Match.FULL for route in self._open)
