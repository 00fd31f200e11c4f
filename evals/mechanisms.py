"""Measure what single mechanisms bring without a model: `python -m evals.mechanisms PART PATH… [--limit N] [--store]`.

A path is a BEIR folder, a HotpotQA, 2WikiMultihopQA or MuSiQue file, or JSON lines with `question`, `hypothetical` and
`pages`, the names of files in the folder `--docs`. `search` asks one search, `excerpts` shows the passages of one
search without a model, and `research` runs the research loop. Each corpus is read once, and a question is asked with a
mechanism and without it, so the differences are paired. Decide by the even questions, and report the odd ones.
"""

import argparse
import asyncio
import sys
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final
from unittest.mock import patch

from benchmarks.retrieval import HALVES, Bench, file_name, kept_or_thrown_away, ndcg, recall
from benchmarks.support.datasets import Collection, Document, Question, collection, load_questions, rows
from benchmarks.support.environment import stage
from benchmarks.support.stub_workflows import StubWorkflow
from evals.answers import contains_answer
from evals.figures import store_mechanisms
from evals.paired import compare_pairs
from tenure.algorithms.research.effort import EFFORT_WITHOUT_MODEL
from tenure.algorithms.retrieval.evidence_selection import select_evidence
from tenure.algorithms.writing import brief
from tenure.algorithms.writing.brief import BriefPart, build_brief
from tenure.contracts.base import RunId
from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.evidence.rerank import RerankOptions
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import SpiralRequest, SpiralResult
from tenure.contracts.run.run import RunLimits
from tenure.knowledge.base import KnowledgeBase
from tenure.settings import Settings
from worker import build_activities
from workflows.runtime.task_queues import TENURE_QUEUE

Scores = Mapping[str, float]
"""Scores of one question by measure, and its costs, which begin with a small letter."""

SEARCHES: Final[Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]] = {
    "vectors": ({"mode": "hybrid"}, {"mode": "sparse"}),
    "words": ({"mode": "hybrid"}, {"mode": "dense"}),
    "fusion by scores": ({"mode": "hybrid"}, {"mode": "rrf"}),
    "graph": ({}, {"mode": "hybrid"}),
    "choice of the graph": ({}, {"mode": "graph"}),
    "diversity (MMR)": ({"rerank": RerankOptions(diversity=0.2)}, {}),
    "HyDE": ({}, {"hypothetical_answer": ""}),
}
"""Fields of a search with a mechanism, and without it."""
EXCERPTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "chains of documents": {"_find_chains": lambda *_: []},
}
"""Functions of the module `brief` whose replacement switches a mechanism off, since no setting of a run does."""
RESEARCH: Final[Mapping[str, Mapping[str, Any]]] = {
    "second cycle": {"max_cycles": 1},
    "novelty": {"min_novelty": 0.0},
    "strategies": {"strategy": "direct"},
}
"""Limits of a run that switch a mechanism off."""
_LIMITS: Final[Mapping[str, Any]] = {"min_relevance": 0.3, "max_per_source": 5, "max_cycles": 3}
_EFFORT: Final = EFFORT_WITHOUT_MODEL["moderate"]
_AT_ONCE: Final = 4


@dataclass(frozen=True)
class Task:
    """Questions over a corpus, perhaps with their known answers or a hypothetical answer to each."""

    collection: Collection
    answers: Sequence[Sequence[str]] = ()
    hypothetical: Sequence[str] = ()


def load_task(path: Path, docs: Path | None, limit: int | None) -> Task:
    """Read the first questions of a collection over its whole corpus."""
    found = list(rows(path)) if path.is_file() else [{}]
    if "hypothetical" in found[0] and docs:
        pages = {page.name: Document(page.stem, page.read_text(encoding="utf-8")) for page in sorted(docs.iterdir())}
        questions = tuple(Question(row["question"], dict.fromkeys(row["pages"], 1.0)) for row in found)
        one = Collection(path.stem, pages, questions)
    else:
        one = collection(path)
    answers = [asked.answers for asked in load_questions(path, one)] if "answer" in found[0] else []
    hypothetical = [row["hypothetical"] for row in found] if "hypothetical" in found[0] else []
    return Task(replace(one, questions=one.questions[:limit]), answers[:limit], hypothetical[:limit])


def measure_searches(task: Task, bench: Bench) -> dict[str, dict[str, Any]]:
    """Return the effects of the mechanisms of one search."""
    one, knowledge = task.collection, bench.knowledge(task.collection.name)
    imagined = [{"hypothetical_answer": text} for text in task.hypothetical] or [{}] * len(one.questions)

    def ask(fields: Mapping[str, Any]) -> list[Scores]:
        return [
            _score_ranking(*bench.rank(knowledge, one.name, one, asked, **{**own, **fields}), asked.grades)
            for asked, own in zip(one.questions, imagined, strict=True)
        ]

    chosen = {name: pair for name, pair in SEARCHES.items() if name != "HyDE" or task.hypothetical}
    return {name: compare(ask(with_it), ask(without)) for name, (with_it, without) in chosen.items()}


def _score_ranking(ranking: Sequence[str], milliseconds: float, grades: dict[str, float]) -> Scores:
    return {"Recall@5": recall(ranking, grades, 5), "NDCG@10": ndcg(ranking, grades), "ms": milliseconds}


