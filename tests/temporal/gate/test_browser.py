"""The web UI in a real browser: its pages work behind the gate, and pages of another port change nothing.

The tests use the machine's Chromium; without one they are skipped, or fail if TENURE_REQUIRE_BROWSER is set.
"""

import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.async_api import Response, async_playwright
from temporalio.client import Client
from temporalio.service import RPCError

from tenure.settings import Settings
from tenure.temporal.stack import local
from tests.support.chromium import CHROMIUM, needs_chromium
from tests.support.ports import free_ports
from tests.support.tiers import slow
from tests.temporal.stack.conftest import IDLE_WORKER

pytestmark = [needs_chromium, slow]

QUIET = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync")

PATIENT_MILLISECONDS = 90_000

ATTACK = """<!doctype html><title>attack</title>
<form method=post enctype=text/plain action="{target}"><input name='{{"a":"' value='"}}'></form>
<script>
async function attack() {{
    const target = "{target}", tries = [];
    for (const mode of ["cors", "no-cors"])
        for (const credentials of ["include", "omit"])
            for (const method of ["GET", "POST"])
                try {{
                    const body = method == "POST" ? "{{}}" : null;
                    const reply = await fetch(target, {{method, mode, credentials, body}});
                    tries.push(reply.type + " " + reply.status + " " + (await reply.text()).length);
                }} catch (error) {{ tries.push("refused"); }}
    return tries;
}}
</script>
"""


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """Settings of a running stack whose worker does nothing."""
    (tmp_path / "worker.py").write_text(IDLE_WORKER, encoding="utf-8")
    port, ui_port = free_ports(2)
    made = Settings(home=tmp_path / "home", temporal_port=port, ui_port=ui_port, site_port=0, _env_file=None)
    local.start_stack(made, worker_command=[sys.executable, str(tmp_path / "worker.py")])
    yield made
    local.stop_stack(made)


@pytest.fixture
def other_port(settings: Settings) -> Iterator[int]:
    """Port of a page of another program on this machine."""
    target = f"http://127.0.0.1:{settings.ui_port}/api/v1/namespaces/default/workflows/intruder"

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(ATTACK.format(target=target).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()
        yield server.server_port
        server.shutdown()


async def test_pages_work_and_another_port_changes_nothing(settings: Settings, other_port: int) -> None:
    """The list and the page of a workflow appear without an error; a page of the same host reads and starts nothing."""
    client = await Client.connect(f"127.0.0.1:{settings.temporal_port}")
    await client.start_workflow("AnyWorkflow", "a question", id="visible-run", task_queue="idle")
    link = local.get_status(settings).ui_url
    as_root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    failed: list[str] = []

    def note_failure(response: Response) -> None:
        if response.status >= 400:
            failed.append(f"{response.status} {response.url}")

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*QUIET, *as_root], timeout=PATIENT_MILLISECONDS, handle_sigint=False
        )
        context = await browser.new_context()
        context.set_default_timeout(PATIENT_MILLISECONDS)
        page = await context.new_page()
        page.on("response", note_failure)
        await page.goto(link.replace("127.0.0.1", "localhost"))
        await page.wait_for_url(f"http://127.0.0.1:{settings.ui_port}/namespaces/default/workflows**")
        assert "token=" not in page.url
        await page.locator("a[href*='workflows/visible-run']").first.click()
        await page.get_by_text("a question").first.wait_for()
        assert failed == []

        await page.goto(f"http://127.0.0.1:{other_port}/")
        tries = await page.evaluate("attack()")
        assert set(tries) <= {"refused", "opaque 0 0"}
        async with page.expect_navigation() as navigation:
            await page.evaluate("document.forms[0].submit()")
        answer = await navigation.value
        assert answer is not None
        assert answer.status == 403
        # A frame of the other port shows nothing of the web UI.
        await page.goto(f"http://127.0.0.1:{other_port}/")
        async with page.expect_event("framenavigated"):
            await page.evaluate(f"document.body.innerHTML = '<iframe src=\"http://127.0.0.1:{settings.ui_port}/\">'")
        assert "visible-run" not in "".join([await frame.content() for frame in page.frames])
        await browser.close()
    with pytest.raises(RPCError, match="not found"):
        await client.get_workflow_handle("intruder").describe()
