"""Test the solvers with a real Temporal server, a real worker and a model server."""

import asyncio
import json
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

pytest.importorskip("inspect_ai", reason="the dependency group evals is not installed")

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from evals.solvers import read_two_lines
from tests.model_server import ModelServer
from tests.support.tiers import slow
from tests.support.waiting import WAIT_SECONDS
from tests.system.test_durability import ROOT, around, worker_process

QUESTIONS = {"Who wrote Nana?": "Zola", "Who wrote Quatrevingt-treize?": "Hugo"}


def write_questions(path: Path) -> None:
    """Write questions in the format of MuSiQue."""
    rows = [
        {
            "question": question,
            "answer": author,
            "paragraphs": [
                {"title": author, "text": f"{question.removeprefix('Who wrote ')[:-1]} was written by {author}."}
                | {"is_supporting": True},
                {"title": "Bread", "text": "Bread is made from flour.", "is_supporting": False},
            ],
        }
        for question, author in QUESTIONS.items()
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


async def evaluate(folder: Path, environment: dict[str, str], *arguments: str) -> asyncio.subprocess.Process:
    """Start the command of the README over the questions in a folder."""
    command = [sys.executable, "-m", "inspect_ai", "eval", "evals/musique.py", "-T", f"file={folder / 'asked.jsonl'}"]
    options = ["--display", "plain", "--log-dir", str(folder / "logs"), *arguments]
    return await asyncio.create_subprocess_exec(*command, *options, cwd=ROOT, env=environment)


def read_logs(folder: Path) -> list[EvalLog]:
    """Return the logs of all evaluations, the oldest one first; inside an event loop Inspect would patch asyncio."""
    return [read_eval_log(info) for info in reversed(list_eval_logs(str(folder / "logs")))]


@slow
async def test_a_killed_evaluation_pays_for_nothing_twice(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """After a kill -9 in the middle the same command ends with all samples, and no request was made again."""
    write_questions(tmp_path / "asked.jsonl")
    with ModelServer() as model:
        environment = around(model, server.client, tmp_path)
        async with worker_process(environment, tmp_path / "worker.log"):
            with model.hold("report_writer") as gate:
                killed = await evaluate(tmp_path, environment)
                assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
                killed.send_signal(signal.SIGKILL)
                await killed.wait()
            assert await (await evaluate(tmp_path, environment)).wait() == 0
            asked = Counter(json.dumps(request.json, sort_keys=True) for request in model.requests)
            assert await (await evaluate(tmp_path, environment)).wait() == 0

    continued, repeated = (await asyncio.to_thread(read_logs, tmp_path))[-2:]
    assert continued.results is not None and continued.results.completed_samples == len(QUESTIONS)
    assert set(asked.values()) == {1}
    assert sum(asked.values()) == len(model.requests)
    assert repeated.results is not None and repeated.results.scores[0] == continued.results.scores[0]


@slow
async def test_a_model_with_one_search_answers_from_passages(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """The model is asked once for each question, and is shown the passage that supports the answer."""
    write_questions(tmp_path / "asked.jsonl")
    with ModelServer() as model:
        environment = around(model, server.client, tmp_path, OPENAI_API_KEY="key")
        async with worker_process(environment, tmp_path / "worker.log"):
            command = ("--solver", "evals/solvers.py@one_search", "--model", "openai/m", "-M", "responses_api=false")
            assert await (await evaluate(tmp_path, environment, *command)).wait() == 0

    prompts = [json.dumps(request.json, ensure_ascii=False) for request in model.requests]
    assert len(prompts) == len(QUESTIONS)
    assert all(any(f"written by {author}" in prompt for prompt in prompts) for author in QUESTIONS.values())


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Zola\n[1], [3]", ("Zola", [1, 3])),
        ("  Zola  ", ("Zola", [])),
        ("Unknown.\nnone", ("", [])),
        ("The Unknown Soldier\n2", ("The Unknown Soldier", [2])),
        ("", ("", [])),
    ],
)
def test_a_reply_has_two_lines(reply: str, expected: tuple[str, list[int]]) -> None:
    """The first line is the answer, empty if it is unknown, and the second one has numbers."""
    assert read_two_lines(reply) == expected
