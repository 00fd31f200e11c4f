"""Query tables of corpora and databases with SQL, and store results that can be cited.

A result is stored like a document: its text is what a query returned or a program computed, its URI is the file with a
hash of the query or program. It is deleted with the corpus, and no search finds it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from tenure.algorithms.text.passage import Encoder
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.evidence.computing import ComputationRequest, TableFileReply, TableFileRequest
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.tables import (
    ColumnInfo,
    QueryReply,
    QueryRequest,
    TableInfo,
    TablesRequest,
    get_database_corpus,
)
from tenure.knowledge.embeddings.cache import EmbeddingCache
from tenure.knowledge.embeddings.calibration import measure_baseline
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.ingestion.results import StoredResults
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.catalogue import CorpusRecord
from tenure.knowledge.store.errors import KnowledgeError
from tenure.knowledge.store.schema import hash_parts
from tenure.knowledge.store.store import Store
from tenure.knowledge.tables.column_probe import (
    MAX_COLUMNS,
    MAX_VALUE_CHARACTERS,
    ColumnKey,
    find_mentioned_values,
    has_listed_values,
)
from tenure.models.embedding import EmbeddingModel
from tenure.settings.knowledge import TableSettings
from tenure.sources.document.document import Document
from tenure.sources.parsers.program_text import METHOD_HEADING, build_program_document
from tenure.sources.parsers.table_text import (
    build_description,
    build_result_document,
    find_citable_end,
    format_csv,
    format_value,
)
from tenure.sources.sql_process import describe_tables, run_select
from tenure.sources.tables.catalogue import Column, Database, ResultTable, Table, list_databases
from tenure.sources.tables.sql_engine import SqlError, SqlLimits

_MAX_FILES = 8
"""Files whose tables are offered for one question."""
_MAX_TABLES = 12
"""Tables offered for one question."""
_RANKED_CHARACTERS = 4000
_MAX_EXAMPLES = 5
_SAMPLE_ROWS = 20
"""Rows of a database table that are stored with its description."""


@dataclass(frozen=True)
class TableSource:
    """Database or file with tables, and its corpus."""

    database: Database
    corpus: str
    text: str
    """Beginning of the stored text, from which relevance to a question is estimated."""

    @property
    def address(self) -> str:
        """Location, without secrets."""
        database = self.database
        return f"database:{database.name}" if database.format == "postgres" else database.location


class TableQueries:
    """Tables of a knowledge base and of databases; safe to share between threads."""

    def __init__(
        self,
        store: Store,
        model: EmbeddingModel,
        cache: EmbeddingCache,
        encode: Encoder,
        results: StoredResults,
        settings: TableSettings,
        readable_files: Callable[[Iterable[str], str], Collection[str]] | None = None,
    ) -> None:
        """Query the tables of the corpora in `store`, and the databases of the settings.

        `readable_files` selects the files that may be opened for an owner: a stored path may lead elsewhere since it
        was ingested.
        """
        self._readable_files = readable_files
        self._store, self._model, self._encode = store, model, encode
        self._results = results
        self._vectors = ChunkVectors(store, model, cache)
        self._limits = SqlLimits(settings.sql_seconds, settings.sql_rows, settings.sql_memory_mb)
        self._addresses = {name: address.get_secret_value() for name, address in settings.databases.items()}

    def list_tables(self, request: TablesRequest) -> tuple[TableInfo, ...]:
        """Return the tables that a question may be about, under their SQL names.

        Files that cannot be opened are skipped, so that one broken file does not fail the question.

        Raises:
            KnowledgeError: a database is not configured or cannot be opened.
        """
        files = _rank_files(request.question, self._list_files(request.corpora))
        tables: list[Table] = []
        with suppress(SqlError):
            tables += describe_tables(self._load_texts(files), self._limits, sample=0) if files else ()
        for database in self._list_databases(request.databases):
            described = self._describe_database(database)
            self._store_description(database, described)
            tables += described
        ranked = sorted(tables, key=lambda table: -_count_overlap(request.question, _list_words(table)))[:_MAX_TABLES]
        databases = self._load_texts(self._list_databases(request.databases) + files)
        mentioned = find_mentioned_values(request.question, ranked, databases, self._limits)
        return tuple(_to_table_info(table, mentioned) for table in ranked)

    def query(self, request: QueryRequest) -> QueryReply:
        """Run one SELECT; an SQL error is returned in the reply, so that the query can be corrected."""
        sources = self._list_sources(request.corpora, request.databases)
        try:
            result = self._run_select(request, sources, self._limits)
        except SqlError as problem:
            return QueryReply(problem=str(problem))
        passages = self._store_query_result(request, result, sources) if request.keep else ()
        return QueryReply(
            passages=passages,
            columns=result.columns,
            rows=result.rows if request.return_rows else (),
            row_count=len(result.rows),
            truncated=result.is_truncated,
        )

    def export_result(self, request: TableFileRequest) -> TableFileReply:
        """Return the result of one SELECT as a CSV file; an SQL error is returned in the reply."""
        # Each row takes at least two bytes, so this limit never cuts a file that is small enough.
        bounds = replace(self._limits, rows=max(1, request.max_bytes // 2))
        try:
            sources = self._list_sources(request.corpora, request.databases)
            result = self._run_select(request, sources, bounds)
        except SqlError as problem:
            return TableFileReply(problem=str(problem))
        text = format_csv(result)
        if result.is_truncated or len(text.encode()) > request.max_bytes:
            advice = "select fewer columns or rows, or group them"
            return TableFileReply(problem=f"the result has more than {request.max_bytes:,} bytes as a file: {advice}")
        return TableFileReply(text=text, tables=result.tables_read)

    def store_computation(self, request: ComputationRequest) -> tuple[PassageRef, ...]:
        """Store the output of a program as a source, and return the passages with its figures.

        Nothing is stored if the tables were deleted: then there is no corpus that it could belong to.
        """
        tables_read = {table for input_ in request.inputs for table in input_.tables}
        origins = _find_origins(tables_read, self._list_sources(request.corpora, request.databases))
        if not origins:
            return ()
        program = "\n".join([*(input_.sql for input_ in request.inputs), request.code])
        document = build_program_document(request, _describe_data(origins))
        figures = document.text.index(f"## {METHOD_HEADING}")
        return self._store_document(document, origins, f"program={hash_parts(program)[:16]}", request.question, figures)

    def _run_select(
        self, request: QueryRequest | TableFileRequest, sources: Sequence[TableSource], limits: SqlLimits
    ) -> ResultTable:
        if not sources:
            raise SqlError("there are no tables in " + (", ".join(request.corpora) or "what was named"))
        return run_select(self._load_texts(_select_mentioned(request.sql, sources)), request.sql, limits)

    def _load_texts(self, sources: Sequence[TableSource]) -> list[Database]:
        """Return the databases of sources; those that are documents get their stored text."""
        return [
            replace(source.database, text=catalogue.load_text(self._store, source.corpus, source.database.location))
            if source.database.format == "document"
            else source.database
            for source in sources
        ]

    def _list_sources(self, corpora: Sequence[str], list_databases: Sequence[str]) -> list[TableSource]:
        return [*self._list_files(corpora), *self._list_databases(list_databases)]

    def _list_files(self, corpora: Sequence[str]) -> list[TableSource]:
        files = catalogue.list_table_files(self._store, corpora, _RANKED_CHARACTERS) if corpora else ()
        rows = {row["uri"]: row for row in files}
        if self._readable_files is not None:
            corpora_read = {row["corpus"] for row in rows.values()}
            readable = {corpus: self._readable_files(rows, corpus) for corpus in corpora_read}
            rows = {uri: row for uri, row in rows.items() if uri in readable[row["corpus"]]}
        databases_ = list_databases(rows)
        return [TableSource(d, rows[d.location]["corpus"], rows[d.location]["text"]) for d in databases_]

    def _list_databases(self, names: Sequence[str]) -> list[TableSource]:
        for name in names:
            if name not in self._addresses:
                configured = ", ".join(map(repr, self._addresses)) or "none"
                raise KnowledgeError(f"no database {name!r} is configured; databases in TENURE_DATABASES: {configured}")
        return [
            TableSource(Database(name, self._addresses[name], "postgres"), get_database_corpus(name), name)
            for name in names
        ]

    def _describe_database(self, opened: TableSource) -> tuple[Table, ...]:
        try:
            return describe_tables([opened.database], self._limits, sample=_SAMPLE_ROWS)
        except SqlError as problem:
            raise KnowledgeError(f"database {opened.database.name!r} cannot be read: {problem}") from problem

    def _store_query_result(
        self, request: QueryRequest, result: ResultTable, sources: Sequence[TableSource]
    ) -> tuple[PassageRef, ...]:
        """Store the result of a query; its passages are the rows in sentences, if all of them have one."""
        origins = _find_origins(result.tables_read, sources)
        title = request.title.strip() or "Result of a query"
        document = build_result_document(title, request.sql.strip(), _describe_data(origins), result)
        mark = f"sql={hash_parts(request.sql)[:16]}"
        end = find_citable_end(title, result)
        return self._store_document(document, origins, mark, request.question or title, end)

    def _store_document(
        self, document: Document, origins: Sequence[TableSource], mark: str, about: str, end: int | None = None
    ) -> tuple[PassageRef, ...]:
        """Store a result in the results of the corpus of its first table; `mark` identifies it."""
        return self._results.store_result(origins[0].corpus, f"{origins[0].address}#{mark}", document, about, end)

    def _store_description(self, opened: TableSource, tables: Sequence[Table]) -> None:
        """Store the description of a database in a corpus of its own, where searches find its tables."""
        document = build_description(f"Tables of {opened.database.name}", tables)
        self._results.write_document(opened.corpus, opened.address, document)
        baseline = measure_baseline(self._store, opened.corpus, self._vectors, self._encode)
        record = CorpusRecord(
            opened.corpus, self._model.name, self._model.dimensions, baseline, "", catalogue.format_utc_now()
        )
        catalogue.save_corpus(self._store, record)


def _rank_files(question: str, sources: Sequence[TableSource]) -> list[TableSource]:
    """Return the files whose descriptions share most words with a question."""
    return sorted(sources, key=lambda source: -_count_overlap(question, f"{source.database.name} {source.text}"))[
        :_MAX_FILES
    ]


def _select_mentioned(sql: str, sources: Sequence[TableSource]) -> list[TableSource]:
    """Return the files that a statement names, and all databases; the first files if it names none."""
    lower = sql.lower()
    mentioned = [
        source
        for source in sources
        if source.database.name in lower or source.database.format in ("sqlite", "postgres")
    ]
    return mentioned or list(sources[:_MAX_FILES])


def _find_origins(read: Collection[str], sources: Sequence[TableSource]) -> list[TableSource]:
    """Return the sources of tables by their SQL names; the first source if a query read no table."""
    names = {name.partition(".")[0] for name in read}
    return [source for source in sources if source.database.name in names] or list(sources[:1])


def _describe_data(origins: Sequence[TableSource]) -> str:
    return f"the data of {' and '.join(origin.address for origin in origins)}"


def _count_overlap(question: str, text: str) -> float:
    words = set(stem_words(question.replace("_", " ")))
    return len(words.intersection(stem_words(text.replace("_", " ").replace(".", " ")))) / max(len(words), 1)


def _list_words(table: Table) -> str:
    return " ".join([table.name, *(column.name for column in table.columns)])


def _to_table_info(table: Table, mentioned: Mapping[ColumnKey, tuple[str, ...]]) -> TableInfo:
    """Return a table as it is described to the SQL writer."""
    return TableInfo(
        name=table.name,
        columns=tuple(_to_column_info(table, column, mentioned) for column in table.columns[:MAX_COLUMNS]),
        rows=table.row_count,
    )


def _to_column_info(table: Table, column: Column, mentioned: Mapping[ColumnKey, tuple[str, ...]]) -> ColumnInfo:
    values: Collection[object] = [value for value, _ in column.most_common] or [column.minimum, column.maximum]
    texts = tuple(dict.fromkeys(format_value(value) for value in values if isinstance(value, str | int | float)))
    complete = has_listed_values(column)
    examples = texts if complete else tuple(text[:MAX_VALUE_CHARACTERS] for text in texts[:_MAX_EXAMPLES])
    return ColumnInfo(
        name=column.name,
        kind=column.kind,
        examples=examples,
        complete=complete,
        mentioned=mentioned.get((table.name, column.name), ()),
    )
