"""Measure search over real sentences with links: `python -m benchmarks.sentences PATH… [--rows N] [--cache FOLDER]`.

Every sentence of the files is a document of one chunk, and its longest name is the title. Its vector is that of the
embedded model, computed once and kept in the folder of `--cache`; names, terms and links are extracted as in an
ingestion. A question is a sentence that is not among the documents; its embedding is not part of the figures.

With `--copies`, every sentence is that many documents, each with a vector of its own that is near the others, so that
a base of a million chunks has the names and links of its sentences more often.

Recall is that of the ten nearest chunks in the dense mode, against an exact comparison with every vector. Processor
time is that of all threads of the process for one search; it depends less on other programs than the milliseconds.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.sentences.cache import Sentences, TooFewSentences, load_sentences
from benchmarks.vectors import Asked, Questions
from tenure.algorithms.retrieval.relations import extract_cooccurrences
from tenure.algorithms.text.entities import extract_named_entities
from tenure.algorithms.text.passage import Vectors
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.choices import SearchMode
from tenure.contracts.evidence.passages import SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.graph.graph import build_mention_row, refresh_graph
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.catalogue import CorpusRecord
from tenure.knowledge.store.schema import MENTIONS, MENTIONS_SCHEMA, build_chunk_schema, build_chunk_table_name
from tenure.knowledge.store.store import Store
from tenure.models.minilm.model import MiniLM
from tenure.settings import Settings
from tenure.sources.parsers.reader_process import ParsedChunk

MODES: tuple[SearchMode, ...] = ("dense", "sparse", "hybrid", "adaptive", "graph")
ROWS = 100_000
_QUESTIONS = 200
_WARM = 10
_BATCH = 10_000
_NEAREST = 10
_CORPUS = "benchmark"
_NOISE = 0.4
"""Length of the random part of a copy's vector; the copy has a cosine similarity of 0.93 to its sentence."""


@dataclass(frozen=True)
class Figures:
    """Figures of one search mode; times in milliseconds."""

    mode: SearchMode
    median: float
    p95: float
    processor: float
    recall: float


def make(folder: str, documents: Sentences, questions: Questions, copies: int = 1) -> None:
    """Write, index and link the sentences."""
    store, table = Store(folder), build_chunk_table_name(documents.vectors.shape[1])
    random = np.random.default_rng(7)
    for at in range(0, len(documents.texts), _BATCH):
        texts, vectors = documents.texts[at : at + _BATCH], documents.vectors[at : at + _BATCH]
        parsed = [_parse(text) for text in texts]
        for copy in range(copies):
            ids = [f"{copy:02}{n:08}" for n in range(at, at + len(texts))]
            moved = _disturb(vectors, random) if copy else vectors
            rows = [build_mention_row(id, f"s{id}", _CORPUS, *one) for id, one in zip(ids, parsed, strict=True)]
            store.open_table(table).add(_build_chunks(ids, [title for title, _ in parsed], texts, moved))
            store.open_table(MENTIONS).add(pa.Table.from_pylist(rows, schema=MENTIONS_SCHEMA))
            questions.see(ids, moved)
    record = CorpusRecord(_CORPUS, Asked.name, vectors.shape[1], 0.18, "", catalogue.format_utc_now())
    catalogue.save_corpus(store, record)
    store.refresh_indexes(table)
    refresh_graph(store, _CORPUS)


def _disturb(vectors: Vectors, random: np.random.Generator) -> Vectors:
    """Return unit vectors near others."""
    noise = random.standard_normal(vectors.shape, dtype=np.float32)
    moved: Vectors = vectors + _NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    unit: Vectors = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return unit


def _parse(text: str) -> tuple[str, ParsedChunk]:
    """Return the title of a sentence, and the sentence as an ingestion reads it."""
    names, found = extract_named_entities(text), extract_cooccurrences(text)
    title = min(names.full_names, key=lambda name: (-len(name), name), default="")
    chunk = ParsedChunk(
        ordinal=0,
        start=0,
        end=len(text),
        heading_path=(),
        text=text,
        embedding_text=text,
        search_text=f"{title}\n{text}",
        names=names,
        terms=" ".join(sorted(set(stem_words(f"{title}\n{text}")))),
        language="en",
        language_terms=None,
        phrases=found.phrases,
        co_occurrences=found.pairs,
    )
    return title, chunk


