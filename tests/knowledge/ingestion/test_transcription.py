"""Test the transcription of recordings in an ingestion, with a server on loopback."""

import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.contracts.evidence.corpora import IngestProgress, IngestReport, IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.ingestion import corpus_writer
from tenure.knowledge.store.catalogue import SourceRecord
from tenure.knowledge.store.errors import WorkCancelled
from tenure.knowledge.store.schema import make_source_id
from tenure.models.errors import TransportError
from tenure.models.factory import create_transcription_model
from tenure.settings import Settings
from tenure.sources.document.recording import NO_MODEL
from tests.knowledge.word_vectors import WordVectors
from tests.model_server import Fault, ModelServer
from tests.sources.recordings import make_wav

WORDS = "The lamp of tower"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server that transcribes."""
    with ModelServer() as running:
        yield running


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Folder with a text and a recording of four parts of at most five seconds."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "log.md").write_text("# Log\n\nThe keeper writes a log.\n")
    (folder / "2021-03-04-interview.wav").write_bytes(make_wav([3, 4, 2.5, 4]))
    return folder


def open_base(server: ModelServer, uri: str, **settings: Any) -> KnowledgeBase:
    chosen = Settings(
        transcription_model="whisper-1",
        transcription_base_url=server.base_url,
        transcription_max_megabytes=settings.pop("megabytes", 0.08),
        transcription_timeout=settings.pop("transcription_timeout", 30),
        **settings,
    )
    return KnowledgeBase(uri, WordVectors(), chosen, transcription_model=create_transcription_model(chosen))


def ingest(base: KnowledgeBase, docs: Path, corpus: str = "c", **hooks: Any) -> IngestReport:
    report = hooks.pop("report", lambda progress: None)
    return base.corpora.ingest(IngestRequest(corpus=corpus, paths=(str(docs),)), report, **hooks)


def load(base: KnowledgeBase, path: Path, corpus: str = "c") -> SourceRecord:
    source = make_source_id(corpus, str(path))
    return base.corpora.load_sources([source])[source]


def get_reasons(report: IngestReport) -> dict[str, str]:
    return {Path(file.path).name: file.reason for file in report.skipped}


def test_a_recording_is_a_document_with_times(server: ModelServer, uri: str, docs: Path) -> None:
    """The words of all parts are found, and their place is the time in the whole recording."""
    base = open_base(server, uri, transcription_price=0.006)
    report = ingest(base, docs)

    assert (report.added, report.skipped_total, report.transcribed_seconds) == (2, 0, 90 * len(server.requests))
    assert report.transcription_cost_usd == pytest.approx(0.009 * len(server.requests))
    source = load(base, docs / "2021-03-04-interview.wav")
    assert (source.title, source.published) == ("2021 03 04 interview", "2021-03-04")
    assert source.text.count(WORDS) == len(server.requests) > 2
    # The second part begins in the pause after the first tone.
    assert [source.find_place(source.text.find(words)) for words in (WORDS, "Its keeper")] == ["00:00:00", "00:01:03"]
    assert source.find_place(source.text.find(WORDS, 20)) == "00:00:03"
    passages = base.retrieval.search(SearchRequest(query="Its keeper sleeps by day", corpora=("c",), k=2)).passages
    assert source.id in {passage.source for passage in passages}


def test_a_recording_is_paid_once(server: ModelServer, uri: str, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unchanged recording costs nothing, also for another version of the parsers, under another path or corpus."""
    base = open_base(server, uri)
    ingest(base, docs)
    calls = len(server.requests)

    assert ingest(base, docs).transcribed_seconds == 0
    (docs / "2021-03-04-interview.wav").rename(docs / "talk.wav")
    assert (ingest(base, docs).added, ingest(base, docs, corpus="d").added) == (1, 2)
    base.answers._max_age *= 0  # the stored document is enough
    monkeypatch.setattr(corpus_writer, "PARSER_VERSION", "next")
    assert ingest(base, docs).changed == 2
    assert len(server.requests) == calls
    assert load(base, docs / "talk.wav").find_place(0) == "00:00:00"


