"""Pages that need scripts: a browser without a screen runs them, and what a reader would see is read.

The browser itself reaches nobody. Every request of a page is answered from here, after it was fetched under the same
guard and within the same limits as any page; whatever tries another way meets a proxy that is not there, and names
that lead nowhere. A page of the web cannot look into one's own network either: exceptions to the guard hold for a
page that needs one, and for what that page loads from its own origin.
"""

import asyncio
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tenure.algorithms.text.urls import InvalidAddress, parse
from tenure.settings import Settings
from tenure.sources.fetch.errors import FetchError, NotAnswered, Refused, Unusable
from tenure.sources.fetch.fetcher import Fetched, Fetcher, Limits, Manners
from tenure.sources.fetch.guard import Guard
from tenure.sources.fetch.transfer import Validators
from tenure.sources.isolation import environment

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import BrowserContext, Page, Route

_PAGES: Final = ("", "text/html", "application/xhtml+xml")
_PARTS: Final = frozenset(("script", "stylesheet", "xhr", "fetch"))
"""What a page may load: what makes its words. Pictures, films, fonts and frames do not."""
_MOST: Final = 120
"""Parts that one page may load."""
_WINDOWS: Final = 2
"""Pages that are shown at the same time: each takes some hundred megabytes."""
_START: Final = 60_000
"""Milliseconds for the browser's start."""
_ARGUMENTS: Final = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp"),
    "--js-flags=--max-old-space-size=512",
)
_NOWHERE: Final = "http://127.0.0.1:9"
# Loaded style sheets hide what the markup does not say is hidden.
_MARK_HIDDEN: Final = """() => {
    for (const element of document.querySelectorAll("body *:not(script, style, noscript, template, option)"))
        if (!element.checkVisibility({opacityProperty: true, visibilityProperty: true}))
            element.setAttribute("hidden", "");
}"""


class BrowserFailed(FetchError):
    """The browser cannot be used; the text says what to do."""


class Browser:
    """A browser for one event loop, started with the first page."""

    def __init__(self, executable: Path, own: Fetcher, foreign: Fetcher, seconds: float, size: int) -> None:
        """Run `executable`.

        Args:
            executable: Chromium or Chrome.
            own: Fetches pages that need an exception to the guard, and what these load from their own origin.
            foreign: Fetches all other; its guard knows no exceptions.
            seconds: What a page and its scripts may take.
            size: Bytes that a page may load and become.
        """
        self._executable, self._own, self._foreign = executable, own, foreign
        self._seconds, self._size = seconds, size
        self._opened = AsyncExitStack()
        self._chromium: Chromium | None = None
        self._starting = asyncio.Lock()
        self._windows = asyncio.Semaphore(_WINDOWS)

    async def fetch(self, address: str, known: Mapping[str, Validators] | None = None) -> Fetched:
        """Fetch a page and have its scripts run; what is no page is fetched as it is.

        Args:
            address: Where it is.
            known: Validators of pages at hand, of which none is of use: scripts may load what has changed.

        Raises:
            FetchError: it is not to be had; the text says why.
        """
        try:
            fetched, own = await self._foreign.fetch(address), self._foreign
        except Refused:
            fetched, own = await self._own.fetch(address), self._own
        if fetched.media_type not in _PAGES:
            return fetched
        chromium = await self._started()
        from playwright.async_api import Error

        visit = _Visit(fetched, own, self._foreign, self._size)
        try:
            async with self._windows, asyncio.timeout(self._seconds + 10):
                markup = await self._shown(chromium, visit)
        except (Error, TimeoutError) as error:
            raise NotAnswered(f"the browser could not show it ({str(error).splitlines()[0][:200]})") from error
        body = markup.encode()
        if len(body) > self._size:
            raise Unusable(f"its scripts make more than {self._size / 1e6:g} MB of it")
        return replace(
            fetched,
            media_type="text/html",
            charset="utf-8",
            # What a server says of the page's markup is not true of what scripts have made of it.
            validators=Validators("", ""),
            body=body,
            transferred=fetched.transferred + visit.loaded,
        )

    async def aclose(self) -> None:
        """End the browser, and close all connections."""
        self._chromium = None
        await self._opened.aclose()
        await self._own.aclose()
        await self._foreign.aclose()

    async def _started(self) -> "Chromium":
        async with self._starting:
            if self._chromium is None or not self._chromium.is_connected():
                await self._opened.aclose()
                self._chromium = await self._start()
            return self._chromium

    async def _start(self) -> "Chromium":
        try:
            from playwright.async_api import Error, async_playwright
        except ImportError as error:
            raise BrowserFailed("a browser wants the package playwright, which is not installed") from error

        playwright = await self._opened.enter_async_context(async_playwright())
        try:
            chromium = await playwright.chromium.launch(
                executable_path=self._executable,
                args=list(_ARGUMENTS),
                env=dict(environment()),
                proxy={"server": _NOWHERE, "bypass": "<-loopback>"},
                # Chromium does not start its own sandbox for the superuser.
                chromium_sandbox=os.geteuid() != 0,
                handle_sigint=False,
                timeout=_START,
            )
        except Error as error:
            raise BrowserFailed(f"{self._executable} does not start: {str(error).splitlines()[0][:300]}") from error
        self._opened.push_async_callback(chromium.close)
        return chromium

    async def _shown(self, chromium: "Chromium", visit: "_Visit") -> str:
        """Return the markup of a page after its scripts have run, as far as they have in time."""
        from playwright.async_api import TimeoutError as NotIdle

        context = await chromium.new_context(service_workers="block", accept_downloads=False)
        try:
            page = await self._opened_page(context, visit)
            # A page that never rests is read as it stands.
            with suppress(NotIdle):
                await page.goto(visit.address, wait_until="networkidle", timeout=self._seconds * 1000)
            await page.evaluate(_MARK_HIDDEN)
            return await page.content()
        finally:
            await context.close()

    async def _opened_page(self, context: "BrowserContext", visit: "_Visit") -> "Page":
        await context.route("**/*", visit.answer)
        await context.route_web_socket("**/*", lambda socket: socket.close())
        page = await context.new_page()
        context.on("page", _closed)
        return page


