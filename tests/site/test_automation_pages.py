"""Test the pages of schedules and batches, on a server with a stub worker and with the real one."""

import csv
import io
import re
from html import unescape
from pathlib import Path

import httpx

from tenure.contracts.base import RunId
from tenure.contracts.result.batch import BatchOutcome, BatchReport
from tenure.site.rendering import render
from tenure.temporal.gate.access_key import load_key
from tenure.temporal.stack import local
from tests.site.conftest import Site
from tests.support.homes import home
from tests.support.ports import free_ports
from tests.support.tiers import slow
from tests.support.waiting import wait_until


def test_progress_of_a_batch_has_its_reports() -> None:
    """Questions that run lead to their runs, ended ones to their reports, and hostile words are text."""
    outcomes = (
        BatchOutcome(key="1", run=RunId("b-1"), question="<b>One?", status="done", title="Of one", tokens=1200),
        BatchOutcome(key="2", run=RunId("b-2"), question="Two?", status="running"),
        BatchOutcome(key="3", run=RunId("b-3"), question="Three?", status="waiting"),
    )
    page = bytes(
        render("batch.html.jinja", batch="b", is_running=True, report=BatchReport(outcomes=outcomes), ended=1).body
    ).decode()

    assert "1 of 3 questions ended" in page and 'data-fragment="/batches/b/live"' in page
    assert '<a href="/runs/b-1/report" dir="auto">Of one</a>' in page and 'href="/runs/b-2"' in page
    assert "/runs/b-3" not in page and "&lt;b&gt;One?" in page and "1,200" in page


@slow
async def test_a_question_is_scheduled_asked_now_paused_and_deleted(site: Site) -> None:
    """The page shows the next times, leads to the reports, and explains a cron expression that is none."""
    headers = {"origin": site.origin}
    async with site.client() as client:

        async def read(words: str) -> str:
            async def load() -> str:
                return unescape((await client.get("/schedules")).text)

            page: str = await wait_until(words, load, lambda page: words in page)
            return page

        form = {"question": "What is new here?", "often": "0 8 * * 1", "cron": "", "timezone": ""}
        added = await client.post("/schedules", data=form, headers=headers)
        wrong = await client.post("/schedules", data=form | {"cron": "every day"}, headers=headers)
        page = await read("What is new here?")
        name = re.findall(r'name="name" value="(question-.*?)"', page)[0]

        async def change(action: str) -> httpx.Response:
            return await client.post("/schedules/change", data={"name": name, "action": action}, headers=headers)

        await change("trigger")
        asked = await read(f'href="/runs/{name}')
        await change("pause")
        paused = await read("paused")
        unknown = await change("no such action")
        await change("delete")
        await wait_until("the deletion", lambda: client.get("/schedules"), lambda page: name not in page.text)
        absent = await change("pause")

    assert (added.status_code, wrong.status_code, unknown.status_code, absent.status_code) == (303, 422, 422, 422)
    assert "does not take the schedule" in wrong.text and 'value="every day"' in wrong.text
    assert len(re.findall("<time datetime=", page)) == 3
    assert "Each one says what is new since the one before." in asked and "Resume" in paused


@slow
async def test_questions_of_a_form_that_do_not_fit_are_explained(site: Site) -> None:
    """A table needs the questions in its rows, and the words that were typed stay."""
    headers = {"origin": site.origin}
    async with site.client() as client:
        bad = await client.post("/batches", data={"questions": "question,nonsense\nWhy?,1"}, headers=headers)
        empty = await client.post("/batches", data={"questions": " "}, headers=headers)
        listed = await client.get("/batches")
        absent = await client.get("/batches/none")

    assert (bad.status_code, empty.status_code, listed.status_code, absent.status_code) == (422, 422, 200, 404)
    assert "is not one of" in unescape(bad.text) and "Why?,1" in bad.text
    assert "There are no batches yet." in listed.text


@slow
async def test_the_page_of_a_stack_changes_its_worker_and_asks_many_questions(tmp_path: Path) -> None:
    """A stored setting reaches the worker without a command, the page stays, and a batch is read as a table."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "bread.md").write_text("# Bread\n\nRye bread rises for two hours.\n")
    with home(tmp_path, TENURE_SITE_PORT=str(free_ports(1)[0])) as real:
        assert real.run("up").returncode == 0
        before, key = local.get_status(real.settings), load_key(real.settings.home)
        origin = f"http://127.0.0.1:{before.site_port}"
        headers = {"authorization": f"Bearer {key}", "origin": origin}
        async with httpx.AsyncClient(base_url=origin, headers=headers, timeout=60) as client:
            saved = await client.post("/settings/web", data={"TENURE_FETCH_DENY": "a.example"})
            note = await wait_until(
                "the worker", lambda: client.get("/settings/live"), lambda page: "applied" in page.text
            )
            after = local.get_status(real.settings)
            again = real.run("up")
            paths = {"paths": [str(tmp_path / "notes")], "corpus": "notes"}
            await client.post("/api/v1/corpora", json=paths)
            await wait_until(
                "the corpus", lambda: client.get("/api/v1/corpora"), lambda listed: '"sources":1' in listed.text
            )
            form = {"questions": "How long does rye bread rise?\n", "corpora": "notes", "parallel": "1"}
            started = await client.post("/batches", data=form)
            page = started.headers["location"]
            await wait_until("the batch", lambda: client.get(page), lambda shown: "1 of 1 question ended" in shown.text)
            table = list(csv.reader(io.StringIO((await client.get(f"{page}/answers.csv")).text.removeprefix("\ufeff"))))
            listed = await client.get("/batches")

    assert saved.status_code == 303 and "The worker has these settings." in note.text
    assert (after.worker_pid != before.worker_pid, after.site_pid) == (True, before.site_pid)
    assert "restarted" not in again.stdout + again.stderr
    assert table[0] == ["question", "status", "short answer", "abstract", "run", "tokens", "USD", "seconds"]
    assert table[1][:2] == ["How long does rye bread rise?", "done"] and "two hours" in table[1][3]
    assert page in listed.text
