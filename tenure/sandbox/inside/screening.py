"""Screen many candidates in one run of the sandbox, as an ordinary sandboxed program.

Each candidate gets a forked process and little time. The results are guesses and prove nothing: a candidate could
claim anything. Promising candidates are tested by the sandbox itself afterwards.

The job is in `screening.json`. A line `green N` is printed for each candidate that passed all tests, and a line
`seen COUNT` after each candidate.
"""

import importlib
import json
import math
import os
import shutil
import sys
import tempfile
import types
from collections.abc import Callable
from typing import Any

from screening_forks import GREEN, RED, apply_edits, screen_candidates  # type: ignore[import-not-found]

Tester = Callable[[Callable[[], None]], bool]
"""Test function that reports each passed test, and returns whether all passed."""


def main() -> None:
    """Screen the candidates of the job until the time is over or enough are promising."""
    with open("screening.json", encoding="utf-8") as file:
        job = json.load(file)
    tester = _by_cases(job["cases"]) if job["cases"] else _by_pytest(job["tests"])
    candidates = job["candidates"]
    times = [job["each"]] * len(candidates)
    candidate = screen_candidates(times, job["seconds"], lambda word, number: print(word, number, flush=True))
    if candidate is None:
        return
    name, edits = candidates[candidate.number]
    code = RED
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        sys.path.insert(0, _make_folder(name, apply_edits(job["sources"][name].encode(), edits)))
        code = GREEN if tester(candidate.count_pass) else RED
    finally:
        os._exit(code)


def _make_folder(name: str, source: bytes) -> str:
    """Return a folder with the candidate's files."""
    folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), "screened")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.getcwd(), folder, ignore=shutil.ignore_patterns("screening*.*", "__pycache__"))
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(source)
    os.chdir(folder)
    return folder


def _by_cases(cases: list[dict[str, Any]]) -> Tester:
    def tester(count_pass: Callable[[], None]) -> bool:
        for case in cases:
            function = getattr(importlib.import_module(case["module"]), case["function"])
            value = function(*json.loads(json.dumps(case["args"])))
            if not _same(list(value) if isinstance(value, types.GeneratorType) else value, case["expected"], case):
                return False
            count_pass()
        return True

    return tester


def _same(found: Any, wanted: Any, case: dict[str, Any]) -> bool:
    if isinstance(wanted, list):
        same = isinstance(found, list | tuple) and len(found) == len(wanted)
        return same and all(_same(one, other, case) for one, other in zip(found, wanted, strict=True))
    if isinstance(wanted, float) and isinstance(found, int | float):
        return found == wanted or math.isclose(found, wanted, rel_tol=0, abs_tol=case["tolerance"])
    return bool(found == wanted)


def _by_pytest(tests: list[str]) -> Tester:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import pytest

    class Counting:
        """Plugin that reports each passed test."""

        def __init__(self, count_pass: Callable[[], None]) -> None:
            self._count_pass = count_pass

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.when == "call" and report.passed:
                self._count_pass()

    def tester(count_pass: Callable[[], None]) -> bool:
        quiet = ("-x", "-q", "--tb=no", "-p", "no:cacheprovider", "--rootdir", ".")
        return pytest.main([*quiet, *tests], plugins=[Counting(count_pass)]) == 0

    _warm(pytest.main)
    return tester


def _warm(run: Callable[[list[str]], Any]) -> None:
    """Run an empty test here, so that every fork has pytest's modules."""
    said, nowhere = os.dup(1), os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "test_nothing.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("def test_nothing():\n    assert True\n")
            run(["-q", "-p", "no:cacheprovider", "--rootdir", folder, path])
    finally:
        os.dup2(said, 1)


if __name__ == "__main__":
    main()
