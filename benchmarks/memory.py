"""Measure memory as it grows: `python -m benchmarks.memory [--rows N]… [--json]`.

For each size the memories of one owner are created, indexed, searched and consolidated, each step in a separate
process,
so that its peak of resident memory can be reported; then they are deleted.

The memories are synthetic: vectors as `benchmarks.vectors` draws them, sentences of twelve pseudo-words, two fifths
episodes, half facts, the rest procedures, from two years. One in twenty repeats another one in a later run, one in a
hundred contradicts another one in its figure. A recall embeds its question with the embedded model, which is part of
its
time, and counts the use of its results unless stated otherwise. Recall@10 is the share of the ten truly nearest
memories
among the forty that a recall ranks.
"""

import argparse
import gc
import json
import multiprocessing
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmarks.vectors import Questions, World
from tenure.algorithms.text.passage import Vectors
from tenure.contracts.base import RunId
from tenure.contracts.knowledge.memory import (
    ConsolidationRequest,
    ConsolidationStep,
    EpisodeDetails,
    FactDetails,
    Memory,
    MemoryOrigin,
    MemorySearchRequest,
    ProcedureDetails,
)
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.memory import rows as memory_rows
from tenure.knowledge.memory.memories import MAX_NEAREST as NEAR
from tenure.knowledge.store.schema import build_memory_table_name
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel
from tenure.models.factory import create_embedding_model
from tenure.settings import Settings

SIZES = (10_000, 100_000)
TARGET = 30.0
"""Milliseconds of the 95th percentile of a recall among 100,000 memories."""

_MODEL = "synthetic"
_DIMENSIONS = 384
_BATCH = 5_000
_QUESTIONS = 300
_WORDS = 12
_NEAREST = 10
_NOW = datetime(2030, 1, 1, tzinfo=UTC)
_YEARS = 730.0
_TYPES = ("factual", "analytical", "comparative", "causal")
_STRATEGIES = ("direct", "iterative", "multi_hop", "hierarchical")


class Asked:
    """An embedding model that knows the questions' vectors beforehand, and takes the time of the embedded one."""

    name, dimensions, max_tokens = _MODEL, _DIMENSIONS, 256

    def __init__(self, questions: Questions, real: EmbeddingModel) -> None:
        self._vectors = dict(zip(questions.texts, questions.vectors, strict=True))
        self._real = real

    def count_tokens(self, text: str) -> int:
        """Count words."""
        return len(text.split())

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the prepared vectors; the embedded model's vector of any other text."""
        made = self._real.embed(texts)
        return np.stack([self._vectors.get(text, row) for text, row in zip(texts, made, strict=True)])


@dataclass(frozen=True)
class Recalls:
    """Times of recalls in milliseconds."""

    median: float
    p95: float
    counting_median: float
    counting_p95: float
    recall: float
    peak_mib: float


def make(folder: str, rows: int) -> tuple[dict[str, float], Questions]:
    """Write and index the given number of memories."""
    world, random = World.of(rows), np.random.default_rng(5)
    asked = random.choice(len(world.weights), _QUESTIONS, p=world.weights)
    texts = [" ".join(text.split()[:8]) + f" {n}?" for n, text in enumerate(world.texts(random, _QUESTIONS))]
    questions = Questions(texts, world.vectors(random, asked))
    store, table = Store(folder), build_memory_table_name(_DIMENSIONS)
    started = time.perf_counter()
    for memories, vectors in _batches(world, random, rows):
        memory_rows.write_memories(store, table, memories, vectors, _MODEL, new=True)
        questions.see([one.id for one in memories], vectors)
    written = time.perf_counter()
    store.compact(table)
    store.refresh_indexes(table)
    figures = {"write_seconds": written - started, "index_seconds": time.perf_counter() - written}
    return figures | {"megabytes": store.describe_table(table).size / 1e6, "peak_mib": _peak()}, questions


