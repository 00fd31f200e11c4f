"""Structured retrieval: tables of corpora and databases, asked in SQL, with results that can be cited.

A result is stored like a document: its text is what a query returned or a program computed, its address is the file
and a mark of the query or program. It is there to be cited, and goes with the corpus; no search finds it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tenure.algorithms.text.passage import Encoder
from tenure.algorithms.text.sentences import stems
from tenure.contracts.evidence.computing import ComputationReply, ComputationRequest, TableFileReply, TableFileRequest
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.tables import (
    ColumnInfo,
    QueryReply,
    QueryRequest,
    TableInfo,
    TablesReply,
    TablesRequest,
    database_corpus,
)
from tenure.knowledge.embeddings.cache import EmbeddingCache
from tenure.knowledge.embeddings.calibration import unrelated_similarity
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.ingestion.results import Results
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.catalogue import CorpusRecord
from tenure.knowledge.store.errors import DatabaseFailed, UnknownDatabase
from tenure.knowledge.store.schema import digest
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel
from tenure.sources.document.document import Document
from tenure.sources.parsers.program_text import HOW, program_document
from tenure.sources.parsers.table_text import as_csv, description, result_document, shown
from tenure.sources.tables.catalogue import Column, Database, ResultTable, Table, databases
from tenure.sources.tables.sql_engine import Limits, SqlProblem
from tenure.sources.tables.sql_process import describe, select

_FILES = 8
"""Files whose tables are offered for one question."""
_TABLES = 12
"""Tables offered."""
_COLUMNS = 30
"""Columns of each."""
_EXAMPLES = 5
_ALL = 12
"""Values of a column up to which all are told."""
_VALUE = 40
_SAMPLE = 20
"""Rows of a database's table that are kept with its description."""


@dataclass(frozen=True)
class Opened:
    """A database and the corpus that it belongs to."""

    database: Database
    corpus: str
    text: str
    """What is stored of it, to tell which ones a question is about."""

    @property
    def address(self) -> str:
        """Where it is, without secrets."""
        named = self.database
        return f"database:{named.name}" if named.format == "postgres" else named.location


