"""Test the display of answers that are arriving, against a real server and the stub worker."""

import asyncio

from temporalio.client import Client

from tenure.cli.progress.snapshot import StreamedAnswer
from tenure.cli.session.run_tree import describe_run_tree
from tenure.cli.streaming import read_streamed_answers
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.models.openai.chat import OpenAIChat
from tests.cli.conftest import CommandLine
from tests.cli.session.test_diagnostics import said_until, terminate
from tests.conftest import Serving
from tests.model_server import ModelServer
from tests.models.routes import routes
from tests.support.tiers import exhaustive
from tests.support.worlds import KITCHEN, MemoryKnowledge


def test_arriving_answers_are_shown(running: CommandLine) -> None:
    """The display names what is being written and its number of tokens, once per step."""
    words = "writing the report: 312 tokens"
    said = said_until(running, words, "start", "scribble please", "--id", "scribbling")
    again = said_until(running, words, "watch", "scribbling")
    terminate(running, "scribbling")

    assert len([line for line in said if words in line]) == 1
    assert any(words in line for line in again)


@exhaustive
async def test_a_streamed_answer_is_seen_coming_in(serving: Serving) -> None:
    """The tokens of a report that a real worker receives in pieces are known to the server."""
    request = RunRequest(
        question="How is bread made?", corpora=("kitchen",), limits=RunLimits(min_relevance=0.0, max_sections=1)
    )
    with ModelServer() as model:
        model.on("outliner", {"topics": [{"heading": "Bread", "question": "How is bread made?"}]})
        chat = OpenAIChat(routes("m"), base_url=model.base_url)
        async with serving(chat, MemoryKnowledge(dict(KITCHEN))) as stage:
            with model.hold("report_writer", after_events=4):
                handle = await stage.start(request)
                (writing,) = await seen(stage.client, handle.id)
            result = await handle.result()
        await chat.aclose()

    assert writing.what == "writing the report"
    assert writing.tokens > 0
    assert result.status == "done"


async def seen(client: Client, run: str) -> tuple[StreamedAnswer, ...]:
    """Wait until a part of a run is being written."""
    while True:
        members = [member async for member in describe_run_tree(client, run)]
        if found := await read_streamed_answers(client, members):
            return found
        await asyncio.sleep(0.05)
