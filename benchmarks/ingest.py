"""How fast documents become searchable: `python -m benchmarks.ingest PATH… [--json]`.

Ingests into a knowledge base that is thrown away afterwards, then ingests again with nothing changed, then
searches. The embedding model is converted beforehand, as it is on any machine but on its very first run.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from tenure.contracts.corpus import IngestProgress, IngestReport, IngestRequest
from tenure.contracts.evidence import SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.models.minilm import MiniLM
from tenure.settings import Settings

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
    knowledge = KnowledgeBase(str(home / "knowledge"), model, settings.chunk_tokens)
    request = IngestRequest(corpus="benchmark", paths=tuple(str(Path(path).absolute()) for path in paths))
    first = _ingest(knowledge, request)
    second = _ingest(knowledge, request)
    return {
        "files": first.files,
        "skipped": first.skipped_total,
        "chunks": first.chunks,
        "seconds": round(first.seconds, 2),
        "chunks_per_second": round(first.chunks / first.seconds, 1),
        "again_seconds": round(second.seconds, 3),
        "search_ms": round(_search_ms(knowledge), 1),
    }


def _ingest(knowledge: KnowledgeBase, request: IngestRequest) -> IngestReport:
    def ignore(_: IngestProgress) -> None:
        """Printing would be measured too."""

    return knowledge.ingest(request, ignore)


def _search_ms(knowledge: KnowledgeBase) -> float:
    """Return the median time of a hybrid search, its query's embedding included."""
    times = []
    for number in range(20):
        query = f"{_QUERIES[number % len(_QUERIES)]} ({number})"
        started = time.perf_counter()
        knowledge.search(SearchRequest(query=query, corpora=("benchmark",)))
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("path", nargs="+", help="file or folder to ingest")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as home:
        figures = measure(arguments.path, Path(home), Settings())
    if arguments.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name.replace('_', ' '):18} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
