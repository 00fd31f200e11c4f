"""Measure the repair of known bugs: `python -m benchmarks.coding {humanevalfix,quixbugs} FILE [--json]`.

`humanevalfix` reads the Python tasks of HumanEvalFix. A scripted model server answers with the buggy program first and,
after a failure, with the fixed one. The figures are the runs that pass, their number of attempts, and the runs that
pass with the buggy program.

`quixbugs` reads the QuixBugs programs that have cases as JSON and repairs them offline, by search only, one at a time.
The search sees the cases of `--visible`, all of them by default; each repaired program is then tested with all cases,
and refuted ones are counted. Operators were chosen on the even-numbered programs of the file, so the odd ones are
reported separately.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio.client import Client

from activities.sandbox import SandboxActivities
from benchmarks.support.environment import stage
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.contracts.sandbox import CallCase, InputFile, TestRun
from tenure.models.chat import ChatModel
from tenure.models.openai.chat import OpenAIChat
from tenure.sandbox.base import Sandbox
from tenure.sandbox.choice import make_sandbox
from tenure.settings import Settings
from tests.model_server import ModelServer
from tests.support.worlds import MemoryKnowledge
from worker import build_activities, collect_activities
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import SANDBOX_QUEUE, TENURE_QUEUE

Figures = dict[str, float | int | str]
Row = Mapping[str, Any]

_PYTHON = Path(sys.executable)
"""The tasks need no package but pytest, which this one has."""

_LIMITS = RunLimits(program_seconds=20, repair_seconds=0, max_code_attempts=3)
_SEARCH = RunLimits(program_seconds=10, repair_seconds=40, max_code_attempts=3)


@dataclass(frozen=True)
class Repaired:
    """Result of one program."""

    name: str
    even: bool
    green: bool
    refuted: bool
    seconds: float
    how: str


@asynccontextmanager
async def serving(chat: ChatModel | None, box: Sandbox, home: Path) -> AsyncIterator[Client]:
    """Serve all queues on a Temporal server of their own, with the real sandbox and nothing to read."""
    methods = build_activities(chat, MemoryKnowledge({}))  # type: ignore[arg-type]
    methods[SANDBOX_QUEUE] = collect_activities(SandboxActivities(box, home / "artifacts"))
    async with stage(methods) as client:
        yield client


async def written(client: Client, request: RunRequest) -> Result:
    """Run a coding task."""
    name = f"code-{uuid.uuid4().hex[:10]}"
    return await client.execute_workflow(AgentWorkflow.run, request, id=name, task_queue=TENURE_QUEUE)


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _program(row: Row, which: str) -> str:
    return f"{row['declaration']}{row[which]}"


def _tests(row: Row) -> str:
    """Return the task's check as a file of pytest."""
    entry = row["entry_point"]
    checks = row["test"].replace(f"\ncheck({entry})", "\n")
    return f"from solution import *\nfrom solution import {entry}\n{checks}\n\ndef test_check():\n    check({entry})\n"


async def humanevalfix(path: Path, most: int, at_once: int) -> Figures:
    """Repair every task with a model that answers correctly after it has seen the failure."""
    rows = _rows(path)[:most]
    by_mark = {f"[{row['task_id']}]": row for row in rows}

    def coder(request: Any) -> dict[str, Any]:
        prompt = request["messages"][-1]["content"]
        row = next(row for mark, row in by_mark.items() if mark in prompt)
        which = "canonical_solution" if "<failure>" in prompt else "buggy_solution"
        files = [{"path": "solution.py", "content": _program(row, which)}]
        return {"approach": which, "files": files, "entry": "", "args": [], "stdin": ""}

    with tempfile.TemporaryDirectory(prefix="tenure-coding-") as folder, ModelServer() as model:
        model.on("coder", coder)
        settings = Settings(
            openai_base_url=model.base_url, model="m", home=Path(folder), sandbox_python=_PYTHON, _env_file=None
        )
        chat, gate, began = OpenAIChat.from_settings(settings), asyncio.Semaphore(at_once), time.monotonic()
        async with serving(chat, make_sandbox(settings), Path(folder)) as client:

            async def one(row: Row) -> Result:
                task = f"Repair the function {row['entry_point']} [{row['task_id']}]: {row['docstring']}"
                tests = (InputFile(name="test_check.py", text=_tests(row)),)
                async with gate:
                    asked = RunRequest(question=task, mode="code", tests=tests, limits=_LIMITS)
                    result = await written(client, asked)
                print(row["task_id"], result.status, len(result.attempts), file=sys.stderr, flush=True)
                return result

            results = await asyncio.gather(*(one(row) for row in rows))
        await chat.aclose()
    named = list(zip([row["task_id"] for row in rows], results, strict=True))
    return {
        "tasks": len(rows),
        "green": sum(result.status == "done" for result in results),
        "green_in_two_attempts": sum(result.status == "done" and len(result.attempts) == 2 for result in results),
        "green_on_the_buggy_program": sum(bool(r.attempts) and r.attempts[0].error is None for r in results),
        "not_green": ", ".join(f"{name}: {_why(result)}" for name, result in named if result.status != "done"),
        "seconds": round(time.monotonic() - began, 1),
    }


