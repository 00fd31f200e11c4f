"""Test the page in a real browser: a run from the question to its report, by keyboard, and accessibility.

The tests use the machine's Chromium; without one they are skipped, or fail if TENURE_REQUIRE_BROWSER is set.
"""

from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, Route

from tenure.contracts.base import SourceId
from tenure.contracts.evidence.corpora import StoredPassage
from tenure.contracts.result.ask import Exchange
from tenure.runs.messages import RunConversation, RunLabel
from tenure.runs.service import Service
from tenure.runs.session.run_records import open_run
from tenure.runs.uploads import list_uploads
from tenure.site.pages import render_report_page
from tenure.site.rendering import STATIC, render
from tenure.temporal.connection import connect
from tests.report.samples import answer, full, programmed
from tests.site.conftest import Site
from tests.site.paint import open_browser
from tests.sources.pdfs import make_pdf
from tests.support.chromium import needs_chromium
from tests.support.tiers import slow

pytestmark = [needs_chromium, slow]

PATIENT_MILLISECONDS = 60_000
CONVERSATION = RunConversation(
    exchanges=(Exchange(question="And neap tides?", standalone_question="", answer="They are weak."),) * 2,
    latest=answer(),
)


async def check_accessibility(page: Page) -> None:
    """Check a page with axe, which runs as a page's own script would, from outside the policy."""
    found: Any = await Axe().run(page)
    assert [violation["id"] for violation in found.response["violations"]] == []


async def check_page(page: Page, width: int) -> None:
    """Check that a page is accessible and no wider than the window."""
    await check_accessibility(page)
    assert await page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 390)])
async def test_a_run_from_question_to_report(site: Site, scheme: Literal["light", "dark"], width: int) -> None:
    """A question is asked, its run is seen live, steered and read; every page fits and is accessible."""
    complaints: list[str] = []
    async with open_browser(width, scheme) as context:
        context.set_default_timeout(PATIENT_MILLISECONDS)
        page = await context.new_page()
        # Chromium gives advice on forms with several secrets, as those of the settings, in messages of this kind.
        page.on("console", lambda said: complaints.append(said.text) if not said.text.startswith("[DOM]") else None)

        async def check() -> None:
            await check_page(page, width)

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
        await page.get_by_role("heading", name="Only topic").wait_for()  # of the answer, without a click
        await check()
        await page.get_by_role("link", name="Read the whole report").click()
        await page.get_by_role("heading", name="A stub report").wait_for()
        await check()
        run = site.origin + page.url.removeprefix(site.origin).removesuffix("/report")
        for url in (
            run,
            f"{run}/fork",
            f"{site.origin}/?q=wait",
            *(f"{site.origin}/{path}" for path in ("corpora", "memories", "diff", "schedules", "batches", "settings")),
        ):
            answer = await page.goto(url)
            assert answer is not None and answer.status == 200
            await check()
        assert complaints == []
        await page.goto(site.origin)
        await page.get_by_label("Question or task").fill("scribble please")
        await page.get_by_role("button", name="Start").press("Enter")
        await page.get_by_role("heading", name="Rye rises for two hours [1]").wait_for()
        await check()
        writing = (await connect(site.place.settings)).get_workflow_handle(page.url.rpartition("/")[2])
        await writing.terminate()
        await page.get_by_role("button", name="Pause").wait_for(state="detached")
        assert not await page.get_by_text("Draft").count()
        await page.goto(f"{site.origin}/runs/no-such-run")
        await page.get_by_text("there is no run no-such-run").wait_for()
        await check()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 390)])
async def test_settings_are_changed(idle_site: Site, scheme: Literal["light", "dark"], width: int) -> None:
    """A form is filled in and saved with its parts unfolded, and the page says what is stored and what is wrong."""
    async with open_browser(width, scheme) as context:
        context.set_default_timeout(PATIENT_MILLISECONDS)
        page = await context.new_page()
        await page.goto(f"{idle_site.link}".replace("/?", "/settings?"))
        for part in await page.locator("summary").all():
            await part.click()
        await check_page(page, width)
        limits = page.locator('section[aria-labelledby="limits"]')
        await limits.get_by_label("Max tokens").fill("0")
        await limits.get_by_role("button", name="Save").click()
        await limits.get_by_text("TENURE_MAX_TOKENS is not valid").wait_for()
        await check_page(page, width)
        await limits.get_by_label("Max tokens").fill("5000")
        await limits.get_by_role("button", name="Save").click()
        await limits.get_by_text("Set on this page.").wait_for()
        await page.get_by_text("No worker of this home runs").wait_for()  # without a reload
        assert await limits.get_by_label("Max tokens").input_value() == "5000"
        await check_page(page, width)


