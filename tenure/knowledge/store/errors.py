"""Define the errors of the knowledge base.

::

    KnowledgeError
    ├── UnknownCorpus            no corpus has this name
    ├── UnknownChunk             a referenced chunk is not stored
    ├── UnknownDatabase          no database of this name is configured
    ├── DatabaseFailed           a database cannot be opened
    ├── InvalidSearch            a search request is invalid
    │   └── InvalidFilter        a filter has an unknown field or a value of the wrong type
    ├── EmbeddingModelMismatch   stored vectors come from another model
    ├── StoreUnreachable         the folder or object store cannot be accessed
    ├── CorruptTable             a table cannot be read
    ├── CommitConflict           all attempts to commit conflicted with other writers
    ├── ReaderFailed             the process that parses files does not start
    ├── FilesUnlistable          the files of a path cannot be listed
    ├── IngestCancelled          an ingestion was cancelled
    ├── EmbeddingCancelled       an embedding was cancelled
    ├── MaintenanceCancelled     a maintenance was cancelled
    └── ConsolidationCancelled   a consolidation of memories was cancelled
"""

from collections.abc import Sequence
from typing import Any

_ARCHIVE = "runs"
"""Table of finished runs, which are not ingested."""


class KnowledgeError(Exception):
    """Base of all errors of the knowledge base; can be passed between processes."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Restore the message and the attributes without the arguments of the class."""
        return type(self).__new__, (type(self), *self.args), self.__dict__


class UnknownCorpus(KnowledgeError):
    """No corpus has this name."""

    def __init__(self, corpus: str, known: Sequence[str]) -> None:
        names = ", ".join(repr(name) for name in known) or "none yet"
        super().__init__(f"no corpus {corpus!r}; known corpora: {names}. Ingest documents into it first")
        self.corpus, self.known = corpus, tuple(known)


class UnknownChunk(KnowledgeError):
    """A referenced chunk is not stored."""

    def __init__(self, chunks: Sequence[str]) -> None:
        super().__init__(f"{len(chunks)} chunk(s) are not in the knowledge base : {', '.join(chunks[:5])}")
        self.chunks = tuple(chunks)


class UnknownDatabase(KnowledgeError):
    """No database of this name is configured on this worker."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        """Build the message from the name and the names of all databases, without connection URIs."""
        names = ", ".join(repr(known_name) for known_name in known) or "none"
        super().__init__(f"no database {name!r} is configured; databases in TENURE_DATABASES: {names}")
        self.name, self.known = name, tuple(known)


class DatabaseFailed(KnowledgeError):
    """A database cannot be opened."""

    def __init__(self, name: str, reason: str) -> None:
        """Build the message from the name and a reason, which must not contain the connection URI."""
        super().__init__(f"database {name!r} cannot be read: {reason}")
        self.name, self.reason = name, reason


class InvalidSearch(KnowledgeError):
    """A search request is invalid."""


class InvalidFilter(InvalidSearch):
    """A filter has an unknown field or a value of the wrong type."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"invalid filter on {field[:60]!r}: {reason}")
        self.field, self.reason = field, reason


class EmbeddingModelMismatch(KnowledgeError):
    """Stored vectors come from another model, so their similarities are meaningless."""

    def __init__(self, corpus: str, stored: str, current: str) -> None:
        super().__init__(
            f"corpus {corpus!r} was embedded with {stored!r}, but the current model is {current!r}: use the former "
            "embedding model, ingest all folders of the corpus again, or drop the corpus"
        )
        self.corpus, self.stored, self.current = corpus, stored, current


class StoreUnreachable(KnowledgeError):
    """The folder or object store cannot be accessed."""

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__(
            f"the knowledge base at {uri} cannot be reached: check TENURE_LANCEDB_URI, the bucket and the keys "
            f"({' '.join(reason.split())[:300]})"
        )
        self.uri, self.reason = uri, reason


class CorruptTable(KnowledgeError):
    """A table cannot be read."""

    def __init__(self, table: str, uri: str, reason: str) -> None:
        repair = (
            "runs that the server still has are archived again" if table == _ARCHIVE else "ingest the documents again"
        )
        super().__init__(
            f"table {table!r} of the knowledge base at {uri} cannot be read ({reason}). Nothing was changed: restore "
            f"it from a backup, or move {table}.lance away, and {repair}"
        )
        self.table, self.uri, self.reason = table, uri, reason


class CommitConflict(KnowledgeError):
    """All attempts to commit conflicted with other writers."""

    def __init__(self, table: str, attempts: int) -> None:
        super().__init__(f"writing to table {table!r} failed after {attempts} conflicts with other writers")
        self.table, self.attempts = table, attempts


class ReaderFailed(KnowledgeError):
    """The process that parses files does not start; the files are not the cause."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the process that reads documents does not start: {reason or 'no output'}")
        self.reason = reason


class FilesUnlistable(KnowledgeError):
    """The files of a path cannot be listed; a repetition would fail as well."""

    def __init__(self, path: str, reason: str) -> None:
        """Build the message from the path and a reason that completes the sentence "the path …"."""
        super().__init__(f"the path {path} {reason}")
        self.path, self.reason = path, reason


class IngestCancelled(KnowledgeError):
    """An ingestion was cancelled; the next one continues from what is written."""

    def __init__(self, corpus: str, files_done: int, files_total: int) -> None:
        super().__init__(f"ingestion of corpus {corpus!r} stopped after {files_done} of {files_total} files")
        self.corpus, self.files_done, self.files_total = corpus, files_done, files_total


class EmbeddingCancelled(KnowledgeError):
    """An embedding was cancelled; the next one continues with the missing vectors."""

    def __init__(self, corpus: str, done: int, total: int) -> None:
        super().__init__(f"the embedding of corpus {corpus!r} stopped after {done} of {total} chunks")
        self.corpus, self.done, self.total = corpus, done, total


class MaintenanceCancelled(KnowledgeError):
    """A maintenance step was cancelled between two tables."""

    def __init__(self, step: str, done: int, total: int) -> None:
        super().__init__(f"maintenance step {step} stopped after {done} of {total} tables")
        self.step, self.done, self.total = step, done, total


class ConsolidationCancelled(KnowledgeError):
    """A consolidation of memories was cancelled; the next one continues with the remaining memories."""

    def __init__(self, step: str, done: int) -> None:
        super().__init__(f"consolidation step {step} stopped after {done} memories")
        self.step, self.done = step, done
