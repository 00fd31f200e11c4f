"""What a site says to visitors that are programs: its `robots.txt`, by RFC 9309.

A site without one allows everything; a site whose server fails is left alone for a while. The file is asked for
once a day, by the same guarded way as any page.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from protego import Protego

from tenure.algorithms.text.urls import parse
from tenure.sources.fetch.errors import BadStatus, FetchError, NotAnswered, Refused

LIMIT: Final = 500 * 1024
"""Bytes of the file that are read; RFC 9309 asks for as many."""
_DAY: Final = 86_400.0
_FAILED: Final = 300.0
"""Seconds for which a site is left alone whose server failed."""
_MANY: Final = 1_000
"""Sites that are remembered before those are forgotten whose day is over."""
_TOO_MANY: Final = 429

Load = Callable[[str], Awaitable[bytes]]
"""Loads the file from its address; raises a FetchError where there is none."""


@dataclass(frozen=True)
class _Rules:
    """What a site allows; without anything, everything."""

    told: Protego | None = None
    gap: float = 0.0
    """Seconds that it wants between two requests."""
    refused: str = ""
    """Why nothing of it may be asked for."""
    failed: str = ""
    """Why nobody knows what it allows."""


@dataclass
class _Known:
    rules: asyncio.Task[_Rules]
    until: float


class Robots:
    """The rules of the sites that were visited lately."""

    def __init__(self, load: Load, user_agent: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Load files with `load`, and find in them what is said to `user_agent`."""
        self._load, self._agent, self._clock = load, user_agent.partition("/")[0].strip(), clock
        self._known: dict[str, _Known] = {}

    async def gap(self, address: str) -> float:
        """Return the seconds that a page's site wants between two requests.

        Raises:
            Refused: the site does not want the page to be asked for, or may not be asked itself.
            NotAnswered: the site does not say what it wants.
        """
        rules = await self._rules(parse(address).origin)
        if rules.failed:
            raise NotAnswered(f"the robots.txt of its site cannot be had: {rules.failed}")
        if rules.refused:
            raise Refused(rules.refused)
        if rules.told and not rules.told.can_fetch(address, self._agent):
            raise Refused("the robots.txt of its site forbids it")
        return rules.gap

    async def _rules(self, origin: str) -> _Rules:
        now = self._clock()
        known = self._known.get(origin)
        if known is None or known.until <= now:
            if len(self._known) >= _MANY:
                self._known = {site: one for site, one in self._known.items() if one.until > now}
            # A task of its own: whoever asked first may be cancelled while others wait for the same file.
            known = self._known[origin] = _Known(asyncio.create_task(self._read(origin)), now + _DAY)
        rules = await asyncio.shield(known.rules)
        if rules.failed or rules.refused:
            known.until = min(known.until, now + _FAILED)
        return rules

    async def _read(self, origin: str) -> _Rules:
        """Read a site's file; whatever happens is told to each that waits for it."""
        try:
            body = await self._load(f"{origin}/robots.txt")
        except Refused as error:
            return _Rules(refused=str(error))
        except NotAnswered as error:
            return _Rules(failed=str(error))
        except BadStatus as error:
            absent = 400 <= error.code < 500 and error.code != _TOO_MANY
            return _Rules() if absent else _Rules(failed=str(error))
        except FetchError:
            return _Rules()  # redirected without end, or packed wrongly: as good as none
        told = Protego.parse(body.decode("utf-8-sig", "replace"))
        return _Rules(told, float(told.crawl_delay(self._agent) or 0.0))
