"""Measure answers without a model: `python -m benchmarks.answers FILE… [--half H] [--effort E] [--keep DIR] [--json]`.

Question files have the format of HotpotQA or MuSiQue, as for `benchmarks.retrieval`. The whole agent answers each
question over the pooled passages of its file, and a second time over the passages that come with the question alone,
without those that answer it. Even questions are for choosing, odd ones for reporting.

`gold shown` is the share of the supporting passages of which the report shows an excerpt, `precision` the share of its
excerpts that are from one of them. The known answer is looked for in the short answer, in the first 200 words of the
report, and anywhere; `best passage` is the share of questions whose first search result contains it. An answer of yes
or no counts only as short answer. `abstains` is the share of the second reports that give no answer and say so in every
part, `doubts` that of the first reports, which have them. `found` and `given` are the shares of the supporting passages
among the first five results of one search, and among the passages that the writer of the report was given.
"""

import argparse
import asyncio
import json
import re
import statistics
import sys
import unicodedata
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from temporalio.client import Client

from benchmarks.retrieval import HALVES, Bench, file_name, kept_or_thrown_away
from benchmarks.support.datasets import Collection, Question, UnknownFormat, collection, key, rows
from benchmarks.support.environment import stage
from tenure.contracts.base import RunId
from tenure.contracts.choices import Complexity
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.roles.writing import report_writer
from tenure.settings import Settings
from worker import build_activities
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

_AT_ONCE = 3
_FIRST = 5
"""Results of one search that count as found."""
_FIRST_WORDS = 200
"""Words at the beginning of a report that a reader sees first."""


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question with its known answer."""

    question: Question
    """The question, whose judgements name the supporting passages."""
    answers: tuple[str, ...]
    """The answer and its other forms."""
    distractors: tuple[str, ...]
    """Passages that come with the question and do not support the answer."""


class Tried(NamedTuple):
    """Result of one question: shares of its supporting passages, and places of the answer."""

    gold_shown: float
    short_answer: float
    first_words: float
    anywhere: float
    precision: float
    abstains: float
    doubts: float
    best_passage: float
    found: float
    given: float
    excerpts: float
    words: float


def load_questions(path: Path, one: Collection) -> list[AnsweredQuestion]:
    """Read the known answers of a multi-hop file, in the order of the collection."""
    by_text = {row["question"]: row for row in rows(path)}
    return [_build_question(question, by_text[question.text]) for question in one.questions]


def _build_question(question: Question, row: dict[str, Any]) -> AnsweredQuestion:
    keys = dict.fromkeys(key(paragraph) for paragraph in row["paragraphs"])
    answers = (str(row["answer"]), *map(str, row.get("answer_aliases", ())))
    return AnsweredQuestion(question, answers, tuple(name for name in keys if name not in question.grades))


def contains_answer(text: str, answers: Iterable[str]) -> bool:
    """Return whether a text contains one of the answers as whole words, without regard to case and punctuation."""
    words = f" {normalize_answer(text)} "
    return any(f" {wanted} " in words for answer in answers if (wanted := normalize_answer(answer)))


def normalize_answer(text: str) -> str:
    """Return a text in lower case without accents, punctuation and articles."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(char))
    plain = re.sub(r"(?<=\d),(?=\d)", "", plain)
    return " ".join(word for word in re.findall(r"\w+", plain) if word not in {"a", "an", "the"})


def judge_report(result: Result, asked: AnsweredQuestion, named: dict[str, str]) -> dict[str, float]:
    """Judge a report by the known answer and the supporting passages.

    Args:
        result: the report.
        asked: the question.
        named: keys of the passages, by file name.
    """
    gold = asked.question.grades.keys()
    keys = {source.n: named.get(Path(source.uri).name, "") for source in result.sources}
    claims = [claim for section in result.sections for claim in section.claims]
    excerpts = [
        {keys[citation.source] for citation in claim.citations} for claim in claims if claim.begins == "excerpt"
    ]
    short = result.short_answer.text if result.short_answer else ""
    words = " ".join([short, ".", *(claim.text for claim in claims)]).split()
    is_choice = {normalize_answer(answer) for answer in asked.answers} <= {"yes", "no"}
    texts = {
        "short_answer": normalize_answer(short) if is_choice else short,
        "first_words": "" if is_choice else " ".join(words[:_FIRST_WORDS]),
        "anywhere": "" if is_choice else " ".join(words),
    }
    return {
        "gold_shown": len(gold & set().union(*excerpts)) / len(gold),
        **{name: float(contains_answer(text, asked.answers)) for name, text in texts.items()},
        "precision": statistics.fmean(bool(sources & gold) for sources in excerpts) if excerpts else 0.0,
        "excerpts": float(len(excerpts)),
        "words": float(len(words)),
    }


def abstains(result: Result) -> bool:
    """Return whether a report gives no short answer and says in every part that none is found for certain."""
    is_open = all(any(claim.kind == "gap" for claim in section.claims) for section in result.sections)
    return result.short_answer is None and (is_open or result.status == "no_evidence")


