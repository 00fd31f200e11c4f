"""Compare retrieval strategies: `python -m benchmarks.research.strategies FILE… [--strategy NAME]… [--json]`.

Question files have the format of HotpotQA or MuSiQue, as for `benchmarks.retrieval`. One subagent searches for each
question with each strategy, without a model. Evidence is the supporting documents of a question: recall counts those
among the first ten documents and among all that were found, and `full` the questions of which all were found. Even
questions are for choosing, odd ones for reporting.

Three rows choose a strategy for each question: `suggested` by its words only, as in a run without memory; `learned`
with the records of the questions before it, which state the gain of each strategy over one search; `misled` as well,
after records that praise the worst strategies. Every second question ignores the records: in the latter two rows first
the even questions, then the odd ones.
"""

import argparse
import asyncio
import json
import statistics
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_args

from temporalio.client import Client

from benchmarks.retrieval import HALVES, Bench, file_name, kept_or_thrown_away, recall
from benchmarks.support.datasets import Collection, Question, UnknownFormat, collection
from benchmarks.support.environment import stage
from benchmarks.support.stub_workflows import TaskStubWorkflow
from tenure.algorithms.memory.experience import choose_strategy, compute_reward
from tenure.algorithms.research.effort import EFFORT_WITHOUT_MODEL
from tenure.algorithms.research.effort import resolve_strategy as suggested
from tenure.algorithms.retrieval.query_type import classify_query
from tenure.contracts.base import RunId
from tenure.contracts.evidence.retrieval import RetrievalStrategy
from tenure.contracts.knowledge.memory import StrategyRecord
from tenure.contracts.research.learning import Experience
from tenure.contracts.research.spiral import PlanStep, SubagentRequest, SubagentResult
from tenure.contracts.run.run import QueryType, RunLimits
from tenure.knowledge.base import KnowledgeBase
from tenure.settings import Settings
from worker import build_activities
from workflows.research.strategies import list_search_strategies
from workflows.runtime.task_queues import TENURE_QUEUE

STRATEGIES = list_search_strategies()
_TRIALS = 40
"""Tasks of each strategy in misleading records."""
_PRAISED: tuple[RetrievalStrategy, ...] = ("contrastive", "direct")
_BLAMED: tuple[RetrievalStrategy, ...] = ("multi_hop", "hierarchical", "iterative")
EFFORT = EFFORT_WITHOUT_MODEL["complex"]
"""Number of hops of a task."""
_AT_ONCE = 4
_LIMITS = RunLimits(min_relevance=0.3, max_per_source=5)


class Tried(NamedTuple):
    """Result of a strategy for a question."""

    strategy: RetrievalStrategy
    """The strategy."""
    documents: tuple[str, ...]
    """Documents found, best first."""
    searches: int
    """Searches it took."""


class Figures(NamedTuple):
    """Quality of a strategy, in percent, and its cost."""

    recall_10: float
    recall: float
    full: float
    documents: float
    searches: float


@dataclass(frozen=True)
class Row:
    """One strategy over one collection."""

    collection: str
    strategy: str
    halves: dict[str, Figures]


def figures(tried: Sequence[Tried], questions: Sequence[Question]) -> Figures:
    """Return the means over questions."""
    pairs = [(one, question.grades) for one, question in zip(tried, questions, strict=True)]
    everything = [recall(one.documents, grades, len(one.documents)) for one, grades in pairs]
    return Figures(
        recall_10=_percent(recall(one.documents, grades, 10) for one, grades in pairs),
        recall=_percent(everything),
        full=_percent(float(share == 1) for share in everything),
        documents=round(statistics.fmean(len(one.documents) for one in tried), 1),
        searches=round(statistics.fmean(one.searches for one in tried), 2),
    )


def _percent(values: Iterator[float] | Sequence[float]) -> float:
    return round(100 * statistics.fmean(values), 1)


def by_suggestion(question: Question) -> RetrievalStrategy:
    """Return the strategy that the words of a question suggest."""
    return suggested(_step(question), EFFORT.hops)


def _step(question: Question) -> PlanStep:
    return PlanStep(id="s1", query=question.text[:1000], topic="")


async def tried(
    client: Client, knowledge: KnowledgeBase, one: Collection, corpus: str, by: RetrievalStrategy
) -> list[Tried]:
    """Send a subagent for every question of a collection."""
    gate = asyncio.Semaphore(_AT_ONCE)
    keys = {file_name(key): key for key in one.documents}

    async def send(question: Question) -> Tried:
        async with gate:
            request = SubagentRequest(
                run=RunId(f"task-{uuid.uuid4().hex[:10]}"),
                question=question.text,
                step=_step(question),
                strategy=by,
                max_hops=EFFORT.hops,
                corpora=(corpus,),
                limits=_LIMITS,
            )
            result: SubagentResult = await client.execute_workflow(
                TaskStubWorkflow.run, request, id=request.run, task_queue=TENURE_QUEUE
            )
        passages = knowledge.corpora.load_passages([candidate.passage for candidate in result.candidates])
        names = dict.fromkeys(Path(passage.uri).name for passage in passages)
        return Tried(by, tuple(keys.get(name, name) for name in names), result.usage.searches)

    return await asyncio.gather(*(send(question) for question in one.questions))


