"""Test the Python interface against a real Temporal server and a stub worker, and the examples of its page."""

import asyncio
import inspect
import os
import re
import subprocess
import sys
import typing
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

import tenure
from tenure.contracts.run.control import OutlineTopic
from tenure.python_api import RunHandle, open_run, research, research_sync, start
from tenure.runs.errors import InvalidRequest, MissingRun, TenureError
from tenure.runs.messages import StartRequest
from tests.cli.conftest import ROOT, CommandLine, running
from tests.support.homes import Home, home
from tests.support.tiers import slow

__all__ = ["running"]

PAGE = (ROOT / "docs" / "interfaces.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture
def stack(running: CommandLine) -> Iterator[CommandLine]:
    """Home whose stack runs the stub worker, named by the environment."""
    with patch.dict(os.environ, running.environment(), clear=True):
        yield running


def test_the_package_alone_imports_nothing_slow() -> None:
    """The interface is imported when one of its names is used."""
    program = "import sys, tenure; print([name for name in ('pydantic', 'temporalio') if name in sys.modules])"
    before, after = (
        subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for text in (program, program.replace("import sys, tenure", "import sys; from tenure import research"))
    )

    assert before.strip() == "[]"
    assert after.strip() == "['pydantic', 'temporalio']"


def test_names_are_those_that_are_announced() -> None:
    """Each name of the package leads to the interface, and others do not exist."""
    assert tenure.research is research
    assert tenure.RunHandle is RunHandle
    with pytest.raises(AttributeError, match="no attribute 'results'"):
        attrgetter("results")(tenure)


def test_options_are_the_fields_of_a_request() -> None:
    """Every condition that HTTP takes is an option, with a description."""
    for function in (start, research, research_sync):
        parameters = inspect.signature(function).parameters

        assert parameters.keys() == StartRequest.model_fields.keys() | {"home"}
        assert all(f"    {name}: " in (function.__doc__ or "") for name in parameters if name != "question")


async def test_a_run_is_started_followed_steered_and_read(stack: CommandLine) -> None:
    """The handle of a run sees its states, sends feedback, waits for the result and reads report and answers."""
    run = await start("wait for me", id="py-1", max_sections=3)
    states = [state.status async for state in _until_told(run)]
    effects = [await run.pause(), await run.resume(), await run.finish()]
    result = await run.wait()
    again = await open_run("py-1")
    report = await again.report()
    answer = await again.ask("And then?")
    details = await again.describe()
    labels = [await again.label(title="On stubs", tags=["stub"]), await run.label(title="")]

    assert states[0] == "running"
    assert effects == ["The stub heard pause.", "The stub heard resume.", "The stub heard finish."]
    assert (result.status, result.feedback[0].text) == ("finished_early", "more")
    assert "sections: 3" in result.notes
    assert report.decode().startswith("# A stub report")
    assert answer.claims[0].text == "This is answer 1."
    assert (details.is_running, details.status, bool(details.ended)) == (False, "finished_early", True)
    assert [(label.title, label.tags) for label in labels] == [("On stubs", ("stub",)), ("", ("stub",))]
    assert (run.url, repr(again)) == (again.url, "RunHandle('py-1')")


async def _until_told(run: RunHandle) -> typing.AsyncIterator[typing.Any]:
    """Yield the states of a run until its feedback is among them."""
    await run.feedback("more", "Only topic")
    async for state in run.follow():
        yield state
        if state.progress and state.progress.feedback:
            return


@pytest.mark.parametrize(
    ("question", "send", "told"),
    [
        ("clarify", lambda run: run.answer("2020"), '"text":"2020"'),
        ("approve", lambda run: run.approve(), '"name":"approve"'),
        ("approve", lambda run: run.set_outline(["Rye", OutlineTopic(heading="Oats")]), '"heading":"Oats"'),
        ("approve", lambda run: run.set_budget(max_calls=7), '"max_calls":7'),
        ("wait", lambda run: run.cancel(discard=True), ""),
    ],
    ids=["answer", "approve", "outline", "budget", "cancel"],
)
async def test_commands_reach_the_run(
    stack: CommandLine, question: str, send: Callable[[RunHandle], Awaitable[str]], told: str
) -> None:
    """Each method of the handle is a command of the run."""
    run = await start(question)
    effect = await send(run)
    if (await run.describe()).is_running:
        await run.finish()
    result = await run.wait()

    assert effect.startswith("The stub heard ")
    assert told in "\n".join(result.notes)


async def test_relative_paths_and_homes_are_those_of_the_program(
    stack: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths are relative to the current folder, and `home` replaces the home of the settings."""
    (tmp_path / "notes.txt").write_text("Rye.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENURE_HOME", str(tmp_path / "other"))
    result = await research("read this", docs=["notes.txt", Path("notes.txt")], home=stack.settings.home)

    assert result.status == "done"
    assert any(note.startswith("corpora: notes-") for note in result.notes)


async def test_errors_are_those_of_the_commands(stack: CommandLine) -> None:
    """Wrong options, unknown runs and failed runs raise the error that a command would print."""
    with pytest.raises(InvalidRequest, match="max_sections: "):
        await start("Why?", max_sections=99)
    with pytest.raises(InvalidRequest, match="docs: "):
        await start("Why?", docs="notes.txt")
    with pytest.raises(MissingRun):
        await open_run("none")
    with pytest.raises(TenureError, match="told to fail"):
        await research("fail now")


async def test_a_wait_that_is_cancelled_leaves_the_run_alone(stack: CommandLine) -> None:
    """A timeout of the program is a timeout, and the run continues."""
    run = await start("wait for me")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await run.wait()
    details = await run.describe()
    await run.cancel()

    assert details.is_running


def test_a_program_without_an_event_loop_needs_one_call(stack: CommandLine) -> None:
    """The plain call returns the result document."""
    with ThreadPoolExecutor(1) as thread:  # the event loop of the tests belongs to this one
        result = thread.submit(research_sync, "Why?").result()

    assert result.title == "A stub report"


@pytest.fixture
def kernel(stack: CommandLine) -> Iterator[BlockingKernelClient]:
    """A kernel of Jupyter, as notebooks and editors start one."""
    manager = KernelManager()
    manager.start_kernel(env=stack.environment({"PYTHONPATH": str(ROOT)}))
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield client
    client.stop_channels()
    manager.shutdown_kernel()


def run_cell(kernel: BlockingKernelClient, source: str) -> tuple[str, list[str], str]:
    """Run a cell, and return its status, the HTML that it has shown one after the other, and its error."""
    shown: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        if message["msg_type"] in ("display_data", "update_display_data"):
            shown.append(message["content"]["data"].get("text/html", ""))

    reply = kernel.execute_interactive(source, output_hook=hear, timeout=120)["content"]
    return reply["status"], shown, reply.get("evalue", "")


def test_a_notebook_shows_the_progress_and_the_report(kernel: BlockingKernelClient) -> None:
    """A line follows the run, the report takes its place at the end, and a failed run is an error."""
    status, shown, _ = run_cell(kernel, "import tenure\nresult = await tenure.research('Why <b>?', id='py-notebook')")
    again, reopened, _ = run_cell(kernel, "await (await tenure.open_run('py-notebook')).show()")
    failed, _, failure = run_cell(kernel, "await tenure.research('fail now')")
    refused, _, advice = run_cell(kernel, "tenure.research_sync('Why?')")

    assert (status, again, failed, refused) == ("ok", "ok", "error", "error")
    assert '<p role="status">' in shown[1]
    assert shown[-1].startswith('<iframe title="Why &lt;b&gt;?" srcdoc="&lt;!DOCTYPE html&gt;')
    assert "A stub report" in shown[-1]
    assert reopened[-1] == shown[-1]
    assert "told to fail" in failure
    assert "await research" in advice


async def test_only_a_notebook_shows_a_run(stack: CommandLine) -> None:
    """A program that cannot show anything gets an error that says what it can do."""
    run = await start("Why?")
    with pytest.raises(TenureError, match="needs a notebook"):
        await run.show()
    await run.wait()


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with the real worker, which answers from the manual."""
    with home(tmp_path_factory.mktemp("python")) as made:
        yield made


def run_example(made: Home, source: str) -> str:
    """Run an example of the page as a script in a folder of its own, and return what it prints."""
    folder = made.settings.home.parent
    (folder / "example.py").write_text(source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=folder,
        env=made.environment({"PYTHONPATH": str(ROOT)}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@slow
def test_the_examples_of_the_page_work(manual: Home) -> None:
    """A script gets a report, another one approves a plan and gives feedback, and a third reads the run."""
    first, second, third = EXAMPLES
    lines = run_example(manual, first).splitlines()
    followed = run_example(manual, second).splitlines()
    run_id, status = followed[-1].split()
    read = run_example(manual, f"{third}\n\nasyncio.run(read({run_id!r}))\n")

    assert lines[0].startswith("done ")
    assert len(lines) > 1
    assert followed[0] == "Is this the right outline?"
    assert status == "done"
    assert read.strip() in ("answered", "no_evidence")
    assert (manual.settings.home.parent / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
