"""Select findings of earlier runs on related questions that a new run may start with.

An earlier acceptance is no proof. A finding must still be stored, and it is assessed against the new question: it is
similar to the question, or a name links its document to a passage that is.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from tenure.algorithms.retrieval.evidence_selection import MAX_GRAPH_RANK, MIN_SUPPORTING_SHARE, select_evidence
from tenure.algorithms.text.passage import Encoder
from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.learning import InheritedPassage, InheritReply, InheritRequest
from tenure.knowledge.embeddings.calibration import normalize_relevance
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.filters import build_condition
from tenure.knowledge.store.schema import FINDINGS, MENTIONS, SOURCES
from tenure.knowledge.store.store import Store, quote_list, quote_literal


def inherit_findings(store: Store, chunks: ChunkVectors, encode: Encoder, request: InheritRequest) -> InheritReply:
    """Return the findings of related runs that are relevant to a question."""
    accepted = _load_accepted(store, request)
    passages = _load_passages(store, chunks, encode, request, list(accepted))
    relevant = select_evidence(passages, request.min_relevance)
    order = {prior.run: rank for rank, prior in enumerate(request.runs)}
    others = [passage for passage in passages if passage.relevance < MIN_SUPPORTING_SHARE * request.min_relevance]
    others.sort(key=lambda passage: (order[accepted[passage.chunk]["run"]], -passage.relevance, passage.chunk))
    linked = tuple(_find_linked(store, relevant, others))
    selected = (*relevant[: request.limit - len(linked)], *linked)
    return InheritReply(
        passages=tuple(
            InheritedPassage(
                passage=passage, query=accepted[passage.chunk]["query"], run=RunId(accepted[passage.chunk]["run"])
            )
            for passage in selected
        ),
        unchanged=list_unchanged_runs(store, request),
    )


def _load_accepted(store: Store, request: InheritRequest) -> dict[str, Mapping[str, Any]]:
    """Return the findings of the runs by chunk; if several runs accepted a chunk, the most similar run counts."""
    order = {prior.run: rank for rank, prior in enumerate(request.runs)}
    rows = store.read_rows_in(FINDINGS, ["run", "chunk", "query"], "run", list(order)).to_pylist()
    first: dict[str, Mapping[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (order[row["run"]], row["chunk"])):
        first.setdefault(row["chunk"], row)
    return first


def _load_passages(
    store: Store, chunks: ChunkVectors, encode: Encoder, request: InheritRequest, ids: Sequence[str]
) -> list[PassageRef]:
    """Return the passages that are still stored, with their relevance to the question, most relevant first."""
    baselines = {name: catalogue.load_corpus(store, name).baseline for name in request.corpora}
    filtered = build_condition(request.filters)
    where = f"corpus IN {quote_list(request.corpora)}" + (f" AND {filtered}" if filtered else "")
    rows = store.read_rows_in(chunks.table, ["id", "source_id", "corpus", "vector"], "id", ids, where)
    similarities = chunks.load_vectors(rows) @ encode([request.question])[0] if rows.num_rows else np.zeros(0)
    passages = [
        PassageRef(
            chunk=ChunkId(row["id"]),
            source=SourceId(row["source_id"]),
            score=0.0,
            relevance=round(normalize_relevance(float(similarity), baselines[row["corpus"]]), 4),
        )
        for row, similarity in zip(rows.drop_columns("vector").to_pylist(), similarities, strict=True)
    ]
    return sorted(passages, key=lambda passage: (-passage.relevance, passage.chunk))


def _find_linked(store: Store, relevant: Sequence[PassageRef], others: Sequence[PassageRef]) -> Iterator[PassageRef]:
    """Yield the first of the other passages that a name links to a relevant one, with their ranks."""
    chunks = [passage.chunk for passage in (*relevant, *others)]
    rows = store.read_rows_in(MENTIONS, ["id", "title", "names", "parts"], "id", chunks).to_pylist()
    mentions = {row["id"]: row for row in rows}
    titles = {mentions[passage.chunk]["title"] for passage in relevant if passage.chunk in mentions}
    names = {name for passage in relevant if passage.chunk in mentions for name in _all_names(mentions[passage.chunk])}
    joined = (
        passage
        for passage in others
        if passage.chunk in mentions
        and (mentions[passage.chunk]["title"] in names or not titles.isdisjoint(_all_names(mentions[passage.chunk])))
    )
    for rank, passage in enumerate(islice(joined, MAX_GRAPH_RANK), 1):
        yield passage.model_copy(update={"graph_rank": rank})


def _all_names(mention: Mapping[str, Any]) -> set[str]:
    return {*mention["names"], *mention["parts"]}


def list_unchanged_runs(store: Store, request: InheritRequest) -> tuple[RunId, ...]:
    """Return the runs whose findings cover all of the corpora and which no later change of the corpora affects."""

    def is_changed_after(end: str) -> bool:
        condition = f"corpus IN {quote_list(request.corpora)} AND fetched_at > {quote_literal(end)}"
        return store.count_rows(SOURCES, condition) > 0

    read = _load_read_corpora(store, [prior.run for prior in request.runs])
    ends = {
        prior.run: prior.ended_at.isoformat(timespec="seconds")
        for prior in request.runs
        if read.get(prior.run, set()).issuperset(request.corpora)
    }
    # A document that has changed after one run has changed after all runs that ended before it.
    newest_first = sorted(set(ends.values()), reverse=True)
    unchanged = newest_first[: bisect_left(newest_first, True, key=is_changed_after)]
    return tuple(run for run, end in ends.items() if end in unchanged)


def _load_read_corpora(store: Store, runs: Sequence[RunId]) -> dict[RunId, set[str]]:
    rows = store.read_rows_in(FINDINGS, ["run", "source"], "run", runs).to_pylist()
    sources = store.read_rows_in(SOURCES, ["id", "corpus"], "id", list({row["source"] for row in rows})).to_pylist()
    corpora = {row["id"]: row["corpus"] for row in sources}
    read: dict[RunId, set[str]] = {}
    for row in rows:
        if row["source"] in corpora:
            read.setdefault(RunId(row["run"]), set()).add(corpora[row["source"]])
    return read
