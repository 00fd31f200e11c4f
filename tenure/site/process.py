"""Serve the page as a part of the local stack: `python -m tenure.site.process DESCRIPTOR`.

The descriptor is that of a listening socket, which the stack has opened. The page itself needs a hundred megabytes and
seconds of imports, so the process waits for its first visitor before it loads the page; the visitor's connection waits
in the queue of the socket meanwhile.
"""

import select
import socket
import sys


def main(descriptor: int) -> None:
    """Serve the page from the first connection until the process is asked to stop."""
    with socket.socket(fileno=descriptor) as listener:
        select.select([listener], [], [])
        # Only now: a stack without visitors does not pay for the page.
        from tenure.site.command import serve_stack_page

        serve_stack_page(listener)


if __name__ == "__main__":
    main(int(sys.argv[1]))
