"""Command `mcp`: offer runs to other programs over the Model Context Protocol."""

import asyncio
import signal
from argparse import Namespace

from tenure.cli.terminal import print_json, print_note
from tenure.mcp_server.home import LazyHome
from tenure.mcp_server.server import PATH, open_http_app, serve_stdio
from tenure.runs.errors import InvalidRequest
from tenure.settings import Settings
from tenure.site.server import open_listener
from tenure.temporal.gate.access_key import HOST, KEY_FILE
from tenure.temporal.gate.http_server import serve_app, wait_for_stop_signal


def serve_mcp(arguments: Namespace, settings: Settings) -> int:
    """Run the command until its client leaves, or until the process is asked to stop."""
    if not arguments.http and (arguments.port is not None or arguments.json):
        raise InvalidRequest("--port and --json belong to --http: without it, standard output belongs to the protocol")
    home = LazyHome(settings)
    if arguments.http:
        asyncio.run(_serve_http(arguments, home))
        return 0
    # A thread that reads standard input delays the end of the event loop; nothing is lost by an immediate end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serve_stdio(home))
    return 0


async def _serve_http(arguments: Namespace, home: LazyHome) -> None:
    port = arguments.port or home.settings.mcp_port
    url = f"http://{HOST}:{port}{PATH}"
    with open_listener(port) as listener:
        async with open_http_app(home, port) as app, serve_app(app, listener):
            if arguments.json:
                print_json({"url": url, "port": port})
            else:
                print_note(
                    f"MCP server at {url}; clients send the key in {home.settings.home / KEY_FILE} as bearer token"
                )
            await wait_for_stop_signal()
