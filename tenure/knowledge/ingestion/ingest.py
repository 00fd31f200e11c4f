"""Ingest files into a corpus in one pass with bounded memory.

Reader processes parse ahead while this process writes. Rows are written in batches, because every commit has a cost.
The row of a source names its recipe only when all its chunks are stored, so the next ingestion repeats whatever an
interruption left unfinished, with the same ids.

The corpus is searchable as soon as all files are read: by BM25 immediately, by vectors as far as there are any. A few
missing vectors are computed here; many are left to the backfill.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenure.contracts.evidence.corpora import IngestProgress, IngestReport, IngestRequest, IngestStage, SkippedFile
from tenure.files.discovery import MAX_LISTED_SKIPS, FoundFile
from tenure.knowledge.embeddings.cache import EmbeddingCache
from tenure.knowledge.ingestion.corpus_writer import CorpusWriter, build_recipe
from tenure.knowledge.ingestion.readers import ReaderPool, choose_reader_count
from tenure.knowledge.ingestion.reading_budget import ReadingBudget
from tenure.knowledge.ingestion.scanning import scan_files
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.catalogue import KnownFile
from tenure.knowledge.store.errors import WorkCancelled
from tenure.knowledge.store.locks import process_lock
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel
from tenure.settings.knowledge import KnowledgeSettings
from tenure.sources.parsers.parse import find_refusal
from tenure.sources.parsers.reader_process import FileTask, ParsedFile, ReaderOutcome, UnreadableFile

_REPORT_SECONDS = 0.5


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
    ) -> None:
        self._include_secrets = request.include_secrets
        self._budget = ReadingBudget(settings.ingest_seconds)
        self._store, self._corpus, self._paths = store, request.corpus, request.paths
        self._recipe = build_recipe(model, settings.chunk_tokens)
        self._writer = CorpusWriter(
            store, model, cache, settings, request.corpus, report, cancelled, include_secrets=request.include_secrets
        )
        self._report, self._cancelled = report, cancelled
        self._progress = IngestProgress()
        self._reported = 0.0
        self._counts = _Counts()

    def run(self) -> IngestReport:
        """Run the ingestion; see `Corpora.ingest`."""
        started = time.monotonic()
        roots = [Path(path).absolute() for path in self._paths]
        with process_lock(self._store.folder, self._corpus, lambda: self._report_progress(force=True)):
            self._report_progress(stage="scanning", force=True)
            scan = scan_files(roots, self._report_progress, include_secrets=self._include_secrets)
            paths = {file.path for file in scan.files}
            total = len(paths) + scan.skipped_total
            files = catalogue.list_known_files(self._store, self._corpus)
            self._writer.claim(keeps_other_sources=any(not _is_below(uri, roots) for uri in files))
            self._report_progress(stage="reading", files_done=scan.skipped_total, files_total=total, force=True)
            for path, reason in scan.skipped:
                self._skip(path, reason)
            self._counts.skipped_total = scan.skipped_total
            self._read(scan.files, files)
            self._report_progress(stage="indexing", force=True)
            self._remove([file for uri, file in files.items() if uri not in paths and _is_below(uri, roots)])
            self._counts.embedded = self._writer.embed()
            pending = self._writer.finish(
                changed=bool(self._counts.added or self._counts.changed or self._counts.removed)
            )
        self._report_progress(stage="done", files_done=total, force=True)
        return IngestReport(
            corpus=self._corpus, files=total, pending=pending, seconds=time.monotonic() - started, **vars(self._counts)
        )

    def _read(self, files: Sequence[FoundFile], known_files: dict[str, KnownFile]) -> None:
        with ReaderPool(self._recipe, choose_reader_count(len(files)), self._budget) as readers:
            for outcome in readers.read_all(self._tasks(files, known_files), self._report_progress):
                self._handle_outcome(outcome, known_files.get(outcome.path))
        self._count_chunks(self._writer.flush())

    def _tasks(self, files: Sequence[FoundFile], known_files: dict[str, KnownFile]) -> Iterator[FileTask]:
        """Yield the files that must be opened.

        Files of unchanged size and time are left out, and files that no parser reads, such as images: the start of a
        reader process takes a second, and an unchanged folder needs none.
        """
        for path, size, mtime_ns in files:
            file = known_files.get(path)
            current = file is not None and file.recipe == self._writer.recipe_name
            if file is not None and current and (size, mtime_ns) == (file.size, file.mtime_ns):
                self._counts.unchanged += 1
                self._report_progress(files_done=self._progress.files_done + 1, last_file=path)
            elif reason := find_refusal(Path(path)):
                self._handle_outcome(UnreadableFile(path, reason), file)
            else:
                known_hash = file.content_hash if file is not None and current else ""
                yield FileTask(path, known_hash, size, self._include_secrets)

    def _handle_outcome(self, outcome: ReaderOutcome, earlier: KnownFile | None) -> None:
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

    def _report_progress(self, force: bool = False, **changes: IngestStage | int | str) -> None:
        self._progress = self._progress.model_copy(update=changes)
        if force or time.monotonic() - self._reported >= _REPORT_SECONDS:
            self._reported = time.monotonic()
            self._report(self._progress)
            if self._cancelled():
                done, total = self._progress.files_done, self._progress.files_total
                raise WorkCancelled(f"ingestion of corpus {self._corpus!r} stopped after {done} of {total} files")


def _is_below(uri: str, roots: list[Path]) -> bool:
    return any(Path(uri).is_relative_to(root) for root in roots)
