"""Measure the first answer over an unread folder: `python -m benchmarks.cold_start PATH [--run] [--json]`.

PATH is a folder of documents, or a BEIR folder, a HotpotQA or a MuSiQue file. It is read without embeddings and
queried;
then it is embedded and queried again. Recall is the share of the relevant documents among the first five or ten, in
percent; even questions are for choosing settings, odd ones for reporting. For a folder of documents each question is a
document's title or a sentence of its middle.

With `--run`, `client.py start` answers a question over the folder in a separate home instead: the seconds from the
start of the run to its first search and to the writing of its report are read from its history.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.service import RPCError

from benchmarks.start import environment
from benchmarks.support.datasets import UnknownFormat, collection
from tenure.algorithms.text.sentences import split_sentences
from tenure.contracts.evidence.corpora import IngestProgress, IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.files.discovery import discover_files
from tenure.knowledge.base import KnowledgeBase
from tenure.models.minilm.model import MiniLM
from tenure.settings import Settings
from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.parse import parse_file
from tenure.temporal.converter import DATA_CONVERTER

_ROOT = Path(__file__).resolve().parents[1]
_QUESTION = "How did Python get type hints, and what do they cost?"
_CORPUS = "benchmark"
_PASSAGES = 24
"""Passages of a search, as many as a run's first one asks for."""


class Asked(NamedTuple):
    """A question, and the names of the files that answer it."""

    text: str
    wanted: frozenset[str]


