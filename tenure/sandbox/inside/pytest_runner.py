"""Run pytest files with the program in the same process, and report each test.

The modules of the tests and of the program are loaded from memory: empty files of the tests' names exist on disk, so
that pytest finds them, and a program that reads them learns nothing. No other plugin is loaded, and no configuration is
read. Names of tests, which can contain expected values, are kept out of the environment and of temporary folders.
"""

import ast
import contextlib
import functools
import gc
import importlib
import importlib.machinery
import linecache
import os
import sys
import time
import types
import unittest
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest import case, mock

import _pytest.runner
import _pytest.tmpdir
import pytest
from _pytest import outcomes
from _pytest.assertion import rewrite
from _pytest.config import default_plugins

from tenure.sandbox.inside import instrument
from tenure.sandbox.inside.case_runner import write_line
from tenure.sandbox.inside.instrument import ProgramInstrumenter, TestFacts, TestInstrumenter
from tenure.sandbox.inside.memory_modules import MemoryFinder
from tenure.sandbox.inside.program_lines import LineTracer, find_program_lines
from tenure.sandbox.inside.watch import TESTS, WORK, Watch, find_owner

MAX_FAILURE_CHARS: Final = 6000
"""Maximum length of a failure message."""

_SWALLOWED: Final = "an assertion failed, and the program kept the failure from the test"
_TEST_TOOLS: Final = ("unittest", "pytest", "_pytest", "numpy.testing")
_Function = tuple[str, int]
"""File and first line of a test function."""


def main(job: dict[str, Any], report: int) -> int:
    """Run the tests and report pytest's exit code."""
    sources = {name: content.decode() for name, content in job["tests"] if name.endswith(".py")}
    runner = Runner(sources, job, report)
    runner.install()
    sys.dont_write_bytecode = True
    sys.argv[:] = ["pytest"]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    # Files of the working folder belong to the program.
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = "/proc/none"
    # An empty file, so that no configuration is searched for; /dev/null is a device, which root can replace.
    configuration = str(Path(__file__).with_name("pytest.ini"))
    arguments = ["-c", configuration, f"--rootdir={TESTS}", "--noconftest", "-p", "no:cacheprovider", "-q"]
    arguments += ["--tb=short", "--no-header", "--no-summary", "--color=no", "--import-mode=importlib"]
    # Assertions are rewritten by the runner: pytest's own hook would read test files from disk.
    arguments += ["--assert=plain"]
    files = place_files(job["tests"], sources)
    data = [(WORK, name) for name in job["data"]], [(TESTS, name) for name, _ in job["tests"] if name not in sources]
    before = [read_file_marks(one) for one in data]
    functions = read_functions()
    code = int(pytest.main([*arguments, *files], plugins=[runner]))
    after = [read_file_marks(one) for one in data]
    if after[1] != before[1]:
        runner.report("tampered", text="the data of the tests was changed")
    if after[0] != before[0]:
        runner.watch.report("the program changed files that were given to it")
    current = read_functions()
    for name in [name for name, value in functions.items() if current.get(name, value) is not value]:
        runner.watch.report(f"{name} was replaced")
        # Tests may replace functions themselves, and some libraries replace those of json or builtins.
        is_own = getattr(current[name], "__code__", main.__code__).co_filename.startswith(f"{WORK}/")
        if is_own and name.startswith(_TEST_TOOLS):
            runner.report("tampered", text=f"the program replaced {name} by a function of its own")
    runner.report_incomplete()
    runner.report("end", code=code)
    return code


def warm_up() -> None:
    """Import the modules that pytest imports at its start, so that forks of this process need not."""
    for name in default_plugins:
        importlib.import_module(f"_pytest.{name}")


def read_file_marks(files: list[tuple[str, str]]) -> list[tuple[int, int, int]]:
    """Return marks that show whether files or their folders were changed: the change time of a file cannot be set."""
    paths = [Path(folder, name) for folder, name in files]
    folders = [folder for path in paths for folder in path.parents if folder.is_relative_to(TESTS)]
    found = []
    for path in [*paths, *dict.fromkeys(folders)]:
        try:
            facts = path.stat(follow_symlinks=False)
        except OSError:
            return []
        found.append((facts.st_ino, facts.st_ctime_ns, facts.st_size))
    return found


