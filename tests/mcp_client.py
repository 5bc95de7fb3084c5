"""A client of MCP that knows nothing of gradio."""

from __future__ import annotations

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, Tool

from tests.coroutines import run


def tool(
    url: str, path: str = "gradio_api/mcp", **arguments: object
) -> tuple[list[Tool], CallToolResult]:
    """The page's tools, and the answer of the one called race."""

    async def call() -> tuple[list[Tool], CallToolResult]:
        async with (
            streamable_http_client(f"{url}{path}") as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            return (await session.list_tools()).tools, await session.call_tool("race", arguments)

    return run(call())
