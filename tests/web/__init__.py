"""Test web on the loopback interface: real HTTP, two hundred pages about lighthouses, a search engine, and traps.

It runs in a thread of the test process, and also serves other processes:

    with Web() as web:
        web.build_url("/lighthouses/marrow-point")     # URL of a page
        web.search                                   # URL of a fake SearXNG instance
        web.count("/lighthouses/marrow-point")       # number of requests for the page

Its pages are deterministic. `tests.web.traps` describes the traps.
"""

from tests.web.messages import Reply, Request
from tests.web.pages import LIGHTHOUSES, Lighthouse
from tests.web.server import Web

__all__ = ["LIGHTHOUSES", "Lighthouse", "Reply", "Request", "Web"]
