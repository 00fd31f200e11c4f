"""Measure what runs learn from each other: `python -m benchmarks.learning FILE… [--pairs N] [--home DIR] [--json]`.

Question files have the format of HotpotQA or MuSiQue. Each question has a related one: for a MuSiQue question its last
step with the subject filled in, for a HotpotQA question the subject of its supporting pages. In half of the pairs the
question comes first, in the other half the related one. The second question is asked without memory, with the memory of
the first, and with a misleading memory: episodes that praise the worst strategies and claim to have answered the very
question with passages of other questions, and facts that deny the answer. These are whole runs without a model.

Evidence is the documents that answer the second question; recall is the share of them that the research has accepted.
Calls are searches of the knowledge base; the lookup of the passages of related runs counts as one. Even pairs are for
choosing, odd ones for reporting.
"""

import argparse
import asyncio
import json
import re
import statistics
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, get_args

from temporalio.client import Client
from temporalio.common import Priority

from benchmarks.retrieval import HALVES, Bench, file_name, kept_or_thrown_away, recall
from benchmarks.support.datasets import UnknownFormat, collection, key, rows
from benchmarks.support.environment import stage
from tenure.contracts.base import RunId
from tenure.contracts.knowledge.memory import EpisodeDetails, MemoryOrigin, NewMemory, RememberRequest
from tenure.contracts.research.spiral import SpiralResult
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import QueryType, RunLimits, RunRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.settings import Settings
from worker import build_activities
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

_AT_ONCE = 3
_LIMITS = RunLimits(min_relevance=0.3, max_per_source=5, max_sections=2, max_report_revisions=0)
_PRAISED, _BLAMED = ("contrastive", "direct"), ("multi_hop", "hierarchical", "iterative")
_OFTEN = 12
"""Episodes that praise or blame a strategy, for each type of question."""

_AT_A_TIME = 200
"""Impressions of one request."""


class Pair(NamedTuple):
    """Two related questions."""

    first: str
    """The question that is asked first."""
    second: str
    """The one that is asked after it."""
    evidence: frozenset[str]
    """The documents that answer the second one."""


class Ran(NamedTuple):
    """Figures of a run."""

    run: RunId
    """The run."""
    calls: int
    """Calls for evidence that it made."""
    recall: float
    """Share of the evidence that its research has accepted."""
    remembered: bool
    """Whether its report says that it has used memory."""


def pairs(path: Path) -> Iterator[Pair]:
    """Yield the pairs of a file."""
    for number, row in enumerate(rows(path)):
        whole = frozenset(_supporting(row))
        related, part = _last_step(row) if "decomposition" in row else (_about_pages(row), whole)
        yield Pair(related, row["question"], whole) if number % 4 > 1 else Pair(row["question"], related, part)


def _supporting(row: Mapping[str, Any]) -> Iterator[str]:
    titles = {title for title, _ in row.get("supporting_facts", ())}
    for paragraph in row["paragraphs"]:
        if paragraph.get("is_supporting", paragraph["title"] in titles):
            yield key(paragraph)


def _last_step(row: Mapping[str, Any]) -> tuple[str, frozenset[str]]:
    """Return the last step of a question with earlier answers filled in, and its answer."""
    *before, last = row["decomposition"]
    text = last["question"]
    for number, step in enumerate(before, 1):
        text = text.replace(f"#{number}", step["answer"])
    subject, relation, what = (part.strip() for part in text.partition(">>"))
    asked = f"What is the {what} of {subject}?" if relation else re.sub(r"\s+\?", "?", text)
    return asked, frozenset({key(row["paragraphs"][last["paragraph_support_idx"]])})


def _about_pages(row: Mapping[str, Any]) -> str:
    titles = dict.fromkeys(title for title, _ in row["supporting_facts"])
    return f"What is known about {' and '.join(titles)}?"


