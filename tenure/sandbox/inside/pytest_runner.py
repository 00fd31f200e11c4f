"""Run pytest files against a candidate in another process, and report each test.

The tests' own modules are loaded from memory: empty files of their names exist on disk, so that pytest finds them, and
a candidate that reads them learns nothing. No other plugin is loaded, and no configuration is read.
"""

import ast
import importlib
import linecache
import os
import sys
import time
import types
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.assertion.rewrite import rewrite_asserts
from _pytest.config import default_plugins

from tenure.sandbox.inside.case_runner import list_executed_lines, write_line
from tenure.sandbox.inside.protocol import ProtocolError
from tenure.sandbox.inside.proxies import is_remote
from tenure.sandbox.inside.serving import TESTS_FOLDER as FOLDER
from tenure.sandbox.inside.serving import CandidateFinder, CandidateProcess, MemoryFinder
from tenure.sandbox.inside.trusted_code import InstalledFinder, refuse_other_code

MAX_FAILURE_CHARS: Final = 6000
"""Maximum length of a failure message."""


def main(job: dict[str, Any], report: int) -> int:
    """Run the tests and report pytest's exit code."""
    sources = {name: content.decode() for name, content in job["tests"] if name.endswith(".py")}
    served = CandidateProcess(job["trace"], list_modules(sources))
    runner = Runner(sources, served, job, report)
    installed = [InstalledFinder if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path]
    finders = [MemoryFinder(sources, runner.compile), CandidateFinder(set(job["roots"]), served), *installed]
    sys.meta_path[:] = finders
    refuse_other_code(sources, list_modules(sources), FOLDER, lambda refusal: served.refusals.append(refusal))
    sys.dont_write_bytecode = True
    sys.argv[:] = ["pytest"]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    # Files of the working folder belong to the program.
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = "/proc/none"
    # An empty file, so that no configuration is searched for; /dev/null is a device, which root can replace.
    arguments = [
        "-c",
        str(Path(__file__).with_name("pytest.ini")),
        f"--rootdir={FOLDER}",
        "--noconftest",
        "-p",
        "no:cacheprovider",
        "-q",
    ]
    arguments += ["--tb=short", "--no-header", "--no-summary", "--color=no", "--import-mode=importlib"]
    # Assertions are rewritten by the runner: pytest's own hook would read test files from disk.
    arguments += ["--assert=plain"]
    files = place_files(job["tests"], sources)
    before = read_file_marks(job["tests"], sources)
    code = int(pytest.main([*arguments, *files], plugins=[runner]))
    if read_file_marks(job["tests"], sources) != before:
        write_line(report, job["nonce"], {"kind": "tampered"})
    if served.violation:
        write_line(report, job["nonce"], {"kind": "violated", "error": served.violation})
    write_line(report, job["nonce"], {"kind": "end", "code": code})
    return code


def warm_up() -> None:
    """Import the modules that pytest imports at its start, so that forks of this process need not."""
    for name in default_plugins:
        importlib.import_module(f"_pytest.{name}")


def list_modules(sources: dict[str, str]) -> list[str]:
    """Return the names of the tests' own modules."""
    dotted = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in sources]
    return [*dotted, *(f"conftest_{len(name)}" for name in sources if Path(name).name == "conftest.py")]


def read_file_marks(files: list[tuple[str, bytes]], sources: dict[str, str]) -> list[tuple[int, int]]:
    """Return marks that show whether the tests' data was changed: the change time of a file cannot be set."""
    data = [Path(FOLDER, name) for name, _ in files if name not in sources]
    found = []
    folders = [folder for one in data for folder in one.parents if folder.is_relative_to(FOLDER)]
    for path in [*data, *dict.fromkeys(folders)]:
        try:
            facts = path.stat(follow_symlinks=False)
        except OSError:
            return []
        found.append((facts.st_ino, facts.st_ctime_ns))
    return found


def place_files(files: list[tuple[str, bytes]], sources: dict[str, str]) -> list[str]:
    """Create empty test files and the tests' data; return the files with tests."""
    for name, content in files:
        path = Path(FOLDER, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"" if name in sources else content)
    helpers = ("conftest.py", "__init__.py")
    return [f"{FOLDER}/{name}" for name in sources if Path(name).name not in helpers]


