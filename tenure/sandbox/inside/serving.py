"""Start the program under test in a process of its own, and make its modules importable for the tests."""

import builtins
import importlib.abc
import importlib.machinery
import socket
import subprocess
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tenure.sandbox.inside.callbacks import Callbacks
from tenure.sandbox.inside.judging import JudgeEndpoint
from tenure.sandbox.inside.protocol import Channel, ProtocolError
from tenure.sandbox.inside.proxies import READABLE, RemoteText, is_remote
from tenure.sandbox.inside.trusted_code import InstalledFinder

TESTS_FOLDER: Final = "/box/tests"
"""Folder that the code of the tests names."""
HOOKS: Final = (
    "setup_module",
    "teardown_module",
    "setup_function",
    "teardown_function",
    "setUpModule",
    "tearDownModule",
)
"""Names that a test module must define itself."""


class CandidateProcess:
    """Candidate in its own process, started at its first use."""

    def __init__(self, trace: bool, modules: Sequence[str] = ()) -> None:
        """Initialize with the names of the tests' own modules."""
        self._trace = trace
        self._modules = modules
        self._process: subprocess.Popen[bytes] | None = None
        self._end: JudgeEndpoint | None = None
        self.refusals: list[str] = []
        """Attempts of a test to execute what the program gave."""

    @property
    def end(self) -> JudgeEndpoint:
        """Connection to the candidate."""
        if self._end is None:
            self._end = self._start()
        return self._end

    @property
    def is_started(self) -> bool:
        """Whether the candidate was used."""
        return self._end is not None

    def _start(self) -> JudgeEndpoint:
        ours, theirs = socket.socketpair()
        code = "import sys; sys.path[:0] = ['/in']; from tenure.sandbox.inside import candidate; candidate.main()"
        theirs.set_inheritable(True)
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-c", code, str(theirs.fileno()), "trace" if self._trace else "plain"],
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
        )
        theirs.close()
        return JudgeEndpoint(Channel(ours), Callbacks(self._modules, TESTS_FOLDER))

    def find_fault(self) -> str:
        """Return the reason for which the present test does not count, and forget it; empty if it counts."""
        swallowed = self._end.find_swallowed() if self._end is not None else ""
        contradiction = self._end.find_contradiction() if self._end is not None else ""
        disorder = self._end.check_order() if self._end is not None and not self.violation else ""
        found = [f"the program did not give back an exception of the test: {swallowed}"] if swallowed else []
        found += [one for one in (contradiction, disorder) if one] or self.refusals
        self.refusals = []
        return found[0] if found else ""

    @property
    def violation(self) -> str:
        """Description of the first violation of the protocol, or an empty string."""
        return self._end.violation if self._end is not None else ""

    def describe_end(self) -> str:
        """Return how the candidate's process ended, if it has."""
        if self._process is None or self._end is None:
            return ""
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return ""
        return f"the program ended its interpreter with {'signal' if code < 0 else 'exit code'} {abs(code)}"


class RemoteModule(types.ModuleType):
    """Module of the candidate as the test sees it."""

    def __getattr__(self, name: str) -> Any:
        """Read a name of the module."""
        if name == "__all__":
            names = self._tenure_served.end.request("names", self.__name__)
            return choose_names(names, sys._getframe(1))
        if name == "__test__" and sys._getframe(1).f_globals.get("__name__") == "doctest":
            raise ProtocolError("examples in docstrings of the program are not run by the tests' process")
        if name.startswith("_tenure") or (name.startswith("__") and name.endswith("__") and name not in READABLE):
            raise AttributeError(name)
        return getattr(self._tenure_handle(), name)

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        """Docstring of the module."""
        text = self._tenure_served.end.read_attribute(self._tenure_handle(), "__doc__")
        return RemoteText(text) if isinstance(text, str) else None

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a name of the module, and remember the original."""
        if name.startswith(("__", "_tenure")) or isinstance(value, RemoteModule):
            super().__setattr__(name, value)
            return
        handle = self._tenure_handle()
        was = self.__dict__.setdefault("_tenure_was", {})
        if name not in was and hasattr(handle, name):
            was[name] = getattr(handle, name)
        setattr(handle, name, value)

    def __delattr__(self, name: str) -> None:
        """Delete a name of the module; a name that a test has set is restored.

        A patch is undone this way if the object does not have the name itself, as it seems to be the case here.
        """
        was = self.__dict__.get("_tenure_was", {})
        if name in was:
            setattr(self._tenure_handle(), name, was.pop(name))
        else:
            delattr(self._tenure_handle(), name)

    def _tenure_handle(self) -> Any:
        if (known := self.__dict__.get("_tenure_known")) is None:
            known = self._tenure_served.end.request("import", self.__name__)
            self.__dict__["_tenure_known"] = known
        return known


def choose_names(names: Any, frame: types.FrameType) -> list[str]:
    """Return the names that `from module import *` gives to a test module.

    Names that would replace a built-in name or a name of the test module itself are left out.

    Raises:
        ImportError: the test uses such a name, and it is not clear whose.
    """
    used = {*_iterate_names(frame.f_code)}
    chosen = []
    for name in names if isinstance(names, list) else []:
        if type(name) is not str or name.startswith(("__", "pytest")) or name in HOOKS:
            continue
        own = frame.f_globals.get(name)
        if name in sys.stdlib_module_names:
            if name in used and name not in frame.f_globals:
                # The test relies on a module that the program happens to import, too.
                frame.f_globals[name] = importlib.import_module(name)
        elif not hasattr(builtins, name) and (name not in frame.f_globals or is_remote(own)):
            chosen.append(name)
        elif name in used and not isinstance(own, types.ModuleType):
            raise ImportError(f"the program's {name!r} would replace a name of the test: import it by its name")
    return chosen


def _iterate_names(code: types.CodeType) -> Iterator[str]:
    """Yield the global names and attributes that code uses."""
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _iterate_names(one)


class CandidateFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder that imports the candidate's modules from the other process."""

    def __init__(self, roots: set[str], served: CandidateProcess) -> None:
        self._roots = roots
        self._served = served

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a candidate's module."""
        root = fullname.split(".")[0]
        if root not in self._roots:
            return None
        if InstalledFinder.find_spec(root) is not None:
            raise ImportError(f"the program may not have a module {root!r}: the tests' Python has one of that name")
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Create the proxy of a module."""
        return RemoteModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Import the module in the candidate's process."""
        module.__dict__["_tenure_served"] = self._served
        if not is_remote(handle := self._served.end.request("import", module.__name__)):
            raise ImportError(module.__name__)
        module.__dict__["_tenure_known"] = handle


class MemoryFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder that imports the tests' own modules from memory, so that a candidate cannot read them from disk."""

    def __init__(self, sources: dict[str, str], compile_test: Callable[[str, str], types.CodeType]) -> None:
        self._sources = sources
        self._compile = compile_test

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a test module."""
        base = fullname.replace(".", "/")
        for name in (f"{base}.py", f"{base}/__init__.py"):
            if name in self._sources:
                spec = importlib.machinery.ModuleSpec(
                    fullname, self, origin=name, is_package=name.endswith("/__init__.py")
                )
                spec.has_location = False
                return spec
        if any(name.startswith(f"{base}/") for name in self._sources):
            return importlib.machinery.ModuleSpec(fullname, self, origin="", is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        """Return None: Python creates the module."""
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        """Execute a test module."""
        name = module.__spec__.origin if module.__spec__ else ""
        if name:
            module.__file__ = f"{TESTS_FOLDER}/{name}"
            exec(self._compile(name, self._sources[name]), module.__dict__)
