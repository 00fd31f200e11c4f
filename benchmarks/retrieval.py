"""Measure retrieval: `python -m benchmarks.retrieval PATH… [--strategy NAME]… [--pooled] [--rerank JSON] [--json]`.

A path is a BEIR folder or a HotpotQA or MuSiQue file. Its documents are ingested as files and chunked by the product; a
document's rank is that of its best chunk. With `--pooled` all paths go into one corpus, and each is still reported
separately. With `--rerank JSON` every search is reranked, with the syntax of `TENURE_RERANK`;
`--rerank '{"diversity": 0.2}'` for example.

Settings are chosen on the even questions and reported on the odd ones, so both halves are printed with the whole. nDCG
uses a grade as its gain, like BEIR.
"""

import argparse
import hashlib
import json
import math
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import ValidationError

from benchmarks.support.datasets import Collection, Question, UnknownFormat, collection
from tenure.contracts.choices import SearchMode
from tenure.contracts.evidence.corpora import IngestProgress, IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.evidence.rerank import RerankOptions
from tenure.knowledge.base import KnowledgeBase
from tenure.models.embedding import EmbeddingModel
from tenure.models.factory import create_embedding_model
from tenure.settings import Settings

STRATEGIES: tuple[SearchMode, ...] = get_args(SearchMode)
_NO_SECOND_STAGE = RerankOptions()
_BASELINES: tuple[SearchMode, ...] = ("dense", "sparse")
_CHUNKS = 100
"""Chunks asked for, so that ten documents are among them."""
HALVES = {"even": slice(0, None, 2), "odd": slice(1, None, 2), "all": slice(None)}
"""Questions for choosing by, those for reporting on, and both."""


class Figures(NamedTuple):
    """Quality of a ranking, in percent."""

    ndcg_10: float
    recall_2: float
    recall_5: float
    recall_10: float
    all_5: float


@dataclass(frozen=True)
class Row:
    """One strategy over one collection."""

    collection: str
    strategy: SearchMode
    halves: dict[str, Figures]
    median_ms: float


def ndcg(ranking: Sequence[str], grades: dict[str, float], k: int = 10) -> float:
    """Return the discounted gain of the first k, as a share of the best that is possible."""
    best = sorted(grades.values(), reverse=True)[:k]
    gained = sum(grades.get(document, 0.0) / math.log2(place + 2) for place, document in enumerate(ranking[:k]))
    return gained / sum(grade / math.log2(place + 2) for place, grade in enumerate(best))


def recall(ranking: Sequence[str], grades: dict[str, float], k: int) -> float:
    """Return the share of the relevant documents that are among the first k."""
    return len(grades.keys() & set(ranking[:k])) / len(grades)


def figures(rankings: Sequence[Sequence[str]], questions: Sequence[Question]) -> Figures:
    """Return the means over questions, in percent."""
    pairs = [(ranking, question.grades) for ranking, question in zip(rankings, questions, strict=True)]

    def mean(values: Iterator[float]) -> float:
        return round(100 * statistics.fmean(values), 1)

    return Figures(
        mean(ndcg(ranking, grades) for ranking, grades in pairs),
        mean(recall(ranking, grades, 2) for ranking, grades in pairs),
        mean(recall(ranking, grades, 5) for ranking, grades in pairs),
        mean(recall(ranking, grades, 10) for ranking, grades in pairs),
        mean(float(recall(ranking, grades, 5) == 1) for ranking, grades in pairs),
    )