class Runner:
    """Pytest plugin that loads modules from memory and reports."""

    def __init__(self, sources: dict[str, str], served: CandidateProcess, job: dict[str, Any], report: int) -> None:
        self._sources = sources
        self._served = served
        self._job = job
        self._report = report
        self._config: pytest.Config | None = None

    def compile(self, name: str, source: str) -> types.CodeType:
        """Compile a test module with assertion rewriting."""
        path = f"{FOLDER}/{name}"
        linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
        tree = ast.parse(source, path)
        rewrite_asserts(tree, source.encode(), path, self._config)
        return compile(tree, path, "exec", dont_inherit=True)

    def pytest_configure(self, config: pytest.Config) -> None:
        """Load the shared modules of the tests."""
        self._config = config
        for name in sorted(self._sources):
            if Path(name).name == "conftest.py":
                module = types.ModuleType(f"conftest_{len(name)}")
                module.__file__ = f"{FOLDER}/{name}"
                exec(self.compile(name, self._sources[name]), module.__dict__)
                config.pluginmanager.register(module, name)

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Dir:
        """Collect a folder, and never as a package: pytest would execute its `__init__.py` from disk."""
        made: pytest.Dir = pytest.Dir.from_parent(parent, path=path)
        return made

    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module:
        """Collect a module whose source is in memory."""
        made: pytest.Module = _Module.from_parent(parent, path=module_path)
        return made

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Report the collected tests."""
        self._tell("collected", ids=[item.nodeid for item in session.items])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Report a file that cannot be imported."""
        if report.failed:
            text = str(report.longrepr)
            error = self._served.describe_end() if ProtocolError.__name__ in text else ""
            self._tell(
                "broken",
                id=report.nodeid,
                error=error or _last(text),
                trace=text[-MAX_FAILURE_CHARS:],
                begun=self._served.is_started,
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Report the start of a test, and its executed lines."""
        self._tell("start", id=item.nodeid)
        if self._job["trace"] and self._served.is_started:
            self._tell("imported", covered=list_executed_lines(self._served))
        began = time.monotonic()
        result = yield
        found = list_executed_lines(self._served) if self._job["trace"] and self._served.is_started else []
        self._tell("done", id=item.nodeid, seconds=time.monotonic() - began, covered=found)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Refuse a test that the program has replaced."""
        if is_remote(getattr(item, "obj", None)):
            pytest.fail("the test itself is an object of the program", pytrace=False)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Report one phase of a test."""
        report: pytest.TestReport = yield
        trace, lines = "", []
        if error := self._served.find_fault():
            report.outcome = "failed"
            report.longrepr = error
        if call.excinfo is not None and report.failed and not error:
            raised = call.excinfo.value
            error = f"{type(raised).__name__}: {raised}".strip()
            if isinstance(raised, ProtocolError):
                error = self._served.describe_end() or str(raised)
            facts = getattr(raised, "__dict__", {})
            lines, trace = facts.get("_tenure_lines", []), facts.get("_tenure_trace", "")
        text = f"{report.longrepr}\n{trace}".strip()[:MAX_FAILURE_CHARS] if report.failed else ""
        self._tell("phase", id=item.nodeid, when=report.when, outcome=report.outcome, error=error, trace=text)
        if lines:
            self._tell("lines", id=item.nodeid, lines=lines)
        return report

    def _tell(self, kind: str, **facts: Any) -> None:
        write_line(self._report, self._job["nonce"], {"kind": kind, **facts})


class _Module(pytest.Module):
    """Test module whose source is in memory."""

    def _getobj(self) -> types.ModuleType:
        name = os.path.relpath(self.path, FOLDER)
        dotted = name.removesuffix(".py").replace("/", ".")
        __import__(dotted)
        return sys.modules[dotted]


def _last(text: str) -> str:
    """Return the most informative line of a failed import."""
    marked = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    return (marked or [""])[-1][:500]
