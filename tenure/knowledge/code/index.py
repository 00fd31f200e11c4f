"""Index the files of a repository: their symbols, references and chunks, in tables of the repository.

A row is keyed by path and content, so a file that another state has with the same content is not parsed again.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Final, TypeVar

import pyarrow as pa

from tenure.algorithms.chunking.chunking import estimate_tokens
from tenure.algorithms.coding.code_files import describe_foreign_path
from tenure.contracts.coding.repositories import IndexReport
from tenure.files.secret_files import describe_secret_name
from tenure.knowledge.code.snapshot import CodeSnapshot, IndexedFile, StateFile, load_indexed_file
from tenure.knowledge.ingestion.readers import ReaderPool, choose_reader_count
from tenure.knowledge.store.errors import WorkCancelled
from tenure.knowledge.store.schema import (
    CODE_CHUNKS_PREFIX,
    CODE_CHUNKS_SCHEMA,
    CODE_FILES_PREFIX,
    CODE_FILES_SCHEMA,
    CODE_USES,
    CODE_USES_SCHEMA,
    build_code_table_names,
    hash_parts,
    hash_repository,
)
from tenure.knowledge.store.store import Store, TextQuery, quote_literal
from tenure.sources.parsers.code_outline import CodeTask, ParsedCode
from tenure.sources.parsers.reader_process import ReaderOutcome, ReadingOptions, UnreadableFile

INDEX_VERSION: Final = "1"
"""Version of the rows; raise it if the same file gets other symbols, references or chunks."""
CHUNK_TOKENS: Final = 300
"""Target length of a chunk, in estimated tokens: about 35 lines."""
MAX_INDEXED_FILES: Final = 50_000
"""Files of a state that are indexed; 50,000 take some minutes. The others are found by text."""
_MAX_FAILED_FILES: Final = 50
"""Files of one batch that may end or hold up their parser; each may take 20 s. Those after them are not parsed."""
_BATCH_FILES: Final = 2_000
"""Files whose rows are written together; a killed indexing continues after the last batch."""
_MAX_UNINDEXED_CHUNKS: Final = 2_000
"""New chunks from which on the full-text index is extended; until then each search reads them."""
_MIN_STALE_FILES: Final = 5_000
"""Files of other states from which on they are removed, if they are also more than those of the state."""
MAX_INDEX_AGE: Final = timedelta(days=90)
"""Time without use after which an index is removed, as a private copy of its repository is; it can be made again."""
_USE_INTERVAL: Final = timedelta(days=1)
"""Time after which a further use is recorded."""
# States in memory: those of the latest steps of a few candidates
_MAX_SNAPSHOTS: Final = 4
_OPTIONS: Final = ReadingOptions(CHUNK_TOKENS, CHUNK_TOKENS, estimate_tokens)

T = TypeVar("T")


class CodeIndex:
    """Indexes of all repositories of one store; safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # Processes are started at their first use and stay: a start takes longer than parsing a hundred files.
        self._readers = ReaderPool(_OPTIONS, choose_reader_count(MAX_INDEXED_FILES))
        self._lock = threading.Lock()
        self._snapshots: OrderedDict[tuple[str, str], CodeSnapshot] = OrderedDict()
        self._used: dict[str, datetime] = {}
        """Time of the last recorded use of each repository."""

    def update(
        self,
        repository: str,
        files: Sequence[StateFile],
        folder: Path,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> tuple[CodeSnapshot, IndexReport]:
        """Index the files of a state that are not indexed yet, and return its symbols and references.

        Args:
            repository: key of the repository.
            files: files of the state, without links.
            folder: folder of the files.
            cancelled: whether to stop.

        Raises:
            WorkCancelled: it was stopped; the next indexing continues.
        """
        self._record_use(repository)
        listed = [file for file in files if not _is_left_out(file.path)]
        chosen = {_make_file_id(file): file for file in listed[:MAX_INDEXED_FILES]}
        state = hash_parts(*chosen)
        if (snapshot := self._get_snapshot(repository, state)) is None:
            base = self._get_snapshot(repository)
            base_files = dict(base.files) if base else {}
            loaded = {key: base_files[key] for key in chosen if key in base_files}
            loaded |= self._load(repository, [key for key in chosen if key not in loaded])
            new = [key for key in chosen if key not in loaded]
            for batch in _split(new, _BATCH_FILES):
                loaded |= self._parse(repository, {key: chosen[key] for key in batch}, folder, cancelled)
            self._tidy(repository, chosen.keys(), len(new))
            snapshot = CodeSnapshot({key: loaded[key] for key in chosen})
            self._keep(repository, state, snapshot)
            indexed = len(new)
        else:
            indexed = 0
        return snapshot, _report(snapshot, indexed, len(files) - len(listed), len(listed) - len(chosen))

    def close(self) -> None:
        """Stop the processes that parse files."""
        self._readers.close()

    def find_chunks(self, repository: str, words: str, limit: int) -> list[tuple[str, int, int, str, float]]:
        """Return the chunks of all states that match the words best: file, first and last line, symbol, score."""
        _, chunks = build_code_table_names(repository)
        if not self._store.count_rows(chunks):
            return []
        rows = self._store.search_text(chunks, ["file", "first", "last", "symbol"], TextQuery(words), "", limit)
        columns = (rows[name].to_pylist() for name in ("file", "first", "last", "symbol", "_score"))
        return list(zip(*columns, strict=True))

    def _load(self, repository: str, keys: Sequence[str]) -> dict[str, IndexedFile]:
        """Return the stored files with these keys."""
        table, _ = build_code_table_names(repository)
        columns = ["id", "path", "reason", "symbols", "references"]
        # A condition of thousands of keys is slower than reading the table, which has little more.
        rows = (
            self._store.read_rows_in(table, columns, "id", keys)
            if len(keys) < _MIN_STALE_FILES // 10
            else self._store.read_rows(table, columns)
        )
        requested = set(keys)
        return {row["id"]: load_indexed_file(row) for row in rows.to_pylist() if row["id"] in requested}

    def _parse(
        self, repository: str, files: dict[str, StateFile], folder: Path, cancelled: Callable[[], bool]
    ) -> dict[str, IndexedFile]:
        """Parse files in reader processes and store their rows."""
        failed = 0

        def list_tasks() -> Iterator[CodeTask]:
            for file in files.values():
                if failed > _MAX_FAILED_FILES:
                    return
                yield CodeTask(str(folder / file.path), file.path, CHUNK_TOKENS)

        def check() -> None:
            if cancelled():
                raise WorkCancelled("the indexing of a repository stopped")

        file_rows: list[dict[str, object]] = []
        chunk_rows: list[dict[str, object]] = []
        outcomes = chain(self._readers.read_all(list_tasks(), check), repeat(None))
        for key, outcome in zip(files, outcomes, strict=False):
            check()
            failed += isinstance(outcome, UnreadableFile)
            parsed = _get_parsed(outcome)
            file_rows.append(
                {
                    "id": key,
                    "path": files[key].path,
                    "reason": parsed.reason,
                    "symbols": parsed.symbols,
                    "references": parsed.references,
                }
            )
            chunk_rows += [
                {"id": f"{key}-{number}", "file": key, **chunk._asdict()} for number, chunk in enumerate(parsed.chunks)
            ]
        table, chunks = build_code_table_names(repository)
        self._store.upsert(chunks, pa.Table.from_pylist(chunk_rows, schema=CODE_CHUNKS_SCHEMA), "id")
        # Last: a file that has a row has all of its chunks.
        self._store.upsert(table, pa.Table.from_pylist(file_rows, schema=CODE_FILES_SCHEMA), "id")
        return {str(row["id"]): load_indexed_file(row) for row in file_rows}

    def _tidy(self, repository: str, current: Iterable[str], new: int) -> None:
        """Remove files of other states if there are many, and extend the full-text index by many new chunks."""
        table, chunks = build_code_table_names(repository)
        keys = set(current)
        if new and self._store.count_rows(table) - len(keys) > max(_MIN_STALE_FILES, len(keys)):
            stale = [key for key in self._store.read_rows(table, ["id"])["id"].to_pylist() if key not in keys]
            self._store.delete_rows_in(table, "id", stale)
            self._store.delete_rows_in(chunks, "file", stale)
        # Also without new files: an indexing that was killed may have stored them without an index.
        unindexed = [index.unindexed for index in self._store.describe_table(chunks).indexes]
        if not unindexed or max(unindexed) > _MAX_UNINDEXED_CHUNKS:
            self._store.refresh_indexes(chunks)

    def _record_use(self, repository: str) -> None:
        """Record a use of an index before its rows, and forget the states in memory of one that was removed."""
        now, key = datetime.now(UTC), hash_repository(repository)
        if repository in self._used and now - self._used[repository] < _USE_INTERVAL:
            return
        is_stored = self._store.count_rows(CODE_USES, f"repository = {quote_literal(key)}") > 0
        row = {"repository": key, "used_at": now.isoformat(timespec="microseconds")}
        self._store.upsert(CODE_USES, pa.Table.from_pylist([row], schema=CODE_USES_SCHEMA), "repository")
        with self._lock:
            self._used[repository] = now
            for state in [] if is_stored else [state for state in self._snapshots if state[0] == repository]:
                del self._snapshots[state]

    def _get_snapshot(self, repository: str, state: str = "") -> CodeSnapshot | None:
        """Return a state of a repository in memory; its latest one if none is named."""
        with self._lock:
            if not state:
                return next((one for (key, _), one in reversed(self._snapshots.items()) if key == repository), None)
            if (snapshot := self._snapshots.get((repository, state))) is not None:
                self._snapshots.move_to_end((repository, state))
            return snapshot

    def _keep(self, repository: str, state: str, snapshot: CodeSnapshot) -> None:
        with self._lock:
            self._snapshots[repository, state] = snapshot
            while len(self._snapshots) > _MAX_SNAPSHOTS:
                self._snapshots.popitem(last=False)


def trim_indexes(store: Store) -> None:
    """Remove the rows of indexes that were not used for long; tables stay, since other processes may have them open."""
    oldest = (datetime.now(UTC) - MAX_INDEX_AGE).isoformat(timespec="microseconds")
    store.delete_rows(CODE_USES, f"used_at < {quote_literal(oldest)}")
    used = set(store.read_rows(CODE_USES, ["repository"])["repository"].to_pylist())
    names = store.list_table_names()
    # Files first: a file that has a row has all of its chunks.
    for prefix in (CODE_FILES_PREFIX, CODE_CHUNKS_PREFIX):
        for name in names:
            if name.startswith(prefix) and name.removeprefix(prefix) not in used and store.count_rows(name):
                store.delete_rows(name, "true")


def _is_left_out(path: str) -> bool:
    return bool(describe_foreign_path(path) or describe_secret_name(path.rpartition("/")[2]))


def _make_file_id(file: StateFile) -> str:
    return hash_parts(INDEX_VERSION, file.path, file.blob)[:32]


def _get_parsed(outcome: ReaderOutcome | None) -> ParsedCode:
    """Return the outcome of a reader, with the reason if it has parsed nothing."""
    if isinstance(outcome, ParsedCode):
        return outcome
    reason = outcome.reason if isinstance(outcome, UnreadableFile) else "comes after too many files without a result"
    return ParsedCode("", "[]", "", (), reason)


def _report(snapshot: CodeSnapshot, indexed: int, foreign: int, beyond: int) -> IndexReport:
    reasons = [file.reason for file in snapshot.files.values() if file.reason]
    notes = [f"{len(reasons)} files are not indexed: {', '.join(sorted(set(reasons))[:5])}"] if reasons else []
    notes += [f"{foreign} files are vendored, generated or hold secrets by their names"] if foreign else []
    notes += [f"{beyond} files beyond the first {MAX_INDEXED_FILES:,} are not indexed"] if beyond else []
    symbols = sum(len(file.symbols) for file in snapshot.files.values())
    return IndexReport(files=len(snapshot.files), indexed=indexed, symbols=symbols, notes=tuple(notes))


def _split(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    iterator = iter(items)
    while part := list(islice(iterator, size)):
        yield part