def test_a_transcript_is_kept_without_a_model(
    server: ModelServer, uri: str, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version without a model keeps what was paid for; a changed recording is named as not read."""
    recording = docs / "2021-03-04-interview.wav"
    ingest(open_base(server, uri), docs)
    monkeypatch.setattr(corpus_writer, "PARSER_VERSION", "next")
    unset = KnowledgeBase(uri, WordVectors(), Settings())

    assert (report := ingest(unset, docs)).changed == 2 and not report.skipped
    assert WORDS in load(unset, recording).text
    assert ingest(unset, docs).unchanged == 2
    recording.write_bytes(make_wav([1]))
    report = ingest(unset, docs)
    assert (report.removed, get_reasons(report)) == (1, {recording.name: NO_MODEL})


def test_a_smaller_limit_keeps_a_transcript(
    server: ModelServer, uri: str, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording that the server would no longer accept keeps its transcript in another version."""
    ingest(open_base(server, uri), docs)
    monkeypatch.setattr(corpus_writer, "PARSER_VERSION", "next")
    report = ingest(open_base(server, uri, megabytes=0.001), docs)

    assert (report.changed, report.skipped_total) == (2, 0)


def test_a_dropped_corpus_takes_its_transcripts_with_it(server: ModelServer, uri: str, docs: Path) -> None:
    """The cache of a dropped corpus is deleted, so that its words are nowhere."""
    base = open_base(server, uri)
    ingest(base, docs)
    calls = len(server.requests)
    base.corpora.drop("c")
    ingest(base, docs)

    assert len(server.requests) == 2 * calls


def test_recordings_in_archives_are_transcribed(server: ModelServer, uri: str, docs: Path) -> None:
    """A recording in an archive is a document of its own, and the archive is complete with it."""
    with zipfile.ZipFile(docs / "all.zip", "w") as archive:
        archive.write(docs / "2021-03-04-interview.wav", "talk.wav")
    base = open_base(server, uri)

    assert (ingest(base, docs).added, ingest(base, docs).unchanged) == (3, 3)
    assert WORDS in load(base, docs / "all.zip" / "talk.wav").text


def test_without_a_model_recordings_are_named(ingest: Any, docs: Path) -> None:
    """Without a model a recording is not read, and the reason names the setting."""
    report = ingest(docs)

    assert (report.added, report.transcribed_seconds) == (1, 0)
    assert get_reasons(report) == {"2021-03-04-interview.wav": NO_MODEL}


@pytest.mark.parametrize(
    ("fault", "reason", "calls"),
    [
        (Fault(401), "a key is needed: set TENURE_TRANSCRIPTION_API_KEY", 1),
        (Fault(413), "set TENURE_TRANSCRIPTION_MAX_MEGABYTES to the limit of the server", 2),
        (Fault(400), "refused the request to whisper-1 with 400", 2),
        (Fault(500), "answered 500", 6),
        (Fault(hangs=True), "gave no answer within 0.5 s (TENURE_TRANSCRIPTION_TIMEOUT)", 6),
        (Fault(change=lambda reply: reply.update(segments=[])), "is a recording in which no words were recognized", 2),
        (Fault(mangle=lambda text: "[1]"), "does not support transcription with times", 1),
    ],
)
def test_a_refused_recording_is_named(
    server: ModelServer, uri: str, docs: Path, fault: Fault, reason: str, calls: int
) -> None:
    """A recording that the server refuses is named; a refusal that concerns all of them is not repeated."""
    for path, sound in {"a.mp3": b"one", "b.mp3": b"two"}.items():
        (docs / path).write_bytes(sound)
    (docs / "2021-03-04-interview.wav").unlink()
    server.fail(*[fault] * 6)
    base = open_base(server, uri, transcription_timeout=0.5)
    report = ingest(base, docs)

    assert report.added == 1 and [reason in said for said in get_reasons(report).values()] == [True, True]
    assert len(server.requests) == calls


def test_an_outage_leaves_the_other_documents(server: ModelServer, uri: str, docs: Path) -> None:
    """An error that may pass fails the attempt after the other files are stored; the next attempt continues."""
    base = open_base(server, uri)
    server.fail(Fault(), Fault(429, {"retry-after": "3"}))
    with pytest.raises(TransportError) as caught:
        ingest(base, docs)

    assert caught.value.retry_after == 3
    assert load(base, docs / "log.md").text
    report = ingest(base, docs)
    assert (report.added, report.unchanged) == (1, 1)
    assert len(server.billed) == len(server.requests) - 1


def test_one_ingestion_sends_no_more_than_its_minutes(server: ModelServer, uri: str, docs: Path) -> None:
    """One ingestion sends a limited length of recordings, and the next one continues."""
    base = open_base(server, uri, transcription_max_minutes=2.5)
    report = ingest(base, docs)

    assert "2.5 minutes are used up" in get_reasons(report)["2021-03-04-interview.wav"]
    assert report.transcribed_seconds == 180 and len(server.requests) == 2
    assert ingest(base, docs).added == 1


def test_a_maximum_cost_ends_the_calls(server: ModelServer, uri: str, docs: Path) -> None:
    """No call begins once the money is spent, also by earlier attempts, or without a price to compute it by."""

    def get_reason(price: float | None, limit: float, seconds: float = 0) -> str:
        request = IngestRequest(
            corpus="c", paths=(str(docs),), max_transcription_usd=limit, transcribed_seconds=seconds
        )
        report = open_base(server, uri, transcription_price=price).corpora.ingest(request, lambda progress: None)
        return get_reasons(report)["2021-03-04-interview.wav"]

    assert get_reason(None, 1).endswith("is not known (TENURE_TRANSCRIPTION_PRICE)")
    assert get_reason(1, 1, seconds=60).endswith("is used up (--max-cost)")
    assert not server.requests
    assert get_reason(1, 1).endswith("is used up (--max-cost)")
    assert len(server.requests) == 1  # each call costs 1.50 USD


def test_a_cancelled_ingestion_does_not_wait_for_the_server(server: ModelServer, uri: str, docs: Path) -> None:
    """A cancelled ingestion ends while the server works, and what that answers is kept."""
    base = open_base(server, uri)
    with server.hold() as gate:
        with pytest.raises(WorkCancelled):
            ingest(base, docs, cancelled=gate.arrived.is_set)
        assert len(server.requests) == 1
    ingest(base, docs)

    assert len(server.billed) == len(server.requests)


_PROGRAM = """
import sys
from pathlib import Path
from tests.knowledge.ingestion.test_transcription import ingest, open_base
class Server:
    base_url = sys.argv[1]
ingest(open_base(Server, sys.argv[2]), Path(sys.argv[3]))
"""


def test_a_killed_worker_repeats_the_call_in_flight_alone(server: ModelServer, uri: str, docs: Path) -> None:
    """A process that is killed during the second call leaves the first part; only the second is asked for again."""
    server.fail(Fault(), Fault(hangs=True))
    arguments = [sys.executable, "-c", _PROGRAM, server.base_url, uri, str(docs)]
    with subprocess.Popen(arguments, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}) as process:
        try:
            while len(server.requests) < 2:
                assert process.poll() is None
                server.closing.wait(0.02)
        finally:
            process.send_signal(signal.SIGKILL)
    ingest(open_base(server, uri), docs)

    sent = [request.json["file"] for request in server.requests]
    assert sent[2] == sent[1] and len(set(sent)) == len(sent) - 1


def test_progress_counts_what_was_transcribed(server: ModelServer, uri: str, docs: Path) -> None:
    """Progress has the length of the recordings, by which a later attempt counts what earlier ones have paid."""
    seen: list[IngestProgress] = []
    report = ingest(open_base(server, uri), docs, report=seen.append)

    assert seen[-1].transcribed_seconds == report.transcribed_seconds > 0
