"""Search for a repair of a project: a plugin that any command which starts pytest loads.

The job is JSON on standard input. `trace` reports the lines that each test executes, the failing tests first.
`screen` runs some tests for each of many candidates, in a fork of the process that has collected the tests: the edited
function replaces the original one. An edit outside of functions needs a fork that imports the project itself. The
reports are guesses: a promising candidate is tested by all tests of the project in a run of its own.
"""

from __future__ import annotations

import ast
import gc
import importlib.util
import json
import os
import time
import types

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

REPORT_DESCRIPTOR = 198


def load_neighbour(name: str) -> Any:
    """Return a module of the folder above, under a name that no module of a project has."""
    path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"tenure_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_job() -> dict[str, Any]:
    """Return the job, and replace standard input; empty in a process that has none."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return {}
    try:
        os.fstat(REPORT_DESCRIPTOR)
        os.set_inheritable(REPORT_DESCRIPTOR, False)
        with os.fdopen(os.dup(0), "rb") as source:
            job: dict[str, Any] = json.loads(source.read() or b"{}")
    except (OSError, ValueError):
        return {}
    _redirect((0,))
    return job


def _redirect(descriptors: tuple[int, ...]) -> None:
    empty = os.open(os.devnull, os.O_RDWR)
    for one in descriptors:
        os.dup2(empty, one)
    os.close(empty)


def send(**facts: Any) -> None:
    """Send one line."""
    line = memoryview(json.dumps(facts).encode() + b"\n")
    while line:
        line = line[os.write(REPORT_DESCRIPTOR, line) :]


class TestTracer:
    """Reporter of the lines that each test executes."""

    __test__ = False

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._failing = dict.fromkeys(job["failing"])
        self._ends = time.monotonic() + job["seconds"]
        self._process = os.getpid()
        self._failed = False
        self._tracer = load_neighbour("program_lines").LineTracer(job["folder"])
        self._began = time.monotonic()
        self._tracer.start()

    def pytest_collectreport(self, report: Any) -> None:
        """Continue to trace, whatever a collected file has set."""
        self._tracer.start()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Report the lines of the import, and order the tests: failing ones, those of their files, all others."""
        self._tracer.stop()
        self._send("import", time.monotonic() - self._began)
        files = {name.split("::")[0] for name in self._failing}
        items.sort(key=lambda item: (item.nodeid not in self._failing, item.nodeid.split("::")[0] not in files))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Trace a test, unless the time is over."""
        is_failing = item.nodeid in self._failing
        if not is_failing:
            self._tracer.restrict()
            if time.monotonic() > self._ends:
                item.session.shouldstop = "enough tests are traced"
        self._failed = False
        began = time.monotonic()
        self._tracer.start()
        yield
        self._tracer.stop()
        if os.getpid() == self._process:
            self._send("test", time.monotonic() - began, id=item.nodeid, passed=not self._failed)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Record a failure."""
        self._failed = self._failed or report.outcome != "passed"

    def _send(self, kind: str, seconds: float, **facts: Any) -> None:
        lines: dict[str, list[int]] = {}
        for path, line in self._tracer.read_new_lines():
            lines.setdefault(path, []).append(line)
        send(kind=kind, seconds=round(seconds, 3), lines=lines, **facts)


