"""Test the diagnosis of a blocked run, against a real server and the stub worker."""

import asyncio
import signal

import pytest

from tenure.temporal import connection
from tests.cli.conftest import CommandLine


def said_until(line: CommandLine, words: str, *arguments: str) -> list[str]:
    """Run a command until it says the words, interrupt it, and return what it said."""
    said = []
    with line.popen(*arguments) as process:
        assert process.stderr is not None
        for text in process.stderr:
            said.append(text.strip())
            if words in text:
                break
        process.send_signal(signal.SIGINT)
        said += process.stderr.read().splitlines()
    return said


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
    name = question.split()[0]
    said = said_until(running, words, "start", question, "--id", f"stuck-{name}")
    again = said_until(running, words, "watch", f"stuck-{name}")
    terminate(running, f"stuck-{name}")

    assert len([line for line in said if words in line]) == 1
    assert any(words in line for line in again)


def test_a_run_that_gets_on_is_in_no_trouble(running: CommandLine) -> None:
    """An ordinary run says nothing of retries."""
    assert "attempt" not in running("start", "read this", "--id", "untroubled").stderr
