"""Call the page's MCP tool as an agent does, and print the result as JSON."""

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult


async def race(url: str, prompt: str) -> CallToolResult:
    async with (
        streamable_http_client(f"{url.rstrip('/')}/gradio_api/mcp") as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        tools = (await session.list_tools()).tools
        # on a Space a tool's name begins with the Space's name
        tool = next(tool for tool in tools if tool.name.endswith("race"))
        return await session.call_tool(
            tool.name, {"prompt": prompt, "seed": 7, "lanes": ["ar", "sjd", "gsd:G=50"]}
        )


if len(sys.argv) != 3:
    sys.exit('usage: python examples/mcp_tool.py http://127.0.0.1:7860 "red apple on sky clouds"')
answer = asyncio.run(race(sys.argv[1], sys.argv[2]))
if answer.isError:
    sys.exit("\n".join(part.text for part in answer.content if part.type == "text"))
print(json.dumps(answer.structuredContent, indent=2))