class Structured:
    """The tables of a knowledge base and of databases; safe to share between threads."""

    def __init__(
        self,
        store: Store,
        model: EmbeddingModel,
        cache: EmbeddingCache,
        encode: Encoder,
        results: Results,
        limits: Limits,
        addresses: Mapping[str, str],
    ) -> None:
        """Read the tables of `store`'s corpora and the databases at `addresses`, by name."""
        self._store, self._model, self._encode = store, model, encode
        self._results = results
        self._vectors = ChunkVectors(store, model, cache)
        self._limits, self._addresses = limits, addresses

    def tables(self, request: TablesRequest) -> TablesReply:
        """Return the tables that a question may be about, as SQL is written for them.

        Files that cannot be opened are left out: a question must not fail over a broken one.

        Raises:
            UnknownDatabase: a database is not in the settings.
            DatabaseFailed: a database cannot be opened.
        """
        found = list(self._described(_nearest(request.question, self._files(request.corpora))))
        for database in self._databases(request.databases):
            own = self._opened(database)
            self._keep_description(database, own)
            found += own
        ranked = sorted(found, key=lambda table: -_overlap(request.question, _words(table)))
        return TablesReply(tables=tuple(map(_info, ranked[:_TABLES])))

    def query(self, request: QueryRequest) -> QueryReply:
        """Run one SELECT; what is wrong with it is said in the reply, so that it can be written anew.

        Raises:
            UnknownDatabase: a database is not in the settings.
        """
        there = self._there(request.corpora, request.databases)
        try:
            result = _selected(request, there, self._limits)
        except SqlProblem as problem:
            return QueryReply(problem=str(problem))
        passages = self._keep(request, result, there) if request.keep else ()
        return QueryReply(
            passages=passages,
            columns=result.columns,
            rows=result.rows if request.rows else (),
            count=len(result.rows),
            truncated=result.truncated,
        )

    def table_file(self, request: TableFileRequest) -> TableFileReply:
        """Return the result of one SELECT as a file for a program; what is wrong with it is said in the reply.

        Raises:
            UnknownDatabase: a database is not in the settings.
        """
        # Each row takes two bytes at the least, so that no file of fewer bytes is cut short.
        bounds = replace(self._limits, rows=max(1, request.most // 2))
        try:
            result = _selected(request, self._there(request.corpora, request.databases), bounds)
        except SqlProblem as problem:
            return TableFileReply(problem=str(problem))
        text = as_csv(result)
        if result.truncated or len(text.encode()) > request.most:
            wanted = "select fewer columns or rows, or group them"
            return TableFileReply(problem=f"its result has more than {request.most:,} bytes as a file: {wanted}")
        return TableFileReply(text=text, read=result.read)

    def keep_computation(self, request: ComputationRequest) -> ComputationReply:
        """Store what a program printed as a source, and return the passages of its figures.

        Nothing is kept where the tables have gone since: there is no corpus any more that it could go with.

        Raises:
            UnknownDatabase: a database is not in the settings.
        """
        read = {table for one in request.inputs for table in one.read}
        origins = _origins(read, self._there(request.corpora, request.databases))
        if not origins:
            return ComputationReply()
        program = "\n".join([*(one.sql for one in request.inputs), request.code])
        document = program_document(request, _data_of(origins))
        figures = document.text.index(f"## {HOW}")
        kept = self._kept(document, origins, f"program={digest(program)[:16]}", request.question, figures)
        return ComputationReply(passages=kept)

    def _there(self, corpora: Sequence[str], databases: Sequence[str]) -> list[Opened]:
        return [*self._files(corpora), *self._databases(databases)]

    def _files(self, corpora: Sequence[str]) -> list[Opened]:
        rows = {row["uri"]: row for row in catalogue.tabular(self._store, corpora)} if corpora else {}
        found = databases(rows)
        return [Opened(d, rows[d.location]["corpus"], rows[d.location]["text"]) for d in found]

    def _databases(self, names: Sequence[str]) -> list[Opened]:
        for name in names:
            if name not in self._addresses:
                raise UnknownDatabase(name, tuple(self._addresses))
        return [
            Opened(Database(name, self._addresses[name], "postgres"), database_corpus(name), name) for name in names
        ]

    def _described(self, files: Sequence[Opened]) -> tuple[Table, ...]:
        try:
            return describe([one.database for one in files], self._limits, sample=0) if files else ()
        except SqlProblem:
            return ()

    def _opened(self, opened: Opened) -> tuple[Table, ...]:
        try:
            return describe([opened.database], self._limits, sample=_SAMPLE)
        except SqlProblem as problem:
            raise DatabaseFailed(opened.database.name, str(problem)) from problem

    def _keep(self, request: QueryRequest, result: ResultTable, there: Sequence[Opened]) -> tuple[PassageRef, ...]:
        """Store what a query returned."""
        origins = _origins(result.read, there)
        title = request.title.strip() or "Result of a query"
        document = result_document(title, request.sql.strip(), _data_of(origins), result)
        return self._kept(document, origins, f"sql={digest(request.sql)[:16]}", request.question or title)

    def _kept(
        self, document: Document, origins: Sequence[Opened], mark: str, about: str, end: int | None = None
    ) -> tuple[PassageRef, ...]:
        """Store a result beside the corpus that its first table stands in, told from others of its tables by a mark."""
        return self._results.keep(origins[0].corpus, f"{origins[0].address}#{mark}", document, about, end)

    def _keep_description(self, opened: Opened, tables: Sequence[Table]) -> None:
        """Describe a database in a corpus of its own, where its tables are found by what they hold."""
        document = description(f"Tables of {opened.database.name}", tables)
        self._results.write(opened.corpus, opened.address, document)
        unrelated = unrelated_similarity(self._store, opened.corpus, self._vectors, self._encode)
        record = CorpusRecord(opened.corpus, self._model.name, self._model.dimensions, unrelated, "", catalogue.now())
        catalogue.save_corpus(self._store, record)


def _nearest(question: str, found: Sequence[Opened]) -> list[Opened]:
    """Return the files whose description shares most words with a question."""
    return sorted(found, key=lambda one: -_overlap(question, f"{one.database.name} {one.text[:4000]}"))[:_FILES]


def _mentioned(sql: str, found: Sequence[Opened]) -> list[Opened]:
    """Return the databases whose name, or the name of a table of which, stands in a statement."""
    lower = sql.lower()
    named = [one for one in found if one.database.name in lower or one.database.format in ("sqlite", "postgres")]
    return named or list(found[:_FILES])


def _selected(request: QueryRequest | TableFileRequest, there: Sequence[Opened], limits: Limits) -> ResultTable:
    """Run one SELECT over what is there.

    Raises:
        SqlProblem: it was refused, failed or took too long, or there are no tables.
    """
    if not there:
        raise SqlProblem("there are no tables in " + (", ".join(request.corpora) or "what was named"))
    return select([one.database for one in _mentioned(request.sql, there)], request.sql, limits)


def _origins(read: Collection[str], there: Sequence[Opened]) -> list[Opened]:
    """Return where tables stand, by their names in SQL; of a result that read none, the first there is."""
    names = {name.partition(".")[0] for name in read}
    return [one for one in there if one.database.name in names] or list(there[:1])


def _data_of(origins: Sequence[Opened]) -> str:
    return f"the data of {' and '.join(one.address for one in origins)}"


def _overlap(question: str, text: str) -> float:
    asked = set(stems(question.replace("_", " ")))
    return len(asked.intersection(stems(text.replace("_", " ").replace(".", " ")))) / max(len(asked), 1)


def _words(table: Table) -> str:
    return " ".join([table.name, *(column.name for column in table.columns)])


def _info(table: Table) -> TableInfo:
    return TableInfo(
        name=table.name, columns=tuple(_column(column) for column in table.columns[:_COLUMNS]), rows=table.rows
    )


def _column(column: Column) -> ColumnInfo:
    values: Collection[object] = [value for value, _ in column.common] or [column.least, column.greatest]
    texts = tuple(dict.fromkeys(shown(value) for value in values if isinstance(value, str | int | float)))
    complete = bool(column.common) and len(column.common) == column.distinct and len(texts) <= _ALL
    complete = complete and all(len(text) <= _VALUE for text in texts)
    kept = texts if complete else tuple(text[:_VALUE] for text in texts[:_EXAMPLES])
    return ColumnInfo(name=column.name, kind=column.kind, examples=kept, complete=complete)