async def test_a_plan_is_changed_and_approved_where_it_is_asked(site: Site) -> None:
    """The editor has the topics without a reload, what is typed stays, one click approves, and Cancel asks first."""
    async with open_browser(390, "dark") as context:
        context.set_default_timeout(PATIENT_MILLISECONDS)
        page = await context.new_page()
        await page.goto(site.link)
        await page.get_by_label("Question or task").fill("approve this, then wait")
        await page.get_by_role("button", name="Start").press("Enter")
        editor = page.get_by_label("Topics, one on each line")
        await editor.wait_for()
        assert await editor.input_value() == "Only topic"
        assert not await page.get_by_role("button", name="Resume").count()
        await editor.fill("Only topic\nAnother topic")
        await page.evaluate("window.isSamePage = true")
        run = page.url.rpartition("/")[2]
        handle = (await connect(site.place.settings)).get_workflow_handle(run)
        await handle.signal("feedback", {"text": "Be brief."})
        await page.get_by_text("Be brief.").wait_for()
        assert await page.evaluate("window.isSamePage")
        assert await editor.input_value() == "Only topic\nAnother topic"

        await page.get_by_role("button", name="Approve the plan").click()
        await page.get_by_text("The stub heard approve.").wait_for()
        await page.get_by_role("button", name="Cancel …").click()
        question = page.get_by_role("dialog", name="Cancel this run?")
        await question.wait_for()
        await check_accessibility(page)
        await page.keyboard.press("Escape")
        await question.wait_for(state="hidden")
        assert await page.evaluate("document.activeElement.textContent") == "Cancel …"
        await page.keyboard.press("Enter")
        await question.get_by_role("button", name="Cancel the run").click()
        await page.get_by_role("link", name="Read the whole report").wait_for()
        result = await handle.result()

    assert '"outline"' in result["notes"][2] and "Another topic" in result["notes"][2]
    assert '"approve"' in result["notes"][3]


async def test_a_question_is_answered_beside_the_report(site: Site) -> None:
    """Without leaving the report a question is asked and answered, by keyboard; the run is renamed and deleted."""
    async with open_browser(1300) as context:
        context.set_default_timeout(PATIENT_MILLISECONDS)
        page = await context.new_page()

        await page.goto(site.link)
        await page.get_by_label("Question or task").fill("What is beside?")
        await page.get_by_role("button", name="Start").press("Enter")
        await page.get_by_role("link", name="Read the whole report").click()
        await page.evaluate("window.isSamePage = true")
        field = page.get_by_label("Follow-up question")
        await field.fill("And then?")
        await page.get_by_role("button", name="Ask").press("Enter")
        await page.get_by_role("heading", name="And then?").wait_for()
        await page.locator('#conversation [data-state="answered"]').wait_for(state="attached")
        assert await page.evaluate("window.isSamePage") and await field.input_value() == ""
        await check_accessibility(page)
        await page.get_by_role("link", name="Go deeper here: Only topic").click()
        assert "Go deeper into “Only topic”" in await page.get_by_label("Question or task").input_value()
        await check_accessibility(page)
        await page.go_back()
        await page.get_by_text("Title, tags, delete").click()
        await page.get_by_label("Title, empty for the question").fill("Beside it")
        await page.get_by_label("Tags, separated by spaces").fill("aside")
        await page.get_by_role("button", name="Save", exact=True).press("Enter")
        await page.get_by_role("heading", name="Beside it").wait_for()
        await check_accessibility(page)
        await page.goto(f"{site.origin}/diff")
        await page.get_by_label("First run").select_option(index=1)
        assert "Beside it" in await page.get_by_label("First run").inner_text()
        await page.goto(f"{site.origin}/?q=%23aside")
        await page.get_by_role("link", name="Beside it").click()
        await page.get_by_text("Title, tags, delete").click()
        opener = page.get_by_role("button", name="Delete …")
        await opener.press("Enter")
        await page.get_by_role("dialog", name="Delete this run?").wait_for()
        await check_accessibility(page)
        await page.keyboard.press("Escape")
        assert await opener.evaluate("button => button === document.activeElement")
        await opener.press("Enter")
        await page.get_by_role("button", name="Delete the run").click()
        await page.get_by_label("Question or task").wait_for()
        assert not await page.get_by_role("link", name="Beside it").count()


