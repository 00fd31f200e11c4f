"""Test the page of a run in a real repository in a browser: the change while it waits, and its patch at the end."""

import asyncio
import os
import uuid
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.async_playwright import Axe
from temporalio.testing import WorkflowEnvironment

from tenure.runs.session.server_target import locate_server
from tenure.settings import Settings
from tests.model_server import ModelServer
from tests.site.conftest import serve_at
from tests.site.paint import open_browser
from tests.support.chromium import needs_chromium
from tests.support.repositories.git import CLOCK, make_repository, run_git
from tests.support.repositories.program_python import make_program_python
from tests.support.tiers import slow
from tests.system.test_durability import around, worker_process
from tests.workflows.coding.test_real_repository import answer, build_request
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

pytestmark = [needs_chromium, slow]


LOOKS: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", 1200), ("dark", 390))


async def test_a_change_is_seen_approved_and_saved(
    server: WorkflowEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plan, files with counts, diff and test results are shown; the patch is approved there, applies, and is forked."""
    folder = Path(os.environ.get("TENURE_SCREENSHOTS", tmp_path))
    repository = make_repository(tmp_path / "clock", CLOCK)
    request = build_request(repository)
    assert request.repository
    request = request.model_copy(update={"repository": request.repository.model_copy(update={"approve": "patch"})})
    monkeypatch.setenv("TEMPORAL_ADDRESS", server.client.service_client.config.target_host)
    (tmp_path / "home").mkdir()
    settings = Settings(home=tmp_path / "home", _env_file=None)
    with ModelServer() as model:
        model.on("repository_engineer", answer)
        environment = around(model, server.client, tmp_path, TENURE_SANDBOX_PYTHON=str(make_program_python()))
        name = f"page-{uuid.uuid4().hex[:8]}"
        handle = await server.client.start_workflow(AgentWorkflow.run, request, id=name, task_queue=TENURE_QUEUE)
        async with (
            worker_process(environment, tmp_path / "worker.log"),
            serve_at(locate_server(settings)) as site,
            open_browser() as context,
        ):
            context.set_default_timeout(150_000)
            page = await context.new_page()

            async def check(picture: str) -> None:
                for scheme, width in LOOKS:
                    await page.emulate_media(color_scheme=scheme)
                    await page.set_viewport_size({"width": width, "height": 900})
                    found: Any = await Axe().run(page)
                    assert [violation["id"] for violation in found.response["violations"]] == []
                    assert await page.evaluate("document.documentElement.scrollWidth") <= width
                    await page.screenshot(path=folder / f"{picture}-{width}.png", full_page=True)

            await page.goto(site.link)
            await page.get_by_label("Question or task").wait_for()
            await page.goto(f"{site.origin}/runs/{name}")
            await page.get_by_text("Is this change right?").wait_for()
            await page.get_by_text("clock/durations.py changed, +1 −1").wait_for()
            await page.get_by_text("tests/test_durations.py changed, +4 −0, test").wait_for()
            assert "pad them to two digits" in await page.get_by_text("Plan:").locator("..").inner_text()
            assert await page.locator("pre .added").first.inner_text() == (
                '+    return f"{minutes // 60}:{minutes % 60:02}"\n'
            )
            assert await page.get_by_text("Tests before the change:").count()
            assert "proved: shown by new tests, 2 kept" in await page.get_by_text("Tests with it:").inner_text()
            assert not await page.get_by_role("button", name="Resume").count()
            await page.reload()
            await check("change")
            await page.get_by_role("button", name="Approve").click()
            await page.get_by_role("link", name="Read the whole report").click()
            await page.get_by_role("heading", name="Proof").wait_for()
            await check("change-report")
            await page.goto(f"{site.origin}/runs/{name}")
            await page.get_by_role("button", name="Apply the change").click()
            await page.get_by_role("dialog", name="Apply the change?").wait_for()
            await check("change-apply")
            await page.get_by_role("button", name="Write the files").click()
            await page.get_by_text("Written:").wait_for()
            applied = (repository / "clock" / "durations.py").read_text()
            run_git(repository, "reset", "--hard", "HEAD")
            await page.get_by_role("link", name="Read the whole report").click()
            async with page.expect_download() as started:
                await page.get_by_text("Save and share").click()
                await page.get_by_role("link", name="patch", exact=True).click()
            await (await started.value).save_as(tmp_path / "change.patch")
            result = await asyncio.wait_for(handle.result(), 60)
            await page.goto(f"{site.origin}/runs/{name}/fork")
            await page.get_by_label("Feedback for the new run").fill("Pad the hours as well.")
            await check("change-fork")
            await page.get_by_role("button", name="Start the fork").click()
            await page.get_by_text("Is this change right?").wait_for()
            fork = page.url.rpartition("/")[2]
            await server.client.get_workflow_handle(fork).terminate()

    assert fork != name and "Pad the hours as well." in str(model.requests[-1].json)
    assert "minutes % 60:02" in applied
    assert (tmp_path / "change.patch").read_text() == result.patch
    run_git(repository, "apply", str(tmp_path / "change.patch"))
