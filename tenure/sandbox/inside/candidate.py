"""Serve a candidate from its own process: import it and execute the requests of the test.

Nothing is decided here. Whatever the candidate does to this process, the test sees only the returned values.
"""

import builtins
import functools
import importlib
import io
import operator
import os
import socket
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from tenure.sandbox.inside import guard
from tenure.sandbox.inside.endpoint import Endpoint, apply_special, run_awaitable
from tenure.sandbox.inside.protocol import Channel, ContainerTransfer, ProtocolError


class CandidateEndpoint(Endpoint):
    """The program's end: it executes whatever the tests ask for."""

    def __init__(self, stream: socket.socket, trace: bool) -> None:
        super().__init__(Channel(stream), os.getcwd())
        self._decoders |= {
            "named": self._decode_named,
            "named call": lambda transfer, kind, name, given: getattr(operator, name)(*self.decode(given, transfer)),
            "partial": self._decode_partial,
            "bound": lambda transfer, kind, value, name: getattr(self.decode(value, transfer), name),
        }
        self._covered: set[tuple[str, int]] = set()
        self._out, self._err = io.StringIO(), io.StringIO()
        self._trace = trace
        self._loop: Any = None

    def run(self) -> None:
        """Serve until the connection is closed."""
        sys.stdout, sys.stderr, sys.stdin = self._out, self._err, _Input(self)
        builtins.input = lambda prompt="": self.request("input", prompt)
        if self._trace:
            tracer = make_line_tracer(self._folder, self._covered)
            sys.settrace(tracer)
            threading.settrace(tracer)
        while True:
            try:
                message = self.receive()
            except ProtocolError:
                return
            self.answer(message)

    def attach(self, message: dict[str, Any]) -> dict[str, Any]:
        """Attach the output since the last message."""
        for name, stream in (("out", self._out), ("err", self._err)):
            if text := stream.getvalue():
                message[name] = text
                stream.seek(0)
                stream.truncate()
        return message

    def accept_extras(self, message: dict[str, Any]) -> None:
        """Apply the test's working folder, arguments and environment."""
        if around := message.get("around"):
            os.chdir(around["folder"])
            sys.argv[:] = around["arguments"]
            os.environ.clear()
            os.environ.update(around["environment"])

    def execute(self, operation: str, arguments: list[Any]) -> Any:
        """Execute a request of the test."""
        target, *rest = arguments or [None]
        if operation == "call":
            return target(*rest[0], **rest[1])
        if operation == "getattr":
            return getattr(target, rest[0])
        if operation == "special":
            result = apply_special(target, *rest)
            return self._wait_for(result) if rest[0] in ("__anext__", "__aenter__", "__aexit__") else result
        if operation == "await":
            return self._wait_for(target)
        return getattr(self, f"_do_{operation}")(*arguments)

    def _do_setattr(self, target: Any, name: str, value: Any) -> None:
        setattr(target, name, value)

    def _do_delattr(self, target: Any, name: str) -> None:
        delattr(target, name)

    def _do_copy(self, target: Any, deep: bool) -> Any:
        import copy

        return copy.deepcopy(target) if deep else copy.copy(target)

    def _do_echo(self, token: str) -> str:
        return token

    def _do_import(self, name: str) -> types.ModuleType:
        return importlib.import_module(name)

    def _do_names(self, name: str) -> list[str]:
        module = importlib.import_module(name)
        return list(getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]))

    def _do_covered(self) -> list[tuple[str, int]]:
        covered = sorted(self._covered)
        self._covered.clear()
        return covered

    def _do_data(self, target: Any, arguments: list[Any]) -> Any:
        value = target(*arguments)
        return list(value) if hasattr(value, "__next__") else value

    def _wait_for(self, waited: Any) -> Any:
        """Wait in one event loop for all requests, so that asynchronous generators live on."""
        import asyncio

        if asyncio._get_running_loop() is not None:
            return run_awaitable(waited)
        if self._loop is None:
            self._loop = asyncio.new_event_loop()

        async def wait() -> Any:
            return await waited

        return self._loop.run_until_complete(wait())

    def _decode_named(self, transfer: ContainerTransfer, kind: str, module: str, name: str) -> Any:
        found: Any = importlib.import_module(module)
        for part in name.split(".") if name else ():
            found = getattr(found, part)
        return found

    def _decode_partial(self, transfer: ContainerTransfer, kind: str, function: Any, given: Any, named: Any) -> Any:
        made = functools.partial(self.decode(function, transfer), *self.decode(given, transfer))
        return functools.partial(made, **self.decode(named, transfer))


class _Input(io.TextIOBase):
    """Standard input of the test."""

    def __init__(self, end: Endpoint) -> None:
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
    CandidateEndpoint(stream, trace).run()
    # Exit without running threads and exit handlers of the candidate.
    os._exit(0)


if __name__ == "__main__":
    main()
