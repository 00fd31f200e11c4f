"""Command `mcp`: offer runs to other programs over the Model Context Protocol."""

import asyncio
import signal

from tenure.cli.output import Output
from tenure.mcp_server.home import LazyHome
from tenure.mcp_server.server import PATH, open_http_app, serve_stdio
from tenure.runs.errors import InvalidRequest
from tenure.settings import Settings
from tenure.site.server import open_listener
from tenure.temporal.gate.access_key import HOST, KEY_FILE
from tenure.temporal.gate.http_server import serve_app, wait_for_stop_signal


def serve_mcp(settings: Settings, http: bool, port: int | None, output: Output) -> None:
    """Run the command until its client leaves, or until the process is asked to stop."""
    if not http and (port is not None or output.json):
        raise InvalidRequest("--port and --json belong to --http: without it, standard output belongs to the protocol")
    home = LazyHome(settings)
    if http:
        asyncio.run(_serve_http(home, port or settings.mcp_port, output))
        return
    # A thread that reads standard input delays the end of the event loop; nothing is lost by an immediate end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serve_stdio(home))


async def _serve_http(home: LazyHome, port: int, output: Output) -> None:
    url = f"http://{HOST}:{port}{PATH}"
    with open_listener(port) as listener:
        async with open_http_app(home, port) as app, serve_app(app, listener):
            key = home.settings.home / KEY_FILE
            output.print_note(
                {"url": url, "port": port}, f"MCP server at {url}; clients send the key in {key} as bearer token"
            )
            await wait_for_stop_signal()
