"""Compare the research loop with one search: `python -m benchmarks.research.spiral FILE… [--questions N] [--json]`.

Question files have the format of HotpotQA or MuSiQue. The paragraphs of each are pooled into a knowledge base, and the
research loop runs for every question without a model. The figure is the number of questions whose supporting paragraphs
were all accepted; the baseline of the same run is one hybrid search that returns as many passages. Even questions are
for choosing, odd ones for reporting.
"""

import argparse
import asyncio
import json
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio.client import Client

from benchmarks.support.environment import stage
from benchmarks.support.stub_workflows import StubWorkflow
from tenure.algorithms.research.effort import EFFORT_WITHOUT_MODEL
from tenure.contracts.base import RunId
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import SpiralRequest, SpiralResult
from tenure.contracts.run.run import RunLimits
from tenure.knowledge.base import KnowledgeBase
from tenure.models.factory import create_embedding_model
from tenure.settings import Settings
from worker import build_activities
from workflows.runtime.task_queues import TENURE_QUEUE

_CORPUS = "pooled"
_AT_ONCE = 4
_LIMITS = RunLimits(min_relevance=0.3, max_per_source=5)


@dataclass(frozen=True)
class Asked:
    """A question and the titles of the paragraphs that answer it together."""

    question: str
    supporting: frozenset[str]


def read(path: Path) -> tuple[list[Asked], dict[str, str]]:
    """Return the questions of a file, and its paragraphs by their titles."""
    questions: list[Asked] = []
    paragraphs: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        supporting = set()
        for paragraph in row["paragraphs"]:
            text = paragraph.get("text") or "".join(paragraph["sentences"])
            name = f"{paragraph['title']}\n{text[:60]}"
            paragraphs[name] = f"# {paragraph['title']}\n\n{text}"
            if _supports(paragraph, row):
                supporting.add(name)
        questions.append(Asked(row["question"], frozenset(supporting)))
    return questions, paragraphs


def _supports(paragraph: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    if "is_supporting" in paragraph:
        return bool(paragraph["is_supporting"])
    return paragraph["title"] in {title for title, _ in row["supporting_facts"]}


def ingest(knowledge: KnowledgeBase, paragraphs: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Put every paragraph into the knowledge base; return its name by the address of its source."""
    names = {}
    for number, (name, text) in enumerate(paragraphs.items()):
        file = folder / f"{number}.md"
        file.write_text(text, encoding="utf-8")
        names[str(file)] = name
    knowledge.corpora.ingest(IngestRequest(corpus=_CORPUS, paths=(str(folder),)), lambda progress: None)
    return names


async def gather(client: Client, knowledge: KnowledgeBase, questions: Sequence[Asked]) -> list[SpiralResult]:
    """Run the research loop for every question."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(asked: Asked) -> SpiralResult:
        async with gate:
            name = RunId(f"spiral-{uuid.uuid4().hex[:10]}")
            request = SpiralRequest(
                run=name,
                question=asked.question,
                corpora=(_CORPUS,),
                limits=_LIMITS,
                complexity="complex",
                effort=EFFORT_WITHOUT_MODEL["complex"],
                outline=(Topic(heading=asked.question[:160], question=asked.question),),
                evidence=_search(knowledge, asked.question, 24),
            )
            return await client.execute_workflow(StubWorkflow.run, request, id=name, task_queue=TENURE_QUEUE)

    return await asyncio.gather(*(one(asked) for asked in questions))


def _search(knowledge: KnowledgeBase, query: str, k: int) -> tuple[PassageRef, ...]:
    return knowledge.retrieval.search(SearchRequest(query=query, corpora=(_CORPUS,), k=k)).passages


async def measure(path: Path, most: int) -> dict[str, float | int | str]:
    """Measure one file."""
    questions, paragraphs = read(path)
    with tempfile.TemporaryDirectory(prefix="tenure-spiral-") as home:
        settings = Settings(home=Path(home), cold_start_chunks=100_000, _env_file=None)
        knowledge = KnowledgeBase(settings.knowledge_uri, create_embedding_model(settings), settings)
        (folder := Path(home) / "paragraphs").mkdir()
        names = ingest(knowledge, paragraphs, folder)
        async with stage(build_activities(None, knowledge), [StubWorkflow]) as client:
            results = await gather(client, knowledge, questions[:most])
        rows = list(_compared(knowledge, questions[:most], results, names))
    return {"file": path.name, **_shares("even", rows[::2]), **_shares("odd", rows[1::2]), **_shares("all", rows)}


@dataclass(frozen=True)
class _Row:
    spiral: bool
    one_shot: bool
    passages: int
    cycles: int


def _compared(
    knowledge: KnowledgeBase, questions: Sequence[Asked], results: Sequence[SpiralResult], names: Mapping[str, str]
) -> Iterator[_Row]:
    """Yield whether all that supports an answer was accepted, and whether one search of that size has it."""
    for asked, result in zip(questions, results, strict=True):
        accepted = {passage.chunk: passage for aim in result.state.topics for passage in aim.passages}
        once = _search(knowledge, asked.question, max(1, len(accepted)))
        found = [_names(knowledge, passages, names) for passages in (tuple(accepted.values()), once)]
        yield _Row(
            asked.supporting <= found[0],
            asked.supporting <= found[1],
            len(accepted),
            len(result.state.information_gains),
        )


def _names(knowledge: KnowledgeBase, passages: Sequence[PassageRef], names: Mapping[str, str]) -> set[str]:
    return {names[passage.uri] for passage in knowledge.corpora.load_passages(passages)}


def _shares(which: str, rows: Sequence[_Row]) -> dict[str, float | int]:
    return {
        f"{which}_questions": len(rows),
        f"{which}_spiral": round(sum(row.spiral for row in rows) / len(rows), 3),
        f"{which}_one_search": round(sum(row.one_shot for row in rows) / len(rows), 3),
        f"{which}_passages": round(sum(row.passages for row in rows) / len(rows), 1),
        f"{which}_cycles": round(sum(row.cycles for row in rows) / len(rows), 1),
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.research.spiral", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="questions with their paragraphs")
    parser.add_argument("--questions", type=int, default=100, metavar="N", help="questions of each file (default: 100)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    figures = [asyncio.run(measure(path, arguments.questions)) for path in arguments.files]
    if arguments.json:
        print(json.dumps(figures))
    else:
        print("\n\n".join("\n".join(f"{name:16} {value}" for name, value in one.items()) for one in figures))


if __name__ == "__main__":
    main()
