"""Test the format of archives with valid, malformed, truncated, hostile and oversized ones."""

import gzip
import io
import json
import tracemalloc
from collections.abc import Sequence
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st
from temporalio.api.common.v1 import Payload, Payloads, WorkflowType
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import (
    History,
    HistoryEvent,
    WorkflowExecutionCompletedEventAttributes,
    WorkflowExecutionStartedEventAttributes,
)

from tenure.temporal.archive import container
from tenure.temporal.archive.container import ArchiveError, RunTree, decode_run, encode_run, iterate_runs
from tenure.temporal.archive.reading import describe_run
from tests.histories.storage import find_recording, read_recording


def history(
    workflow: str = "run",
    end: int = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
    seconds: int = 0,
    results: Sequence[Payload] = (),
) -> History:
    """Return the shortest history of a workflow."""
    started = WorkflowExecutionStartedEventAttributes(
        workflow_id=workflow, workflow_type=WorkflowType(name="AgentWorkflow")
    )
    return History(
        events=[
            HistoryEvent(
                event_id=1,
                event_time=Timestamp(seconds=seconds),
                event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
                workflow_execution_started_event_attributes=started,
            ),
            HistoryEvent(
                event_id=2,
                event_type=end,  # type: ignore[arg-type]
                workflow_execution_completed_event_attributes=WorkflowExecutionCompletedEventAttributes(
                    result=Payloads(payloads=results)
                ),
            ),
        ]
    )


def tree(*children: str, id: str = "run") -> RunTree:
    """Return a run with children."""
    found = RunTree(id, "a1", {(id, "a1"): history(id)})
    found.histories.update({(f"{id}/{child}", "b2"): history(f"{id}/{child}") for child in children})
    return found


def recorded() -> RunTree:
    """Return a recorded run with its children."""
    read = read_recording(find_recording("cycles"))
    histories = {(one.workflow_id, f"e{n}"): History(events=one.events) for n, one in enumerate(read)}
    return RunTree(read[0].workflow_id, "e0", histories)


def forge(header: dict[str, Any] | bytes, content: bytes = b"") -> bytes:
    """Return an archive with any first line."""
    line = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return gzip.compress(line + b"\n" + content)