def read_functions() -> dict[str, Any]:
    """Return the functions and classes by which tests judge, to see whether one was replaced."""
    judges = ("builtins", "json", "math", "operator", *_TEST_TOOLS)
    found: dict[str, Any] = {}
    for name, module in sorted(sys.modules.items()):
        if name.startswith(judges):
            facts = vars(module)
            found |= {f"{name}.{key}": value for key, value in facts.items() if callable(value)}
            for kind in [one for one in facts.values() if isinstance(one, type) and one.__module__ == name]:
                methods = {key: value for key, value in vars(kind).items() if isinstance(value, types.FunctionType)}
                found |= {f"{name}.{kind.__name__}.{key}": value for key, value in methods.items()}
    return found


def place_files(files: list[tuple[str, bytes]], sources: dict[str, str]) -> list[str]:
    """Create empty test files and the tests' data; return the files with tests."""
    for name, content in files:
        path = Path(TESTS, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"" if name in sources else content)
        path.chmod(0o444)
    helpers = ("conftest.py", "__init__.py")
    return [f"{TESTS}/{name}" for name in sources if Path(name).name not in helpers]


@dataclass
class _EndedAssertion:
    """Exception that left an assertion, and that no code of the tests has handled yet."""

    error: BaseException
    is_failure: bool = False
    """Whether it says that the assertion did not hold."""
    lines: set[int] = field(default_factory=set)


