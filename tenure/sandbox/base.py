"""Define the interface of sandboxes and their errors.

A sandbox is used from an event loop that lives as long as the process: the kernel ties the life of the sandboxed
processes to the thread that started them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from tenure.contracts.sandbox import (
    CandidateBatch,
    Program,
    SandboxLimits,
    SandboxOutcome,
    SandboxSelfTest,
    TestRun,
)

WORKSPACE: Final = "/workspace"
"""Path at which a command finds the folder of the host in which it works."""
ENVIRONMENT: Final = "/environment"
"""Path at which a command finds the installed packages of a project."""


class SandboxError(Exception):
    """Base of errors of the sandbox itself, not of the program; the message says what to do."""


class NoSandbox(SandboxError):
    """No back-end is usable on this machine; no program is ever run without one."""


class SetupFailed(SandboxError):
    """The sandbox could not be set up for this run."""


NETWORK_FOLDER: Final = "/in/network"
"""Folder with the socket of the proxy, if a command has one."""
SOCKET_NAME: Final = "socket"
"""Name of that socket."""

USERS: Final = b"tenure:x:65534:65534::/box/home:/bin/sh\n"
"""The file of users of a command: many programs ask for the name of their user."""
HOSTS: Final = b"127.0.0.1 localhost sandbox\n::1 localhost\n"
"""The file of hosts of a command, for tests of a project that start a server."""


@dataclass(frozen=True)
class Mounts:
    """Folders of the host that a command sees."""

    workspace: Path
    """Folder at `WORKSPACE`, which the command can change. No mount is made below it."""
    environment: Path | None = None
    """Folder at `ENVIRONMENT`."""
    is_setup: bool = False
    """Whether the command can change the environment."""
    visible: tuple[Path, ...] = ()
    """Files and folders at their own paths, read-only."""
    network: Path | None = None
    """Folder with the socket of the proxy."""


@dataclass(frozen=True)
class NetworkAccess:
    """Hosts that a command reaches through a proxy of the supervisor; there is no other way into a network."""

    is_public: bool = False
    """Whether all hosts with a public address can be reached."""
    hosts: frozenset[str] = frozenset()
    """Further hosts as `name:port`, whatever their addresses are."""


@dataclass(frozen=True)
class FolderCommand:
    """Shell command to run in a folder of the host, which it can change."""

    command: str
    workspace: Path
    """Folder in which the command works."""
    environment: Path | None = None
    """Folder with the packages of the project."""
    is_setup: bool = False
    """Whether the command writes the environment."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables besides those of every program."""
    visible: tuple[Path, ...] = ()
    """Further files and folders of the host that the command can read."""
    network: NetworkAccess | None = None
    stdin: str = ""
    has_report: bool = False
    """Whether a program of the sandbox reports tests over a descriptor of the command."""
    limits: SandboxLimits = field(default_factory=SandboxLimits)


@dataclass(frozen=True)
class CommandOutcome:
    """Observations of a command; nothing in it is trusted but exit code, limits and time."""

    exit_code: int | None
    """None if a signal or a limit ended it."""
    signal: str | None
    limits_hit: tuple[str, ...]
    """Limits reached: wall, cpu, memory, host-memory, file, files, output, folder."""
    stdout: str
    stderr: str
    seconds: float
    report: bytes = b""
    """Lines of the report descriptor."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Regular files in the folder for reports, by name."""
    removed: tuple[str, ...] = ()
    """Entries of the folders that were removed, since they are neither files, folders nor links."""


class FolderSandbox(Protocol):
    """Runner of commands in folders of the host."""

    async def run_command(self, command: FolderCommand) -> CommandOutcome:
        """Run a command in a folder of the host, and make the folder safe to read afterwards.

        Raises:
            SetupFailed: the sandbox could not be set up.
        """


class Sandbox(Protocol):
    """Runner of untrusted programs; a program that fails, hangs or attacks gives an outcome and not an exception."""

    async def run(self, program: Program, keep: Path) -> SandboxOutcome:
        """Run a program and store its artifacts in a folder.

        Raises:
            SetupFailed: the sandbox could not be set up.
        """

    async def test(self, trial: TestRun, keep: Path) -> SandboxOutcome:
        """Test a candidate and store its artifacts in a folder.

        Raises:
            SetupFailed: the sandbox could not be set up.
        """

    async def test_all(self, batch: CandidateBatch) -> tuple[SandboxOutcome, ...]:
        """Test candidates one after the other; candidates that were not reached have no outcome.

        Raises:
            SetupFailed: the sandbox could not be set up.
        """

    async def check(self) -> SandboxSelfTest:
        """Test the isolation itself; a sandbox whose isolation fails must not be used."""