def _why(result: Result) -> str:
    return next((attempt.error for attempt in reversed(result.attempts) if attempt.error), result.status)[:200]


def _cases(row: Row, share: float) -> tuple[CallCase, ...]:
    """Return the first cases of a program, the given share of them and at least one."""
    cases = [
        CallCase(function=row["name"], args=tuple(given if isinstance(given, list) else [given]), expected=expected)
        for given, expected in row["json_cases"]
    ]
    return tuple(cases[: max(1, round(share * len(cases)))])


async def quixbugs(path: Path, most: int, visible: float) -> Figures:
    """Repair every program by search, and test what came out with all of its cases."""
    rows = [(number, row) for number, row in enumerate(_rows(path)) if row["json_cases"]][:most]
    with tempfile.TemporaryDirectory(prefix="tenure-coding-") as folder:
        box = make_sandbox(Settings(home=Path(folder), sandbox_python=_PYTHON, _env_file=None))
        async with serving(None, box, Path(folder)) as client:
            done = [await _repaired(client, box, Path(folder), n, row, visible) for n, row in rows]
    return dict(_told(done, visible))


async def _repaired(client: Client, box: Sandbox, home: Path, number: int, row: Row, visible: float) -> Repaired:
    file = InputFile(name=f"{row['name']}.py", text=row["buggy"])
    cases = json.dumps([case.model_dump(mode="json") for case in _cases(row, visible)])
    request = RunRequest(
        question=f"Repair the function {row['name']}",
        mode="code",
        files=(file,),
        tests=(InputFile(name="cases.json", text=cases),),
        limits=_SEARCH,
    )
    began = time.monotonic()
    result = await written(client, request)
    seconds = time.monotonic() - began
    green = result.status == "done"
    whole = TestRun(files=(InputFile(name=file.name, text=result.code or row["buggy"]),), cases=_cases(row, 1.0))
    refuted = green and (await box.test(whole, home / "refuted")).verdict != "passed"
    print(row["name"], result.status, f"{seconds:.1f} s", file=sys.stderr, flush=True)
    return Repaired(row["name"], number % 2 == 0, green, refuted, seconds, result.attempts[-1].approach)


def _told(done: Sequence[Repaired], visible: float) -> Iterator[tuple[str, float | int | str]]:
    for which, some in (("even", [r for r in done if r.even]), ("odd", [r for r in done if not r.even]), ("all", done)):
        good = sum(one.green and not one.refuted and one.seconds <= 60 for one in some)
        yield f"{which}_programs", len(some)
        yield f"{which}_repaired_within_60_s", good
        yield f"{which}_share", round(good / len(some), 3) if some else 0.0
    yield "visible_cases", visible
    yield "green_but_refuted", ", ".join(one.name for one in done if one.refuted)
    yield "slowest_seconds", round(max((one.seconds for one in done), default=0.0), 1)
    yield "not_repaired", ", ".join(one.name for one in done if not one.green)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coding", description=__doc__)
    parser.add_argument("which", choices=["humanevalfix", "quixbugs"])
    parser.add_argument("file", type=Path, metavar="FILE", help="the tasks, one JSON object a line")
    parser.add_argument("--tasks", type=int, default=1000, metavar="N", help="maximum number of tasks")
    parser.add_argument("--at-once", type=int, default=3, metavar="N", help="runs side by side (humanevalfix)")
    parser.add_argument("--visible", type=float, default=1.0, metavar="SHARE", help="share of cases seen (quixbugs)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    if arguments.which == "humanevalfix":
        figures = asyncio.run(humanevalfix(arguments.file, arguments.tasks, arguments.at_once))
    else:
        figures = asyncio.run(quixbugs(arguments.file, arguments.tasks, arguments.visible))
    print(json.dumps(figures) if arguments.json else "\n".join(f"{name:28} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
