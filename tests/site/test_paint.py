"""Test the weight of the pages in a real browser; the times to first paint are printed, and only bytes are limited."""

import httpx

from tests.site.conftest import Site
from tests.site.paint import measure, open_browser
from tests.support.chromium import needs_chromium
from tests.support.tiers import slow

MAX_BYTES = 150_000
"""Most bytes of a first visit to a page, with its style, its script and what both load."""

pytestmark = [needs_chromium, slow]


async def finish_run(client: httpx.AsyncClient, name: str) -> None:
    """Start a run that ends on its own, and wait for its end."""
    (await client.post("/api/v1/runs", json={"question": "What is light?", "id": name})).raise_for_status()
    async with client.stream("GET", f"/api/v1/runs/{name}/events") as stream:
        async for line in stream.aiter_lines():
            if line == "event: end":
                break


async def test_every_page_is_light(site: Site) -> None:
    """A first visit with an empty cache transfers less than 150 kB, and the page paints something."""
    async with site.client() as client:
        await finish_run(client, "light-1")
    paths = ("/", "/runs/light-1", "/runs/light-1/report", "/runs/light-1/fork", "/corpora", "/memories", "/diff")
    async with open_browser() as context:
        page = await context.new_page()
        await page.goto(site.link)
        found = {path: await measure(page, site.origin + path) for path in paths}

    for path, one in found.items():
        print(f"{path}: first paint {one.paint:.0f} ms, {one.bytes:,} bytes in {one.requests} requests")
        assert 1_000 < one.bytes < MAX_BYTES
        assert one.requests >= 4, "the page, two styles and a script"
        assert one.paint > 0
