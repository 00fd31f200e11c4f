"""Render pages that need scripts in a headless browser, and return the resulting HTML.

The browser itself has no network access. Tenure fetches every request of a page under the same guard and limits as
any page; other traffic meets an unreachable proxy and failing name resolution. A public page cannot reach the private
network: hosts that the settings allow are reachable only for a page on such a host, and for resources of its origin.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tenure.algorithms.text.urls import InvalidUrlError, parse_url
from tenure.settings.web import FetchSettings
from tenure.sources.fetch.address_guard import AddressGuard
from tenure.sources.fetch.errors import FetchError, NoResponse, RequestRefused, UnusableResponse
from tenure.sources.fetch.fetcher import (
    CrawlPolicy,
    FetchedResponse,
    Fetcher,
    FetchLimits,
    UrlRule,
    permit_every_url,
)
from tenure.sources.fetch.transfer import Validators
from tenure.sources.isolation import build_child_environment

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import BrowserContext, Page, Route

_PAGE_MEDIA_TYPES: Final = ("", "text/html", "application/xhtml+xml")
_LOADED_RESOURCES: Final = frozenset(("script", "stylesheet", "xhr", "fetch"))
"""Types of resources that a page may load: those that affect its text, not images, media, fonts and frames."""
_MAX_RESOURCES: Final = 120
_MAX_WINDOWS: Final = 2
"""Maximum number of concurrently rendered pages; each takes some hundred megabytes."""
_START_TIMEOUT_MS: Final = 60_000
_ARGUMENTS: Final = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp"),
    "--js-flags=--max-old-space-size=512",
)
_UNREACHABLE_PROXY: Final = "http://127.0.0.1:9"
# Style sheets hide elements that are not hidden in the markup.
_MARK_HIDDEN: Final = """() => {
    for (const element of document.querySelectorAll("body *:not(script, style, noscript, template, option)"))
        if (!element.checkVisibility({opacityProperty: true, visibilityProperty: true}))
            element.setAttribute("hidden", "");
}"""


class BrowserError(FetchError):
    """The browser cannot be used; the message says what to do."""


class Browser:
    """Headless browser of one event loop, started with the first page."""

    def __init__(
        self, executable: Path, trusted_fetcher: Fetcher, public_fetcher: Fetcher, seconds: float, max_bytes: int
    ) -> None:
        self._executable, self._trusted_fetcher, self._public_fetcher = executable, trusted_fetcher, public_fetcher
        self._timeout_seconds, self._max_bytes = seconds, max_bytes
        self._resources = AsyncExitStack()
        self._chromium: Chromium | None = None
        self._starting = asyncio.Lock()
        self._windows = asyncio.Semaphore(_MAX_WINDOWS)

    async def fetch(
        self, url: str, known: Mapping[str, Validators] | None = None, find_violation: UrlRule = permit_every_url
    ) -> FetchedResponse:
        """Fetch a page and run its scripts; other media types are returned unchanged.

        Args:
            url: URL of the page.
            known: ignored, because scripts may load changed resources.
            find_violation: rule for the page, for every URL that it redirects to, and for all that its scripts load.
        """
        try:
            fetched = await self._public_fetcher.fetch(url, None, find_violation)
            page_fetcher = self._public_fetcher
        except RequestRefused:
            fetched = await self._trusted_fetcher.fetch(url, None, find_violation)
            page_fetcher = self._trusted_fetcher
        if fetched.media_type not in _PAGE_MEDIA_TYPES:
            return fetched
        chromium = await self._get_chromium()
        from playwright.async_api import Error

        page_load = _PageLoad(fetched, page_fetcher, self._public_fetcher, self._max_bytes, find_violation)
        try:
            async with self._windows, asyncio.timeout(self._timeout_seconds + 10):
                markup = await self._render(chromium, page_load)
        except (Error, TimeoutError) as error:
            raise NoResponse(f"the browser could not load it ({str(error).splitlines()[0][:200]})") from error
        body = markup.encode()
        if len(body) > self._max_bytes:
            raise UnusableResponse(f"its scripts expand it to more than {self._max_bytes / 1e6:g} MB")
        return replace(
            fetched,
            media_type="text/html",
            charset="utf-8",
            # The validators of the markup do not apply to the rendered HTML.
            validators=Validators("", ""),
            body=body,
            transferred_bytes=fetched.transferred_bytes + page_load.loaded,
        )

    async def aclose(self) -> None:
        """Stop the browser, and close all connections."""
        self._chromium = None
        await self._resources.aclose()
        await self._trusted_fetcher.aclose()
        await self._public_fetcher.aclose()

    async def _get_chromium(self) -> "Chromium":
        async with self._starting:
            if self._chromium is None or not self._chromium.is_connected():
                await self._resources.aclose()
                self._chromium = await self._launch()
            return self._chromium

    async def _launch(self) -> "Chromium":
        try:
            from playwright.async_api import Error, async_playwright
        except ImportError as error:
            raise BrowserError("a browser requires the package playwright, which is not installed") from error

        playwright = await self._resources.enter_async_context(async_playwright())
        try:
            chromium = await playwright.chromium.launch(
                executable_path=self._executable,
                args=list(_ARGUMENTS),
                env=dict(build_child_environment()),
                proxy={"server": _UNREACHABLE_PROXY, "bypass": "<-loopback>"},
                # Never without it: a page that breaks out of a renderer would have the rights of this process.
                chromium_sandbox=True,
                handle_sigint=False,
                timeout=_START_TIMEOUT_MS,
            )
        except Error as error:
            raise BrowserError(_explain_failed_start(self._executable, str(error))) from error
        self._resources.push_async_callback(chromium.close)
        return chromium

    async def _render(self, chromium: "Chromium", page_load: "_PageLoad") -> str:
        """Return the HTML of a page after its scripts have run or the time is over."""
        from playwright.async_api import TimeoutError as NotIdle

        context = await chromium.new_context(service_workers="block", accept_downloads=False)
        try:
            page = await self._open_page(context, page_load)
            # A page that stays active is read in its current state.
            with suppress(NotIdle):
                await page.goto(page_load.url, wait_until="networkidle", timeout=self._timeout_seconds * 1000)
            await page.evaluate(_MARK_HIDDEN)
            return await page.content()
        finally:
            await context.close()

    async def _open_page(self, context: "BrowserContext", page_load: "_PageLoad") -> "Page":
        await context.route("**/*", page_load.answer)
        await context.route_web_socket("**/*", lambda socket: socket.close())
        page = await context.new_page()
        context.on("page", _close_window)
        return page


class _PageLoad:
    def __init__(
        self,
        fetched: FetchedResponse,
        page_fetcher: Fetcher,
        public_fetcher: Fetcher,
        max_bytes: int,
        find_violation: UrlRule,
    ) -> None:
        self._find_violation = find_violation
        self.url = fetched.url
        self.loaded = 0
        self._waiting = True
        self._fetched, self._page_fetcher, self._public_fetcher = fetched, page_fetcher, public_fetcher
        self._left, self._max_bytes = _MAX_RESOURCES, max_bytes

    async def answer(self, route: "Route") -> None:
        """Answer a request of the page with the page itself or a fetched resource, or abort it."""
        request = route.request
        if request.is_navigation_request():
            first, self._waiting = self._waiting, False
            # Frames, windows and navigation to other pages are not supported.
            await (_send_response(route, self._fetched) if first else route.abort("aborted"))
            return
        if (
            request.method != "GET"
            or request.resource_type not in _LOADED_RESOURCES
            or not self._left
            or self.loaded > self._max_bytes
        ):
            await route.abort()
            return
        self._left -= 1
        try:
            part = await self._choose_fetcher(request.url).fetch(request.url, None, self._find_violation)
        except (FetchError, InvalidUrlError):
            await route.abort()
            return
        self.loaded += part.transferred_bytes
        await _send_response(route, part)

    def _choose_fetcher(self, url: str) -> Fetcher:
        """Return the fetcher for a URL that this page requests.

        Raises:
            InvalidUrlError: the URL is invalid.
        """
        return self._page_fetcher if parse_url(url).origin == parse_url(self.url).origin else self._public_fetcher


async def _send_response(route: "Route", part: FetchedResponse) -> None:
    content_type = part.media_type + (f"; charset={part.charset}" if part.charset else "")
    # Public resources may be read by scripts of any origin.
    headers = {"content-type": content_type, "access-control-allow-origin": "*"}
    await route.fulfill(status=part.status_code, headers=headers, body=part.body)


async def _close_window(page: "Page") -> None:
    await page.close()


def _explain_failed_start(executable: Path, message: str) -> str:
    """Return the reason for which a browser did not start, with the remedy if it is the browser's own sandbox."""
    if "Running as root without --no-sandbox" in message:
        return (
            f"{executable} does not start as root, because its own sandbox does not work for root: run the worker of "
            "the queue tenure-browser as an ordinary user"
        )
    if "No usable sandbox" in message:
        return (
            f"{executable} does not start without its own sandbox, which needs user namespaces: allow them on this host"
        )
    return f"{executable} does not start: {message.splitlines()[0][:300]}"


def create_browser(settings: FetchSettings) -> Browser | None:
    """Return the browser that the settings configure, or None if they configure none."""
    if settings.browser is None:
        return None
    limits = FetchLimits(settings.fetch_seconds, int(settings.fetch_megabytes * 1e6))
    policy = CrawlPolicy(settings.fetch_user_agent, settings.fetch_robots, max_per_host=6, min_interval=0.0)
    guards = (
        AddressGuard(settings.fetch_allow, settings.fetch_domains, settings.fetch_deny),
        AddressGuard((), settings.fetch_domains, settings.fetch_deny),
    )
    trusted_fetcher, public_fetcher = (Fetcher(guard, limits, policy) for guard in guards)
    return Browser(settings.browser, trusted_fetcher, public_fetcher, settings.fetch_seconds, limits.max_bytes)
