"""Test the page in a real browser: a run from the question to its report, by keyboard, and accessibility.

The tests use the machine's Chromium; without one they are skipped, or fail if TENURE_REQUIRE_BROWSER is set.
"""

import os
from typing import Any, Literal

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import async_playwright

from tests.site.conftest import Site
from tests.support.chromium import CHROMIUM, needs_chromium
from tests.support.tiers import slow

pytestmark = [needs_chromium, slow, pytest.mark.timeout(280)]

QUIET = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync")

PATIENT_MILLISECONDS = 60_000


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 390)])
async def test_a_run_from_question_to_report(site: Site, scheme: Literal["light", "dark"], width: int) -> None:
    """A question is asked, its run is seen live, steered and read; every page fits and is accessible."""
    as_root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    complaints: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*QUIET, *as_root], timeout=90_000, handle_sigint=False
        )
        context = await browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
        context.set_default_timeout(PATIENT_MILLISECONDS)
        page = await context.new_page()
        page.on("console", lambda message: complaints.append(message.text))

        async def check() -> None:
            # The checker is run as a page's own script would be, from outside the policy.
            found: Any = await Axe().run(page)
            assert [violation["id"] for violation in found.response["violations"]] == []
            assert await page.evaluate("document.documentElement.scrollWidth") <= width

        await page.goto(site.link)
        await page.get_by_label("Question or task").fill("wait here")
        assert "token=" not in page.url
        await check()
        await page.keyboard.press("Tab")
        await page.get_by_role("button", name="Start").press("Enter")
        await page.get_by_role("heading", name="wait here").wait_for()
        await page.get_by_text("the stub waits").wait_for()
        await check()
        await page.get_by_label("Feedback on the research or the report").fill("more of it")
        await page.get_by_role("button", name="Send feedback").click()
        await page.get_by_text("The stub heard feedback.").wait_for()
        await page.get_by_role("button", name="Finish with what it has").click()
        await page.get_by_role("link", name="Read the report").click()
        await page.get_by_role("heading", name="A stub report").wait_for()
        await check()
        for path in ("/corpora", "/memories", "/diff"):
            await page.goto(site.origin + path)
            await check()
        await browser.close()

    assert complaints == []
