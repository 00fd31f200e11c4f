"""Measure ingestion: `python -m benchmarks.ingest PATH… [--workers N]… [--json]`.

Documents are ingested into a temporary knowledge base, ingested again unchanged, and searched. The embedding model is
converted beforehand, as on any machine after its first run. They are also ingested without embeddings, as `start` does
with a large folder that was never read.

With `--workers`, several processes share the files and write into one knowledge base concurrently, each into its own
corpus and with its share of the cores; there are two figures for each number of processes.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tenure.contracts.evidence.corpora import IngestProgress, IngestReport, IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.files.discovery import discover_files
from tenure.knowledge.base import KnowledgeBase
from tenure.models.minilm.model import MiniLM
from tenure.settings import Settings
from tenure.settings.knowledge import KnowledgeSettings

_QUERIES = (
    "How are errors reported to the caller?",
    "What changed in the type system and why?",
    "Which alternatives were rejected?",
    "backwards compatibility of the new syntax",
    "performance cost of the proposal",
)


def measure(paths: list[str], home: Path, settings: Settings) -> dict[str, float | int]:
    """Ingest twice, search, and return the figures."""
    model = MiniLM(settings.home.absolute() / "models", threads=settings.embedding_threads)
    model.embed(["warm up"])
    eager, none = (settings.model_copy(update={"cold_start_chunks": count}) for count in (100_000, 0))
    knowledge = KnowledgeBase(str(home / "knowledge"), model, eager)
    request = IngestRequest(corpus="benchmark", paths=tuple(str(Path(path).absolute()) for path in paths))
    first = _ingest(knowledge, request)
    second = _ingest(knowledge, request)
    unembedded = KnowledgeBase(str(home / "unembedded"), model, none)
    read = _ingest(unembedded, request)
    return {
        "files": first.files,
        "skipped": first.skipped_total,
        "chunks": first.chunks,
        "seconds": round(first.seconds, 2),
        "chunks_per_second": round(first.chunks / first.seconds, 1),
        "read_chunks_per_second": round(read.chunks / read.seconds, 1),
        "again_seconds": round(second.seconds, 3),
        "search_ms": round(_search_ms(knowledge), 1),
    }


def shared(paths: list[str], workers: int, settings: Settings, *, embeds: bool) -> float:
    """Return the chunks per second that the processes write together, from the first start to the last end."""
    settings = settings.model_copy(update={"cold_start_chunks": 100_000 if embeds else 0})
    files = [file.path for file in discover_files([Path(path).absolute() for path in paths]).files]
    threads = max(1, (os.cpu_count() or 1) // workers)
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as home,
        ProcessPoolExecutor(workers, mp_context=context) as pool,
    ):
        models = str(settings.home.absolute() / "models")
        done = [pool.submit(_part, home, models, threads, settings, n, files[n::workers]) for n in range(workers)]
        parts = [part.result() for part in done]
    return sum(chunks for chunks, _, _ in parts) / (max(end for _, _, end in parts) - min(at for _, at, _ in parts))


def _part(
    home: str,
    models: str,
    threads: int,
    settings: KnowledgeSettings,
    number: int,
    files: list[str],
) -> tuple[int, float, float]:
    model = MiniLM(Path(models), threads=threads)
    model.embed(["warm up"])
    knowledge = KnowledgeBase(str(Path(home) / "knowledge"), model, settings)
    started = time.time()
    report = _ingest(knowledge, IngestRequest(corpus=f"part-{number}", paths=tuple(files)))
    return report.chunks, started, time.time()


def _ingest(knowledge: KnowledgeBase, request: IngestRequest) -> IngestReport:
    def ignore(_: IngestProgress) -> None:
        """Printing would be measured too."""

    return knowledge.corpora.ingest(request, ignore)


def _search_ms(knowledge: KnowledgeBase) -> float:
    """Return the median time of a hybrid search, its query's embedding included."""
    times = []
    for number in range(20):
        query = f"{_QUERIES[number % len(_QUERIES)]} ({number})"
        started = time.perf_counter()
        knowledge.retrieval.search(SearchRequest(query=query, corpora=("benchmark",)))
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("path", nargs="+", help="file or folder to ingest")
    parser.add_argument("--workers", type=int, action="append", default=[], help="processes; may be repeated")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as home:
        figures = measure(arguments.path, Path(home), Settings())
    for workers in arguments.workers:
        for name, embeds in (("chunks_per_second", True), ("read_chunks_per_second", False)):
            together = shared(arguments.path, workers, Settings(), embeds=embeds)
            figures[f"{name}_of_{workers}"] = round(together, 1)
    if arguments.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name.replace('_', ' '):28} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
