"""Run queries in a separate process, so that no statement can crash the worker or exceed its time limit.

Each request starts a process: the databases and the statement are passed as JSON, a table or an error is returned.
The engine interrupts a statement at its time limit; a statement that does not react ends with its process.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from pydantic import TypeAdapter

from tenure.sources.isolation import build_child_environment, limit_memory
from tenure.sources.parsers.unpacking import unpack
from tenure.sources.tables.catalogue import Database, ResultTable, Table
from tenure.sources.tables.pinned_files import open_databases
from tenure.sources.tables.sql_engine import SqlEngine, SqlError, SqlLimits, SqlTimeout, is_type_mismatch
from tenure.sources.tables.sql_guard import SqlRefused

_START_SECONDS: Final = 20.0
"""Time for starting, opening databases and interrupting, in addition to the limit of the statement."""
_PROCESS_MEMORY_MB: Final = 1024
"""Memory of the process in addition to the engine: libraries, and a workbook while it is loaded."""
_MAIN: Final = "from tenure.sources.sql_process import main; main()"
_TABLES: Final = TypeAdapter(tuple[Table, ...])
_RESULT: Final = TypeAdapter(ResultTable)
_DATABASES: Final = TypeAdapter(tuple[Database, ...])
_LIMITS: Final = TypeAdapter(SqlLimits)


def run_select(databases: Sequence[Database], sql: str, limits: SqlLimits) -> ResultTable:
    """Run one SELECT statement over databases.

    Raises:
        SqlError: the statement was refused, failed or timed out, or a database cannot be opened.
    """
    return _RESULT.validate_python(_run_process({"sql": sql}, databases, limits))


def describe_tables(databases: Sequence[Database], limits: SqlLimits, sample: int) -> tuple[Table, ...]:
    """Describe the tables of databases, each with `sample` of its first rows.

    Raises:
        SqlError: a database cannot be opened or read.
    """
    return _TABLES.validate_python(_run_process({"sample": sample}, databases, limits))


def _run_process(request: dict[str, Any], databases: Sequence[Database], limits: SqlLimits) -> Any:
    sent = json.dumps({**request, "databases": [asdict(d) for d in databases], "limits": asdict(limits)})
    # Tables are described one after the other, each within the time limit of one statement.
    seconds = limits.seconds * (1 if "sql" in request else 2 * max(len(databases), 1)) + _START_SECONDS
    try:
        # Its temporary files are deleted even if it is killed.
        with tempfile.TemporaryDirectory(prefix="tenure-sql-") as scratch:
            ended = subprocess.run(
                [sys.executable, "-c", _MAIN],
                input=sent,
                capture_output=True,
                text=True,
                timeout=seconds,
                env=build_child_environment() | {"TMPDIR": scratch},
            )
    except subprocess.TimeoutExpired as error:
        raise SqlTimeout(f"it took longer than {limits.seconds:g} s") from error
    try:
        reply = json.loads(ended.stdout)
    except ValueError as error:
        raise SqlError("its process crashed: it may have needed too much memory") from error
    if "problem" in reply:
        raise SqlError(reply["problem"])
    return reply["answer"]


def answer_request(request: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to one request; errors become part of the reply."""
    databases, limits = _DATABASES.validate_python(request["databases"]), _LIMITS.validate_python(request["limits"])
    try:
        try:
            return _execute(request, databases, limits, as_text=False)
        except SqlError as problem:
            if not is_type_mismatch(problem):
                raise
            return _execute(request, databases, limits, as_text=True)
    except (SqlError, SqlRefused) as problem:
        return {"problem": str(problem)}


def _execute(
    request: dict[str, Any], databases: Sequence[Database], limits: SqlLimits, *, as_text: bool
) -> dict[str, Any]:
    with open_databases(databases, unpack) as pinned:
        engine = SqlEngine(
            pinned.databases,
            limits,
            as_text=as_text,
            on_stuck=lambda: _exit_with_timeout(limits),
            problems=pinned.problems,
        )
        try:
            if "sql" in request:
                return {"answer": _RESULT.dump_python(engine.run_select(request["sql"]), mode="json")}
            return {"answer": _TABLES.dump_python(engine.describe_tables(request["sample"]), mode="json")}
        finally:
            engine.close()


def _exit_with_timeout(limits: SqlLimits) -> None:
    """End the process during a statement that does not react, for example one that builds a single huge value."""
    print(json.dumps({"problem": f"it took longer than {limits.seconds:g} s"}), flush=True)
    os._exit(0)


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    limit_memory(_LIMITS.validate_python(request["limits"]).memory_mb + _PROCESS_MEMORY_MB)
    print(json.dumps(answer_request(request)))
