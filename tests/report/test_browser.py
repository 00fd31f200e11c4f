"""Test the HTML report in a real browser: quotes, a phone, dark mode, print, and accessibility.

The tests use the machine's Chromium; without one they are skipped, or fail if TENURE_REQUIRE_BROWSER is set.
"""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Locator, Page, async_playwright

from tenure.contracts.result.result import Result
from tenure.report.render.html import render_html
from tenure.report.trace.html import render_trace_page
from tests.report.samples import full, programmed, tabled, varied
from tests.report.traces import EXAMPLE
from tests.support.chromium import CHROMIUM, needs_chromium
from tests.support.tiers import slow

pytestmark = [needs_chromium, slow]

QUIET = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync")
"""Chromium options: no network access of its own, no screen."""

PHONE = {"width": 390, "height": 844}

Written = Callable[[str], str]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Run a browser for the tests of this file."""
    as_root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*QUIET, *as_root], timeout=90_000, handle_sigint=False
        )
        yield browser
        await browser.close()


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Write a page into a file, and return its address."""

    def write(html: str) -> str:
        file = tmp_path / "report.html"
        file.write_text(html, encoding="utf-8")
        return file.as_uri()

    return write


def long() -> Result:
    """Return a report of more than a screen."""
    result = full()
    section = result.sections[0]
    return result.model_copy(
        update={"sections": tuple(section.model_copy(update={"topic": f"{section.topic} {n}"}) for n in range(8))}
    )


async def inside(shown: Locator, page: Page) -> bool:
    """Whether an element is seen in full."""
    box, size = await shown.bounding_box(), page.viewport_size
    assert box is not None
    assert size is not None
    across = box["x"] >= 0 and box["x"] + box["width"] <= size["width"]
    return across and box["y"] >= 0 and box["y"] + box["height"] <= size["height"]


async def drawn(page: Page, file: Path) -> None:
    """Take a screenshot, and see that there is something on it."""
    picture = await page.screenshot(path=file)

    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000


async def test_a_click_opens_the_quote_and_escape_closes_it(browser: Browser, written: Written, tmp_path: Path) -> None:
    """The quote is shown in its context, completely within the window, until it is closed."""
    page = await browser.new_page(viewport={"width": 1280, "height": 800})
    await page.goto(written(render_html(long())))
    mark = page.locator("button.mark").nth(9)
    quote = page.locator(f"#{await mark.get_attribute('popovertarget')}")

    await mark.click()
    await quote.wait_for(state="visible")
    await drawn(page, tmp_path / "open.png")
    assert await quote.locator("mark").all_inner_texts()
    assert await inside(quote, page)

    await page.mouse.move(0, 0)
    await page.keyboard.press("Escape")
    assert not await quote.evaluate("quote => quote.matches(':popover-open')")
    await page.close()


async def test_pointing_and_tabbing_show_the_quote(browser: Browser, written: Written) -> None:
    """A quote is shown while the pointer is on its mark, and while the mark has the focus."""
    page = await browser.new_page(viewport={"width": 1280, "height": 800})
    await page.goto(written(render_html(long())))
    mark = page.locator("button.mark").first
    quote = page.locator("#cite-1")
    assert not await quote.is_visible()

    await mark.hover()
    await quote.wait_for(state="visible")
    await page.mouse.move(0, 0)
    await quote.wait_for(state="hidden")
    for _ in range(100):
        await page.keyboard.press("Tab")
        if await mark.evaluate("mark => mark === document.activeElement"):
            break
    await quote.wait_for(state="visible")
    await page.close()


async def test_on_a_phone_in_the_dark_the_report_fits(browser: Browser, written: Written, tmp_path: Path) -> None:
    """Nothing is wider than the screen, the paper is dark, and a tap opens the quote within the screen."""
    context = await browser.new_context(
        viewport={"width": PHONE["width"], "height": PHONE["height"]},
        is_mobile=True,
        has_touch=True,
        color_scheme="dark",
    )
    page = await context.new_page()
    await page.goto(written(render_html(long(), style="author-year")))
    await drawn(page, tmp_path / "phone-dark.png")
    assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 26)"

    mark = page.locator("button.mark").nth(9)
    await mark.tap()
    quote = page.locator(f"#{await mark.get_attribute('popovertarget')}")
    await quote.wait_for(state="visible")
    await drawn(page, tmp_path / "phone-dark-open.png")
    assert await inside(quote, page)
    await context.close()


