"""Command `serve`: serve the page and the HTTP API of this home.

It is not among the commands of `tenure.cli`, because the site calls these commands.
"""

import asyncio
import webbrowser
from argparse import Namespace

from tenure.cli.session.server_target import ServerTarget, ensure_server, print_notes
from tenure.cli.terminal import print_json, print_note
from tenure.settings import Settings
from tenure.site.server import make_link, open_listener
from tenure.site.server import serve as serve_site


def serve(arguments: Namespace, settings: Settings) -> int:
    """Run the command until the process is asked to stop."""
    place = ensure_server(settings)
    print_notes(place)
    asyncio.run(_serve(arguments, place))
    return 0


async def _serve(arguments: Namespace, place: ServerTarget) -> None:
    port = arguments.port or place.settings.site_port
    with open_listener(port) as listener:
        link = make_link(place, port)
        async with serve_site(place, listener) as running:
            if arguments.json:
                print_json({"url": link, "port": port})
            else:
                print_note(f"open {link} (valid for a day; Ctrl-C ends)")
            if arguments.open:
                await asyncio.to_thread(webbrowser.open, link)
            await running
