"""Forking: what a run knew after a cycle, as a new run's own.

Findings, conversations and pages of the web are copied as far as they belong to the cycles that the fork takes over;
what came later is not seen, and nothing of the original is changed. Copies have ids of their own, so repeating a fork
leaves the same rows.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import pyarrow as pa

from tenure.contracts.base import Contract, RunId, SourceId
from tenure.contracts.evidence.web import WebScope
from tenure.contracts.research.fork import Forked, ForkRequest
from tenure.knowledge.ingestion.corpus_writer import CorpusWriter
from tenure.knowledge.pages import readings
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.errors import EmbeddingModelMismatch
from tenure.knowledge.store.schema import (
    FINDINGS,
    FINDINGS_SCHEMA,
    MENTIONS,
    SCHEMAS,
    SOURCES,
    STATEMENTS,
    TURNS,
    TURNS_SCHEMA,
    chunk_id,
    chunks_schema,
    chunks_table,
    digest,
    source_id,
)
from tenure.knowledge.store.store import Store, literal
from tenure.models.embedding import EmbeddingModel

C = TypeVar("C", bound=Contract)

Row = dict[str, Any]


def fork(store: Store, writer: CorpusWriter, model: EmbeddingModel, request: ForkRequest) -> Forked:
    """Copy what the fork takes over; return its state and evidence with the ids of the copies.

    Args:
        store: where everything is.
        writer: writes into the corpus of the fork's pages.
        model: what makes its vectors.
        request: what is taken over.

    Raises:
        UnknownCorpus: the original's pages are gone.
        EmbeddingModelMismatch: they were embedded with another model.
    """
    names = _pages(store, writer, model, request) if request.web else {}
    _findings(store, request, names)
    _turns(store, request)
    state = _renamed(request.state, names)
    turns = {role: turn.model_copy(update={"run": request.run}) for role, turn in state.turns.items()}
    return Forked(
        state=state.model_copy(update={"turns": turns}),
        evidence=tuple(_renamed(passage, names) for passage in request.evidence),
    )


def _findings(store: Store, request: ForkRequest, names: Mapping[str, str]) -> None:
    where = f"run = {literal(request.origin)} AND cycle <= {request.state.cycle}"
    rows = store.rows(FINDINGS, FINDINGS_SCHEMA.names, where).to_pylist()
    copies = [_replaced(row, names) | {"run": request.run} for row in rows]
    _merge(store, FINDINGS, [copy | {"key": digest(request.run, copy["chunk"])} for copy in copies], "key")


def _turns(store: Store, request: ForkRequest) -> None:
    """Copy what the roles and their models have said to each other before the turns that come next."""
    for role, turn in request.state.turns.items():
        where = f"run = {literal(request.origin)} AND role = {literal(role)} AND turn < {turn.number}"
        rows = store.rows(TURNS, TURNS_SCHEMA.names, where).to_pylist()
        copies = [row | {"run": request.run, "key": digest(request.run, role, str(row["turn"]))} for row in rows]
        _merge(store, TURNS, copies, "key")


def _pages(store: Store, writer: CorpusWriter, model: EmbeddingModel, request: ForkRequest) -> dict[str, str]:
    """Copy the pages that were read by then; return the ids of the copies by those of the originals."""
    old, new = (WebScope(run=RunId(run)).corpus for run in (request.origin, request.run))
    if (embedded := catalogue.corpus(store, old).model) != model.name:
        raise EmbeddingModelMismatch(old, embedded, model.name)
    read = readings.pages(store, old).values()
    sources = {page.source_id: page.address for page in read if page.source_id and page.cycle <= request.state.cycle}
    writer.claim(keeps_others=True)
    names = {source: str(source_id(new, address)) for source, address in sources.items()}
    chunks = chunks_table(model.dimensions)
    cuts = store.rows_in(chunks, ["id", "source_id", "start", "end", "text"], "source_id", list(sources))
    for chunk in cuts.to_pylist():
        source = SourceId(names[chunk["source_id"]])
        names[chunk["id"]] = str(chunk_id(source, chunk["start"], chunk["end"], chunk["text"]))
    schemas = {
        chunks: chunks_schema(model.dimensions),
        **{name: SCHEMAS[name] for name in (MENTIONS, STATEMENTS, SOURCES)},
    }
    for table, schema in schemas.items():
        key = "id" if table == SOURCES else "source_id"
        _copied(store, table, store.rows_in(table, schema.names, key, list(sources)), names, new)
    readings.copy(store, old, new, request.state.cycle, names)
    writer.finish(changed=bool(sources))
    return names


def _copied(store: Store, table: str, rows: pa.Table, names: Mapping[str, str], corpus: str) -> None:
    """Write rows again under the names of the copies; vectors stay in columns, since there may be many."""
    if not rows.num_rows:
        return
    columns = {name: rows[name] for name in rows.column_names}
    for name in ("id", "source_id"):
        if name in columns:
            columns[name] = pa.array([names[value] for value in columns[name].to_pylist()])
    columns["corpus"] = pa.array([corpus] * rows.num_rows)
    store.merge(table, pa.table(columns, schema=rows.schema), "id")


def _merge(store: Store, table: str, rows: Iterable[Row], key: str) -> None:
    if listed := list(rows):
        store.merge(table, pa.Table.from_pylist(listed, schema=SCHEMAS[table]), key)


def _renamed(model: C, names: Mapping[str, str]) -> C:
    return type(model).model_validate(_replaced(model.model_dump(), names)) if names else model


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value in which every text that is an id of an original is that of its copy."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, dict):
        return {key: _replaced(one, names) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_replaced(one, names) for one in value)
    return value
