"""PageBlocks: gr.Blocks whose server also has its own files, compression, limits and MCP.

The server has all four whether the page is launched or mounted into another app.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import html
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gradio as gr
from gradio.block_function import BlockFunction
from gradio.data_classes import BlocksConfigDict
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.api.call_errors import WRONG_VALUE, CallErrors, UnknownCall, complete
from app.api.call_shares import CallShares
from app.api.compression import Compression
from app.api.mcp_server import Call, McpServer
from app.api.open_routes import OpenRoutes
from app.api.own_folder import have_own_folder
from app.api.request_guard import RequestGuard, without_message, words_of
from app.api.request_head import with_deadline
from app.api.site_guard import SiteGuard, names_of

# Pages that may be open at once, in a hall where 50 race and 200 watch: gradio remembers as many
# sessions, at a quarter of a megabyte each.
PAGES = 256
# By this stream Gradio's page would hold one of a browser's six connections as long as it is open.
HEARTBEAT = "/gradio_api/heartbeat/{session_hash}"
CALLS = ("{api_name}/{event_id}", "v2/{api_name}/{event_id}")
KEEP = {"Cache-Control": "public, max-age=31536000, immutable"}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PageFile:
    """A text that the page fetches.

    The file's path contains a hash of the text, so a browser may keep the file for ever.
    """

    name: str
    text: str
    media_type: str

    @cached_property
    def path(self) -> str:
        """The file's path on the page's server."""
        return f"/files/{hashlib.sha256(self.text.encode()).hexdigest()[:16]}/{self.name}"

    def route(self) -> Route:
        def send(_: Request) -> Response:
            return Response(self.text, media_type=self.media_type, headers=KEEP)

        return Route(self.path, send)


class PageBlocks(gr.Blocks):
    """Gradio's page with `routes` of its own, and with `calls` as MCP tools.

    At most `at_once` tools run at a time. Routes and tools are served once the page is
    launched, or mounted with `extensions`.
    """

    def __init__(
        self, *, routes: Sequence[Route], calls: Mapping[str, Call], at_once: int, **options: Any
    ) -> None:
        have_own_folder()  # before any component, each of which asks for it
        super().__init__(**options)
        self._routes, self._calls, self._at_once = routes, calls, at_once
        self.max_threads = at_once + 40  # a waiting call holds a thread

    def extensions(self) -> dict[str, Any]:
        """Return what the page adds to gradio's server, as gradio's `app_kwargs`.

        Gradio changes this dict, so each server needs its own.
        """
        mcp = McpServer(self._calls, self._at_once)
        unknown = [UnknownCall(f"/gradio_api/call/{call}", self) for call in CALLS]
        own = [*self._routes, *unknown, *mcp.routes(), Route(HEARTBEAT, _end_stream)]
        return {
            "routes": own,
            "middleware": [
                Middleware(RequestGuard),
                Middleware(SiteGuard, names=names_of()),
                Middleware(OpenRoutes, own=own),
                Middleware(Compression),
            ],
            "exception_handlers": CallErrors(self).handlers(),
            "lifespan": mcp.lifespan,
        }

    def queue(self, *args: Any, **options: Any) -> PageBlocks:
        super().queue(*args, **options)
        self._queue.push = CallShares(self._queue).push  # type: ignore[method-assign]
        return self

    def launch(self, *args: Any, **options: Any) -> Any:
        options |= {"max_threads": self.max_threads, "app_kwargs": self.extensions()}
        with _without_proxies():
            launched = super().launch(*args, **options)
        config = self.server.config
        config.http_protocol_class = with_deadline(config.http_protocol_class)
        return launched

    def get_config_file(self) -> BlocksConfigDict:
        """Return the page's config without gradio's heartbeat.

        The page itself says when a visitor leaves it (opening.js).
        """
        config = super().get_config_file()
        config["connect_heartbeat"] = False
        return config

    async def preprocess_data(
        self, block_fn: BlockFunction, inputs: list[Any], *args: Any, **options: Any
    ) -> Any:
        values = complete(block_fn, inputs)
        try:
            return await super().preprocess_data(block_fn, values, *args, **options)
        except gr.Error:
            raise
        except Exception:
            raise gr.Error(WRONG_VALUE, print_exception=False) from None

    async def process_api(self, block_fn: Any, *args: Any, **options: Any) -> dict[str, Any]:
        """Process a call; if it raises, do not print the message, which may repeat typed text."""
        try:
            return await super().process_api(block_fn, *args, **options)
        except gr.Error as error:
            shown = copy.copy(error)
            shown.print_exception = False
            if getattr(block_fn, "api_visibility", "") != "public":  # the page shows it as HTML
                shown.message = html.escape(error.message, quote=False)
            raise shown from error
        except Exception as error:
            log.error("%s: %s", getattr(block_fn, "api_name", ""), without_message(error))
            raise gr.Error(words_of(error), print_exception=False) from None


def _end_stream(_: Request) -> Response:
    """End a page's heartbeat stream at once.

    The page's config turns the heartbeat off (`get_config_file`). But gradio's script turns it on
    again after gr.render has drawn something, and asks for the stream.
    """
    return Response(media_type="text/event-stream")


@contextlib.contextmanager
def _without_proxies() -> Iterator[None]:
    """Bypass HTTP proxies within a `with` block.

    To start the queue, Gradio's launch sends its own server a request, with a client that obeys
    HTTP_PROXY. After the block, downloads use the proxies again.
    """
    before = os.environ.get("no_proxy")
    os.environ["no_proxy"] = "*"
    try:
        yield
    finally:
        if before is None:
            del os.environ["no_proxy"]
        else:
            os.environ["no_proxy"] = before