def head(*executions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return the first line of an archive."""
    found: dict[str, Any] = {"format": "tenure-run", "version": 1, "id": "run", "execution": "a1"}
    return found | {"executions": list(executions)} | fields


def entry(size: int, **fields: Any) -> dict[str, Any]:
    """Return an entry of the first line."""
    return {"workflow": "run", "run": "a1", "bytes": size} | fields


def test_an_archive_is_read_as_it_was_written() -> None:
    """Histories, their order and their bytes stay the same, and equal runs give equal archives."""
    run = recorded()
    archive = encode_run(run)

    assert decode_run(archive) == run
    assert list(decode_run(archive).histories) == list(run.histories)
    assert encode_run(decode_run(archive)) == archive
    assert len(archive) < sum(len(one.SerializeToString()) for one in run.histories.values()) / 4


def test_archives_are_joined_by_writing_them_one_after_the_other() -> None:
    """A file of several runs has them in their order."""
    runs = [tree(id="run-1"), recorded(), tree("research", id="run-2")]
    file = io.BytesIO(b"".join(map(encode_run, runs)))

    assert list(iterate_runs(file)) == runs


PROGRAM = history().SerializeToString()
WRONG = {
    "empty": (b"", "is empty"),
    "text": (b"once upon a time", "no archive of a run"),
    "zip": (b"PK\x03\x04" + bytes(100), "no archive of a run"),
    "no line": (gzip.compress(b"x" * 100), "has no valid first line"),
    "no end of the line": (gzip.compress(b"x" * 6_000_000), "has no valid first line"),
    "no object": (forge(b"[]"), "has no valid first line"),
    "deep": (forge(b"[" * 200_000), "has no valid first line"),
    "format": (forge(head(entry(0), format="zip")), "has no valid first line"),
    "version": (forge(head(entry(0), version=2)), "made by a newer version of Tenure"),
    "huge version": (forge(head(entry(0), version=10**30)), "made by a newer version of Tenure"),
    "version as text": (forge(head(entry(0), version="1")), "has no valid first line"),
    "no executions": (forge(head()), "has no valid first line"),
    "too many": (forge(head(*[entry(0)] * (container.MAX_EXECUTIONS + 1))), "has no valid first line"),
    "negative": (forge(head(entry(-1))), "has no valid first line"),
    "large": (forge(head(entry(2**62))), "has no valid first line"),
    "large in all": (forge(head(*[entry(container.MAX_RUN_BYTES)] * 2)), "is too large"),
    "control characters": (forge(head(entry(0), id="run\x1b[2J")), "has no valid first line"),
    "path of an execution": (forge(head(entry(0, run="../../x"))), "has no valid first line"),
    "another run": (forge(head(entry(len(PROGRAM), workflow="runner")), PROGRAM), "contains a workflow of another run"),
    "path": (forge(head(entry(len(PROGRAM), workflow="../run/x")), PROGRAM), "contains a workflow of another run"),
    "no message": (forge(head(entry(9)), b"\xff" * 9), "contains a damaged history"),
    "no events": (forge(head(entry(0))), "contains a damaged history"),
    "other id": (
        forge(head(entry(len(PROGRAM), workflow="run/research")), PROGRAM),
        "contains a damaged history of run/research",
    ),
    "no root": (forge(head(entry(len(PROGRAM)), execution="zz"), PROGRAM), "does not contain the end of its run"),
    "running": (
        forge(
            head(entry(len(open_history := history(end=EventType.EVENT_TYPE_TIMER_FIRED).SerializeToString()))),
            open_history,
        ),
        "does not contain the end of its run",
    ),
    "no date": (
        forge(
            head(entry(len(late := history(seconds=10**18).SerializeToString()))),
            late,
        ),
        "contains a damaged history",
    ),
    "too short": (forge(head(entry(len(PROGRAM) + 1)), PROGRAM), "does not have the size"),
    "too long": (forge(head(entry(len(PROGRAM))), PROGRAM + b"x"), "has no valid first line"),
    "followed by text": (encode_run(tree()) + b"once", "no archive of a run"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_archive_is_refused(name: str) -> None:
    """Each kind of damage and forgery has its reason, which completes a sentence in one line."""
    archive, reason = WRONG[name]
    with pytest.raises(ArchiveError, match=reason) as refused:
        list(iterate_runs(io.BytesIO(archive)))

    assert "\n" not in str(refused.value)


def test_a_cut_archive_is_refused_at_every_length() -> None:
    """No prefix of an archive is read as a run."""
    archive = encode_run(tree("research"))
    for length in range(len(archive)):
        with pytest.raises(ArchiveError):
            decode_run(archive[:length])


@given(st.data())
def test_a_changed_archive_is_refused(data: st.DataObject) -> None:
    """A changed byte is found by the checksum; only bytes of gzip's own header may differ."""
    archive = bytearray(encode_run(tree("research")))
    at = data.draw(st.integers(10, len(archive) - 1))
    archive[at] ^= data.draw(st.integers(1, 255))

    with pytest.raises(ArchiveError):
        decode_run(bytes(archive))


@given(st.binary(max_size=400))
def test_random_histories_are_refused_or_described(content: bytes) -> None:
    """A run of random bytes that passes the checks has a description, and never raises another error."""
    archive = forge(head(entry(len(content))), content)
    try:
        run = decode_run(archive)
    except ArchiveError:
        return
    describe_run(run)


def test_a_bomb_is_not_decompressed() -> None:
    """A file that would grow to gigabytes is refused with little memory, wherever it grows."""
    block = gzip.compress(bytes(64 << 20), mtime=0)
    bombs = [
        forge(head(entry(10)), bytes(64 << 20)),  # more content than its first line names
        block,  # a first line without end
        encode_run(tree()) * 3 + block,
    ]
    tracemalloc.start()
    for bomb in bombs:
        with pytest.raises(ArchiveError):
            list(iterate_runs(io.BytesIO(bomb)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 48 << 20


def test_a_file_of_many_large_runs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs of a file have a limit in all, in addition to the limit of each."""
    archive = encode_run(tree())
    monkeypatch.setattr(container, "MAX_FILE_BYTES", 3 * len(PROGRAM))

    with pytest.raises(ArchiveError, match="is too large"):
        list(iterate_runs(io.BytesIO(archive * 4)))


def test_a_run_that_is_too_large_is_not_archived(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run above the limit is refused when it is written, since it could not be read."""
    monkeypatch.setattr(container, "MAX_RUN_BYTES", 10)

    with pytest.raises(ArchiveError, match="is too large: 0 MiB in 2 histories"):
        encode_run(tree("research"))