class Runner:
    """Pytest plugin that loads modules from memory and reports."""

    def __init__(self, sources: dict[str, str], job: dict[str, Any], report: int) -> None:
        self._sources, self._job, self._report = sources, job, report
        self._config: pytest.Config | None = None
        self._tracer = LineTracer(WORK)
        trees = [ast.parse(text) for text in sources.values()]
        self._named = frozenset(name for tree in trees for name in _iterate_identifiers(tree))
        self.watch = Watch(self.report, self._named, "\n".join(sources.values()))
        self._facts: dict[_Function, TestFacts] = {}
        self._completed: dict[_Function, set[int]] = {}
        self._current: _Function = ("", 0)
        self._not_passed: set[_Function] = set()
        self._ended: dict[int, _EndedAssertion] = {}
        self._added_names = {
            instrument.COMPLETED: self._record_completed,
            instrument.ENDED: self._record_end,
            instrument.HANDLED: self._record_handled,
            instrument.SUPPRESSED: self._record_suppressed,
        }

    def install(self) -> None:
        """Make the modules importable, watch failed assertions, and watch the program."""
        tests = MemoryFinder(TESTS, self._sources, self.compile_test)
        tests.added_names = self._added_names
        own = {
            name: text for name, text in self._job["program"].items() if _get_root(name) not in sys.stdlib_module_names
        }
        program = MemoryFinder(WORK, own, self.compile_program)
        program.added_names = {
            instrument.RETURNED: self.watch.check_returned,
            instrument.STOPS: self.watch.stops,
            instrument.STOPPED: self.watch.check_stop,
        }
        for root in sorted(set(map(_get_root, own))):
            if importlib.machinery.PathFinder.find_spec(root) is not None:
                error = f"the program may not have a module {root!r}: the tests' Python has one of that name"
                self.report("broken", id=root, error=error, begun=True)
        sys.meta_path[:] = [tests, program, *sys.meta_path]
        self._watch_failures()
        for kind in (pytest.RaisesExc, pytest.RaisesGroup, case._AssertRaisesContext):
            self._watch_handler(kind)
        if "suppress" in self._named:  # else it comes from the program, perhaps under another name
            self._watch_handler(contextlib.suppress)
        # Names of parametrised tests contain values: neither children of this process nor paths show them.
        _pytest.runner._update_current_test_var = lambda item, when: None
        _pytest.tmpdir._mk_tmp = lambda request, factory: factory.mktemp("test", numbered=True)
        self.watch.install()
        if self._job["trace"]:
            self._tracer.start()

    def _watch_failures(self) -> None:
        """Watch failures of pytest, unittest and mocks where they are made: a lambda has no statement to watch."""
        record, make_outcome = self._record_ended, outcomes.OutcomeException.__init__

        def make_failure(outcome: Any, *given: Any, **named: Any) -> None:
            make_outcome(outcome, *given, **named)
            if isinstance(outcome, outcomes.Failed):
                record(outcome)

        class WatchedError(AssertionError):
            def __init__(self, *given: Any) -> None:
                super().__init__(*given)
                record(self)

        WatchedError.__name__ = WatchedError.__qualname__ = "AssertionError"
        WatchedError.__module__ = "builtins"
        outcomes.OutcomeException.__init__ = make_failure  # type: ignore[assignment,method-assign]
        unittest.TestCase.failureException = WatchedError
        mock.AssertionError = WatchedError  # type: ignore[attr-defined]

    def _watch_handler(self, kind: Any) -> None:
        """Watch a class of context managers with which tests handle exceptions, except those that the program makes."""
        make, leave, handlers = kind.__init__, kind.__exit__, weakref.WeakSet[Any]()

        @functools.wraps(make)
        def __init__(handler: Any, *given: Any, **named: Any) -> None:
            __tracebackhide__ = True
            if find_owner(sys._getframe(1)) == TESTS:
                handlers.add(handler)
            make(handler, *given, **named)

        @functools.wraps(leave)
        def __exit__(handler: Any, *error: Any) -> Any:
            __tracebackhide__ = True
            is_handled = leave(handler, *error)
            return self._record_suppressed(is_handled) if handler in handlers else is_handled

        kind.__init__, kind.__exit__ = __init__, __exit__

    def _record_end(self, line: int, is_failure: bool) -> None:
        """Record that the current exception ended an assertion or a `raise` of the tests."""
        error = sys.exc_info()[1]
        assert error is not None
        ended = self._record_ended(error)
        ended.is_failure = ended.is_failure or is_failure
        ended.lines.add(line)

    def _record_ended(self, error: BaseException) -> _EndedAssertion:
        is_failure = isinstance(error, (AssertionError, outcomes.Failed))
        return self._ended.setdefault(id(error), _EndedAssertion(error, is_failure))

    def _record_handled(self) -> None:
        """Record that the tests handle the current exception: its assertions ended as the tests provide for."""
        ended = self._ended.pop(id(sys.exc_info()[1]), None)
        if ended is not None:
            self._completed.setdefault(self._current, set()).update(ended.lines)

    def _record_suppressed(self, answer: Any) -> Any:
        """Return the answer of a context manager; the tests handle an exception that their own one suppresses."""
        if answer:
            self._record_handled()
        return answer

    def _record_completed(self, line: int) -> None:
        self._completed.setdefault(self._current, set()).add(line)

    def compile_program(self, path: str, source: str) -> types.CodeType:
        """Compile a module of the program, and report that it runs in this process."""
        self.watch.report_same_process()
        tree = ast.fix_missing_locations(ProgramInstrumenter().visit(ast.parse(source, path)))
        return compile(tree, path, "exec", dont_inherit=True)

    def compile_test(self, path: str, source: str) -> types.CodeType:
        """Compile a test module with assertion rewriting."""
        instrumenter = TestInstrumenter()
        tree = ast.fix_missing_locations(instrumenter.visit(ast.parse(source, path)))
        self._facts |= {(path, line): facts for line, facts in instrumenter.facts.items()}
        rewrite.rewrite_asserts(tree, source.encode(), path, self._config)
        return compile(tree, path, "exec", dont_inherit=True)

    def pytest_configure(self, config: pytest.Config) -> None:
        """Load the shared modules of the tests."""
        self._config = config
        for name in sorted(self._sources):
            if Path(name).name == "conftest.py":
                module = types.ModuleType(f"conftest_{len(name)}")
                module.__file__ = f"{TESTS}/{name}"
                module.__dict__.update(self._added_names)
                exec(self.compile_test(module.__file__, self._sources[name]), module.__dict__)
                config.pluginmanager.register(module, name)

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Dir:
        """Collect a folder, and never as a package: pytest would execute its `__init__.py` from disk."""
        made: pytest.Dir = pytest.Dir.from_parent(parent, path=path)
        return made

    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module:
        """Collect a module whose source is in memory."""
        made: pytest.Module = _Module.from_parent(parent, path=module_path)
        return made

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Report a file that cannot be imported."""
        if report.failed:
            text = str(report.longrepr)
            trace = text[-MAX_FAILURE_CHARS:]
            self.report("broken", id=report.nodeid, error=_last(text), trace=trace, begun=self.watch.is_same_process)

    def pytest_collection_finish(self) -> None:
        """Hide what exists before the first test, such as parameters and test modules, from searches by `gc`."""
        gc.freeze()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Report the start of a test, and its executed lines."""
        self.report("start", id=item.nodeid)
        self._tracer.read_new_lines()
        self._begin(item)
        began = time.monotonic()
        result = yield
        self.report("done", id=item.nodeid, seconds=time.monotonic() - began, covered=self._tracer.read_new_lines())
        return result

    def _begin(self, item: pytest.Item) -> None:
        """Find the function of a test, and note a function that is not of the tests."""
        self._ended.clear()
        function = getattr(item, "obj", None)
        while (inner := getattr(function, "__wrapped__", getattr(function, "__func__", None))) is not None:
            function = inner
        code = getattr(function, "__code__", None)
        self._current = (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)
        self.watch.words = self._facts.get(self._current, TestFacts()).words
        if code is None or code.co_filename.startswith(f"{WORK}/"):
            self.watch.report(f"{item.nodeid} is a function of the program")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Report one phase of a test."""
        # The program could find the sources of the tests there while it runs.
        shown = {f"{TESTS}/{name}": text for name, text in self._sources.items()}
        linecache.cache.update({path: (len(text), None, text.splitlines(True), path) for path, text in shown.items()})
        report: pytest.TestReport = yield
        for path in shown:
            linecache.cache.pop(path, None)
        error = ""
        facts = self._facts.get(self._current, TestFacts())
        is_swallowed = any(one.is_failure for one in self._ended.values())
        if report.when == "call" and report.passed and is_swallowed and not facts.expects_failure:
            report.outcome, error = "failed", _SWALLOWED
            report.longrepr = error
        lines = []
        if call.excinfo is not None and report.failed and not error:
            error = f"{type(call.excinfo.value).__name__}: {call.excinfo.value}".strip()
            lines = find_program_lines(call.excinfo.value, WORK)
        if not report.passed:
            self._not_passed.add(self._current)
        text = str(report.longrepr)[:MAX_FAILURE_CHARS] if report.failed else ""
        self.report("phase", id=item.nodeid, when=report.when, outcome=report.outcome, error=error, trace=text)
        if lines:
            self.report("lines", id=item.nodeid, lines=lines)
        return report

    def report_incomplete(self) -> None:
        """Report assertions of passed tests that were never completed."""
        self._completed.setdefault(("", 0), set())
        for function, facts in self._facts.items():
            completed = self._completed.get(function)
            if function in self._not_passed or (completed is None and not facts.has_assertions):
                continue
            name = function[0].removeprefix(f"{TESTS}/")
            if not completed:
                self.watch.report(f"no assertion of the test in {name}, line {function[1]}, was completed")
            elif missing := facts.required - completed:
                self.watch.report(f"the assertion in {name}, line {min(missing)}, was never completed")

    def report(self, kind: str, **facts: Any) -> None:
        """Report a fact."""
        write_line(self._report, self._job["nonce"], {"kind": kind, **facts})


class _Module(pytest.Module):
    """Test module whose source is in memory."""

    def _getobj(self) -> types.ModuleType:
        name = os.path.relpath(self.path, TESTS)
        dotted = name.removesuffix(".py").replace("/", ".")
        __import__(dotted)
        return sys.modules[dotted]


def _get_root(name: str) -> str:
    """Return the top-level module of a file."""
    return name.split("/")[0].removesuffix(".py")


def _iterate_identifiers(tree: ast.AST) -> Iterator[str]:
    """Yield the names, attributes and imported names of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name


def _last(text: str) -> str:
    """Return the most informative line of a failed import."""
    marked = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    return (marked or [""])[-1][:500]