def _batches(world: World, random: np.random.Generator, rows: int) -> Iterator[tuple[list[Memory], Vectors]]:
    before: tuple[list[Memory], Vectors] | None = None
    for at in range(0, rows, _BATCH):
        count = min(_BATCH, rows - at)
        vectors = world.vectors(random, random.choice(len(world.weights), count, p=world.weights))
        words = world.texts(random, count)
        memories = [_memory(at + n, " ".join(text.split()[:_WORDS]), random) for n, text in enumerate(words)]
        if before is not None:
            _repeat(memories, vectors, *before, random)
        before = memories, vectors
        yield memories, vectors


def _memory(number: int, words: str, random: np.random.Generator) -> Memory:
    draw = float(random.random())
    common: dict[str, Any] = {
        "id": f"{number:08}",
        "created_at": _NOW - timedelta(days=float(random.random()) * _YEARS),
        "origin": MemoryOrigin(run=RunId(f"run-{number // 20}"), corpora=()),
        "confidence": 0.5 + 0.5 * float(random.random()),
        "importance": 0.2 + 0.6 * float(random.random()),
    }
    if draw < 0.4:
        episode = EpisodeDetails.model_validate(
            {
                "question": words,
                "query_type": _TYPES[number % len(_TYPES)],
                "strategy": _STRATEGIES[number // 7 % len(_STRATEGIES)],
                "score": float(random.random()),
                "searches": int(random.integers(1, 30)),
            }
        )
        return Memory(kind="episodic", text=words, details=episode, **common)
    if draw < 0.5:
        return Memory(
            kind="procedural", text=words, details=ProcedureDetails(situation=words[:40], advice=words[40:]), **common
        )
    sentence = f"{words} {number} times."
    if draw < 0.75:
        first, *_, last = words.split()
        return Memory(
            kind="semantic", text=sentence, details=FactDetails(subject=first, predicate="is", object=last), **common
        )
    return Memory(kind="short_term" if draw < 0.8 else "long_term", text=sentence, **common)


def _repeat(
    memories: list[Memory], vectors: Vectors, old: list[Memory], known: Vectors, random: np.random.Generator
) -> None:
    """Let some memories say what memories before have said, or the same with another figure."""
    for at in range(0, len(memories), 20):
        said = old[at % len(old)]
        if said.kind in ("episodic", "procedural"):
            continue
        text = said.text if at % 100 else said.text.replace(" times", "7 times")
        memories[at] = memories[at].model_copy(update={"kind": said.kind, "text": text, "details": said.details})
        near = known[at % len(old)] + 0.008 * random.standard_normal(_DIMENSIONS, dtype=np.float32)
        vectors[at] = near / np.linalg.norm(near)


def recall(folder: str, questions: Questions) -> Recalls:
    """Recall for every question, without and with counting uses."""
    memories = KnowledgeBase(folder, Asked(questions, create_embedding_model(Settings(_env_file=None)))).memories
    gc.freeze()  # as a worker does

    def ask(occasion: str) -> Callable[[int], list[str]]:
        def one(number: int) -> list[str]:
            name = f"{occasion}-{number}" if occasion else ""
            request = MemorySearchRequest(query=questions.texts[number], now=_NOW, used_by=name, min_relevance=0.0)
            return [found.memory.id for found in memories.recall(request).memories]

        return one

    plain, counting = _timed(ask("")), _timed(ask("run"))
    found = [
        {
            one.memory.id
            for one in memories.recall(
                MemorySearchRequest(query=text, now=_NOW, limit=NEAR, min_relevance=0.0)
            ).memories
        }
        for text in questions.texts
    ]
    # Short-term memories are not asked for, so that they are not missed either.
    lasting = _lasting(folder, [id for ids in questions.ids for id in ids])
    wanted = [[id for id in ids if id in lasting] for ids in questions.ids]
    shares = [len(seen.intersection(ids)) / len(ids) for seen, ids in zip(found, wanted, strict=True) if ids]
    return Recalls(
        median=statistics.median(plain),
        p95=_p95(plain),
        counting_median=statistics.median(counting),
        counting_p95=_p95(counting),
        recall=statistics.mean(shares),
        peak_mib=_peak(),
    )


def _lasting(folder: str, ids: list[str]) -> set[str]:
    rows = Store(folder).read_rows_in(
        build_memory_table_name(_DIMENSIONS), ["id"], "id", sorted(set(ids)), "kind <> 'short_term'"
    )
    return set(rows["id"].to_pylist())


def consolidate(folder: str, questions: Questions) -> dict[str, Any]:
    """Run every step of a first consolidation, and the comparison a second time."""
    model = Asked(questions, create_embedding_model(Settings(_env_file=None)))
    knowledge = KnowledgeBase(folder, model)
    model.embed(["The model is loaded before anything is measured."])
    before, table = _peak(), build_memory_table_name(_DIMENSIONS)
    memories = Store(folder).count_rows(table)
    steps = {}
    for step in (*get_args(ConsolidationStep), "compare"):
        report = knowledge.memories.consolidate(ConsolidationRequest(step=step, now=_NOW), lambda progress: None)
        name = step if step not in steps else f"{step} again"
        steps[name] = {"seconds": report.seconds, "looked_at": report.processed, "changed": report.changed}
    return {
        "before": memories,
        "after": Store(folder).count_rows(table),
        "steps": steps,
        "seconds": sum(one["seconds"] for one in steps.values()),
        "idle_mib": before,
        "peak_mib": _peak(),
    }


def _timed(one: Callable[[int], list[str]]) -> list[float]:
    """Return milliseconds, after ten questions that warm up what a worker has warm."""
    times = []
    for number in range(_QUESTIONS):
        started = time.perf_counter()
        one(number)
        times.append((time.perf_counter() - started) * 1000)
    return times[10:]


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(rows: int, folder: Path) -> dict[str, Any]:
    """Create, search, consolidate and delete the given number of memories; return the figures."""
    home = str(folder / str(rows))
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(1, mp_context=context) as process:
            made, questions = process.submit(make, home, rows).result()
        with ProcessPoolExecutor(1, mp_context=context) as process:
            recalls = process.submit(recall, home, questions).result()
        with ProcessPoolExecutor(1, mp_context=context) as process:
            consolidated = process.submit(consolidate, home, questions).result()
    finally:
        shutil.rmtree(home, ignore_errors=True)
    figures = {"rows": rows, "make": made, "recall": vars(recalls), "consolidation": consolidated}
    if rows == SIZES[-1]:
        figures["target"] = {"recall_p95": TARGET, "reached": recalls.p95 <= TARGET}
    return figures


def told(figures: dict[str, Any]) -> str:
    """Set the figures of one size as lines."""
    recalls, whole = figures["recall"], figures["consolidation"]
    lines = [
        f"{figures['rows']:,} memories, {figures['make']['megabytes']:.0f} MB, written in "
        f"{figures['make']['write_seconds']:.1f} s, indexed in {figures['make']['index_seconds']:.1f} s",
        f"  recall: median {recalls['median']:.1f} ms, p95 {recalls['p95']:.1f} ms; with uses counted "
        f"{recalls['counting_median']:.1f} and {recalls['counting_p95']:.1f} ms; recall@10 {recalls['recall']:.3f}; "
        f"peak {recalls['peak_mib']:.0f} MiB",
        f"  consolidation: {whole['before']:,} to {whole['after']:,} memories in {whole['seconds']:.1f} s, "
        f"{whole['idle_mib']:.0f} MiB before, {whole['peak_mib']:.0f} MiB at the peak",
    ]
    lines += [
        f"    {name}: {step['looked_at']:,} looked at, {step['changed']:,} changed, {step['seconds']:.1f} s"
        for name, step in whole["steps"].items()
    ]
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--rows", type=int, action="append", help=f"a size; may be repeated (default: {SIZES})")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as folder:
        for rows in arguments.rows or SIZES:
            results.append(measure(rows, Path(folder)))
            if not arguments.json:
                print(told(results[-1]), flush=True)
    if arguments.json:
        print(json.dumps({"results": results}))


if __name__ == "__main__":
    main()