async def test_a_failed_run_is_tried_again(site: Site) -> None:
    """The page of a run that failed offers to ask the same again."""
    async with open_browser(390, "dark") as context:
        context.set_default_timeout(PATIENT_MILLISECONDS)
        page = await context.new_page()
        await page.goto(site.link)
        await page.get_by_label("Question or task").fill("fail, please")
        await page.get_by_role("button", name="Start").press("Enter")
        retry = page.get_by_role("button", name="Try again")
        await retry.wait_for()
        first = page.url
        await check_accessibility(page)
        await retry.click()
        await page.wait_for_url(lambda url: url != first)
        await page.get_by_role("heading", name="fail, please").wait_for()


async def test_three_documents_are_asked_over_from_a_phone(site: Site, tmp_path: Path) -> None:
    """Question, files and Start begin a run over three PDF files; a wrong field asks for none of them again."""
    for name in ("rye", "oats", "barley"):
        (tmp_path / f"{name}.pdf").write_bytes(make_pdf([[f"{name} rises."]]))
    async with open_browser(390, "dark") as context:
        context.set_default_timeout(PATIENT_MILLISECONDS)
        page = await context.new_page()
        await page.goto(site.link)
        await page.get_by_label("Question or task").fill("wait for grain")
        await page.get_by_label("Files", exact=True).set_input_files(sorted(tmp_path.glob("*.pdf")))
        await page.get_by_text("3 files").wait_for()
        await check_page(page, 390)
        await page.get_by_text("Corpora, web pages and folders").click()
        folders = page.get_by_label("Files and folders on this machine")
        await folders.fill("/no/such/folder")
        await page.get_by_role("button", name="Start").click()
        await page.locator("#docs-fault").wait_for()
        assert await folders.evaluate("field => field === document.activeElement")
        assert await page.get_by_label("Question or task").input_value() == "wait for grain"
        (corpus,) = [name for name in list_uploads(site.place.settings) if name.startswith("barley")]
        await page.get_by_role("checkbox", name=corpus).and_(page.locator(":checked")).wait_for()
        await check_page(page, 390)
        await folders.fill("")
        await page.get_by_role("button", name="Start").click()
        await page.get_by_role("heading", name="wait for grain").wait_for()
        run = page.url.rpartition("/")[2]
        request = await (await open_run(Service(site.place), run)).read_run_request()
        await (await connect(site.place.settings)).get_workflow_handle(run).signal("finish")

    folder = site.place.settings.home / "uploads" / corpus
    assert [ingest.paths for ingest in request.ingest] == [(str(folder),)] and request.corpora == (corpus,)
    assert {path.name for path in folder.iterdir()} == {"rye.pdf", "oats.pdf", "barley.pdf"}


