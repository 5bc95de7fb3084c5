"""What makes gradio's MCP server answer in JSON, and at its path without the last slash, too."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from gradio.mcp import GradioMCPServer

PATH = "/gradio_api/mcp"


def answer_in_json(server: GradioMCPServer, schema: dict[str, Any]) -> None:
    """Makes a server whose tools each return one JSON object of a schema send it as text and as
    structured content, and reject fields that a tool does not take. Gradio itself sends Python's
    repr of it. What the library cannot read it logs, and with it what a visitor typed: that is
    turned off, since its answer says the same."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_mcps)  # of which a part logs to the root logger
    types: Any = server.types

    def to_text(data: list[Any], root_url: str) -> list[Any]:
        (value,) = data
        return [types.TextContent(type="text", text=json.dumps(value, ensure_ascii=False))]

    server.postprocess_output_data = to_text  # type: ignore[method-assign]
    handlers: dict[type, Any] = server.mcp_server.request_handlers
    call_tool = handlers[types.CallToolRequest]

    async def call(request: Any) -> Any:
        answer = await call_tool(request)
        if not answer.root.isError:
            answer.root.structuredContent = json.loads(answer.root.content[0].text)
        return answer

    handlers[types.CallToolRequest] = call
    list_tools = handlers[types.ListToolsRequest]

    async def list_with_schemas(request: Any) -> Any:
        answer = await list_tools(request)
        for tool in answer.root.tools:
            tool.inputSchema["additionalProperties"] = False
            tool.outputSchema = schema
        return answer

    handlers[types.ListToolsRequest] = list_with_schemas


def _is_not_mcps(record: logging.LogRecord) -> bool:
    return "mcp" not in Path(record.pathname).parts


class McpPath:
    """ASGI middleware: PATH is served itself, where Starlette redirects to PATH with a slash. Some
    clients know an MCP address by its ending in /mcp, and not every one follows a redirect. Gradio
    calls the page again with a call's headers: the visitor's address is put into them."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].removesuffix("/").endswith(PATH):
            rest = [each for each in scope["headers"] if each[0] != b"x-forwarded-for"]
            caller = [(b"x-forwarded-for", scope["client"][0].encode())] if scope["client"] else []
            path = scope["path"].removesuffix("/") + "/"
            scope = {**scope, "path": path, "headers": [*rest, *caller]}
        await self._app(scope, receive, send)
