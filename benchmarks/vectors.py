"""Measure search as the knowledge base grows: `python -m benchmarks.vectors [--rows N]… [--family F] [--json]`.

For each size a knowledge base is created, indexed and searched; then it is deleted. Creation and search run in separate
processes, so that the peak of memory can be reported for each.

The chunks are synthetic. Their vectors resemble those of the embedded model, measured on technical prose: a common
direction (mean similarity of unrelated texts 0.18), topics and subtopics of unequal size, a decreasing spectrum (half
of
the variance in 20 of 384 dimensions), a nearest neighbour at about 0.7. Their texts are 80 words each, from 60,000
pseudo-words whose frequencies follow Zipf's law. A question is a new vector from the subtopic of a chunk, with six of
the chunk's words. Embedding the question is not part of the figures.

Recall is that of the ten nearest chunks, against an exact comparison with every vector. The scan is the database's own
search without the index, in the same process on the same questions: on a busy machine the ratio is more reliable than
the milliseconds.
"""

import argparse
import json
import math
import multiprocessing
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tenure.algorithms.text.passage import Vectors
from tenure.contracts.evidence.corpora import VectorIndex
from tenure.contracts.evidence.passages import SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.catalogue import CorpusRecord
from tenure.knowledge.store.schema import build_chunk_schema, build_chunk_table_name
from tenure.knowledge.store.store import Store
from tenure.settings.knowledge import KnowledgeSettings

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
TARGETS = {100_000: (25.0, 0.98), 1_000_000: (60.0, 0.95)}
"""By size: the 95th percentile of a hybrid search in milliseconds, and recall@10."""
MEMORY = 2048
"""Peak memory of the searching process in MiB, at most."""

_DIMENSIONS = 384
_BATCH = 20_000
_QUESTIONS = 200
_SCANS = 20
_VOCABULARY = 60_000
_WORDS = 80
_CORPUS = "benchmark"
_NEAREST = 10


