"""Test the format of archives with valid, malformed, truncated, hostile and oversized ones."""

import gzip
import io
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure

from tenure.contracts.knowledge.archive import RunDescription
from tenure.temporal.archive import container
from tenure.temporal.archive.container import (
    ArchivedDocument,
    ArchivedRunSource,
    ArchiveError,
    decode_run,
    encode_run,
    iterate_runs,
)
from tenure.temporal.converter import DATA_CONVERTER

BYTES = bytes(range(256))
"""Every byte, as encrypted payloads have them."""


def make_document(id: str = "run", **changes: Any) -> ArchivedDocument:
    """Return the shortest document of a completed run."""
    times = {"started_at": "2026-01-01T10:00:00+00:00", "closed_at": "2026-01-01T10:01:00+00:00"}
    described = RunDescription(
        execution="a1",
        id=id,
        type="AgentWorkflow",
        status="done",
        phase="done",
        mode="",
        owner="",
        question=b"",
        **times,
    )
    fields = {"description": described, "end": "completed", "request": b"", "result": b""}
    return ArchivedDocument.model_validate(fields | changes)


def make_full() -> ArchivedDocument:
    """Return a document with every field, whose payloads are those of an encrypted run."""
    sealed = Payload(metadata={"encoding": b"binary/encrypted"}, data=BYTES).SerializeToString()
    bare = make_document("full")
    return bare.model_copy(
        update={
            "description": bare.description.model_copy(update={"question": sealed}),
            "end": "failed",
            "request": sealed,
            "result": None,
            "failure": Failure(message="no", encoded_attributes=Payload(data=BYTES)).SerializeToString(),
            "story": sealed,
            "research": sealed,
            "cycles": (sealed, sealed),
            "runs": ("full-1",),
            "reason": "by hand",
        }
    )


def forge(content: dict[str, Any] | bytes) -> bytes:
    """Return an archive with any line."""
    line = content if isinstance(content, bytes) else json.dumps(content, separators=(",", ":")).encode()
    return gzip.compress(line + b"\n")


def change(**fields: Any) -> bytes:
    """Return the archive of a run with other fields, `description` with other fields of its own."""
    line = json.loads(make_document().model_dump_json())
    described = line["description"] | fields.pop("description", {})
    return forge(line | {"description": described} | fields)


async def test_an_archive_is_read_as_it_was_written() -> None:
    """Every byte of a payload stays the same, and equal runs give equal archives."""
    run = make_full()
    archive = encode_run(run)
    source = ArchivedRunSource(decode_run(archive), DATA_CONVERTER)
    end, kept, story = await source.fetch_end(), await source.fetch_checkpoints(), await source.fetch_story()

    assert decode_run(archive) == run and encode_run(decode_run(archive)) == archive
    assert (await source.fetch_request()).data == BYTES
    assert (end.status, end.result, end.reason) == ("failed", None, "by hand")
    assert end.failure and end.failure.encoded_attributes.data == BYTES
    assert kept.research and len(kept.cycles) == 2 and story and story.data == BYTES


def test_archives_are_joined_by_writing_them_one_after_the_other() -> None:
    """A file of several runs has them in their order."""
    runs = [make_document("run-1"), make_full(), make_document("run-2")]
    file = io.BytesIO(b"".join(map(encode_run, runs)))

    assert list(iterate_runs(file)) == runs


WRONG = {
    "empty": (b"", "is empty"),
    "text": (b"once upon a time", "no archive of a run"),
    "zip": (b"PK\x03\x04" + bytes(100), "no archive of a run"),
    "no line": (gzip.compress(b"x" * 100), "is not that of a run"),
    "no object": (forge(b"[]"), "is not that of a run"),
    "deep": (forge(b'{"format":"tenure-run","version":1,"description":' + b"[" * 200_000), "is not that of a run"),
    "format": (change(format="zip"), "is not that of a run"),
    "version": (change(version=2), "made by a newer version of Tenure"),
    "huge version": (change(version=10**30), "made by a newer version of Tenure"),
    "version as text": (change(version="1"), "is not that of a run"),
    "no request": (change(request=None), "is not that of a run"),
    "control characters": (change(description={"id": "run\x1b[2J"}), "is not that of a run"),
    "path of an execution": (change(description={"execution": "../../x"}), "is not that of a run"),
    "long status": (change(description={"status": "x" * 201}), "is not that of a run"),
    "no date": (change(description={"started_at": "soon"}), "is not that of a run"),
    "no time zone": (change(description={"closed_at": "2026-01-01T10:00:00"}), "is not that of a run"),
    "running": (change(end="running"), "is not that of a run"),
    "no base64": (change(story="!"), "is not that of a run"),
    "no message": (change(cycles=["/////////w=="]), "is not that of a run"),
    "other id of a run": (change(runs=["a b"]), "is not that of a run"),
    "followed by text": (encode_run(make_document()) + b"once", "no archive of a run"),
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
    archive = encode_run(make_full())
    for length in range(len(archive)):
        with pytest.raises(ArchiveError):
            decode_run(archive[:length])


@given(st.data())
def test_a_changed_archive_is_refused(data: st.DataObject) -> None:
    """A changed byte is found by the checksum; only bytes of gzip's own header may differ."""
    archive = bytearray(encode_run(make_full()))
    at = data.draw(st.integers(10, len(archive) - 1))
    archive[at] ^= data.draw(st.integers(1, 255))

    with pytest.raises(ArchiveError):
        decode_run(bytes(archive))


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_values_of_other_types_are_refused(value: Any) -> None:
    """No value of another type in any field raises another error."""
    for field in ("description", "end", "request", "cycles", "runs"):
        line = json.loads(make_document().model_dump_json()) | {field: value}
        try:
            decode_run(forge(line))
        except ArchiveError:
            continue


def test_a_bomb_is_not_decompressed() -> None:
    """A file that would grow to gigabytes is refused with little memory, if it does not begin as an archive does."""
    block = gzip.compress(bytes(64 << 20), mtime=0)
    bombs = [
        block,
        encode_run(make_document()) * 3 + block,
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
    archive = encode_run(make_document())
    monkeypatch.setattr(container, "MAX_FILE_BYTES", 3 * len(gzip.decompress(archive)))

    with pytest.raises(ArchiveError, match="is too large"):
        list(iterate_runs(io.BytesIO(archive * 4)))


def test_a_run_that_is_too_large_is_not_archived(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run above the limit is refused when it is written, since it could not be read."""
    monkeypatch.setattr(container, "MAX_RUN_BYTES", 10)

    with pytest.raises(ArchiveError, match="is too large: 0 MiB"):
        encode_run(make_full())
