"""Command `serve`: print the link of the page, and serve page and HTTP API if the local stack does not."""

import asyncio
import html
from pathlib import Path
from typing import Final

from tenure.cli.command import CommandHome
from tenure.cli.delivery import open_in_browser
from tenure.cli.output import Output
from tenure.cli.terminal import print_note, write_file
from tenure.runs.errors import InvalidRequest
from tenure.runs.session.server_target import ServerTarget
from tenure.settings import Settings
from tenure.site.server import make_link, open_listener
from tenure.site.server import serve as serve_site
from tenure.temporal.gate.http_server import wait_for_stop_signal
from tenure.temporal.stack import local

OPEN_FILE: Final = "open.html"
"""File in the home that leads the browser of `serve --open` to the page."""


def serve(home: CommandHome, port: int | None, opens: bool, team: bool, output: Output) -> None:
    """Run the command: to the end of a server of its own, or until the link of the stack's page is printed."""
    if team and not home.settings.team_url:
        raise InvalidRequest("set TENURE_TEAM_URL and the other settings of the server of a team", "--team")
    if team and home.settings.team_max_cost_usd and not home.settings.has_model:
        raise InvalidRequest(
            "TENURE_TEAM_MAX_COST_USD limits nothing without a model: set OPENAI_API_KEY or OPENAI_BASE_URL as for the "
            "workers, or unset it",
            "--team",
        )
    service = home.open()
    if team:
        settings = home.settings.model_copy(update={"site_port": port} if port else {})
        asyncio.run(_serve_team(service.place, settings, output))
        return
    server, settings = service.place, home.settings
    running_port = local.get_status(settings).site_port if port is None else 0
    if running_port:
        link = make_link(server, running_port)
        _announce(link, running_port, "valid for a day; the page ends with the local stack", output)
        if opens:
            open_link(link, settings.home)
    else:
        asyncio.run(
            _serve(server, port or settings.site_port or Settings.model_fields["site_port"].default, opens, output)
        )


def open_link(link: str, home: Path) -> None:
    """Open a link with a token in the browser, through a private file that leads there.

    Other users of the machine can read the arguments of a browser, so the link is not one of them.
    """
    page = home.absolute() / OPEN_FILE
    content = f'<!doctype html><meta http-equiv="refresh" content="0;url={html.escape(link)}">\n'
    write_file(page, content.encode(), private=True)
    if not open_in_browser(page):
        print_note("this machine has no browser that can be started: open the link in one")


async def _serve(server: ServerTarget, port: int, opens: bool, output: Output) -> None:
    with open_listener(port) as listener:
        link = make_link(server, port)
        async with serve_site(server, listener):
            _announce(link, port, "valid for a day; Ctrl-C ends", output)
            if opens:
                await asyncio.to_thread(open_link, link, server.settings.home)
            await wait_for_stop_signal()


async def _serve_team(server: ServerTarget, settings: Settings, output: Output) -> None:
    # Only now: the library for sign-ins is needed by no other command.
    from tenure.team.server import open_team_listener, serve_team

    with open_team_listener(settings) as listener:
        async with serve_team(server, settings, listener):
            address = f"{settings.team_host}:{settings.site_port}"
            values = {"url": settings.team_url, "port": settings.site_port}
            output.print_note(values, f"{settings.team_url} is served to the proxy at {address}; Ctrl-C ends")
            await wait_for_stop_signal()


def _announce(link: str, port: int, hint: str, output: Output) -> None:
    """Print the link with a token."""
    output.print_note({"url": link, "port": port}, f"open {link} ({hint})")