def measure_excerpts(task: Task, bench: Bench) -> dict[str, dict[str, Any]]:
    """Return the effects of mechanisms that choose the excerpts of a report without a model."""
    one, knowledge = task.collection, bench.knowledge(task.collection.name)
    keys = {file_name(key): key for key in one.documents}
    shown: dict[str, list[Scores]] = {name: [] for name in ("", *EXCERPTS)}
    for number, asked in enumerate(one.questions):
        request = SearchRequest(query=asked.text, corpora=(one.name,), k=24, max_per_source=5)
        found = select_evidence(knowledge.retrieval.search(request).passages, _LIMITS["min_relevance"])
        passages = knowledge.corpora.load_passages(found)
        files = {passage.chunk: keys[Path(passage.uri).name] for passage in passages}
        for name in shown:
            with _replaced(EXCERPTS.get(name, {})):
                (part,) = build_brief([BriefPart(asked.text, passages)], knowledge.encoder.encode)
            claims = [claim for block in part.excerpts for claim in block.claims]
            cited = {files[citation.chunk] for claim in claims for citation in claim.citations}
            words = " ".join(claim.text for claim in claims).split()
            scores = {
                "Recall": len(cited & asked.grades.keys()) / len(asked.grades),
                "Precision": len(cited & asked.grades.keys()) / len(cited) if cited else 0.0,
                "words": float(len(words)),
            }
            if task.answers:
                answers = task.answers[number]
                scores["Answer among 100 words"] = float(contains_answer(" ".join(words[:100]), answers))
            shown[name].append(scores)
    return {name: compare(shown[""], shown[name]) for name in EXCERPTS}


@contextmanager
def _replaced(functions: Mapping[str, Any]) -> Iterator[None]:
    with patch.multiple(brief, **functions) if functions else patch.dict({}):
        yield


def measure_research(task: Task, bench: Bench) -> dict[str, dict[str, Any]]:
    """Return the effects of mechanisms of the research loop."""
    return asyncio.run(_measure_research(task, bench))


async def _measure_research(task: Task, bench: Bench) -> dict[str, dict[str, Any]]:
    knowledge = bench.knowledge(task.collection.name)
    async with stage(build_activities(None, knowledge), [StubWorkflow]) as client:

        async def run(asked: Question, fields: Mapping[str, Any]) -> SpiralResult:
            limits = RunLimits.model_validate({**_LIMITS, **fields})
            corpora = (task.collection.name,)
            found = knowledge.retrieval.search(SearchRequest(query=asked.text, corpora=corpora, k=24)).passages
            request = SpiralRequest(
                run=RunId(f"spiral-{uuid.uuid4().hex[:10]}"),
                question=asked.text,
                corpora=corpora,
                limits=limits,
                complexity="moderate",
                effort=_EFFORT.model_copy(update={"cycles": limits.max_cycles or _EFFORT.cycles}),
                outline=(Topic(heading=asked.text[:160], question=asked.text),),
                evidence=found,
            )
            return await client.execute_workflow(StubWorkflow.run, request, id=request.run, task_queue=TENURE_QUEUE)

        usual = await _ask_all(task, knowledge, run, {})
        return {name: compare(usual, await _ask_all(task, knowledge, run, fields)) for name, fields in RESEARCH.items()}


async def _ask_all(
    task: Task,
    knowledge: KnowledgeBase,
    run: Callable[[Question, Mapping[str, Any]], Awaitable[SpiralResult]],
    fields: Mapping[str, Any],
) -> list[Scores]:
    gate = asyncio.Semaphore(_AT_ONCE)
    keys = {file_name(key): key for key in task.collection.documents}

    async def ask(asked: Question) -> Scores:
        async with gate:
            started = time.perf_counter()
            state = (await run(asked, fields)).state
            seconds = time.perf_counter() - started
        accepted = {passage.chunk: passage for aim in state.topics for passage in aim.passages}
        passages = knowledge.corpora.load_passages(tuple(accepted.values()))
        found = {keys[Path(passage.uri).name] for passage in passages}
        return {
            "Recall": len(found & asked.grades.keys()) / len(asked.grades),
            "Precision": len(found & asked.grades.keys()) / len(found) if found else 0.0,
            "passages": float(len(accepted)),
            "searches": float(len(state.executed)),
            "seconds": seconds,
        }

    return await asyncio.gather(*(ask(asked) for asked in task.collection.questions))


def compare(with_it: Sequence[Scores], without: Sequence[Scores]) -> dict[str, Any]:
    """Return the effects of a mechanism: qualities for each half of the questions, costs for all of them."""
    measures = {name: ([one[name] for one in with_it], [one[name] for one in without]) for name in with_it[0]}
    return {
        name: {half: compare_pairs(more[part], less[part]) for half, part in HALVES.items()}
        if name[0].isupper()
        else fmean(more) - fmean(less)
        for name, (more, less) in measures.items()
    } | {"questions": len(with_it)}


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m evals.mechanisms", description=__doc__.splitlines()[0])
    parts = {"search": measure_searches, "excerpts": measure_excerpts, "research": measure_research}
    parser.add_argument("part", choices=parts, help="what is measured")
    parser.add_argument("path", nargs="+", type=Path, help="judged collection")
    parser.add_argument("--docs", type=Path, metavar="DIR", help="pages of questions with hypothetical answers")
    parser.add_argument("--limit", type=int, metavar="N", help="number of questions of each (default: all)")
    parser.add_argument("--home", type=Path, help="keep documents and vectors here for the next time")
    parser.add_argument("--store", action="store_true", help="store the figures; `evals.small --store` writes the page")
    given = parser.parse_args()
    with kept_or_thrown_away(given.home) as home:
        bench = Bench(home, Settings())
        for path in given.path:
            task = load_task(path, given.docs, given.limit)
            bench.ingest(task.collection.name, [task.collection])
            effects = parts[given.part](task, bench)
            for name, effect in effects.items():
                print(task.collection.name, name, effect, flush=True)
            if given.store:
                store_mechanisms(given.part, task.collection.name, effects)
    return 0


if __name__ == "__main__":
    sys.exit(main())
