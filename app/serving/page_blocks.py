"""PageBlocks: gr.Blocks whose server also has files of its own, compression, and MCP in JSON."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gradio as gr
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.serving.mcp_server import McpPath, answer_in_json

KEEP = {"Cache-Control": "public, max-age=31536000, immutable"}
GZIP_LEVEL = 5  # 9 takes twice as long for 2% less


@dataclass(frozen=True)
class PageFile:
    """A text that the page fetches. Its path names its contents, so a browser keeps it for good."""

    name: str
    text: str
    media_type: str

    @cached_property
    def path(self) -> str:
        """On the page's server."""
        return f"/files/{hashlib.sha256(self.text.encode()).hexdigest()[:16]}/{self.name}"

    def route(self) -> Route:
        def send(_: Request) -> Response:
            return Response(self.text, media_type=self.media_type, headers=KEEP)

        return Route(self.path, send)


class PageBlocks(gr.Blocks):
    """`files` are served once it is launched; MCP, with mcp_server=True."""

    def __init__(self, *, files: Sequence[PageFile], **options: Any) -> None:
        super().__init__(**options)
        self._files = files

    def launch(self, *args: Any, **options: Any) -> Any:
        # Gradio writes into this dict: each launch needs one of its own.
        extensions = {
            "routes": [file.route() for file in self._files],
            "middleware": [
                Middleware(GZipMiddleware, compresslevel=GZIP_LEVEL),
                Middleware(McpPath),
            ],
            "lifespan": self._lifespan,
        }
        return super().launch(*args, **options, app_kwargs=extensions)

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Any) -> AsyncIterator[None]:
        if self.mcp_server_obj is not None:
            answer_in_json(self.mcp_server_obj)
        yield