async def test_a_wide_table_scrolls_in_its_own_box(browser: Browser, written: Written, tmp_path: Path) -> None:
    """On a phone the page is not wider than the screen, and the table is; on a large screen it fits."""
    widths = []
    for width in (PHONE["width"], 1200):
        page = await browser.new_page(viewport={"width": width, "height": PHONE["height"]})
        await page.goto(written(render_html(varied())))
        await drawn(page, tmp_path / f"table-{width}.png")
        assert await page.evaluate("document.documentElement.scrollWidth") == width
        box = page.locator(".wide").first
        widths.append(await box.evaluate("box => box.scrollWidth - box.clientWidth"))
        await page.close()

    assert widths[0] > 0 and widths[1] == 0


async def test_a_table_is_sorted_by_its_columns(browser: Browser, written: Written) -> None:
    """By keyboard a column is sorted up, down and back, by its numbers, and the policy of the page lets it."""
    sizes = {"Rye": "9.5", "Wheat": "1,200", "Oats": "12"}
    context = await browser.new_context(bypass_csp=True)
    page = await context.new_page()
    await page.goto(written(render_html(tabled(lambda row, column: f"{sizes[row]} km", tuple(sizes), ("a", "b")))))
    found: Any = await Axe().run(page)
    await context.close()
    page = await browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    await page.goto(written(render_html(tabled(lambda row, column: f"{sizes[row]} km", tuple(sizes), ("a", "b")))))
    button, head = page.get_by_role("button", name="a", exact=True), page.get_by_role("columnheader", name="a")
    orders = []
    for _ in range(3):
        await button.press("Enter")
        names = await page.locator(".matrix tbody th").all_inner_texts()
        orders.append((await head.get_attribute("aria-sort"), names))

    assert [violation["id"] for violation in found.response["violations"]] == []
    assert orders == [
        ("ascending", ["Rye", "Oats", "Wheat"]),
        ("descending", ["Wheat", "Oats", "Rye"]),
        ("none", ["Rye", "Wheat", "Oats"]),
    ]
    assert complaints == []
    await page.close()


async def test_a_fold_opens_by_click(browser: Browser, written: Written) -> None:
    """Quotes and reasoning are hidden until a reader opens them, and printed in any case."""
    page = await browser.new_page()
    await page.goto(written(render_html(varied())))
    quotes = page.locator("section.quotes li").first
    assert not await quotes.is_visible()

    await page.locator("section.quotes summary").click()
    await quotes.wait_for(state="visible")
    await page.close()


async def test_on_paper_there_is_text_and_nothing_to_click(browser: Browser, written: Written) -> None:
    """Printing leaves out contents and pop-overs, and keeps references and quotes."""
    page = await browser.new_page()
    await page.goto(written(render_html(full())))
    await page.emulate_media(media="print")

    assert not await page.locator("nav").is_visible()
    assert await page.locator("#references").is_visible()
    assert (await page.pdf()).startswith(b"%PDF-")
    await page.close()


async def test_a_script_that_slips_in_does_not_run(browser: Browser, written: Written) -> None:
    """Even past all escaping the page's policy stops scripts, styles, pictures and frames of others."""
    planted = '<script>window.planted = 1</script><img src=x onerror="window.planted = 1"><b style="color: red">b</b>'
    page = await browser.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    await page.goto(written(render_html(full()).replace("</main>", f"{planted}</main>")))

    assert await page.evaluate("window.planted") is None
    assert await page.locator("b").last.evaluate("b => getComputedStyle(b).color") != "rgb(255, 0, 0)"
    assert any("Content Security Policy" in line for line in refused)
    await page.close()


@pytest.mark.parametrize(
    ("result", "scheme"),
    [(full(), "light"), (full(), "dark"), (varied(), "light"), (programmed(), "light")],
    ids=["research-light", "research-dark", "varied", "program"],
)
async def test_a_checker_finds_nothing_inaccessible(
    browser: Browser, written: Written, result: Result, scheme: Literal["light", "dark"]
) -> None:
    """In either scheme, with a quote open, the checker reports no violation of any weight."""
    context = await browser.new_context(bypass_csp=True, color_scheme=scheme)  # the checker is a script
    page = await context.new_page()
    await page.goto(written(render_html(result)))
    for mark in (await page.locator("button.mark").all())[:1]:
        await mark.click()
    found: Any = await Axe().run(page)

    assert [violation["id"] for violation in found.response["violations"]] == []
    await context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_trace_is_accessible_and_fits_a_phone(
    browser: Browser, written: Written, scheme: Literal["light", "dark"]
) -> None:
    """The checker reports no violation, and on a phone only the timeline and the tables scroll sideways."""
    context = await browser.new_context(bypass_csp=True, color_scheme=scheme, viewport={"width": 390, "height": 844})
    page = await context.new_page()
    await page.goto(written(render_trace_page(EXAMPLE)))
    await page.locator("summary").click()
    found: Any = await Axe().run(page)

    assert [violation["id"] for violation in found.response["violations"]] == []
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert await page.locator("svg.timeline rect").count() == len(EXAMPLE.calls)
    await context.close()
