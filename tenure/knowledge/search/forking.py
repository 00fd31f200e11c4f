"""Copy the knowledge of a run after a cycle into a new run.

Findings and web pages up to the cycle are copied; the original stays unchanged. Copies have ids of their
own that depend only on the original and the new run, so a repeated fork leaves the same rows.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import pyarrow as pa

from tenure.contracts.base import Contract, RunId, SourceId
from tenure.contracts.evidence.web import WebScope
from tenure.contracts.research.fork import ForkReply, ForkRequest
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
    build_chunk_schema,
    build_chunk_table_name,
    hash_parts,
    make_chunk_id,
    make_source_id,
)
from tenure.knowledge.store.store import Store, quote_literal
from tenure.models.embedding import EmbeddingModel

C = TypeVar("C", bound=Contract)

_Row = dict[str, Any]


def fork_run(store: Store, writer: CorpusWriter, model: EmbeddingModel, request: ForkRequest) -> ForkReply:
    """Copy the knowledge of a run; return the state and the evidence with the ids of the copies."""
    names = _copy_pages(store, writer, model, request) if request.web else {}
    _copy_findings(store, request, names)
    return ForkReply(
        state=_rename_ids(request.state, names),
        evidence=tuple(_rename_ids(passage, names) for passage in request.evidence),
    )


def _copy_findings(store: Store, request: ForkRequest, names: Mapping[str, str]) -> None:
    where = f"run = {quote_literal(request.origin)} AND cycle <= {request.state.cycle}"
    rows = store.read_rows(FINDINGS, FINDINGS_SCHEMA.names, where).to_pylist()
    copies = [_replace_ids(row, names) | {"run": request.run} for row in rows]
    keyed = [copy | {"key": hash_parts(request.run, copy["chunk"])} for copy in copies]
    store.upsert(FINDINGS, pa.Table.from_pylist(keyed, schema=FINDINGS_SCHEMA), "key")


def _copy_pages(store: Store, writer: CorpusWriter, model: EmbeddingModel, request: ForkRequest) -> dict[str, str]:
    """Copy the web pages read up to the cycle; return the ids of the copies by the ids of the originals."""
    old, new = (WebScope(run=RunId(run)).corpus for run in (request.origin, request.run))
    if (embedded := catalogue.load_corpus(store, old).model) != model.name:
        raise EmbeddingModelMismatch(old, embedded, model.name)
    read = readings.load_readings(store, old).values()
    sources = {page.source_id: page.url for page in read if page.source_id and page.cycle <= request.state.cycle}
    writer.claim(keeps_other_sources=True)
    names = {source: str(make_source_id(new, address)) for source, address in sources.items()}
    chunks = build_chunk_table_name(model.dimensions)
    cuts = store.read_rows_in(chunks, ["id", "source_id", "start", "end", "text"], "source_id", list(sources))
    for chunk in cuts.to_pylist():
        source = SourceId(names[chunk["source_id"]])
        names[chunk["id"]] = str(make_chunk_id(source, chunk["start"], chunk["end"], chunk["text"]))
    schemas = {
        chunks: build_chunk_schema(model.dimensions),
        **{name: SCHEMAS[name] for name in (MENTIONS, STATEMENTS, SOURCES)},
    }
    for table, schema in schemas.items():
        key = "id" if table == SOURCES else "source_id"
        _copy_rows(store, table, store.read_rows_in(table, schema.names, key, list(sources)), names, new)
    readings.copy_readings(store, old, new, request.state.cycle, names)
    writer.finish(changed=bool(sources))
    return names


def _copy_rows(store: Store, table: str, rows: pa.Table, names: Mapping[str, str], corpus: str) -> None:
    """Write rows again with the ids of the copies; vectors stay in Arrow columns, because there may be many."""
    if not rows.num_rows:
        return
    columns = {name: rows[name] for name in rows.column_names}
    for name in ("id", "source_id"):
        if name in columns:
            columns[name] = pa.array([names[value] for value in columns[name].to_pylist()])
    columns["corpus"] = pa.array([corpus] * rows.num_rows)
    store.upsert(table, pa.table(columns, schema=rows.schema), "id")


def _rename_ids(model: C, names: Mapping[str, str]) -> C:
    return type(model).model_validate(_replace_ids(model.model_dump(), names)) if names else model


def _replace_ids(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value in which every string that is the id of an original is replaced by the id of its copy."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, dict):
        return {key: _replace_ids(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_replace_ids(item, names) for item in value)
    return value
