"""Test the diagnosis of a blocked run, against a real server and the stub worker."""

import asyncio
import io
from concurrent.futures import ThreadPoolExecutor

import pytest

from tenure.temporal import connection
from tests.cli.conftest import CommandLine, run_client
from tests.support.waiting import block_until


def watch_until(line: CommandLine, words: str, run: str) -> list[str]:
    """Watch a run until the words are shown, terminate it, and return all that is shown."""
    written = io.StringIO()
    with ThreadPoolExecutor(1) as thread:
        command = thread.submit(run_client, ("watch", run), line.environment(), line.settings.home.parent, written)
        block_until(f"{words!r} in the view", lambda: words in written.getvalue() or command.done())
        terminate(line, run)
        command.result()
    return written.getvalue().splitlines()


def terminate(line: CommandLine, run: str) -> None:
    """End a run that no command can end, since its code does not run."""

    async def end() -> None:
        client = await connection.connect(line.settings)
        await client.get_workflow_handle(run).terminate()

    asyncio.run(end())


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("stumble please", "retrying stumble: the stub stumbled (attempt 2, next try in "),
        ("break please", "AgentWorkflow cannot continue: the stub is broken; "),
    ],
)
def test_a_run_that_is_stuck_says_why(running: CommandLine, question: str, words: str) -> None:
    """A failing activity, a child's too, and failing workflow code are named with their reason, once."""
    run = f"stuck-{question.split()[0]}"
    assert running("start", question, "--id", run, "--detach").returncode == 0
    shown = watch_until(running, words, run)

    assert len([line for line in shown if words in line]) == 1


def test_a_run_that_gets_on_is_in_no_trouble(running: CommandLine) -> None:
    """An ordinary run says nothing of retries."""
    assert "attempt" not in running("start", "read this", "--id", "untroubled").stderr
