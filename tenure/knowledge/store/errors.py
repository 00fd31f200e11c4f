"""What can go wrong in the knowledge base.

::

    KnowledgeError
    ├── UnknownCorpus            a corpus of that name was never ingested
    ├── UnknownChunk             a reference leads to no stored chunk
    ├── UnknownDatabase          a database of that name is not in the settings
    ├── DatabaseFailed           a database cannot be opened
    ├── InvalidSearch            a search that cannot be answered as asked
    │   └── InvalidFilter        a filter on an unknown field, or with a value of the wrong kind
    ├── EmbeddingModelMismatch   stored vectors come from another model
    ├── StoreUnreachable         the folder or object store does not let us look into it
    ├── CorruptTable             a table cannot be read
    ├── CommitConflict           other writers kept winning
    ├── ReaderFailed             the process that parses files does not start
    ├── IngestCancelled          an ingestion was told to stop
    ├── EmbeddingCancelled       the making of vectors was told to stop
    ├── MaintenanceCancelled     a maintenance was told to stop
    └── ConsolidationCancelled   a consolidation of memories was told to stop
"""

from collections.abc import Sequence


class KnowledgeError(Exception):
    """Base of all errors of the knowledge base."""


class UnknownCorpus(KnowledgeError):
    """A corpus of that name was never ingested."""

    def __init__(self, corpus: str, known: Sequence[str]) -> None:
        """Name the corpus and those there are."""
        there = ", ".join(repr(name) for name in known) or "none yet"
        super().__init__(f"no corpus {corpus!r}; known corpora: {there}. Ingest documents into it first")
        self.corpus, self.known = corpus, tuple(known)


class UnknownChunk(KnowledgeError):
    """A reference leads to no stored chunk."""

    def __init__(self, chunks: Sequence[str]) -> None:
        """Name the chunks."""
        super().__init__(f"{len(chunks)} chunk(s) are not in the knowledge base (any more): {', '.join(chunks[:5])}")
        self.chunks = tuple(chunks)


class UnknownDatabase(KnowledgeError):
    """A database of that name is not in the settings of this worker."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        """Name the database and those there are, but never an address."""
        there = ", ".join(repr(one) for one in known) or "none"
        super().__init__(f"no database {name!r} is set; databases in TENURE_DATABASES: {there}")
        self.name, self.known = name, tuple(known)


class DatabaseFailed(KnowledgeError):
    """A database cannot be opened."""

    def __init__(self, name: str, reason: str) -> None:
        """Say which, and why; the reason holds no address."""
        super().__init__(f"database {name!r} cannot be read: {reason}")
        self.name, self.reason = name, reason


class InvalidSearch(KnowledgeError):
    """A search that cannot be answered as asked."""


class InvalidFilter(InvalidSearch):
    """A filter on an unknown field, or with a value of the wrong kind."""

    def __init__(self, field: str, reason: str) -> None:
        """Name the field, and say what is wrong."""
        super().__init__(f"the filter on {field[:60]!r} cannot be applied: {reason}")
        self.field, self.reason = field, reason


class EmbeddingModelMismatch(KnowledgeError):
    """Stored vectors come from another model; their similarities would mean nothing."""

    def __init__(self, corpus: str, stored: str, current: str) -> None:
        """Name both models."""
        super().__init__(
            f"corpus {corpus!r} was embedded with {stored!r}, but the current model is {current!r}: set the former "
            "embedding model again, or ingest all of the corpus's folders anew, or drop the corpus"
        )
        self.corpus, self.stored, self.current = corpus, stored, current


class StoreUnreachable(KnowledgeError):
    """The folder or object store does not let us look into it."""

    def __init__(self, uri: str, reason: str) -> None:
        """Say where it was looked for, and what the database said."""
        super().__init__(
            f"the knowledge base at {uri} cannot be reached: check TENURE_LANCEDB_URI, the bucket and the keys "
            f"({' '.join(reason.split())[:300]})"
        )
        self.uri, self.reason = uri, reason


class CorruptTable(KnowledgeError):
    """A table cannot be read."""

    def __init__(self, table: str, uri: str, reason: str) -> None:
        """Say which table, where, and what the database said."""
        super().__init__(
            f"table {table!r} of the knowledge base at {uri} cannot be read ({reason}). Nothing was changed: put it "
            f"back from a copy, or move {table}.lance out of there and ingest the documents again"
        )
        self.table, self.uri, self.reason = table, uri, reason


class CommitConflict(KnowledgeError):
    """Other writers kept winning the race for a commit."""

    def __init__(self, table: str, attempts: int) -> None:
        """Count the attempts."""
        super().__init__(f"gave up writing to table {table!r} after {attempts} conflicts with other writers")
        self.table, self.attempts = table, attempts


class ReaderFailed(KnowledgeError):
    """The process that parses files does not start; no file is to blame."""

    def __init__(self, reason: str) -> None:
        """Pass on the process's last words."""
        super().__init__(f"the process that reads documents does not start: {reason or 'it said nothing'}")
        self.reason = reason


class IngestCancelled(KnowledgeError):
    """An ingestion was told to stop; what it had written stays, and the next one goes on from there."""

    def __init__(self, corpus: str, files_done: int, files_total: int) -> None:
        """Say how far it was."""
        super().__init__(f"ingestion of corpus {corpus!r} stopped after {files_done} of {files_total} files")
        self.corpus, self.files_done, self.files_total = corpus, files_done, files_total


class EmbeddingCancelled(KnowledgeError):
    """The making of vectors was told to stop; those that are made stay, and the next one goes on from there."""

    def __init__(self, corpus: str, done: int, total: int) -> None:
        """Say how far it was."""
        super().__init__(f"the embedding of corpus {corpus!r} stopped after {done} of {total} chunks")
        self.corpus, self.done, self.total = corpus, done, total


class MaintenanceCancelled(KnowledgeError):
    """A maintenance was told to stop; the tables it had come to are done."""

    def __init__(self, step: str, done: int, total: int) -> None:
        """Say how far it was."""
        super().__init__(f"the step {step} of the maintenance stopped after {done} of {total} tables")
        self.step, self.done, self.total = step, done, total


class ConsolidationCancelled(KnowledgeError):
    """A consolidation of memories was told to stop; what it had come to is done, and the next one goes on there."""

    def __init__(self, step: str, done: int) -> None:
        """Say how far it was."""
        super().__init__(f"the step {step} of the consolidation stopped after {done} memories")
        self.step, self.done = step, done
