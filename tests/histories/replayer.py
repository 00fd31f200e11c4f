"""Replay recorded histories, and write down everything that the workflows send meanwhile.

`python -m tests.histories.replayer FILE…` prints one line for each recording: its name and a hash of all arguments,
results and signals, in their order. Temporal itself compares only the kinds and names of commands. A workflow that
depends on the order of a set, on the clock or on random numbers prints another line in another process, in which
strings have other hashes.
"""

import asyncio
import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory
from temporalio.converter import DataConverter, PayloadCodec

from tenure.cli.main import leave
from tenure.temporal.converter import DATA_CONVERTER
from tests.conftest import create_shared_sandbox
from tests.histories.storage import get_name, read_recording
from workflows.plugin import create_replayer


class HiddenNondeterminism(Exception):
    """A workflow sends something else in a replay than in its first execution."""


class Transcript(PayloadCodec):
    """Codec that writes down what is encoded and changes nothing."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.payloads: list[bytes] = []

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Write payloads down."""
        self.payloads += [payload.data for payload in payloads]
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Return payloads as they are."""
        return list(payloads)


async def replay(histories: Sequence[WorkflowHistory], converter: DataConverter = DATA_CONVERTER) -> None:
    """Replay histories with the workflows of today.

    Raises:
        Exception: a workflow makes other decisions than it has recorded.
    """
    replayer = create_replayer(converter, create_shared_sandbox())
    for history in histories:
        await replayer.replay_workflow(history)


async def transcribe(histories: Sequence[WorkflowHistory]) -> list[bytes]:
    """Return all values that workflows send while their histories are replayed, in their order."""
    transcript = Transcript()
    await replay(histories, replace(DATA_CONVERTER, payload_codec=transcript))
    return transcript.payloads


async def check_replay(history: WorkflowHistory) -> None:
    """Check that the code which has just recorded a history sends the same values when it replays the history.

    Raises:
        HiddenNondeterminism: it sends another value, or sends them in another order.
    """
    sent = iter(await transcribe([history]))
    for recorded in (payload for event in history.events for payload in _list_sent(event)):
        if all(value != recorded for value in sent):
            raise HiddenNondeterminism(f"a replay of {history.workflow_id} does not send {recorded[:500]!r}")


def _list_sent(event: HistoryEvent) -> Iterator[bytes]:
    """Yield the values that a workflow has sent with an event."""
    values: tuple[Payloads, ...] = (
        event.activity_task_scheduled_event_attributes.input,
        event.start_child_workflow_execution_initiated_event_attributes.input,
        event.signal_external_workflow_execution_initiated_event_attributes.input,
        event.workflow_execution_update_completed_event_attributes.outcome.success,
        event.workflow_execution_completed_event_attributes.result,
        event.workflow_execution_continued_as_new_event_attributes.input,
    )
    yield from (payload.data for value in values for payload in value.payloads)


async def main(paths: Iterable[str]) -> None:
    """Print the hash of each recording."""
    for path in map(Path, paths):
        sent = await transcribe(read_recording(path))
        print(get_name(path), len(sent), hashlib.sha256(b"\n".join(sent)).hexdigest(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
    leave(0)
