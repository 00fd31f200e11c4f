"""Start the candidate's process for a test and restrict its requests."""

import importlib.abc
import importlib.machinery
import os
import socket
import subprocess
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, Final

from tenure.sandbox.inside import wire

RESERVED_PREFIXES: Final = ("_", "gi_", "cr_", "ag_", "f_", "tb_", "co_", "func_")
"""Prefixes of attribute names that lead from an object of the test into its interpreter."""


class CandidateProcess:
    """Candidate in its own process, started at its first use."""

    def __init__(self, trace: bool) -> None:
        self._trace = trace
        self._process: subprocess.Popen[bytes] | None = None
        self._end: wire.Endpoint | None = None
        self._known: dict[str, Any] = {}

    @property
    def end(self) -> wire.Endpoint:
        """Connection to the candidate."""
        if self._end is None:
            self._end = self._start()
        return self._end

    @property
    def is_started(self) -> bool:
        """Whether the candidate was used."""
        return self._end is not None

    def _start(self) -> wire.Endpoint:
        ours, theirs = socket.socketpair()
        code = "import sys; sys.path[:0] = ['/in']; from tenure.sandbox.inside import candidate; candidate.main()"
        theirs.set_inheritable(True)
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-c", code, str(theirs.fileno()), "trace" if self._trace else "plain"],
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
        )
        theirs.close()
        end = wire.Endpoint(ours, serve, strict=True)
        end.outgoing = self._surroundings
        end.incoming = print_output
        return end

    def _surroundings(self) -> dict[str, Any]:
        """Changed working folder, arguments and environment."""
        around = {"folder": wire.get_working_folder(), "arguments": sys.argv[1:], "environment": dict(os.environ)}
        around["environment"].pop("PYTEST_CURRENT_TEST", None)  # type: ignore[attr-defined]
        if around == self._known:
            return {}
        self._known = around
        return {"around": {**around, "arguments": ["", *sys.argv[1:]]}}

    def describe_end(self) -> str:
        """Return how the candidate's process ended, if it has."""
        if self._process is None or self._end is None:
            return ""
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return ""
        return f"the program ended its interpreter with {'signal' if code < 0 else 'exit code'} {abs(code)}"


def print_output(message: dict[str, Any]) -> None:
    """Print the output of the candidate."""
    for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
        if text := message.get(name):
            stream.write(str(text))


def serve(operation: str, arguments: list[Any]) -> Any:
    """Execute a request of the candidate: use an object that the test passed to it, and nothing else."""
    if operation == "input":
        return input(*(str(one) for one in arguments))
    if operation == "stdin":
        return {"read": sys.stdin.read, "readline": sys.stdin.readline}[arguments[0]](int(arguments[1]))
    if operation in ("getattr", "setattr", "delattr"):
        target, name = arguments[0], str(arguments[1])
        if name.startswith(RESERVED_PREFIXES) or isinstance(
            target, (types.ModuleType, types.FrameType, types.CodeType)
        ):
            raise AttributeError(name)
        if operation != "getattr" and isinstance(target, (type, types.FunctionType)):
            raise AttributeError(name)
    elif operation not in ("call", "special", "await"):
        raise wire.WireError(f"a program may not ask for {operation!r}")
    return wire.apply(operation, arguments)


class RemoteModule(types.ModuleType):
    """Module of the candidate as the test sees it."""

    def __getattr__(self, name: str) -> Any:
        """Read a name of the module."""
        if name in ("__path__", "__file__", "__wrapped__") or name.startswith("_tenure"):
            raise AttributeError(name)
        if name == "__all__":
            return self._tenure_served.end.request("names", self.__name__)
        return getattr(self._tenure_handle(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a name of the module."""
        if name.startswith("__") or name.startswith("_tenure"):
            super().__setattr__(name, value)
        else:
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
            self._tenure_served.end.request("delattr", self._tenure_handle(), name)

    def _tenure_handle(self) -> Any:
        if (known := self.__dict__.get("_tenure_known")) is None:
            known = self._tenure_served.end.request("import", self.__name__)
            self.__dict__["_tenure_known"] = known
        return known


class CandidateFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder that imports the candidate's modules from the other process."""

    def __init__(self, roots: set[str], served: CandidateProcess) -> None:
        self._roots = roots
        self._served = served

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a candidate's module."""
        if fullname.split(".")[0] not in self._roots:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Create the proxy of a module."""
        return RemoteModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Import the module in the candidate's process."""
        module.__dict__["_tenure_served"] = self._served
        if self._served.end.request("import", module.__name__) is None:
            raise ImportError(module.__name__)


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
            module.__file__ = f"/box/tests/{name}"
            exec(self._compile(name, self._sources[name]), module.__dict__)
