"""Measure pages in Chromium: `python -m tests.site.paint LINK [PATH…]` prints first paint and transferred bytes."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from playwright.async_api import BrowserContext, Page, async_playwright

from tests.support.chromium import CHROMIUM
from tests.support.waiting import wait_until

SWITCHES = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync")

_READING = """() => new Promise(done => {
  const finish = () => {
    const [paint] = performance.getEntriesByName('first-contentful-paint');
    if (!paint) { requestAnimationFrame(finish); return; }
    done([paint.startTime, performance.getEntriesByType('navigation')[0].responseStart]);
  };
  finish();
})"""


@dataclass(frozen=True)
class Paint:
    """Figures of the first visit to a page with an empty cache."""

    paint: float
    """Time to the first content on the screen, in milliseconds."""
    answer: float
    """Time to the first byte of the page, in milliseconds."""
    bytes: int
    """Bytes transferred, headers included."""
    requests: int
    """Number of requests."""


@asynccontextmanager
async def open_browser(
    width: int = 1200, scheme: Literal["light", "dark"] = "light", *, checks_certificates: bool = True
) -> AsyncIterator[BrowserContext]:
    """Yield a context of a headless Chromium with a window of a width and a colour scheme."""
    as_root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*SWITCHES, *as_root], timeout=90_000, handle_sigint=False
        )
        yield await browser.new_context(
            viewport={"width": width, "height": 844},
            color_scheme=scheme,
            ignore_https_errors=not checks_certificates,
        )
        await browser.close()


async def measure(page: Page, url: str) -> Paint:
    """Visit a page without a cache."""
    session = await page.context.new_cdp_session(page)
    sizes: list[int] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
    await session.send("Network.enable")
    await session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    await page.goto(url, wait_until="load")
    paint, answer = await page.evaluate(_READING)
    count = await page.evaluate("performance.getEntriesByType('resource').length + 1")
    # The browser reports ends of requests a moment later.
    await wait_until("all requests", lambda: len(sizes), lambda found: found >= count)
    await session.detach()
    return Paint(paint, answer, sum(sizes), len(sizes))


async def _measure_all(link: str, paths: list[str]) -> None:
    origin = link.split("/?")[0]
    async with open_browser() as context:
        page = await context.new_page()
        await page.goto(link)
        for path in paths:
            found = await measure(page, origin + path)
            print(f"{path}: first paint {found.paint:.0f} ms, {found.bytes:,} bytes in {found.requests} requests")


if __name__ == "__main__":
    asyncio.run(_measure_all(sys.argv[1], sys.argv[2:] or ["/"]))
