"""Ingest files into a corpus in one pass with bounded memory.

Reader processes parse ahead while this process writes. Rows are written in batches, because every commit has a cost.
The row of a source names its recipe only when all its chunks are stored, so the next ingestion repeats whatever an
interruption left unfinished, with the same ids.

Recordings come last, since a server has to transcribe them.

The corpus is searchable as soon as all files are read: by BM25 immediately, by vectors as far as there are any. A few
missing vectors are computed here; many are left to the backfill.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from tenure.contracts.evidence.corpora import IngestProgress, IngestReport, IngestRequest, IngestStage, SkippedFile
from tenure.contracts.evidence.places import is_archive
from tenure.files.discovery import MAX_LISTED_SKIPS, FoundFile
from tenure.knowledge.embeddings.cache import EmbeddingCache
from tenure.knowledge.ingestion.corpus_writer import CorpusWriter, build_recipe
from tenure.knowledge.ingestion.readers import ReaderPool, choose_reader_count
from tenure.knowledge.ingestion.reading_budget import ReadingBudget
from tenure.knowledge.ingestion.scanning import scan_files
from tenure.knowledge.ingestion.transcription import Transcription
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.catalogue import KnownFile
from tenure.knowledge.store.errors import WorkCancelled
from tenure.knowledge.store.locks import process_lock
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel
from tenure.settings.knowledge import KnowledgeSettings
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.recording import is_recording
from tenure.sources.parsers.parse import find_refusal
from tenure.sources.parsers.reader_process import (
    ArchiveTask,
    FileTask,
    ParsedFile,
    ReaderOutcome,
    Recording,
    UnchangedFile,
    UnpackedArchive,
    UnreadableFile,
    split_document,
)

_REPORT_SECONDS = 0.5
_EXPECTED_MEMBERS = 100
"""Files that an archive counts for in the choice of the number of readers."""


@dataclass
class _Counts:
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    embedded: int = 0
    skipped_total: int = 0
    skipped: tuple[SkippedFile, ...] = ()


@dataclass
class _Archive:
    """Archive that is being read."""

    record: ParsedFile
    """Source without text, which is stored when all files of the archive are."""
    files_left: int
    is_complete: bool = True
    """Whether all its files could be read; another one is unpacked again, so that these are reported again."""


@dataclass(frozen=True)
class _Member:
    """File of an archive."""

    archive: _Archive
    unpacked: Path


class Ingestion:
    """One ingestion of one corpus."""

    def __init__(
        self,
        store: Store,
        model: EmbeddingModel,
        cache: EmbeddingCache,
        settings: KnowledgeSettings,
        request: IngestRequest,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool],
        transcription: Transcription | None = None,
    ) -> None:
        """Transcribe recordings with `transcription`; without one they are not read."""
        self._include_secrets = request.include_secrets
        self._transcription, self._transcription_price = transcription, settings.transcription_price
        self._budget = ReadingBudget(settings.ingest_seconds)
        self._store, self._corpus = store, request.corpus
        self._roots = [Path(path).absolute() for path in request.paths]
        self._recipe = build_recipe(model, settings.chunk_tokens)
        self._writer = CorpusWriter(
            *(store, model, cache, settings, request.corpus, report, cancelled),
            include_secrets=request.include_secrets,
            roots=[str(root) for root in self._roots],
        )
        self._report, self._cancelled = report, cancelled
        self._progress = IngestProgress()
        self._reported = 0.0
        self._counts = _Counts()
        self._known: dict[str, KnownFile] = {}
        self._present: set[str] = set()
        """Files that exist, with those in archives."""
        self._kept_archives: set[str] = set()
        """Unchanged archives."""
        self._recordings: list[Recording] = []
        """Recordings that are transcribed after all other files."""
        self._members: dict[str, _Member] = {}
        """Files of archives that are being read."""

    def run(self) -> IngestReport:
        """Run the ingestion; see `Corpora.ingest`."""
        started = time.monotonic()
        roots = self._roots
        with process_lock(self._store.folder, self._corpus, lambda: self._report_progress(force=True)):
            self._report_progress(stage="scanning", force=True)
            scan = scan_files(roots, self._report_progress, include_secrets=self._include_secrets)
            self._present = {file.path for file in scan.files}
            total = len(self._present) + scan.skipped_total
            files = self._known = catalogue.list_known_files(self._store, self._corpus)
            self._writer.claim(keeps_other_sources=any(not _is_below(uri, roots) for uri in files))
            self._report_progress(stage="reading", files_done=scan.skipped_total, files_total=total, force=True)
            for path, reason in scan.skipped:
                self._skip(path, reason)
            self._counts.skipped_total = scan.skipped_total
            self._read(scan.files)
            total = self._progress.files_total
            self._report_progress(stage="indexing", force=True)
            self._remove([file for uri, file in files.items() if _is_below(uri, roots) and not self._is_present(uri)])
            self._counts.embedded = self._writer.embed()
            pending = self._writer.finish(
                changed=bool(self._counts.added or self._counts.changed or self._counts.removed)
            )
        self._report_progress(stage="done", files_done=total, force=True)
        return IngestReport(
            corpus=self._corpus,
            files=total,
            pending=pending,
            seconds=time.monotonic() - started,
            transcribed_seconds=self._progress.transcribed_seconds,
            transcription_price=self._transcription_price,
            **vars(self._counts),
        )

    def _read(self, files: Sequence[FoundFile]) -> None:
        expected = len(files) + _EXPECTED_MEMBERS * sum(is_archive(file.path) for file in files)
        with (
            tempfile.TemporaryDirectory(prefix="tenure-archives-") as scratch,
            ReaderPool(self._recipe, choose_reader_count(expected), self._budget) as readers,
        ):
            tasks = self._tasks(files, readers, Path(scratch).resolve())
            for outcome in readers.read_all(tasks, self._report_progress):
                self._handle_outcome(outcome)
            # The other files are stored before the first call, which may take long or fail.
            self._count_chunks(self._writer.flush())
            if self._transcription:
                with self._transcription:
                    self._transcribe(self._transcription)

    def _transcribe(self, transcription: Transcription) -> None:
        """Store each recording as soon as it is transcribed."""

        def count() -> None:
            self._report_progress(transcribed_seconds=transcription.seconds)

        for recording in self._recordings:
            try:
                outcome: ReaderOutcome = transcription.read(recording, count)
            except Unreadable as error:
                outcome = UnreadableFile(recording.path, error.reason)
            finally:
                count()  # also before another attempt
            self._handle_outcome(outcome)
            self._count_chunks(self._writer.flush())

    def _split_again(self, file: KnownFile) -> ParsedFile:
        """Return the stored transcript of a recording in the chunks of this version."""
        stored = catalogue.load_sources(self._store, [file.source])[file.source]
        document = Document(stored.title, stored.text, "prose", published=stored.published, places=tuple(stored.places))
        chunks = split_document(document, self._recipe)
        return ParsedFile(stored.uri, file.content_hash, file.size, file.mtime_ns, document, chunks)

    def _tasks(self, files: Sequence[FoundFile], readers: ReaderPool, scratch: Path) -> Iterator[FileTask]:
        """Yield the files that must be opened.

        Files of unchanged size and time are left out, and files that no parser reads, such as images: the start of a
        reader process takes a second, and an unchanged folder needs none.
        """
        for found in files:
            file = self._known.get(found.path)
            if file is not None and self._is_current(file) and found[1:] == (file.size, file.mtime_ns):
                self._kept_archives.add(found.path)
                self._counts.unchanged += 1
                self._report_progress(files_done=self._progress.files_done + 1, last_file=found.path)
            elif is_archive(found.path):
                yield from self._unpack(found, readers, scratch)
            else:
                yield from self._choose_task(found)

    def _choose_task(self, found: FoundFile, unpacked: str = "") -> Iterator[FileTask]:
        task = FileTask(found.path, self._get_known_hash(found.path), found.size, self._include_secrets, unpacked)
        earlier = self._known.get(found.path)
        if is_recording(Path(found.path)) and (self._transcription or earlier):
            # A transcript was paid for, so any version and any settings keep it while the recording is the same.
            known_hash = earlier.content_hash if earlier else ""
            part_bytes = self._transcription.max_part_bytes if self._transcription else 0
            yield replace(task, known_hash=known_hash, max_part_bytes=part_bytes)
        elif reason := find_refusal(Path(found.path)):
            self._handle_outcome(UnreadableFile(found.path, reason))
        else:
            yield task

    def _unpack(self, found: FoundFile, readers: ReaderPool, scratch: Path) -> Iterator[FileTask]:
        """Unpack an archive, and yield its files; their paths begin with that of the archive."""
        folder = Path(tempfile.mkdtemp(dir=scratch))
        known_hash = self._get_known_hash(found.path)
        task = ArchiveTask(found.path, str(folder), known_hash, found.size, self._include_secrets)
        outcome = readers.read(task, self._report_progress)
        if not isinstance(outcome, UnpackedArchive):
            if not isinstance(outcome, UnreadableFile):
                self._kept_archives.add(found.path)
            self._handle_outcome(outcome)
            return
        for path, reason in outcome.skipped:
            self._skip(f"{found.path}/{path}".rstrip("/"), reason)
        record = ParsedFile(
            *(found.path, outcome.content_hash, found.size, found.mtime_ns),
            *(Document(title=PurePath(found.path).name, text="", kind="prose"), ()),
        )
        archive = _Archive(record, len(outcome.files), is_complete=not outcome.skipped)
        files_total = self._progress.files_total + len(outcome.files) + len(outcome.skipped)
        files_done = self._progress.files_done + len(outcome.skipped) + 1
        self._report_progress(files_total=files_total, files_done=files_done, last_file=found.path)
        self._close_archive(archive)
        for file in outcome.files:
            path = f"{found.path}/{Path(file.path).relative_to(folder)}"
            self._present.add(path)
            self._members[path] = _Member(archive, Path(file.path))
            yield from self._choose_task(file._replace(path=path), file.path)

    def _close_archive(self, archive: _Archive) -> None:
        """Store an archive after all its files, so that it is unpacked again after an interruption."""
        if not archive.files_left and archive.is_complete:
            self._writer.add(archive.record, is_known=archive.record.path in self._known)

    def _is_current(self, file: KnownFile) -> bool:
        return file.recipe == self._writer.recipe_name

    def _get_known_hash(self, path: str) -> str:
        """Return the hash of the content of a file that is stored as this version reads it; empty without one."""
        file = self._known.get(path)
        return file.content_hash if file is not None and self._is_current(file) else ""

    def _is_present(self, path: str) -> bool:
        return path in self._present or any(str(folder) in self._kept_archives for folder in PurePath(path).parents)

    def _handle_outcome(self, outcome: ReaderOutcome) -> None:
        if isinstance(outcome, Recording):
            self._recordings.append(outcome)
            return
        earlier = self._known.get(outcome.path)
        if isinstance(outcome, UnchangedFile) and earlier and is_recording(Path(outcome.path)):
            outcome = outcome if self._is_current(earlier) else self._split_again(earlier)
        if isinstance(outcome, ParsedFile):
            self._count_chunks(self._writer.add(outcome, is_known=earlier is not None))
            self._counts.changed += earlier is not None
            self._counts.added += earlier is None
            if outcome.document.unread:
                self._skip(outcome.path, outcome.document.unread)
        elif isinstance(outcome, UnreadableFile):
            self._skip(outcome.path, outcome.reason)
            if earlier is not None:
                # Its earlier text is no longer evidence.
                self._remove([earlier])
        else:
            self._counts.unchanged += 1
        self._report_progress(files_done=self._progress.files_done + 1, last_file=outcome.path)
        if member := self._members.pop(outcome.path, None):
            member.unpacked.unlink(missing_ok=True)
            member.archive.files_left -= 1
            member.archive.is_complete &= not isinstance(outcome, UnreadableFile)
            self._close_archive(member.archive)

    def _count_chunks(self, chunks: int) -> None:
        self._counts.chunks += chunks
        self._report_progress(chunks=self._counts.chunks)

    def _skip(self, path: str, reason: str) -> None:
        self._counts.skipped_total += 1
        if len(self._counts.skipped) < MAX_LISTED_SKIPS:
            self._counts.skipped += (SkippedFile(path=path, reason=reason),)

    def _remove(self, files: list[KnownFile]) -> None:
        self._writer.remove_sources([file.source for file in files])
        self._counts.removed += len(files)

    def _report_progress(self, force: bool = False, **changes: IngestStage | float | str) -> None:
        self._progress = self._progress.model_copy(update=changes)
        if force or time.monotonic() - self._reported >= _REPORT_SECONDS:
            self._reported = time.monotonic()
            self._report(self._progress)
            if self._cancelled():
                done, total = self._progress.files_done, self._progress.files_total
                raise WorkCancelled(f"ingestion of corpus {self._corpus!r} stopped after {done} of {total} files")


def _is_below(uri: str, roots: list[Path]) -> bool:
    return any(Path(uri).is_relative_to(root) for root in roots)
