"""Homes for tests with real processes: `client.py`, the worker and the Temporal server it starts, and `temporal`."""

import json
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tenure.temporal.stack.server import find_binary
from tests.cli.conftest import CommandLine, no_stack
from tests.model_server import ModelServer
from tests.support.repositories.program_python import make_program_python


@dataclass(frozen=True)
class Home(CommandLine):
    """A home with ports of its own, and commands as processes in it."""

    variables: Mapping[str, str] = field(default_factory=dict)
    """Settings of this home, by environment variable."""

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of this home's processes."""
        # The packages of the tests suffice for programs: creating a separate environment takes a minute.
        around = {
            "TENURE_SANDBOX_PYTHON": str(make_program_python()),
            "TENURE_SHUTDOWN_SECONDS": "10",
            "TENURE_HEARTBEAT_SECONDS": "7",  # killed workers are replaced sooner
        }
        return super().environment({**around, **self.variables, **(extra or {})})

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the client to its end in this process: the start of an interpreter takes 0.5 s and more."""
        return self(*arguments)

    def run_process(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a process of its own, for settings that decide what is imported."""
        with self.popen(*arguments) as process:
            out, err = process.communicate()
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def json(self, *arguments: str) -> Any:
        """Return the JSON output of a command that must succeed."""
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def temporal(self, command: str) -> str:
        """Run a line of the `temporal` command on this home's server, and return what it prints."""
        address = ["--address", f"127.0.0.1:{self.settings.temporal_port}"]
        done = subprocess.run(
            [str(find_binary()), *shlex.split(command), *address],
            capture_output=True,
            text=True,
            env=self.environment(),
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def home(folder: Path, **variables: str) -> Iterator[Home]:
    """Give a home in a folder; whatever runs for it is stopped at the end."""
    made = Home(no_stack(folder / "home").settings, variables)
    try:
        yield made
    finally:
        stopped = made.run("down")
        assert stopped.returncode == 0, stopped.stderr


@contextmanager
def modelled_home(folder: Path, model: ModelServer, **variables: str) -> Iterator[Home]:
    """Yield a home whose chat model is a loopback server; no search depends on relevance."""
    with home(folder, **(model.environment | {"TENURE_MIN_RELEVANCE": "0"} | variables)) as made:
        yield made