@dataclass(frozen=True)
class World:
    """The topics that chunks and questions are drawn from; the same seed gives the same ones."""

    mean: Vectors
    topics: Vectors
    subtopics: Vectors
    parent: NDArray[np.int64]
    weights: NDArray[np.float64]
    words: NDArray[np.str_]
    frequencies: NDArray[np.float64]

    @classmethod
    def of(cls, rows: int) -> "World":
        """Make as many subtopics as leave about a hundred chunks to each."""
        random = np.random.default_rng(4)
        subtopics = max(20, rows // 100)
        weights = random.pareto(2.0, subtopics) + 0.2
        syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "il")]
        words = ["".join(random.choice(syllables, 3)) + str(n % 7) for n in range(_VOCABULARY)]
        frequencies = 1.0 / (np.arange(_VOCABULARY) + 20.0)
        topics = max(4, subtopics // 20)
        return cls(
            mean=_directions(random, 1),
            topics=_directions(random, topics),
            subtopics=_directions(random, subtopics),
            parent=random.integers(0, topics, subtopics),
            weights=weights / weights.sum(),
            words=np.array(words),
            frequencies=np.cumsum(frequencies / frequencies.sum()),
        )

    def vectors(self, random: np.random.Generator, subtopic: NDArray[np.int64]) -> Vectors:
        """Draw one vector from each of the given subtopics."""
        parts = (
            (0.18, self.mean),
            (0.20, self.topics[self.parent[subtopic]]),
            (0.22, self.subtopics[subtopic]),
            (0.40, _directions(random, len(subtopic))),
        )
        return _unit(sum(np.float32(np.sqrt(share)) * part for share, part in parts))

    def texts(self, random: np.random.Generator, count: int) -> list[str]:
        """Draw texts."""
        drawn = np.searchsorted(self.frequencies, random.random((count, _WORDS))).clip(0, _VOCABULARY - 1)
        return [" ".join(row) for row in self.words[drawn].tolist()]


def _directions(random: np.random.Generator, count: int) -> Vectors:
    falling = (np.arange(_DIMENSIONS, dtype=np.float32) + 4.0) ** -0.55
    return _unit(random.standard_normal((count, _DIMENSIONS), dtype=np.float32) * falling)


def _unit(rows: Any) -> Vectors:
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


@dataclass
class Questions:
    """Questions, and their truly nearest chunks."""

    texts: list[str]
    vectors: Vectors
    near: Vectors = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    ids: list[list[str]] = field(default_factory=list)

    def see(self, ids: list[str], vectors: Vectors) -> None:
        """Keep the nearest of all chunks seen so far."""
        similar = self.vectors @ vectors.T
        known = self.ids or [[] for _ in self.texts]
        merged = np.hstack([self.near, similar]) if self.near.size else similar
        best = np.argsort(-merged, axis=1)[:, :_NEAREST]
        self.ids = [
            [row_ids[at] if at < len(row_ids) else ids[at - len(row_ids)] for at in row]
            for row_ids, row in zip(known, best.tolist(), strict=True)
        ]
        self.near = np.take_along_axis(merged, best, axis=1)


class Asked:
    """An embedding model that knows the questions' vectors beforehand."""

    name, dimensions, max_tokens = "synthetic", _DIMENSIONS, 256

    def __init__(self, questions: Questions) -> None:
        self._vectors = dict(zip(questions.texts, questions.vectors, strict=True))

    def count_tokens(self, text: str) -> int:
        """Count words."""
        return len(text.split())

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the prepared vectors."""
        return np.stack([self._vectors[text] for text in texts])


@dataclass(frozen=True)
class Made:
    """Figures of creating a knowledge base."""

    write_seconds: float
    index_seconds: float
    megabytes: float
    peak_mib: float


@dataclass(frozen=True)
class Searched:
    """Figures of searching it; times in milliseconds."""

    dense_median: float
    dense_p95: float
    sparse_p95: float
    hybrid_median: float
    hybrid_p95: float
    scan_median: float
    recall: float
    peak_mib: float


def make(folder: str, rows: int, family: VectorIndex) -> tuple[Made, Questions]:
    """Write and index a knowledge base of the given number of chunks."""
    world, random = World.of(rows), np.random.default_rng(5)
    store, table = Store(folder, family), build_chunk_table_name(_DIMENSIONS)
    started = time.perf_counter()
    questions = _questions(world, np.random.default_rng(6))
    for batch in _batches(world, random, rows):
        store.open_table(table).add(batch)
        flat = batch["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        questions.see(batch["id"].to_pylist(), flat.reshape(-1, _DIMENSIONS))
    catalogue.save_corpus(store, CorpusRecord(_CORPUS, Asked.name, _DIMENSIONS, 0.18, "", catalogue.format_utc_now()))
    written = time.perf_counter()
    store.compact(table)
    store.refresh_indexes(table)
    indexed = time.perf_counter()
    size = store.describe_table(table).size / 1e6
    return Made(written - started, indexed - written, size, _peak()), questions


def _questions(world: World, random: np.random.Generator) -> Questions:
    asked = random.choice(len(world.weights), _QUESTIONS, p=world.weights)
    texts = [" ".join(text.split()[:6]) + f" {n}" for n, text in enumerate(world.texts(random, _QUESTIONS))]
    return Questions(texts, world.vectors(random, asked))


def _batches(world: World, random: np.random.Generator, rows: int) -> Iterator[pa.Table]:
    schema = build_chunk_schema(_DIMENSIONS)
    for at in range(0, rows, _BATCH):
        count = min(_BATCH, rows - at)
        vectors = world.vectors(random, random.choice(len(world.weights), count, p=world.weights))
        texts = world.texts(random, count)
        columns: dict[str, object] = dict.fromkeys(schema.names, [""] * count)
        columns |= {
            "id": [f"{n:08}" for n in range(at, at + count)],
            "source_id": [f"s{n // 12}" for n in range(at, at + count)],
            "uri": [f"documents/{n // 12}.md" for n in range(at, at + count)],
            "corpus": [_CORPUS] * count,
            "ordinal": [n % 12 for n in range(at, at + count)],
            "start": [0] * count,
            "end": [len(text) for text in texts],
            "heading_path": [[]] * count,
            "kind": ["prose"] * count,
            "suffix": [".md"] * count,
            "text": texts,
            "search_text": texts,
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), _DIMENSIONS),
        }
        yield pa.table(columns, schema=schema)


def search(folder: str, family: VectorIndex, questions: Questions) -> Searched:
    """Search a knowledge base with every question, in each mode."""
    knowledge = KnowledgeBase(folder, Asked(questions), KnowledgeSettings(vector_index=family))

    def ask(mode: str) -> Callable[[int], list[str]]:
        def one(number: int) -> list[str]:
            request = SearchRequest.model_validate(
                {"query": questions.texts[number], "corpora": (_CORPUS,), "k": _NEAREST, "mode": mode}
            )
            return [passage.chunk for passage in knowledge.retrieval.search(request).passages]

        return one

    dense, found = _timed(ask("dense"), _QUESTIONS)
    sparse, _ = _timed(ask("sparse"), _QUESTIONS)
    hybrid, _ = _timed(ask("hybrid"), _QUESTIONS)
    peak = _peak()
    recall = statistics.mean(len(set(a) & set(b)) / _NEAREST for a, b in zip(found, questions.ids, strict=True))
    return Searched(
        dense_median=statistics.median(dense),
        dense_p95=_p95(dense),
        sparse_p95=_p95(sparse),
        hybrid_median=statistics.median(hybrid),
        hybrid_p95=_p95(hybrid),
        scan_median=statistics.median(_scan(folder, questions)),
        recall=recall,
        peak_mib=peak,
    )


def _scan(folder: str, questions: Questions) -> list[float]:
    table = Store(folder).open_table(build_chunk_table_name(_DIMENSIONS))

    def one(number: int) -> list[str]:
        query: Any = table.search(questions.vectors[number], vector_column_name="vector")
        rows = query.distance_type("cosine").bypass_vector_index().limit(60).select(["id", "_distance"]).to_arrow()
        return list(rows["id"].to_pylist())

    return _timed(one, _SCANS)[0]


def _timed(one: Callable[[int], list[str]], count: int) -> tuple[list[float], list[list[str]]]:
    """Return milliseconds and answers, after ten questions that warm up what a worker has warm."""
    for number in range(min(10, count)):
        one(number)
    times, answers = [], []
    for number in range(count):
        started = time.perf_counter()
        answers.append(one(number))
        times.append((time.perf_counter() - started) * 1000)
    return times, answers


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(rows: int, family: VectorIndex, folder: Path) -> dict[str, Any]:
    """Make, search and throw away one knowledge base; return the figures."""
    home = folder / f"{rows}-{family}"
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(1, mp_context=context) as maker:
            made, questions = maker.submit(make, str(home), rows, family).result()
        with ProcessPoolExecutor(1, mp_context=context) as searcher:
            searched = searcher.submit(search, str(home), family, questions).result()
    finally:
        shutil.rmtree(home, ignore_errors=True)
    figures = {"rows": rows, **asdict(searched), "make": asdict(made)}
    figures["times_faster_than_scan"] = searched.scan_median / searched.dense_median
    if rows in TARGETS:
        p95, recall = TARGETS[rows]
        reached = searched.hybrid_p95 <= p95 and searched.recall >= recall and searched.peak_mib <= MEMORY
        figures["target"] = {"hybrid_p95": p95, "recall": recall, "peak_mib": MEMORY, "reached": reached}
    return figures


_COLUMNS = (
    ("rows", "rows", "{:,}"),
    ("dense_median", "dense ms", "{:.1f}"),
    ("sparse_p95", "sparse p95", "{:.1f}"),
    ("hybrid_median", "hybrid ms", "{:.1f}"),
    ("hybrid_p95", "hybrid p95", "{:.1f}"),
    ("scan_median", "scan ms", "{:.1f}"),
    ("times_faster_than_scan", "scan/dense", "{:.1f}"),
    ("recall", "recall@10", "{:.3f}"),
    ("peak_mib", "peak MiB", "{:.0f}"),
)


def table(results: Sequence[dict[str, Any]]) -> str:
    """Set the figures as a table."""
    lines = [[title for _, title, _ in _COLUMNS]]
    lines += [[form.format(result[name]) for name, _, form in _COLUMNS] for result in results]
    widths = [max(len(line[at]) for line in lines) for at in range(len(_COLUMNS))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def chart(results: Sequence[dict[str, Any]], width: int = 60) -> str:
    """Draw the cost of a hybrid search and of a scan against the size, both on one logarithmic scale."""
    top = max(max(result["scan_median"], result["hybrid_p95"]) for result in results)
    span = math.log10(top) + 0.5  # the axis begins at 0.3 ms

    def bar(value: float, mark: str) -> str:
        return mark * max(1, int(width * (math.log10(max(value, 0.33)) + 0.5) / span + 0.5))

    lines = ["milliseconds a search, logarithmic: # hybrid p95, = exact scan of the vectors"]
    for result in results:
        lines.append(f"{result['rows']:>9,} {bar(result['hybrid_p95'], '#')} {result['hybrid_p95']:.1f}")
        lines.append(f"{'':>9} {bar(result['scan_median'], '=')} {result['scan_median']:.1f}")
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vectors", description=__doc__)
    parser.add_argument("--rows", type=int, action="append", help=f"a size; may be repeated (default: {SIZES})")
    parser.add_argument("--family", choices=get_args(VectorIndex), default="auto", help="of the vector index")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as folder:
        for rows in arguments.rows or SIZES:
            results.append(measure(rows, arguments.family, Path(folder)))
            if not arguments.json:
                print(table(results[-1:]), flush=True)
    if arguments.json:
        print(json.dumps({"family": arguments.family, "results": results}))
    else:
        print(f"\n{table(results)}\n\n{chart(results)}")


if __name__ == "__main__":
    main()