def asked_of(folder: Path, count: int) -> list[Asked]:
    """Make up questions about a folder: in turns the title of a document, and a sentence of its middle."""
    files = [Path(file.path) for file in discover_files([folder.absolute()]).files]
    found: list[Asked] = []
    for number, path in enumerate(files[:: max(1, len(files) // count)][:count]):
        try:
            document = parse_file(path)
        except Unreadable:
            continue
        title = document.title.rpartition(": ")[2]
        middle = [
            one.text for one in split_sentences(document.text) if one.kind == "prose" and 60 <= len(one.text) <= 300
        ]
        # Pairs, so that both halves have both kinds.
        text = title if number % 4 < 2 or not middle else middle[len(middle) // 2]
        found.append(Asked(text, frozenset([path.name])))
    return found


def written(path: Path, folder: Path) -> list[Asked]:
    """Write the documents of a judged collection as files, and return its questions."""
    judged = collection(path)
    names = {key: f"{number}.md" for number, key in enumerate(judged.documents)}
    folder.mkdir()
    for key, document in judged.documents.items():
        text = f"# {' '.join(document.title.split())}\n\n{document.text}\n"
        (folder / names[key]).write_text(text, encoding="utf-8")
    return [Asked(one.text, frozenset(names[key] for key in one.grades)) for one in judged.questions]


def measure(folder: Path, questions: Sequence[Asked], home: Path, settings: Settings) -> dict[str, float]:
    """Read a folder, ask, embed, and ask again."""
    model = MiniLM(settings.home.absolute() / "models", threads=settings.embedding_threads)
    model.embed(["warm up"])
    knowledge = KnowledgeBase(str(home / "knowledge"), model, settings.model_copy(update={"cold_start_chunks": 0}))
    started = time.perf_counter()
    report = knowledge.corpora.ingest(IngestRequest(corpus=_CORPUS, paths=(str(folder.absolute()),)), _ignore)
    read = time.perf_counter() - started
    knowledge.retrieval.search(SearchRequest(query=questions[0].text, corpora=(_CORPUS,), k=_PASSAGES))
    first = time.perf_counter() - started
    cold = dict(_recalls(knowledge, questions, "cold"))
    began = time.perf_counter()
    knowledge.corpora.embed(_CORPUS, _ignore)
    figures = {"chunks": report.chunks, "read_seconds": read, "first_search_seconds": first}
    figures |= {"embedding_seconds": time.perf_counter() - began}
    warm = dict(_recalls(knowledge, questions, "warm"))
    return {name: round(value, 1) for name, value in (figures | cold | warm).items()}


def _recalls(knowledge: KnowledgeBase, questions: Sequence[Asked], state: str) -> Iterator[tuple[str, float]]:
    rankings, times = [], []
    for question in questions:
        started = time.perf_counter()
        request = SearchRequest(query=question.text, corpora=(_CORPUS,), k=_PASSAGES)
        found = knowledge.retrieval.search(request).passages
        times.append(1000 * (time.perf_counter() - started))
        rankings.append(
            list(dict.fromkeys(Path(passage.uri).name for passage in knowledge.corpora.load_passages(found)))
        )
    for half, part in (("even", slice(0, None, 2)), ("odd", slice(1, None, 2))):
        for k in (5, 10):
            shares = [
                len(question.wanted & set(ranking[:k])) / len(question.wanted)
                for question, ranking in zip(questions[part], rankings[part], strict=True)
            ]
            yield f"{state}_recall_{k}_{half}", 100 * statistics.fmean(shares)
    yield f"{state}_search_ms", statistics.median(times)


def run(folder: Path, question: str, home: Path) -> dict[str, float]:
    """Run a question over a folder; return the times of the first search and of the writing of the report.

    Raises:
        RuntimeError: the run did not end in a report.
    """
    around = environment(home)
    client = (sys.executable, str(_ROOT / "client.py"))
    try:
        subprocess.run([*client, "up"], env=around, stdout=subprocess.DEVNULL, check=True)
        start = (*client, "start", question, "--docs", str(folder), "--id", "cold", "--json")
        ended = subprocess.run(start, env=around, capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            raise RuntimeError(f"`start` ended with {ended.returncode}: {ended.stderr}")
        figures = asyncio.run(_times(f"127.0.0.1:{around['TENURE_TEMPORAL_PORT']}"))
    finally:
        subprocess.run([*client, "down"], env=around, stdout=subprocess.DEVNULL, check=True)
    share = json.loads(ended.stdout)["usage"]["embedded_share"]
    return figures | {"run_embedded_share": round(share, 3)}


async def _times(address: str) -> dict[str, float]:
    client = await Client.connect(address, data_converter=DATA_CONVERTER)
    began = (await client.get_workflow_handle("cold").describe()).start_time.timestamp()
    searches = [at async for at in _starts(client, "cold", "search_passages")]
    writers = [at async for at in _starts(client, "cold/research", "report_writer")]
    return {"run_search_seconds": round(min(searches) - began, 1), "run_writer_seconds": round(min(writers) - began, 1)}


async def _starts(client: Client, workflow: str, activity: str) -> AsyncIterator[float]:
    """Yield the start times of the activities of a name in a workflow, none if the workflow does not exist."""
    scheduled = set()
    try:
        async for event in client.get_workflow_handle(workflow).fetch_history_events():
            planned = event.activity_task_scheduled_event_attributes
            if planned.activity_type.name == activity:
                scheduled.add(event.event_id)
            begun = event.activity_task_started_event_attributes
            if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED and begun.scheduled_event_id in scheduled:
                yield event.event_time.ToNanoseconds() / 1e9
    except RPCError:
        return


def _ignore(_: IngestProgress) -> None:
    """Ignore the progress."""


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_start", description=__doc__)
    parser.add_argument("path", type=Path, help="folder of documents, or judged questions with theirs")
    parser.add_argument("--questions", type=int, default=80, help="questions about a folder of documents")
    parser.add_argument("--run", action="store_true", help="time a run of the product instead")
    parser.add_argument("--question", default=_QUESTION, help=f"what the run is asked; default: {_QUESTION}")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as name:
        home, folder = Path(name), arguments.path
        try:
            questions = written(arguments.path, folder := home / "documents")
        except UnknownFormat:
            folder = arguments.path
            questions = asked_of(folder, arguments.questions)
        if arguments.run:
            figures = run(folder, arguments.question, home / "home")
        else:
            figures = measure(folder, questions, home, Settings())
    if arguments.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name.replace('_', ' '):24} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