class Screening:
    """Tests of one candidate, in its own process."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._forks = load_neighbour("screening_forks")
        self._candidate: Any = None
        self._chosen: dict[str, Any] = {}
        self._changed = b""
        self._originals: dict[str, bytes] = {}
        for name in {candidate["path"] for candidate in job["candidates"]}:
            with open(self._locate(name), "rb") as file:
                self._originals[name] = file.read()
        self._remaining: set[str] = set()
        self._passed = 0
        self._failed = False
        _redirect((1, 2))

    def fork(self) -> None:
        """Return in the process of each candidate, whose file is changed; the process that forks ends."""
        times = [candidate["seconds"] for candidate in self._job["candidates"]]
        candidate = self._forks.screen_candidates(
            times, self._job["seconds"], lambda word, number: send(kind=word, number=number), self._job["retry_factor"]
        )
        if candidate is None:
            os._exit(0)
        self._candidate, self._chosen = candidate, self._job["candidates"][candidate.number]
        changed = self._forks.apply_edits(self._originals[self._chosen["path"]], self._chosen["edits"])
        # Also programs that tests start read the changed file. Candidates run one after the other.
        for name, content in {**self._originals, self._chosen["path"]: changed}.items():
            with open(self._locate(name), "wb") as file:
                file.write(content)
        self._changed = changed

    def _locate(self, name: str) -> str:
        return os.path.join(self._job["folder"], name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> None:
        """Start processes that replace functions, and select the tests of each."""
        by_id = {item.nodeid: item for item in session.items}
        if self._candidate is None:
            modules = {name: LoadedModule(self._locate(name), content) for name, content in self._originals.items()}
            gc.freeze()
            self.fork()
            modules[self._chosen["path"]].replace_functions(self._changed, self._chosen["edits"][0][0])
        failing, kept = ([self._job["tests"][n] for n in self._chosen[kind]] for kind in ("failing", "kept"))
        self._remaining = {name for name in failing if name in by_id}
        if not set(self._job["targets"]) <= self._remaining:
            os._exit(self._forks.RED)
        session.items[:] = [by_id[name] for name in (*failing, *kept) if name in by_id]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """End the process before other tests run if no failing one passes."""
        self._failed = False
        if nodeid not in self._remaining and not self._passed:
            os._exit(self._forks.RED)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """End the process at a test that has to pass and raises, before its traceback is rendered."""
        if call.excinfo is not None and self._has_to_pass(item.nodeid):
            os._exit(self._forks.RED)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count a failing test that passes, and end the process at a test that has to pass and does not."""
        self._failed = self._failed or report.outcome != "passed"
        if self._failed and self._has_to_pass(report.nodeid):
            os._exit(self._forks.RED)
        if report.when == "teardown" and report.nodeid in self._remaining and not self._failed:
            self._passed += 1
            self._candidate.count_pass()

    def _has_to_pass(self, nodeid: str) -> bool:
        return nodeid not in self._remaining or nodeid in self._job["targets"]

    def pytest_sessionfinish(self) -> None:
        """Report the end of the tests to the process that has forked this one."""
        if self._candidate is None:
            return
        if not self._passed:
            os._exit(self._forks.RED)
        os._exit(self._forks.GREEN if self._passed == len(self._remaining) else self._forks.PARTIAL)


class LoadedModule:
    """Functions of a file of the project, whose code can be replaced."""

    def __init__(self, path: str, original: bytes) -> None:
        self._path, self._original = path, original
        self._tree = ast.parse(original)
        self._functions: dict[tuple[str, int], list[types.FunctionType]] = {}
        for one in gc.get_objects():
            if isinstance(one, types.FunctionType) and os.path.abspath(one.__code__.co_filename) == path:
                self._functions.setdefault((one.__code__.co_name, one.__code__.co_firstlineno), []).append(one)

    def replace_functions(self, changed: bytes, start: int) -> None:
        """Replace the code of the functions of a changed statement; the state of the module stays as it is.

        Args:
            changed: text of the file with edits inside of one statement of the module.
            start: first changed byte.
        """
        line = self._original.count(b"\n", 0, start) + 1
        body = self._tree.body
        number = max((n for n, one in enumerate(body) if _find_first_line(one) <= line), default=0)
        codes = [self._compile(tree, number) for tree in (self._tree, ast.parse(changed))]
        for old, new in _pair_codes(codes[0], codes[1]):
            for function in self._functions.get((old.co_name, old.co_firstlineno), ()):
                function.__code__ = new

    def _compile(self, tree: ast.Module, number: int) -> types.CodeType:
        """Return the code of one statement of the module."""
        future = [one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
        part = ast.Module([*future, tree.body[number]], [])
        return compile(part, self._path, "exec", dont_inherit=True)


def _find_first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _pair_codes(old: types.CodeType, new: types.CodeType) -> Iterator[tuple[types.CodeType, types.CodeType]]:
    """Yield the functions of two codes that have the same name and order, outer ones first."""
    yield old, new
    inner = [[one for one in code.co_consts if isinstance(one, types.CodeType)] for code in (old, new)]
    for name in dict.fromkeys(one.co_name for one in inner[0]):
        same = [[one for one in codes if one.co_name == name] for codes in inner]
        for first, second in zip(same[0], same[1]):  # noqa: B905  `strict` is new in Python 3.10
            yield from _pair_codes(first, second)


def pytest_configure(config: Any) -> None:
    """Register what the job needs, in the process that controls the session."""
    if WORKER is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(WORKER, "tenure-repair")


def make_worker(job: dict[str, Any]) -> Any:
    """Return the plugin of a job; None without one."""
    if not job:
        return None
    if job["mode"] == "trace":
        return TestTracer(job)
    screening = Screening(job)
    if job["fresh"]:
        screening.fork()  # before the project is imported
    return screening


WORKER = make_worker(read_job())
