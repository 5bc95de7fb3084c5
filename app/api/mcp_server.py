"""The calls for programs as tools of the Model Context Protocol, served by the package `mcp`."""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

import anyio
import gradio as gr
from gradio.context import LocalContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import TextContent, Tool
from pydantic import ConfigDict, Field, create_model
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.api.api_result import RaceResult
from app.api.request_guard import without_message, words_of

PATH = "/gradio_api/mcp"  # where clients look for the tools of a Gradio app
Call = Callable[..., Iterator[dict]]

log = logging.getLogger(__name__)


class McpServer:
    """An ASGI app that serves tools to MCP clients.

    The app has no sessions: it answers each request by itself. `calls` has the tools by name. A
    tool is a generator, and its last result is the answer. The generator is closed when the client
    hangs up. At most `threads` tools run at a time. The app can be served only once.
    """

    def __init__(self, calls: Mapping[str, Call], threads: int) -> None:
        # Tools of several Spaces may stand beside one another.
        space = os.environ.get("SPACE_ID", "").rpartition("/")[2]
        prefix = re.sub(r"\W", "_", f"{space}_") if space else ""
        self._calls = {prefix + name: call for name, call in calls.items()}
        self._tools = [_tool(name, call) for name, call in self._calls.items()]
        self._threads = anyio.CapacityLimiter(threads)
        self._server: Server[Any, Request] = Server("Photo Finish")
        self._server.list_tools()(self._list_tools)
        self._server.call_tool()(self._call_tool)
        self._manager = StreamableHTTPSessionManager(self._server, stateless=True)
        # The library logs what it cannot read, which a visitor typed; its answer says the same. A
        # part of it uses the root logger.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        logging.getLogger().addFilter(_is_not_mcps)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)

    def routes(self) -> list[Route]:
        """Return the tools' route, with and without a slash at the end, and the schema's route.

        The tools need both forms of their route, because not every client follows a redirect. The
        schema describes the tools; the hub asks a Space for it.
        """
        return [
            Route(PATH, self, methods=["POST"]),
            Route(f"{PATH}/", self, methods=["POST"]),
            Route(f"{PATH}/schema", self._send_schema),
        ]

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Any) -> AsyncIterator[None]:
        async with self._manager.run():
            yield

    async def _send_schema(self, _: Request) -> Response:
        fields = {"name", "description", "inputSchema"}
        return JSONResponse([tool.model_dump(include=fields) for tool in self._tools])

    async def _list_tools(self) -> list[Tool]:
        return self._tools

    async def _call_tool(
        self, name: str, arguments: dict[str, Any]
    ) -> tuple[list[TextContent], dict[str, Any]]:
        """Run a tool and return its last result twice: as text and as structured content.

        Raises ValueError, whose message the client gets as an error.
        """
        if name not in self._calls:
            raise ValueError(f"There is no such tool; there are {', '.join(self._calls)}.")
        client = gr.Request(self._server.request_context.request)
        LocalContext.request.set(client)  # where ZeroGPU looks for whose quota a race uses
        results, result, step = self._calls[name](**arguments, request=client), dict[str, Any](), 0
        try:
            while new := await self._in_thread(next, results, None):
                if new is not result:
                    await self._report(step := step + 1, result := new)
        except gr.Error as error:
            raise ValueError(error.message) from error
        except Exception as error:
            log.error("%s: %s", name, without_message(error))
            raise ValueError(words_of(error)) from error
        finally:
            with anyio.CancelScope(shield=True):
                await self._in_thread(results.close)  # type: ignore[attr-defined]
        return [TextContent(type="text", text=json.dumps(result, ensure_ascii=False))], result

    async def _in_thread(self, work: Callable[..., Any], *values: Any) -> Any:
        return await anyio.to_thread.run_sync(work, *values, limiter=self._threads)

    async def _report(self, step: int, result: Mapping[str, Any]) -> None:
        """Send a progress notification to the client, if the client asked for progress.

        The notification has the result's number `step`. Its message is the result's note, or the
        result's state if there is no note.
        """
        context = self._server.request_context
        if context.meta and context.meta.progressToken is not None:
            await context.session.send_progress_notification(
                context.meta.progressToken,
                step,
                message=result["note"] or result["state"],
                related_request_id=str(context.request_id),
            )


def _tool(name: str, call: Call) -> Tool:
    about, described = _read_docstring(inspect.getdoc(call) or "")
    hints = get_type_hints(call)
    fields: dict[str, Any] = {
        each.name: (
            hints[each.name],
            Field(
                ... if each.default is each.empty else each.default,
                description=described.get(each.name),
            ),
        )
        for each in inspect.signature(call).parameters.values()
        if each.name != "request"
    }
    arguments = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    return Tool(
        name=name,
        description=about,
        inputSchema=arguments.model_json_schema(),
        outputSchema=RaceResult.model_json_schema(),
    )


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Split a call's docstring into a description and its parameters' descriptions by name.

    The description is the text before "Parameters:", and the text from "Returns:" on.
    """
    does, _, rest = text.partition("Parameters:\n")
    listed, returns, what = rest.partition("Returns:")
    entries = re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", listed, re.MULTILINE)
    described = {name: " ".join(words.split()) for name, words in entries}
    return " ".join(f"{does} {returns}{what}".split()), described


def _is_not_mcps(record: logging.LogRecord) -> bool:
    return "mcp" not in Path(record.pathname).parts
