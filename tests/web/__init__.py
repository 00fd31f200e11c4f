"""A small web on loopback: real HTTP, two hundred pages about lighthouses, a search engine, and traps.

It runs in a thread of the test's process and serves other processes just as well:

    with Web() as web:
        web.build_url("/lighthouses/marrow-point")     # a page
        web.search                                   # address of an engine that speaks as SearXNG does
        web.count("/lighthouses/marrow-point")       # how often it was asked for

Its pages are the same every time. What each trap does stands in `tests.web.traps`.
"""

from tests.web.messages import Reply, Request
from tests.web.pages import LIGHTHOUSES, Lighthouse
from tests.web.server import Web

__all__ = ["LIGHTHOUSES", "Lighthouse", "Reply", "Request", "Web"]
