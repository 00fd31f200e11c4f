"""Command `serve`: print the link of the page, and serve page and HTTP API if the local stack does not.

It is not among the commands of `tenure.cli`, because the site calls these commands.
"""

import asyncio
import socket
import webbrowser
from argparse import Namespace

from tenure.cli.session.server_target import ServerTarget, ensure_server, locate_server, print_notes
from tenure.cli.terminal import print_json, print_note
from tenure.settings import Settings
from tenure.site.server import make_link, open_listener
from tenure.site.server import serve as serve_site
from tenure.temporal.stack import local


def serve(arguments: Namespace, settings: Settings) -> int:
    """Run the command: to the end of a page of its own, or until the link of the stack's page is printed."""
    place = ensure_server(settings)
    print_notes(place)
    port = local.get_status(settings).site_port if arguments.port is None else 0
    if port:
        link = make_link(place, port)
        _announce(arguments, link, port, "valid for a day; the page ends with the local stack")
        if arguments.open:
            webbrowser.open(link)
    else:
        asyncio.run(_serve(arguments, place))
    return 0


def serve_stack_page(listener: socket.socket) -> None:
    """Serve the page of the home of the settings on a socket until the process is asked to stop."""
    asyncio.run(_serve_until_stopped(locate_server(Settings()), listener))


async def _serve(arguments: Namespace, place: ServerTarget) -> None:
    port = arguments.port or place.settings.site_port or Settings.model_fields["site_port"].default
    with open_listener(port) as listener:
        link = make_link(place, port)
        async with serve_site(place, listener) as running:
            _announce(arguments, link, port, "valid for a day; Ctrl-C ends")
            if arguments.open:
                await asyncio.to_thread(webbrowser.open, link)
            await running


async def _serve_until_stopped(place: ServerTarget, listener: socket.socket) -> None:
    async with serve_site(place, listener) as running:
        await running


def _announce(arguments: Namespace, link: str, port: int, hint: str) -> None:
    """Print the link with a token."""
    if arguments.json:
        print_json({"url": link, "port": port})
    else:
        print_note(f"open {link} ({hint})")
