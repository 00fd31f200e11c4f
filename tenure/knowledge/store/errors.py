"""Define the errors of the knowledge base.

::

    KnowledgeError
    ├── UnknownCorpus            no corpus has this name
    ├── UnknownChunk             a referenced chunk is not stored
    ├── InvalidSearch            a search request or one of its filters is invalid
    ├── EmbeddingModelMismatch   stored vectors come from another model
    ├── StoreUnreachable         the folder or object store cannot be accessed
    ├── CorruptTable             a table cannot be read
    │   └── ForeignTable         a table has other columns than this version
    ├── CommitConflict           all attempts to commit conflicted with other writers
    ├── ReaderFailed             the process that parses files does not start
    └── WorkCancelled            an ingestion, embedding, maintenance or consolidation was cancelled
"""

from collections.abc import Sequence


class KnowledgeError(Exception):
    """Base of all errors of the knowledge base; itself an error that only its message describes."""


class UnknownCorpus(KnowledgeError):
    """No corpus has this name."""

    def __init__(self, corpus: str, corpora: Sequence[str]) -> None:
        names = ", ".join(repr(name) for name in corpora) or "none yet"
        super().__init__(f"no corpus {corpus!r}; known corpora: {names}. Ingest documents into it first")


class UnknownChunk(KnowledgeError):
    """A referenced chunk is not stored."""

    def __init__(self, chunks: Sequence[str]) -> None:
        super().__init__(f"{len(chunks)} chunk(s) are not in the knowledge base : {', '.join(chunks[:5])}")
        self.chunks = tuple(chunks)


class InvalidSearch(KnowledgeError):
    """A search request is invalid."""


class EmbeddingModelMismatch(KnowledgeError):
    """Stored vectors come from another model, so their similarities are meaningless."""

    def __init__(self, corpus: str, stored: str, current: str) -> None:
        super().__init__(
            f"corpus {corpus!r} was embedded with {stored!r}, but the current model is {current!r}: use the former "
            "embedding model, ingest all folders of the corpus again, or drop the corpus"
        )


class StoreUnreachable(KnowledgeError):
    """The folder or object store cannot be accessed."""

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__(
            f"the knowledge base at {uri} cannot be reached: check TENURE_LANCEDB_URI, the bucket and the keys "
            f"({' '.join(reason.split())[:300]})"
        )


class CorruptTable(KnowledgeError):
    """A table cannot be read."""

    def __init__(self, table: str, uri: str, reason: str) -> None:
        repair = (
            "runs that the server still has are archived again" if table == "runs" else "ingest the documents again"
        )
        super().__init__(
            f"table {table!r} of the knowledge base at {uri} cannot be read ({reason}). Nothing was changed: restore "
            f"it from a backup, or move {table}.lance away, and {repair}"
        )
        self.reason = reason


class ForeignTable(CorruptTable):
    """A table has other columns than this version, so that no later attempt can read it."""

    def __init__(self, table: str, uri: str, missing: Sequence[str], unknown: Sequence[str]) -> None:
        differences = [f"without {', '.join(missing)}"] * bool(missing) + [f"with {', '.join(unknown)}"] * bool(unknown)
        self.reason = f"another version of Tenure has written it, {' and '.join(differences)}"
        KnowledgeError.__init__(
            self,
            f"table {table!r} of the knowledge base at {uri} cannot be read ({self.reason}). Nothing was changed: use "
            f"that version, or move the folder {uri} away and ingest the documents again",
        )


class CommitConflict(KnowledgeError):
    """All attempts to commit conflicted with other writers."""

    def __init__(self, table: str, attempts: int) -> None:
        super().__init__(f"writing to table {table!r} failed after {attempts} conflicts with other writers")


class ReaderFailed(KnowledgeError):
    """The process that parses files does not start; the files are not the cause."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the process that reads documents does not start: {reason or 'no output'}")


class WorkCancelled(KnowledgeError):
    """An ingestion, embedding, maintenance or consolidation was cancelled; the next one continues where it stopped."""
