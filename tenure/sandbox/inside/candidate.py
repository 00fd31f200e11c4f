"""Serve a candidate from its own process: import it and execute the requests of the test.

Nothing is decided here. Whatever the candidate does to this process, the test sees only the returned values.
"""

import builtins
import importlib
import io
import os
import socket
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from tenure.sandbox.inside import guard, wire


class CandidateServer:
    """Server for a candidate's modules."""

    def __init__(self, stream: socket.socket, trace: bool) -> None:
        self._end = wire.Endpoint(stream, self._serve, strict=False)
        self._end.outgoing = self._texts
        self._end.incoming = self._surroundings
        self._end.folder = os.getcwd()
        self._covered: set[tuple[str, int]] = set()
        self._out, self._err = io.StringIO(), io.StringIO()
        self._trace = trace
        self._modules: dict[str, _Module] = {}

    def run(self) -> None:
        """Serve until the connection is closed."""
        sys.stdout, sys.stderr, sys.stdin = self._out, self._err, _Input(self._end)
        builtins.input = lambda prompt="": self._end.request("input", prompt)
        if self._trace:
            tracer = make_line_tracer(self._end.folder, self._covered)
            sys.settrace(tracer)
            threading.settrace(tracer)
        self._end.serve()

    def _texts(self) -> dict[str, Any]:
        """Output since the last message."""
        found = {}
        for name, stream in (("out", self._out), ("err", self._err)):
            if text := stream.getvalue():
                found[name] = text
                stream.seek(0)
                stream.truncate()
        return found

    def _surroundings(self, message: dict[str, Any]) -> None:
        """Apply the test's working folder, arguments and environment."""
        if around := message.get("around"):
            os.chdir(around["folder"])
            sys.argv[:] = around["arguments"]
            os.environ.clear()
            os.environ.update(around["environment"])

    def _serve(self, operation: str, arguments: list[Any]) -> Any:
        """Execute a request of the test."""
        if operation == "import":
            module = importlib.import_module(arguments[0])
            return self._modules.setdefault(arguments[0], _Module(module))
        if operation == "names":
            module = importlib.import_module(arguments[0])
            return list(getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]))
        if operation == "covered":
            covered = sorted(self._covered)
            self._covered.clear()
            return covered
        if operation == "data":
            value = wire.apply("call", arguments)
            return list(value) if hasattr(value, "__next__") else value
        return wire.apply(operation, arguments)


class _Module:
    """Wrapper that makes a module travel as an object."""

    def __init__(self, module: types.ModuleType) -> None:
        object.__setattr__(self, "_module", module)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_module"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_module"), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(object.__getattribute__(self, "_module"), name)


class _Input(io.TextIOBase):
    """Standard input of the test."""

    def __init__(self, end: wire.Endpoint) -> None:
        self._end = end

    def read(self, size: int | None = -1) -> str:
        """Read from the test's standard input."""
        return str(self._end.request("stdin", "read", -1 if size is None else size))

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        """Read a line from the test's standard input."""
        return str(self._end.request("stdin", "readline", size))

    def readable(self) -> bool:
        """Return True."""
        return True


def make_line_tracer(folder: str, covered: set[tuple[str, int]]) -> Callable[..., Any]:
    """Return a tracer that records the executed lines of a folder's files."""
    inner = folder + "/"

    def lines(frame: types.FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            covered.add((frame.f_code.co_filename[len(inner) :], frame.f_lineno))
        return lines

    def calls(frame: types.FrameType, event: str, argument: Any) -> Any:
        return lines if frame.f_code.co_filename.startswith(inner) else None

    return calls


def main() -> None:
    """Serve the inherited connection."""
    guard.protect(os.getppid())
    stream = socket.socket(fileno=int(sys.argv[1]))
    stream.set_inheritable(False)
    trace = sys.argv[2] == "trace"
    sys.argv[:] = [""]
    sys.path[0] = os.getcwd()
    sys.set_int_max_str_digits(0)
    CandidateServer(stream, trace).run()
    # Exit without running threads and exit handlers of the candidate.
    os._exit(0)


if __name__ == "__main__":
    main()
