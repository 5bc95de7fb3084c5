"""Calls the page's MCP tool as an agent does, and prints the result.

python examples/mcp_tool.py http://127.0.0.1:7860 "red apple on sky clouds"
"""

import asyncio
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent


async def main(url: str, prompt: str) -> None:
    async with (
        streamable_http_client(f"{url.rstrip('/')}/gradio_api/mcp/") as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        (tool,) = (await session.list_tools()).tools  # on a Space its name begins with the Space's
        answer = await session.call_tool(
            tool.name, {"prompt": prompt, "seed": 7, "lanes": ["ar", "sjd", "gsd"]}
        )
        text = "\n".join(part.text for part in answer.content if isinstance(part, TextContent))
        if answer.isError:
            sys.exit(text)
        print(text)


asyncio.run(main(sys.argv[1], sys.argv[2]))