class Bench:
    """Collections in a folder that may be kept, each corpus in its own knowledge base.

    Word frequencies are those of a whole table, so sharing a knowledge base would change the results slightly.
    """

    def __init__(
        self,
        home: Path,
        settings: Settings,
        rerank: RerankOptions = _NO_SECOND_STAGE,
        model: EmbeddingModel | None = None,
    ) -> None:
        """Use `home` as the folder, with reranking if given, and the model of the settings unless one is given."""
        self._home = home
        self._rerank = rerank
        self._model = model or create_embedding_model(settings)
        # All vectors are computed by the ingestion.
        self._settings = settings.model_copy(update={"cold_start_chunks": 100_000})

    def ingest(self, corpus: str, collections: Sequence[Collection], base: str | None = None) -> None:
        """Ingest collections into one corpus; existing documents are not embedded again.

        Args:
            corpus: name of the corpus.
            collections: its documents.
            base: corpus whose knowledge base is to contain it too; None for one of its own.
        """
        folder = self._home / "documents" / corpus
        for one in collections:
            for key, document in one.documents.items():
                file = folder / file_name(key)
                if not file.exists():
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(f"# {' '.join(document.title.split())}\n\n{document.text}\n", encoding="utf-8")
        request = IngestRequest(corpus=corpus, paths=(str(folder.absolute()),))
        self.knowledge(base or corpus).corpora.ingest(request, _ignore)

    def row(self, corpus: str, one: Collection, strategy: SearchMode) -> Row:
        """Ask all questions of a collection with one strategy."""
        knowledge, options = self.knowledge(corpus), {"mode": strategy, "rerank": self._rerank}
        found = [self.rank(knowledge, corpus, one, question, **options) for question in one.questions]
        rankings, times = [ranking for ranking, _ in found], [milliseconds for _, milliseconds in found]
        halves = {name: figures(rankings[half], one.questions[half]) for name, half in HALVES.items()}
        return Row(one.name, strategy, halves, round(statistics.median(times), 1))

    @staticmethod
    def rank(
        knowledge: KnowledgeBase, corpus: str, one: Collection, question: Question, **fields: Any
    ) -> tuple[list[str], float]:
        """Return the documents for a question, best first, and the milliseconds; `fields` are those of the request."""
        keys = {file_name(key): key for key in one.documents}
        request = SearchRequest.model_validate({"query": question.text, "corpora": (corpus,), "k": _CHUNKS, **fields})
        started = time.perf_counter()
        found = knowledge.retrieval.search(request).passages
        milliseconds = 1000 * (time.perf_counter() - started)
        files = dict.fromkeys(Path(passage.uri).name for passage in knowledge.corpora.load_passages(found))
        return [keys.get(file, file) for file in files], milliseconds

    def knowledge(self, corpus: str) -> KnowledgeBase:
        """Return the knowledge base of a corpus."""
        return KnowledgeBase(str(self._home / corpus), self._model, self._settings)


def file_name(key: str) -> str:
    """Return the name of the file that a document is written to."""
    return hashlib.sha256(key.encode()).hexdigest()[:24] + ".md"


def _ignore(_: IngestProgress) -> None:
    """Ignore the progress."""


def measure(
    collections: Sequence[Collection], strategies: Sequence[SearchMode], bench: Bench, pooled: bool
) -> Iterator[Row]:
    """Yield one row for each collection and strategy."""
    corpora = {one.name: "-".join(c.name for c in collections) if pooled else one.name for one in collections}
    for corpus in dict.fromkeys(corpora.values()):
        bench.ingest(corpus, [one for one in collections if corpora[one.name] == corpus])
    for one in collections:
        for strategy in strategies:
            yield bench.row(corpora[one.name], one, strategy)


def _table(row: Row) -> Iterator[str]:
    for half, values in row.halves.items():
        numbers = "".join(f"{value:9.1f}" for value in values)
        milliseconds = f"{row.median_ms:9.1f}" if half == "all" else ""
        yield f"{row.collection:20} {row.strategy:9} {half:5}{numbers}{milliseconds}"


def _second_stage(written: str) -> RerankOptions:
    """Read a second stage.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    try:
        return RerankOptions.model_validate_json(written)
    except ValidationError as error:
        raise argparse.ArgumentTypeError(str(error.errors()[0]["msg"])) from None


@contextmanager
def kept_or_thrown_away(kept: Path | None) -> Iterator[Path]:
    """Yield a home that is kept, or one for this once."""
    if kept is not None:
        yield kept
    else:
        with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as home:
            yield Path(home)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    parser.add_argument("path", nargs="+", type=Path, help="BEIR folder, HotpotQA or MuSiQue file")
    parser.add_argument(
        "--strategy",
        action="append",
        choices=STRATEGIES,
        help="strategies in addition to dense and sparse; default all",
    )
    parser.add_argument("--pooled", action="store_true", help="search all paths as one corpus")
    parser.add_argument("--rerank", type=_second_stage, default=_NO_SECOND_STAGE, help="second stage, as JSON")
    parser.add_argument("--home", type=Path, help="keep documents and vectors here for the next time")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    try:
        collections = [collection(path) for path in arguments.path]
    except UnknownFormat as error:
        parser.error(str(error))
    strategies = tuple(dict.fromkeys((*_BASELINES, *(arguments.strategy or STRATEGIES))))
    with kept_or_thrown_away(arguments.home) as home:
        bench = Bench(home, Settings(), arguments.rerank)
        rows = measure(collections, strategies, bench, arguments.pooled)
        if arguments.json:
            print(json.dumps([_document(row) for row in rows]))
            return
        print(f"{'collection':20} {'strategy':9} {'half':5}" + "".join(f"{n:>9}" for n in (*Figures._fields, "ms")))
        for row in rows:
            print("\n".join(_table(row)), flush=True)


def _document(row: Row) -> dict[str, object]:
    halves = {half: values._asdict() for half, values in row.halves.items()}
    return {"collection": row.collection, "strategy": row.strategy, **halves, "median_ms": row.median_ms}


if __name__ == "__main__":
    main()
