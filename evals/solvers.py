"""Solvers: Tenure as a program uses it, and a model with one search."""

import asyncio
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from inspect_ai.model import ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

# `inspect` puts the folder of a solver on the path, but not the checkout.
sys.path.insert(0, str(Path(__file__).parents[1]))

from evals.answers import Answer
from tenure.contracts.result.result import Result, ResultClaim
from tenure.local_models.choice import choose_model
from tenure.python_api import open_run, start
from tenure.runs.errors import UsedRunId
from tenure.runs.messages import IngestBody, SearchBody
from tenure.runs.run_ids import make_corpus_name
from tenure.runs.service import open_service
from tenure.settings import Settings

DOCS = "docs"
"""Key of the paths that a question is answered from, in the metadata of a sample."""
_ONE_SEARCH_PROMPT = """\
Answer the question from the passages alone.

Write two lines. The first one holds the answer in as few words as possible, or the word "unknown" if the passages do
not give it. The second one holds the numbers of the passages that the answer rests on.

Question: {question}

Passages:

{passages}"""
_ROOT = Path(__file__).parents[1]
_CODE = ("tenure", "workflows", "activities", "worker.py")
"""Code that an answer of Tenure depends on."""


@solver
def tenure(trial: str = "", **options: Any) -> Solver:
    """Answer each question by a run of Tenure.

    The id of a run is made from everything that its answer depends on: an evaluation that was killed finds its runs
    again, whether they have ended or still work, and pays for none of them twice.

    Args:
        trial: any name, by which the same conditions are run once more.
        **options: options of `tenure.python_api.start`.
    """
    conditions = _describe_conditions(trial, options)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        question, docs = state.input_text, state.metadata[DOCS]
        run_id = _name_run(f"{state.sample_id}-{state.epoch}", [*conditions, question, *docs])
        try:
            run = await start(question, id=run_id, docs=docs, memory=False, **options)
        except UsedRunId:
            run = await open_run(run_id)
        result = await run.wait()
        answer = _fill_answer(state.store_as(Answer), result)
        state.metadata["run"] = run_id
        state.output = ModelOutput.from_content("tenure", answer.text or result.abstract)
        return state

    return solve


@solver
def one_search(passages: int = 8) -> Solver:
    """Ask a model once, with the first passages of one search, as the plainest system with sources does."""
    read: set[str] = set()
    reading = asyncio.Lock()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        service = await open_service(choose_model(Settings()))
        docs = state.metadata[DOCS]
        corpus = make_corpus_name(map(Path, docs))
        async with reading:
            if corpus not in read:
                ingestion = await service.ingest(IngestBody(paths=docs))
                await (await service.connect()).get_workflow_handle(ingestion.id).result()
                read.add(corpus)
        body = SearchBody(words=state.input_text, corpora=(corpus,), limit=passages)
        found = (await service.search(body)).passages
        shown = "\n\n".join(f"[{n}] {passage.text}" for n, passage in enumerate(found, start=1))
        reply = await get_model().generate(_ONE_SEARCH_PROMPT.format(question=state.input_text, passages=shown))
        answer = state.store_as(Answer)
        answer.text, numbers = read_two_lines(reply.completion)
        answer.cited = sorted({Path(found[n - 1].uri).name for n in numbers if 0 < n <= len(found)})
        answer.report_cited = answer.cited
        answer.model_calls, answer.searches, answer.words = 1, 1, len(answer.text.split())
        answer.tokens = reply.usage.total_tokens if reply.usage else 0
        state.output = reply
        return state

    return solve


def read_two_lines(reply: str) -> tuple[str, list[int]]:
    """Return the answer of a reply of two lines, empty if it is unknown, and the numbers of its passages."""
    text, _, numbers = reply.strip().partition("\n")
    is_known = text.strip().casefold().strip('."') != "unknown"
    return text.strip() if is_known else "", [int(number) for number in re.findall(r"\d+", numbers)]


def _fill_answer(answer: Answer, result: Result) -> Answer:
    short = [result.short_answer] if result.short_answer else []
    sections = [claim for section in result.sections for claim in section.claims]
    claims = [*short, *result.abstract_claims, *sections, *(result.synthesis.claims if result.synthesis else ())]
    used = result.usage
    answer.text = short[0].text if short else ""
    answer.cited = _list_cited(result, short)
    answer.report_cited = _list_cited(result, claims)
    answer.sentences = [(claim.text, _list_cited(result, [claim])) for claim in claims]
    answer.model_calls, answer.searches, answer.cost_usd = used.model_calls, used.searches, used.cost_usd
    answer.tokens = used.tokens_in + used.tokens_out
    answer.words = sum(len(claim.text.split()) for claim in claims)
    return answer


def _list_cited(result: Result, claims: Iterable[ResultClaim]) -> list[str]:
    """Return the file names of the sources that claims cite."""
    names = {source.n: Path(source.uri).name for source in result.sources}
    return sorted({names[citation.source] for claim in claims for citation in claim.citations})


def _describe_conditions(trial: str, options: Mapping[str, Any]) -> list[str]:
    """Return the conditions of every answer of an evaluation, with the state of the code."""
    settings = choose_model(Settings()).model_dump_json()
    commit, changes = (read_git(*words) for words in (("rev-parse", "HEAD"), ("diff", "HEAD", "--", *_CODE)))
    return [trial, json.dumps(options, sort_keys=True, default=str), settings, commit, changes]


def read_git(*words: str) -> str:
    """Return the output of a git command in the checkout."""
    return subprocess.run(["git", *words], cwd=_ROOT, check=True, capture_output=True, text=True).stdout


def _name_run(sample: str, conditions: list[str]) -> str:
    digest = hashlib.sha256(json.dumps(conditions).encode()).hexdigest()[:12]
    return f"eval-{sample}-{digest}"