def _build_chunks(ids: Sequence[str], titles: Sequence[str], texts: Sequence[str], vectors: Vectors) -> pa.Table:
    schema, count = build_chunk_schema(vectors.shape[1]), len(ids)
    flat = pa.array(np.ascontiguousarray(vectors).reshape(-1))
    columns: dict[str, object] = dict.fromkeys(schema.names, [""] * count)
    columns |= {
        "id": ids,
        "source_id": [f"s{id}" for id in ids],
        "uri": [f"documents/{id}.md" for id in ids],
        "corpus": [_CORPUS] * count,
        "ordinal": [0] * count,
        "start": [0] * count,
        "end": [len(text) for text in texts],
        "heading_path": [[]] * count,
        "title": titles,
        "kind": ["prose"] * count,
        "suffix": [".md"] * count,
        "text": texts,
        "search_text": [f"{title}\n{text}" for title, text in zip(titles, texts, strict=True)],
        "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
    }
    return pa.table(columns, schema=schema)


def search(folder: str, questions: Questions, mode: SearchMode) -> Figures:
    """Search with every question."""
    knowledge = KnowledgeBase(folder, Asked(questions))
    times, found = [], []
    for number, text in enumerate((*questions.texts[:_WARM], *questions.texts)):
        if number == _WARM:
            processor = time.process_time()
        started = time.perf_counter()
        request = SearchRequest(query=text, corpora=(_CORPUS,), k=_NEAREST, mode=mode)
        passages = knowledge.retrieval.search(request).passages
        times.append(1000 * (time.perf_counter() - started))
        found.append({passage.chunk for passage in passages})
    shares = [len(one.intersection(ids)) / _NEAREST for one, ids in zip(found[_WARM:], questions.ids, strict=True)]
    return Figures(
        mode=mode,
        median=round(statistics.median(times[_WARM:]), 1),
        p95=round(statistics.quantiles(times[_WARM:], n=20)[-1], 1),
        processor=round(1000 * (time.process_time() - processor) / len(questions.texts), 1),
        recall=round(statistics.fmean(shares), 4),
    )


def measure(everything: Sentences, rows: int, folder: str, copies: int = 1) -> list[Figures]:
    """Write a knowledge base of the first sentences, and search it with those that follow."""
    questions = Questions(everything.texts[rows:], everything.vectors[rows:])
    make(folder, Sentences(everything.texts[:rows], everything.vectors[:rows]), questions, copies)
    return [search(folder, questions, mode) for mode in MODES]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sentences", description=__doc__)
    parser.add_argument("path", nargs="+", type=Path, help="file or folder with texts")
    parser.add_argument("--rows", type=int, default=ROWS, help="number of sentences")
    parser.add_argument("--copies", type=int, default=1, help="documents of each sentence, at most 100")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path.home() / ".cache" / "tenure-benchmarks",
        help="folder that keeps the vectors for the next time",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    settings = Settings()
    model = MiniLM(settings.home.absolute() / "models", threads=settings.embedding_threads)
    try:
        everything = load_sentences(arguments.path, arguments.rows + _QUESTIONS, model, arguments.cache)
    except TooFewSentences as error:
        parser.error(str(error))
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as folder:
        results = measure(everything, arguments.rows, folder, arguments.copies)
    if arguments.json:
        chunks = arguments.rows * arguments.copies
        print(json.dumps({"rows": chunks, "results": [asdict(one) for one in results]}))
        return
    print(f"{'mode':10}{'median ms':>10}{'p95 ms':>10}{'cpu ms':>10}{'recall@10':>10}")
    for one in results:
        print(f"{one.mode:10}{one.median:10.1f}{one.p95:10.1f}{one.processor:10.1f}{one.recall:10.4f}")