class World:
    """A knowledge base on which runs are asked."""

    def __init__(self, client: Client, knowledge: KnowledgeBase, corpus: str, keys: Mapping[str, str]) -> None:
        """Ask about one corpus, of whose files the documents are known."""
        self._client, self._knowledge, self._corpus, self._keys = client, knowledge, corpus, keys
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def ask(self, question: str, evidence: frozenset[str], owner: str, *, memory: bool) -> Ran:
        """Run a question."""
        run = RunId(f"learning-{uuid.uuid4().hex[:10]}")
        request = RunRequest(question=question, mode="research", corpora=(self._corpus,), limits=_LIMITS, memory=memory)
        async with self._gate:
            handle = await self._client.start_workflow(
                AgentWorkflow.run, request, id=run, task_queue=TENURE_QUEUE, priority=Priority(fairness_key=owner)
            )
            result = await handle.result()
        remembered = any(note.startswith("Recalled") for note in result.notes)
        # The passages of related runs are looked up only if there are such runs.
        calls = result.usage.searches + remembered
        return Ran(run, calls, await self._recall(result, evidence), remembered)

    async def _recall(self, result: Result, evidence: frozenset[str]) -> float:
        """Return the share of the evidence that the research has accepted."""
        if result.status == "no_evidence":
            return 0.0
        handle = self._client.get_workflow_handle(f"{result.id}/spiral", result_type=SpiralResult)
        gathered: SpiralResult = await handle.result()
        accepted = {passage.chunk: passage for aim in gathered.state.topics for passage in aim.passages}
        names = [Path(passage.uri).name for passage in self._knowledge.corpora.load_passages(tuple(accepted.values()))]
        found = list({self._keys.get(name, name) for name in names})
        return recall(found, dict.fromkeys(evidence, 1.0), len(found))

    def mislead(self, owner: str, question: str, elsewhere: RunId) -> None:
        """Put memories into an owner's head that praise what finds least, and passages of another question."""
        kinds: tuple[QueryType, ...] = get_args(QueryType)
        told = [
            _episode(kind, strategy, number)
            for kind in kinds
            for strategy in (*_PRAISED, *_BLAMED)
            for number in range(_OFTEN)
        ]
        claimed = NewMemory(
            text=f"“{question}” was answered.",
            origin=MemoryOrigin(run=elsewhere, corpora=()),
            valence=1.0,
            details=EpisodeDetails(question=question, score=1.0, strategy="direct", queries=(question,)),
        )
        false = NewMemory(
            text=f"It has never been known {question.rstrip('?')}.",
            kind="semantic",
            origin=MemoryOrigin(run=elsewhere, corpora=()),
        )
        impressions = (claimed, false, *told)
        for at in range(0, len(impressions), _AT_A_TIME):
            part = impressions[at : at + _AT_A_TIME]
            self._knowledge.memories.remember(RememberRequest(memories=part, owner=owner, now=datetime.now(UTC)))


def _episode(kind: QueryType, strategy: str, number: int) -> NewMemory:
    """Return an episode of a run that never was."""
    question = f"Question {number}"
    return NewMemory(
        text=f"“{question}”: {kind} searches by {strategy}.",
        origin=MemoryOrigin(run=RunId(f"never-{number}"), corpora=()),
        details=EpisodeDetails(
            question=question, query_type=kind, strategy=strategy, score=float(strategy in _PRAISED)
        ),
    )


class Outcome(NamedTuple):
    """Figures of a related question."""

    without: Ran
    """Without memory."""
    with_memory: Ran
    """With that of the first question."""
    misled: Ran
    """With one that misleads."""


async def measure(path: Path, most: int, bench: Bench) -> list[Outcome]:
    """Ask the pairs of a file."""
    one = collection(path)
    bench.ingest(one.name, [one])
    knowledge = bench.knowledge(one.name)
    wanted = list(pairs(path))[:most]
    keys = {file_name(name): name for name in one.documents}
    async with stage(build_activities(None, knowledge)) as client:
        world = World(client, knowledge, one.name, keys)
        session = uuid.uuid4().hex[:8]
        firsts = await asyncio.gather(
            *(world.ask(pair.first, pair.evidence, f"{session}-{n}", memory=True) for n, pair in enumerate(wanted))
        )
        for n, pair in enumerate(wanted):
            world.mislead(f"{session}-{n}-misled", pair.second, firsts[(n + 1) % len(firsts)].run)
        return await asyncio.gather(*(_related(world, pair, f"{session}-{n}") for n, pair in enumerate(wanted)))


async def _related(world: World, pair: Pair, owner: str) -> Outcome:
    return Outcome(
        without=await world.ask(pair.second, pair.evidence, owner, memory=False),
        with_memory=await world.ask(pair.second, pair.evidence, owner, memory=True),
        misled=await world.ask(pair.second, pair.evidence, f"{owner}-misled", memory=True),
    )


def figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return the means over pairs: calls, and recall in percent."""
    found: dict[str, float] = {"pairs": len(outcomes)}
    for name in Outcome._fields:
        ran: list[Ran] = [getattr(outcome, name) for outcome in outcomes]
        found[f"{name}_calls"] = round(statistics.fmean(one.calls for one in ran), 2)
        found[f"{name}_recall"] = round(100 * statistics.fmean(one.recall for one in ran), 1)
    found["remembered"] = sum(outcome.with_memory.remembered for outcome in outcomes)
    return found


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__)
    parser.add_argument("path", nargs="+", type=Path, metavar="FILE", help="HotpotQA or MuSiQue file")
    parser.add_argument("--pairs", type=int, default=40, metavar="N", help="pairs of each file (default: 40)")
    parser.add_argument("--home", type=Path, help="keep documents and vectors here for the next time")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    table: list[dict[str, object]] = []
    with kept_or_thrown_away(arguments.home) as home:
        for path in arguments.path:
            try:
                outcomes = asyncio.run(measure(path, arguments.pairs, Bench(home, Settings())))
            except UnknownFormat as error:
                parser.error(str(error))
            table += [{"file": path.stem, "half": half, **figures(outcomes[part])} for half, part in HALVES.items()]
    if arguments.json:
        print(json.dumps(table))
        return
    for row in table:
        print("\n".join(f"{name:20} {value}" for name, value in row.items()) + "\n")


if __name__ == "__main__":
    main()
