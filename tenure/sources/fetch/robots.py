"""Load robots.txt files, and check whether a URL may be fetched (RFC 9309).

A site without the file allows everything; a site whose server fails is not crawled for some minutes. The file is
cached for a day and loaded under the same guard as any page.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from protego import Protego

from tenure.algorithms.text.urls import parse_url
from tenure.sources.fetch.errors import ErrorStatus, FetchError, NoResponse, RequestRefused

MAX_ROBOTS_BYTES: Final = 500 * 1024
"""Size that is parsed; RFC 9309 requires at least 500 KiB."""
_CACHE_SECONDS: Final = 86_400.0  # RFC 9309 asks to use a copy for no longer.
_RETRY_SECONDS: Final = 300.0
"""Time for which a site is not crawled after its server failed."""
_MAX_SITES: Final = 1_000
"""Number of cached sites above which expired entries are removed."""
_TOO_MANY_REQUESTS: Final = 429

LoadFile = Callable[[str], Awaitable[bytes]]
"""Function that loads a robots.txt from its URL; it raises FetchError if there is none."""


@dataclass(frozen=True)
class _Rules:
    """Rules of a site; the default allows everything."""

    parser: Protego | None = None
    gap: float = 0.0
    """Crawl delay in seconds."""
    refused: str = ""
    """Reason why no page of the site may be fetched."""
    failed: str = ""
    """Reason why the rules are unknown."""


@dataclass
class _CachedRules:
    rules: asyncio.Task[_Rules]
    until: float


class RobotsCache:
    """Cache of the rules of recently visited sites."""

    def __init__(self, load: LoadFile, user_agent: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._load, self._agent, self._clock = load, user_agent.partition("/")[0].strip(), clock
        self._known: dict[str, _CachedRules] = {}

    async def get_crawl_delay(self, address: str) -> float:
        """Check whether a page may be fetched, and return the crawl delay of its site in seconds.

        Raises:
            RequestRefused: robots.txt forbids the page, or the site must not be contacted.
            NoResponse: the rules of the site are unknown.
        """
        rules = await self._rules(parse_url(address).origin)
        if rules.failed:
            raise NoResponse(f"the robots.txt of its site cannot be loaded: {rules.failed}")
        if rules.refused:
            raise RequestRefused(rules.refused)
        if rules.parser and not rules.parser.can_fetch(address, self._agent):
            raise RequestRefused("the robots.txt of its site forbids it")
        return rules.gap

    async def _rules(self, origin: str) -> _Rules:
        now = self._clock()
        cached = self._known.get(origin)
        if cached is None or cached.until <= now:
            if len(self._known) >= _MAX_SITES:
                self._known = {site: entry for site, entry in self._known.items() if entry.until > now}
            # A separate task: the first caller may be cancelled while others wait for the same file.
            cached = self._known[origin] = _CachedRules(asyncio.create_task(self._read(origin)), now + _CACHE_SECONDS)
        rules = await asyncio.shield(cached.rules)
        if rules.failed or rules.refused:
            cached.until = min(cached.until, now + _RETRY_SECONDS)
        return rules

    async def _read(self, origin: str) -> _Rules:
        """Load the rules of a site; errors become rules, since several callers may wait for them."""
        try:
            body = await self._load(f"{origin}/robots.txt")
        except RequestRefused as error:
            return _Rules(refused=str(error))
        except NoResponse as error:
            return _Rules(failed=str(error))
        except ErrorStatus as error:
            absent = 400 <= error.code < 500 and error.code != _TOO_MANY_REQUESTS
            return _Rules() if absent else _Rules(failed=str(error))
        except FetchError:
            return _Rules()  # an endless redirect or a wrong content encoding counts as no file
        parser = Protego.parse(body.decode("utf-8-sig", "replace"))
        return _Rules(parser, float(parser.crawl_delay(self._agent) or 0.0))