async def test_a_folder_is_dropped_and_files_are_removed_by_keyboard(site: Site, tmp_path: Path) -> None:
    """A dropped folder is listed with its files, one is removed without a mouse, and a template fills the question."""
    (tmp_path / "grain" / "old").mkdir(parents=True)
    for name in ("rye.txt", "oats.txt", "old/barley.txt"):
        (tmp_path / "grain" / name).write_text(name)
    async with open_browser() as context:
        context.set_default_timeout(PATIENT_MILLISECONDS)
        page = await context.new_page()
        await page.goto(site.link)
        box = await page.locator("[data-drop]").bounding_box()
        assert box is not None
        session = await context.new_cdp_session(page)
        data = {"items": [], "files": [str(tmp_path / "grain")], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            place = {"x": box["x"] + 40, "y": box["y"] + 40}
            await session.send("Input.dispatchDragEvent", {"type": kind, "data": data, **place})
        await page.get_by_text("3 files").wait_for()
        await page.get_by_role("button", name="Remove grain/oats.txt").press("Enter")
        await page.get_by_text("2 files").wait_for()
        await page.get_by_text("Templates").press("Enter")
        await page.get_by_role("link", name="Summary").press("Enter")
        question = page.get_by_label("Question or task")
        assert (await question.input_value()).startswith("Summarize")
        await page.get_by_role("button", name="Start").press("Enter")
        await page.wait_for_url("**/runs/*")
        await page.goto(f"{site.origin}/corpora")
        await check_page(page, 1200)
        await page.get_by_role("link", name="shelf").press("Enter")
        await page.get_by_role("heading", name="shelf").wait_for()
        await page.get_by_role("button", name="Delete …").press("Enter")
        await page.get_by_role("dialog", name="Delete this corpus?").wait_for()
        await check_page(page, 1200)
        await page.keyboard.press("Escape")
        await page.get_by_role("link", name="Rye").press("Enter")
        await page.get_by_text("page 1 of 3").wait_for()
        await check_page(page, 1200)

    stored = [
        path
        for name in list_uploads(site.place.settings)
        for path in (site.place.settings.home / "uploads" / name).rglob("*.txt")
    ]
    assert {path.as_posix().partition("/grain/")[2] for path in stored} >= {"rye.txt", "old/barley.txt"}
    assert not any(path.name == "oats.txt" and path.parent.name == "grain" for path in stored)


async def answer_from_templates(route: Route) -> None:
    """Answer a request of the browser with a page of a report, a passage of it, or a file of the site."""
    path = urlsplit(route.request.url).path
    if path.startswith("/static/"):
        file, media = STATIC[path.removeprefix("/static/")]
        await route.fulfill(body=file.read_bytes(), content_type=media)
        return
    values: dict[str, Any] = {"run_id": "one"}
    if path.endswith("/report"):
        result = programmed() if "program" in path else full()
        page = render_report_page("one", result, RunLabel(title="Sea", tags=("tides",)), CONVERSATION)
    else:
        passage = StoredPassage(source=SourceId("a"), title="Tides", uri="/a.md", text="rises", before="long " * 3000)
        page = render("source.html.jinja", **values, passage=passage)
    await route.fulfill(body=bytes(page.body), content_type="text/html")


async def test_a_passage_is_read_and_closed_by_keyboard() -> None:
    """The first citation is near, Close has the focus and stays in view on a phone, and Esc leads back to the mark."""
    async with open_browser(390, "dark") as context:
        page = await context.new_page()
        await page.route("**/*", answer_from_templates)
        await page.goto("http://site.test/runs/one/report")
        mark = page.locator("button.mark").first
        assert await page.locator('[aria-current="page"]').all_inner_texts() == ["Report"]
        for key in ("Tab", "Enter", "Tab"):
            await page.keyboard.press(key)
        assert await mark.evaluate("mark => mark === document.activeElement")
        await page.keyboard.press("Enter")
        await page.locator(".quote:popover-open a.passage").first.press("Enter")
        close = page.get_by_role("button", name="Close")
        await close.wait_for()
        assert await close.evaluate("button => button === document.activeElement")
        assert await page.evaluate("panel.scrollTop") > 500
        box = await close.bounding_box()
        assert box and 0 <= box["y"] < 844
        await check_accessibility(page)
        await page.keyboard.press("Escape")
        assert await mark.evaluate("mark => mark === document.activeElement")
        assert not await page.locator("#panel").is_visible()


async def test_code_is_copied_by_a_button() -> None:
    """Each piece of code of a report has a button that puts all of it into the clipboard."""
    async with open_browser() as context:
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await context.new_page()
        await page.route("**/*", answer_from_templates)
        await page.goto("https://site.test/runs/program/report")
        button = page.get_by_role("button", name="Copy", exact=True).first
        await button.click()
        await page.get_by_role("button", name="Copied").wait_for()

        assert (
            await page.evaluate("navigator.clipboard.readText()") == await page.locator("pre code").first.inner_text()
        )
