"""Queries in a process of their own, so that no statement can take the worker down or outstay its time.

One process a question: the databases and the statement go in as JSON, a table or a problem comes out. The engine
interrupts a statement when its time is over; one that does not hear it ends with its process.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from pydantic import TypeAdapter

from tenure.sources.isolation import confine, environment
from tenure.sources.tables.catalogue import Database, ResultTable, Table
from tenure.sources.tables.sql_engine import Engine, Limits, SqlProblem, TimedOut, mistyped
from tenure.sources.tables.sql_guard import SqlRefused

_START: Final = 20.0
"""Seconds for starting, opening and hearing an interruption, beyond the statement's own."""
_BESIDE_MB: Final = 1024
"""Megabytes that the process needs beside its engine: libraries, and a workbook while it is opened."""
_MAIN: Final = "from tenure.sources.tables.sql_process import main; main()"
_TABLES: Final = TypeAdapter(tuple[Table, ...])
_RESULT: Final = TypeAdapter(ResultTable)
_OPENED: Final = TypeAdapter(tuple[Database, ...])
_LIMITS: Final = TypeAdapter(Limits)


def select(opened: Sequence[Database], sql: str, limits: Limits) -> ResultTable:
    """Run one SELECT over databases.

    Raises:
        SqlProblem: it was refused, failed or took too long, or a database cannot be opened.
    """
    return _RESULT.validate_python(_asked({"sql": sql}, opened, limits))


def describe(opened: Sequence[Database], limits: Limits, sample: int) -> tuple[Table, ...]:
    """Describe the tables of databases, with so many of their first rows.

    Raises:
        SqlProblem: a database cannot be opened or read.
    """
    return _TABLES.validate_python(_asked({"sample": sample}, opened, limits))


def _asked(question: dict[str, Any], opened: Sequence[Database], limits: Limits) -> Any:
    sent = json.dumps({**question, "databases": [asdict(d) for d in opened], "limits": asdict(limits)})
    # The tables of a database are described one by one, each in the time of one statement.
    seconds = limits.seconds * (1 if "sql" in question else 2 * max(len(opened), 1)) + _START
    try:
        ended = subprocess.run(
            [sys.executable, "-c", _MAIN],
            input=sent,
            capture_output=True,
            text=True,
            timeout=seconds,
            env=environment(),
        )
    except subprocess.TimeoutExpired as error:
        raise TimedOut(f"it took longer than {limits.seconds:g} s") from error
    try:
        reply = json.loads(ended.stdout)
    except ValueError as error:
        raise SqlProblem("the process that ran it died: it may have asked for too much memory") from error
    if "problem" in reply:
        raise SqlProblem(reply["problem"])
    return reply["answer"]


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Answer one question, as `main` does; whatever is wrong with it is said in the answer."""
    opened, limits = _OPENED.validate_python(question["databases"]), _LIMITS.validate_python(question["limits"])
    try:
        return _answered(question, opened, limits, as_text=False)
    except SqlProblem as problem:
        if not mistyped(problem):
            return {"problem": str(problem)}
    except SqlRefused as refused:
        return {"problem": str(refused)}
    try:
        return _answered(question, opened, limits, as_text=True)
    except SqlProblem as problem:
        return {"problem": str(problem)}


def _answered(question: dict[str, Any], opened: Sequence[Database], limits: Limits, *, as_text: bool) -> dict[str, Any]:
    engine = Engine(opened, limits, as_text=as_text, deaf=lambda: _give_up(limits))
    try:
        if "sql" in question:
            return {"answer": _RESULT.dump_python(engine.select(question["sql"]), mode="json")}
        return {"answer": _TABLES.dump_python(engine.describe(question["sample"]), mode="json")}
    finally:
        engine.close()


def _give_up(limits: Limits) -> None:
    """End the process over a statement that does not end: one that builds a single huge value, for instance."""
    print(json.dumps({"problem": f"it took longer than {limits.seconds:g} s"}), flush=True)
    os._exit(0)


def main() -> None:
    """Answer the question on standard input."""
    question = json.load(sys.stdin)
    confine(_LIMITS.validate_python(question["limits"]).memory_mb + _BESIDE_MB)
    print(json.dumps(answer(question)))