async def measure(
    one: Collection, strategies: Sequence[RetrievalStrategy], bench: Bench
) -> dict[RetrievalStrategy, list[Tried]]:
    """Return the result of each strategy for each question of a collection."""
    bench.ingest(one.name, [one])
    knowledge = bench.knowledge(one.name)
    async with stage(build_activities(None, knowledge), [TaskStubWorkflow]) as client:
        return {name: await tried(client, knowledge, one, one.name, name) for name in strategies}


class Learner:
    """Learner that chooses a strategy for each question of a collection from the results of the earlier ones."""

    def __init__(
        self, found: Mapping[RetrievalStrategy, Sequence[Tried]], first: int, records: Iterable[StrategyRecord]
    ) -> None:
        """Begin with records, and use them for the odd questions, or with `first` 1 for the even ones."""
        self._found, self._first = found, first
        self._records = {(record.query_type, record.strategy): record for record in records}

    def chosen(self, number: int, question: Question) -> Tried:
        """Return the result of the chosen strategy for a question, and learn from it."""
        kind = classify_query(question.text).primary
        experience = Experience(records=tuple(self._records.values()))
        choice = choose_strategy(_step(question), EFFORT.hops, None, experience, STRATEGIES, number + self._first)
        brought = self._found[choice.strategy][number]
        new = set(brought.documents) - set(self._found["direct"][number].documents)
        blank = StrategyRecord(query_type=kind, strategy=choice.strategy, episodes=0, score=0.0)
        record = self._records.get((kind, choice.strategy), blank)
        self._records[kind, choice.strategy] = record.model_copy(
            update={"episodes": record.episodes + 1, "score": record.score + compute_reward(len(new), brought.searches)}
        )
        return brought


def misleading() -> Iterator[StrategyRecord]:
    """Yield records that praise what finds least, as strongly as records can."""
    kinds: tuple[QueryType, ...] = get_args(QueryType)
    for kind in kinds:
        for strategy in (*_PRAISED, *_BLAMED):
            score = float(_TRIALS if strategy in _PRAISED else 0)
            yield StrategyRecord(query_type=kind, strategy=strategy, episodes=_TRIALS, score=score)


def choosing(one: Collection, found: Mapping[RetrievalStrategy, Sequence[Tried]]) -> Iterator[Row]:
    """Yield the figures of each way to choose among the strategies."""
    yield _row(one, "suggested", [[found[by_suggestion(q)][n] for n, q in enumerate(one.questions)]])
    for name, records in (("learned", ()), ("misled", tuple(misleading()))):
        learners = [Learner(found, first, records) for first in range(2)]
        yield _row(one, name, [[each.chosen(n, q) for n, q in enumerate(one.questions)] for each in learners])


def _row(one: Collection, name: str, orders: Sequence[Sequence[Tried]]) -> Row:
    halves = {
        half: figures([tried for order in orders for tried in order[part]], one.questions[part] * len(orders))
        for half, part in HALVES.items()
    }
    return Row(one.name, name, halves)


def rows(one: Collection, found: Mapping[RetrievalStrategy, Sequence[Tried]]) -> Iterator[Row]:
    """Yield the figures of each strategy, and of the ways to choose among them."""
    for name, results in found.items():
        yield _row(one, name, [results])
    if set(STRATEGIES) <= found.keys():
        yield from choosing(one, found)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.research.strategies", description=__doc__)
    parser.add_argument("path", nargs="+", type=Path, metavar="FILE", help="HotpotQA or MuSiQue file")
    parser.add_argument("--strategy", action="append", choices=STRATEGIES, help="default: all")
    parser.add_argument("--home", type=Path, help="keep documents and vectors here for the next time")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    try:
        collections = [collection(path) for path in arguments.path]
    except UnknownFormat as error:
        parser.error(str(error))
    table: list[Row] = []
    with kept_or_thrown_away(arguments.home) as home:
        for one in collections:
            found = asyncio.run(measure(one, arguments.strategy or STRATEGIES, Bench(home, Settings())))
            table += rows(one, found)
    if arguments.json:
        halves = [{half: values._asdict() for half, values in row.halves.items()} for row in table]
        print(
            json.dumps(
                [{"collection": r.collection, "strategy": r.strategy, **h} for r, h in zip(table, halves, strict=True)]
            )
        )
        return
    print(f"{'collection':14} {'strategy':13} {'half':5}" + "".join(f"{name:>10}" for name in Figures._fields))
    for row in table:
        for half, values in row.halves.items():
            print(f"{row.collection:14} {row.strategy:13} {half:5}" + "".join(f"{value:10.1f}" for value in values))


if __name__ == "__main__":
    main()