class _Visit:
    """One page and what it loads."""

    def __init__(self, fetched: Fetched, own: Fetcher, foreign: Fetcher, size: int) -> None:
        self.address = fetched.address
        self.loaded = 0
        self._waiting = True
        self._fetched, self._own, self._foreign = fetched, own, foreign
        self._left, self._size = _MOST, size

    async def answer(self, route: "Route") -> None:
        """Answer a request of the page: with the page itself, with what is fetched for it, or not at all."""
        request = route.request
        if request.is_navigation_request():
            first, self._waiting = self._waiting, False
            # Frames and windows are no part of the page, and a page that leads elsewhere stays as it is.
            await (_fulfil(route, self._fetched) if first else route.abort("aborted"))
            return
        if request.method != "GET" or request.resource_type not in _PARTS or not self._left or self.loaded > self._size:
            await route.abort()
            return
        self._left -= 1
        try:
            part = await self._fetcher(request.url).fetch(request.url)
        except (FetchError, InvalidAddress):
            await route.abort()
            return
        self.loaded += part.transferred
        await _fulfil(route, part)

    def _fetcher(self, url: str) -> Fetcher:
        """Return what fetches an address for this page.

        Raises:
            InvalidAddress: it is none.
        """
        return self._own if parse(url).origin == parse(self.address).origin else self._foreign


async def _fulfil(route: "Route", part: Fetched) -> None:
    kind = part.media_type + (f"; charset={part.charset}" if part.charset else "")
    # What strangers can fetch without a password, a page's scripts may read.
    headers = {"content-type": kind, "access-control-allow-origin": "*"}
    await route.fulfill(status=part.code, headers=headers, body=part.body)


async def _closed(page: "Page") -> None:
    """Close a window that a page has opened."""
    await page.close()


def browser(settings: Settings) -> Browser | None:
    """Return the browser of the settings; None where none is set.

    Raises:
        ValueError: an exception to the guard cannot be understood.
    """
    if settings.browser is None:
        return None
    limits = Limits(settings.fetch_seconds, int(settings.fetch_megabytes * 1e6))
    manners = Manners(settings.fetch_user_agent, settings.fetch_robots, per_host=6, gap=0.0)
    guards = (
        Guard(settings.fetch_allow, settings.fetch_domains, settings.fetch_deny),
        Guard((), settings.fetch_domains, settings.fetch_deny),
    )
    own, foreign = (Fetcher(guard, limits, manners) for guard in guards)
    return Browser(settings.browser, own, foreign, settings.fetch_seconds, limits.size)
