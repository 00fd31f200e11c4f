"""Ingestion: from files to searchable chunks, in one pass with bounded memory.

Reader processes parse ahead while this process writes; rows are written in batches, since every commit
costs. A source's row names its recipe only when all its chunks are stored, so whatever an interruption
leaves behind is read again by the next ingestion, to the same ids.

Reading comes first, and then the corpus can be searched: by words at once, by vectors as far as there are
any. Few vectors that are missing are made here; many are left to whoever embeds in the background.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tenure.contracts.evidence.corpora import IngestProgress, IngestReport, IngestRequest, IngestStage, SkippedFile
from tenure.knowledge.embeddings.cache import EmbeddingCache
from tenure.knowledge.ingestion.corpus_writer import CorpusWriter, recipe
from tenure.knowledge.ingestion.readers import Readers, readers_for
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.catalogue import KnownFile
from tenure.knowledge.store.errors import IngestCancelled
from tenure.knowledge.store.locks import alone
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel
from tenure.sources.parsers.discover import discover
from tenure.sources.parsers.reading import BadFile, Outcome, ReadFile, ReadTask

_SKIPPED_LISTED = 200
_REPORT_INTERVAL = 0.5


def never() -> bool:
    """Answer that nobody wants to stop."""
    return False


@dataclass
class _Tally:
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    embedded: int = 0
    skipped_total: int = 0
    skipped: list[SkippedFile] = field(default_factory=list)


class Ingestion:
    """One ingestion of one corpus."""

    def __init__(
        self,
        store: Store,
        model: EmbeddingModel,
        cache: EmbeddingCache,
        chunk_tokens: int,
        request: IngestRequest,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool],
        most: int | None = None,
    ) -> None:
        """Take what `run` needs; nothing is touched yet."""
        self._store, self._corpus, self._paths = store, request.corpus, request.paths
        self._recipe = recipe(model, chunk_tokens)
        self._writer = CorpusWriter(store, model, cache, chunk_tokens, request.corpus, most, report, cancelled)
        self._report, self._cancelled = report, cancelled
        self._progress = IngestProgress()
        self._reported = 0.0
        self._tally = _Tally()

    def run(self) -> IngestReport:
        """Do it all; see `KnowledgeBase.ingest`."""
        started = time.monotonic()
        roots = _existing(self._paths)
        with alone(self._store.folder, self._corpus, lambda: self._tell(force=True)):
            self._tell(stage="scanning", force=True)
            files = {str(path): None for path in discover(roots)}
            known = catalogue.known_files(self._store, self._corpus)
            self._writer.claim(keeps_others=any(not _under(uri, roots) for uri in known))
            self._tell(stage="reading", files_total=len(files), force=True)
            self._read(list(files), known)
            self._tell(stage="indexing", force=True)
            self._forget([file for uri, file in known.items() if uri not in files and _under(uri, roots)])
            self._tally.embedded = self._writer.embed()
            pending = self._writer.finish(changed=bool(self._tally.added or self._tally.changed or self._tally.removed))
        self._tell(stage="done", files_done=len(files), force=True)
        return self._summary(len(files), pending, time.monotonic() - started)

    def _read(self, files: list[str], known: dict[str, KnownFile]) -> None:
        with Readers(self._recipe, readers_for(len(files))) as readers:
            for outcome in readers.outcomes(self._tasks(files, known), self._tell):
                self._take(outcome, known.get(outcome.path))
        self._wrote(self._writer.flush())

    def _tasks(self, files: list[str], known: dict[str, KnownFile]) -> Iterator[ReadTask]:
        """Yield the files that must be opened; one of the same size and time as when it was read need not be."""
        for path in files:
            file = known.get(path)
            current = file is not None and file.recipe == self._writer.recipe_name
            if file is not None and current and _untouched(path, file):
                self._tally.unchanged += 1
                self._tell(files_done=self._progress.files_done + 1, last=path)
            else:
                yield ReadTask(path, file.content_hash if file is not None and current else "")

    def _take(self, outcome: Outcome, known: KnownFile | None) -> None:
        if isinstance(outcome, ReadFile):
            self._wrote(self._writer.add(outcome, known=known is not None))
            self._tally.changed += known is not None
            self._tally.added += known is None
        elif isinstance(outcome, BadFile):
            self._skip(outcome, known)
        else:
            self._tally.unchanged += 1
        self._tell(files_done=self._progress.files_done + 1, last=outcome.path)

    def _wrote(self, chunks: int) -> None:
        self._tally.chunks += chunks
        self._tell(chunks=self._tally.chunks)

    def _skip(self, bad: BadFile, known: KnownFile | None) -> None:
        """List a file that cannot be read; what it said when it could be read is no longer evidence."""
        self._tally.skipped_total += 1
        if len(self._tally.skipped) < _SKIPPED_LISTED:
            self._tally.skipped.append(SkippedFile(path=bad.path, reason=bad.reason))
        if known is not None:
            self._forget([known])

    def _forget(self, gone: list[KnownFile]) -> None:
        self._writer.forget([file.source for file in gone])
        self._tally.removed += len(gone)

    def _tell(self, force: bool = False, **changes: IngestStage | int | str) -> None:
        """Note progress, pass it on when the last word was some time ago, and stop when told to."""
        self._progress = self._progress.model_copy(update=changes)
        if force or time.monotonic() - self._reported >= _REPORT_INTERVAL:
            self._reported = time.monotonic()
            self._report(self._progress)
            if self._cancelled():
                raise IngestCancelled(self._corpus, self._progress.files_done, self._progress.files_total)

    def _summary(self, files: int, pending: int, seconds: float) -> IngestReport:
        tally = self._tally
        return IngestReport(
            corpus=self._corpus,
            files=files,
            added=tally.added,
            changed=tally.changed,
            unchanged=tally.unchanged,
            removed=tally.removed,
            chunks=tally.chunks,
            embedded=tally.embedded,
            pending=pending,
            seconds=seconds,
            skipped=tuple(tally.skipped),
            skipped_total=tally.skipped_total,
        )


def _existing(paths: tuple[str, ...]) -> list[Path]:
    roots = [Path(path).absolute() for path in paths]
    for root in roots:
        if not root.exists():
            raise FileNotFoundError(f"no such file or folder: {root}")
    return roots


def _under(uri: str, roots: list[Path]) -> bool:
    return any(Path(uri).is_relative_to(root) for root in roots)


def _untouched(path: str, file: KnownFile) -> bool:
    try:
        stat = Path(path).stat()
    except OSError:
        return False
    return (stat.st_size, stat.st_mtime_ns) == (file.size, file.mtime_ns)
