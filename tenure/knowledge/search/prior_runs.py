"""Inheriting: what a run may begin with of what earlier runs on related questions have accepted (003, memory).

Nothing is believed because it was accepted once. A passage has to be there still, and is held against the present
question as a search would hold it: it resembles the question, or it stands in a document that a passage resembling the
question names, or names that one's document, as links are followed in a search.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from tenure.algorithms.retrieval.acceptance import BESIDE, LINKED, evidence
from tenure.algorithms.text.passage import Encoder
from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.learning import Inheritance, Inherited, InheritRequest
from tenure.knowledge.embeddings.calibration import relevance
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.filters import condition
from tenure.knowledge.store.schema import FINDINGS, MENTIONS, SOURCES
from tenure.knowledge.store.store import Store, literal, quoted


def inherit(store: Store, chunks: ChunkVectors, encode: Encoder, request: InheritRequest) -> Inherited:
    """Return what related runs leave to a run.

    Raises:
        InvalidFilter: a filter cannot be applied.
        UnknownCorpus: a corpus was never ingested.
    """
    accepted = _accepted(store, request)
    passages = _standing(store, chunks, encode, request, list(accepted))
    relevant = evidence(passages, request.min_relevance)
    order = {one.run: place for place, one in enumerate(request.runs)}
    others = [one for one in passages if one.relevance < BESIDE * request.min_relevance]
    others.sort(key=lambda one: (order[accepted[one.chunk]["run"]], -one.relevance, one.chunk))
    linked = tuple(_linked(store, relevant, others))
    kept = (*relevant[: request.most - len(linked)], *linked)
    return Inherited(
        passages=tuple(
            Inheritance(passage=one, query=accepted[one.chunk]["query"], run=RunId(accepted[one.chunk]["run"]))
            for one in kept
        ),
        unchanged=_unchanged(store, request),
    )


def _accepted(store: Store, request: InheritRequest) -> dict[str, Mapping[str, Any]]:
    """Return what the runs have accepted, by passage; of two runs that have accepted it, the nearer one counts."""
    order = {one.run: place for place, one in enumerate(request.runs)}
    rows = store.rows_in(FINDINGS, ["run", "chunk", "query"], "run", list(order)).to_pylist()
    first: dict[str, Mapping[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (order[row["run"]], row["chunk"])):
        first.setdefault(row["chunk"], row)
    return first


def _standing(
    store: Store, chunks: ChunkVectors, encode: Encoder, request: InheritRequest, wanted: Sequence[str]
) -> list[PassageRef]:
    """Return passages that are still there, with their relevance to the question, most relevant first."""
    unrelated = {name: catalogue.corpus(store, name).unrelated for name in request.corpora}
    filtered = condition(request.filters)
    where = f"corpus IN {quoted(request.corpora)}" + (f" AND {filtered}" if filtered else "")
    rows = store.rows_in(chunks.table, ["id", "source_id", "corpus", "vector"], "id", wanted, where)
    near = chunks.of(rows) @ encode([request.question])[0] if rows.num_rows else np.zeros(0)
    found = [
        PassageRef(
            chunk=ChunkId(row["id"]),
            source=SourceId(row["source_id"]),
            score=0.0,
            relevance=round(relevance(float(similarity), unrelated[row["corpus"]]), 4),
        )
        for row, similarity in zip(rows.drop_columns("vector").to_pylist(), near, strict=True)
    ]
    return sorted(found, key=lambda passage: (-passage.relevance, passage.chunk))


def _linked(store: Store, relevant: Sequence[PassageRef], others: Sequence[PassageRef]) -> Iterator[PassageRef]:
    """Yield the first passages among others that links join to a relevant one, with their ranks."""
    chunks = [passage.chunk for passage in (*relevant, *others)]
    rows = store.rows_in(MENTIONS, ["id", "title", "names", "parts"], "id", chunks).to_pylist()
    known = {row["id"]: row for row in rows}
    titles = {known[one.chunk]["title"] for one in relevant if one.chunk in known}
    named = {name for one in relevant if one.chunk in known for name in _names(known[one.chunk])}
    joined = (
        one
        for one in others
        if one.chunk in known
        and (known[one.chunk]["title"] in named or not titles.isdisjoint(_names(known[one.chunk])))
    )
    for rank, one in enumerate(islice(joined, LINKED), 1):
        yield one.model_copy(update={"graph_rank": rank})


def _names(mention: Mapping[str, Any]) -> set[str]:
    return {*mention["names"], *mention["parts"]}


def _unchanged(store: Store, request: InheritRequest) -> tuple[RunId, ...]:
    """Return the runs that have read all of the corpora, as far as what they accepted tells, in their present state."""
    own = f"corpus IN {quoted(request.corpora)}"
    read = _read(store, [one.run for one in request.runs])
    return tuple(
        one.run
        for one in request.runs
        if read.get(one.run, set()).issuperset(request.corpora)
        and not store.count(SOURCES, f"{own} AND fetched_at > {literal(one.at.isoformat(timespec='seconds'))}")
    )


def _read(store: Store, runs: Sequence[RunId]) -> dict[RunId, set[str]]:
    """Return the corpora that runs have accepted something of."""
    rows = store.rows_in(FINDINGS, ["run", "source"], "run", runs).to_pylist()
    sources = store.rows_in(SOURCES, ["id", "corpus"], "id", list({row["source"] for row in rows})).to_pylist()
    corpora = {row["id"]: row["corpus"] for row in sources}
    read: dict[RunId, set[str]] = {}
    for row in rows:
        if row["source"] in corpora:
            read.setdefault(RunId(row["run"]), set()).add(corpora[row["source"]])
    return read
