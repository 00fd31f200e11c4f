"""Screen many candidates in one run of the sandbox, as an ordinary sandboxed program.

Each candidate gets a forked process and little time. The results are guesses and prove nothing: a candidate could
claim anything. Promising candidates are tested by the sandbox itself afterwards.

The job is in `screening.json`. A line `green N` is printed for each candidate that passed all tests, and the last line
is `seen COUNT`. A candidate whose time ran out after it had passed a test gets more time when all have been tried.
"""

import importlib
import json
import math
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable
from typing import Any

GREEN, RED = 40, 41
"""Exit codes of a candidate's process."""

MAX_GREEN = 3
"""Number of promising candidates after which the screening ends."""

RETRY_TIME_FACTOR = 20
"""Factor by which a slow candidate gets more time."""

Tester = Callable[[int], bool]
"""Test function that writes a byte for each passed test, and returns whether all passed."""


def main() -> None:
    """Screen the candidates of the job until the time is over or enough are promising."""
    with open("screening.json", encoding="utf-8") as file:
        job = json.load(file)
    tester = _by_cases(job["cases"]) if job["cases"] else _by_pytest(job["tests"])
    ends = time.monotonic() + job["seconds"]
    seen, green, slow = 0, 0, []
    for number, candidate in enumerate(job["candidates"]):
        if time.monotonic() > ends or green == MAX_GREEN:
            break
        code, passed = _try_candidate(job, candidate, tester, job["each"])
        seen += 1
        if code == GREEN:
            green += 1
            print("green", number, flush=True)
        elif code is None and passed:
            slow.append((-passed, number))
    for _, number in sorted(slow) if not green else ():
        if time.monotonic() > ends + job["seconds"] / 2:
            break
        code, _ = _try_candidate(job, job["candidates"][number], tester, RETRY_TIME_FACTOR * job["each"])
        if code == GREEN:
            print("green", number, flush=True)
            break
    print("seen", seen, flush=True)


def _edited(source: str, edits: list[list[Any]]) -> str:
    data = source.encode()
    for start, end, text in sorted(edits, reverse=True):
        data = data[:start] + text.encode() + data[end:]
    return data.decode()


def _try_candidate(job: dict[str, Any], candidate: list[Any], tester: Tester, seconds: float) -> tuple[int | None, int]:
    """Run a candidate; return its exit code, None on timeout, and the number of passed tests."""
    name, edits = candidate
    source = _edited(job["sources"][name], edits)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _run_candidate(name, source, tester, seconds, writer)
    os.close(writer)
    code = _waited(child, 4 * seconds + 1)
    passed = len(os.read(reader, 65536))
    os.close(reader)
    return code, passed


def _waited(child: int, seconds: float) -> int | None:
    alive = os.pidfd_open(child)
    poll = select.poll()
    poll.register(alive, select.POLLIN)
    if not poll.poll(seconds * 1000):
        os.kill(child, signal.SIGKILL)
    os.close(alive)
    _, status = os.waitpid(child, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None


def _run_candidate(name: str, source: str, tester: Tester, seconds: float, descriptor: int) -> None:
    """Run the candidate in this process, with a limit on processor time so that a busy machine does not matter."""
    code = RED
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        sys.path.insert(0, _make_folder(name, source))
        code = GREEN if tester(descriptor) else RED
    finally:
        os._exit(code)


def _make_folder(name: str, source: str) -> str:
    """Return a folder with the candidate's files."""
    folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), "screened")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.getcwd(), folder, ignore=shutil.ignore_patterns("screening.*", "__pycache__"))
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    os.chdir(folder)
    return folder


def _by_cases(cases: list[dict[str, Any]]) -> Tester:
    def tester(descriptor: int) -> bool:
        for case in cases:
            function = getattr(importlib.import_module(case["module"]), case["function"])
            value = function(*json.loads(json.dumps(case["args"])))
            if not _same(list(value) if isinstance(value, types.GeneratorType) else value, case["expected"], case):
                return False
            os.write(descriptor, b".")
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

        def __init__(self, descriptor: int) -> None:
            self._descriptor = descriptor

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.when == "call" and report.passed:
                os.write(self._descriptor, b".")

    def tester(descriptor: int) -> bool:
        quiet = ("-x", "-q", "--tb=no", "-p", "no:cacheprovider", "--rootdir", ".")
        return pytest.main([*quiet, *tests], plugins=[Counting(descriptor)]) == 0

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
