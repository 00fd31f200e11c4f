"""Run the access control before a web UI that another program serves, as in Docker Compose.

Usage: python -m tenure.temporal.gate.standalone --server ui:8080
       python -m tenure.temporal.gate.standalone --link

The port is that of `TENURE_UI_PORT`, and it must be published under the same number on 127.0.0.1: host names and
cookies are compared with it. `--link` prints a link that opens the web UI for a day.
"""

import argparse
import asyncio
import os
import socket
import sys
from collections.abc import Sequence
from http import HTTPStatus

from tenure.private_files import PRIVATE_UMASK, make_private
from tenure.settings import Settings
from tenure.temporal.gate.access import AccessGate, AccessPolicy
from tenure.temporal.gate.access_key import HOST, build_link, load_key
from tenure.temporal.gate.http_server import serve_app, wait_for_stop_signal
from tenure.temporal.gate.listeners import listen
from tenure.temporal.gate.peers import Address
from tenure.temporal.gate.web_ui import build_web_ui
from tenure.temporal.loopback import request_status

LINK_COMMAND = "docker compose exec ui-gate python -m tenure.temporal.gate.standalone --link"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tenure.temporal.gate.standalone", description=__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--server", type=parse_address, metavar="HOST:PORT", help="web UI behind this program")
    action.add_argument("--link", action="store_true", help="print a link that opens the web UI")
    action.add_argument("--check", action="store_true", help="exit with 0 if this program answers")
    parser.add_argument("--listen", default=HOST, help="address to listen on; a container needs 0.0.0.0")
    chosen = parser.parse_args(argv)
    os.umask(PRIVATE_UMASK)
    settings = Settings()
    if chosen.check:
        # It refuses a request without a cookie.
        return 0 if request_status(settings.ui_port, "/", timeout=5) == HTTPStatus.UNAUTHORIZED else 1
    home = settings.home.absolute()
    try:
        make_private(home)
        key = load_key(home)
        if chosen.link:
            print(build_link(key, f"http://{HOST}:{settings.ui_port}"))
            return 0
        listener = listen(chosen.listen, settings.ui_port)
    except OSError as error:
        print(f"error: the web UI cannot be served ({error})", file=sys.stderr)
        return 1
    policy = AccessPolicy(key, settings.ui_port, hint=f"Run `{LINK_COMMAND}` and open the link that it prints.")
    asyncio.run(_serve(build_web_ui(policy, chosen.server, home), listener))
    return 0


async def _serve(app: AccessGate, listener: socket.socket) -> None:
    async with serve_app(app, listener):
        await wait_for_stop_signal()


def parse_address(text: str) -> Address:
    """Parse `HOST:PORT`.

    Raises:
        argparse.ArgumentTypeError: it has another form.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no HOST:PORT")
    return host, int(port)


if __name__ == "__main__":
    sys.exit(main())
