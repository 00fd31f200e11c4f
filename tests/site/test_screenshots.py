"""Take screenshots of a run on a real stack without a model, and check those that the manual shows.

`python -m tests.site.screenshots` writes them to `docs/images/`; pixels are not compared.
"""

import os
import re
from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import Page, async_playwright

from tests.cli.conftest import no_stack
from tests.support.chromium import CHROMIUM, needs_chromium
from tests.support.homes import Home
from tests.support.ports import free_ports
from tests.support.tiers import exhaustive

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
IMAGES: Final = DOCS / "images"
DOCUMENTS: Final = ("asking.md", "operations.md", "steering.md")
FOLDER_VARIABLE: Final = "TENURE_SCREENSHOTS"
QUESTION: Final = "How does Tenure survive a crash, and how do I steer a run?"
NAMES: Final = {
    f"{page}-{device}.png" for page in ("ask", "run", "report", "corpus") for device in ("desktop", "phone")
}
MAX_BYTES: Final = 150_000
PATIENT_MILLISECONDS: Final = 150_000


async def shoot(page: Page, name: str, folder: Path) -> None:
    """Write a page as a desktop in light colours and a phone in dark ones show it."""
    for device, width, scheme in (("phone", 390, "dark"), ("desktop", 1000, "light")):
        await page.set_viewport_size({"width": width, "height": 780})
        await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        await page.evaluate("scrollTo(0, 0)")
        await page.screenshot(path=folder / f"{name}-{device}.png")


@needs_chromium
@exhaustive
@pytest.mark.timeout(420)
async def test_a_run_without_a_model_is_shown(tmp_path: Path) -> None:
    """The page of the stack takes a question, shows the plan that waits, and shows the report after the approval."""
    folder = Path(os.environ.get(FOLDER_VARIABLE, tmp_path))
    settings = no_stack(tmp_path / "home").settings.model_copy(update={"site_port": free_ports(1)[0]})
    home = Home(settings)
    as_root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    try:
        link = home.json("up")["site_url"]
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--disable-gpu", "--no-first-run", *as_root], handle_sigint=False
            )
            page = await browser.new_page()
            page.set_default_timeout(PATIENT_MILLISECONDS)
            await page.goto(link)
            await page.get_by_label("Question or task").fill(QUESTION)
            await page.get_by_label("Files", exact=True).set_input_files([DOCS / name for name in DOCUMENTS])
            await page.get_by_text("Effort, length, language, web and more").click()
            await page.get_by_label("Show me the plan first").check()
            await shoot(page, "ask", folder)
            await page.get_by_role("button", name="Start").click()
            await page.get_by_text("The run waits for you:").wait_for()
            await shoot(page, "run", folder)
            await page.get_by_role("button", name="Approve the plan").click()
            await page.get_by_role("link", name="Read the whole report").click()
            await page.get_by_role("heading", name="References").wait_for()
            await shoot(page, "report", folder)
            await page.get_by_role("link", name="Corpora").click()
            await page.get_by_role("row", name="asking").get_by_role("link").click()
            await page.get_by_role("heading", name="Documents", exact=True).wait_for()
            await shoot(page, "corpus", folder)
            await browser.close()
    finally:
        home.run("down")

    assert {path.name for path in folder.glob("*.png")} == NAMES
    assert all(path.stat().st_size < MAX_BYTES for path in folder.glob("*.png"))


def test_screenshots_are_in_the_manual() -> None:
    """Every image exists, is small, and is shown by the page about the page with a text in its place."""
    shown = re.findall(r"!\[[^\]]{20,}\]\(images/([\w-]+\.png)\)", (IMAGES.parent / "interfaces.md").read_text("utf-8"))

    assert {path.name for path in IMAGES.glob("*.png")} == NAMES
    assert sorted(shown) == sorted(NAMES)
    assert all(path.stat().st_size < MAX_BYTES for path in IMAGES.iterdir())
    assert all(path.read_bytes().startswith(b"\x89PNG\r\n") for path in IMAGES.glob("*.png"))