class Trial:
    """Runs of the agent over one collection."""

    def __init__(self, client: Client, knowledge: KnowledgeBase, one: Collection, effort: Complexity | None) -> None:
        """Use a knowledge base that holds the collection and one corpus of distractors for each question."""
        self._client = client
        self._knowledge = knowledge
        self._named = {file_name(name): name for name in one.documents}
        self._corpus = one.name
        self._limits = RunLimits(effort=effort)
        self.results: dict[str, tuple[Result, Result]] = {}

    async def try_question(self, asked: AnsweredQuestion) -> Tried:
        """Ask a question with and without the passages that support its answer."""
        result, name = await self._run(asked.question.text, self._corpus)
        without, _ = await self._run(asked.question.text, name_distractors(self._corpus, asked))
        self.results[asked.question.text] = (result, without)
        search = SearchRequest(query=asked.question.text, corpora=(self._corpus,), k=_FIRST)
        first = (await asyncio.to_thread(self._knowledge.retrieval.search, search)).passages
        texts = [passage.text for passage in self._knowledge.corpora.load_passages(first[:1])]
        given = await self._load_dossier(name)
        return Tried(
            **judge_report(result, asked, self._named),
            abstains=float(abstains(without)),
            doubts=float(abstains(result)),
            best_passage=float(contains_answer(" ".join(texts), asked.answers)),
            found=self._measure_share(asked, first),
            given=self._measure_share(asked, given),
        )

    async def _run(self, question: str, corpus: str) -> tuple[Result, RunId]:
        name = RunId(f"answer-{uuid.uuid4().hex[:10]}")
        request = RunRequest(question=question, mode="research", corpora=(corpus,), limits=self._limits)
        result = await self._client.execute_workflow(AgentWorkflow.run, request, id=name, task_queue=TENURE_QUEUE)
        return result, name

    async def _load_dossier(self, run: RunId) -> tuple[PassageRef, ...]:
        """Return the passages that the writer of a report was given; none if nothing was found."""
        history = await self._client.get_workflow_handle(f"{run}/research").fetch_history()
        for event in history.events:
            started = event.activity_task_scheduled_event_attributes
            if started.activity_type.name == report_writer.ROLE.name:
                payloads = started.input.payloads
                [request] = await self._client.data_converter.decode(payloads, [report_writer.ROLE.request_type])
                return tuple(request.evidence)
        return ()

    def _measure_share(self, asked: AnsweredQuestion, refs: Sequence[PassageRef]) -> float:
        passages = self._knowledge.corpora.load_passages(list(dict.fromkeys(refs)))
        keys = {self._named.get(Path(passage.uri).name) for passage in passages}
        return len(keys & asked.question.grades.keys()) / len(asked.question.grades)


def name_distractors(corpus: str, asked: AnsweredQuestion) -> str:
    """Return the name of the corpus without the passages that answer a question."""
    return f"{corpus}-{file_name(asked.question.text)[:12]}"


async def measure(
    path: Path, bench: Bench, effort: Complexity | None, half: str, limit: int | None, keep: Path | None
) -> tuple[Collection, list[Tried]]:
    """Answer the first questions of one half of a file, or of all of them."""
    one = collection(path)
    questions = load_questions(path, one)[HALVES[half]][:limit]
    bench.ingest(one.name, [one])
    for asked in questions:
        documents = {name: one.documents[name] for name in asked.distractors}
        bench.ingest(name_distractors(one.name, asked), [Collection(one.name, documents, ())], base=one.name)
    knowledge = bench.knowledge(one.name)
    async with stage(build_activities(None, knowledge), archive=knowledge.runs) as client:
        trial = Trial(client, knowledge, one, effort)
        gate = asyncio.Semaphore(_AT_ONCE)

        async def try_one(asked: AnsweredQuestion) -> Tried:
            async with gate:
                return await trial.try_question(asked)

        tried = await asyncio.gather(*map(try_one, questions))
    if keep is not None:
        _keep_results(keep / f"{one.name}-{half}.jsonl", questions, tried, trial)
    return one, list(tried)


def _keep_results(file: Path, questions: Sequence[AnsweredQuestion], tried: Sequence[Tried], trial: Trial) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as lines:
        for asked, figures in zip(questions, tried, strict=True):
            result, without = trial.results[asked.question.text]
            document = {
                "question": asked.question.text,
                "answers": asked.answers,
                "figures": figures._asdict(),
                "result": result.model_dump(mode="json"),
                "without": without.model_dump(mode="json"),
            }
            lines.write(json.dumps(document) + "\n")


def summarize(tried: Sequence[Tried]) -> dict[str, float]:
    """Return the mean of every figure, in percent except for the numbers of excerpts and of words."""
    means = {
        name: statistics.fmean(values) for name, values in zip(Tried._fields, zip(*tried, strict=True), strict=True)
    }
    return {name: round(mean if name in ("excerpts", "words") else 100 * mean, 1) for name, mean in means.items()}


def _list_rows(one: Collection, tried: Sequence[Tried], half: str) -> Iterator[dict[str, object]]:
    parts = {"even": tried[::2], "odd": tried[1::2], "all": tried} if half == "all" else {half: tried}
    for name, part in parts.items():
        yield {"collection": one.name, "half": name, "questions": len(part), **summarize(part)}


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=__doc__)
    parser.add_argument("path", nargs="+", type=Path, metavar="FILE", help="HotpotQA or MuSiQue file")
    parser.add_argument("--half", choices=sorted(HALVES), default="all", help="questions to ask (default: all)")
    parser.add_argument("--questions", type=int, metavar="N", help="ask the first N of them (default: all)")
    parser.add_argument("--effort", choices=["simple", "moderate", "complex"], help="of each run (default: routed)")
    parser.add_argument("--home", type=Path, metavar="DIR", help="keep documents and vectors here for the next time")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="folder for the reports (default: none)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    table: list[dict[str, object]] = []
    with kept_or_thrown_away(arguments.home) as home:
        for path in arguments.path:
            try:
                bench = Bench(home, Settings())
                measured = measure(path, bench, arguments.effort, arguments.half, arguments.questions, arguments.keep)
                table += _list_rows(*asyncio.run(measured), arguments.half)
            except UnknownFormat as error:
                parser.error(str(error))
    if arguments.json:
        print(json.dumps(table))
        return 0
    for name in table[0]:
        print(f"{name:18}" + "".join(f"{row[name]!s:>14}" for row in table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
