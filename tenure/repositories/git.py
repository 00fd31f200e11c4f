"""Run Git in private folders, so that nothing of a repository of strangers is executed.

Git never reads a configuration, hook, filter or list of alternates that a person or a repository has written: Tenure
has created its folder, configuration of the system and the user is off, and attributes of the repository have no effect
(`info/attributes` of the folder overrides them), so that files on the disk are exactly the stored ones.
"""

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final

from tenure.repositories.errors import RepositoryRefused, RepositoryUnavailable

DEFAULT_SECONDS: Final = 300.0
"""Time of one command; a check-out of 200,000 files takes a minute on a slow disk."""
MAX_ERROR_CHARS: Final = 300
MAX_SHOWN_PATHS: Final = 5

_ATTRIBUTES: Final = "* -text !eol -ident -filter -working-tree-encoding !diff !merge\n"
"""Attributes that override those of the repository: no conversion of contents, and no own rule for binary data."""
_EXCLUDED: Final = (
    *("__pycache__/", "*.pyc", "*.pyo", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", ".hypothesis/", ".tox/"),
    *(".nox/", "*.egg-info/", ".coverage", ".coverage.*", "node_modules/", "core.[0-9]*"),
)
"""Products of commands that are no part of a patch, also in a repository whose `.gitignore` has forgotten them."""
_CONFIGURATION: Final = (
    *("core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "core.fsmonitor=false", "core.pager=cat"),
    *("core.protectHFS=true", "core.protectNTFS=true", "core.symlinks=true", "core.fileMode=true"),
    *("core.autocrlf=false", "core.untrackedCache=false", "core.splitIndex=false", "gc.auto=0"),
    *("maintenance.auto=false", "protocol.allow=never", "credential.helper=", "advice.detachedHead=false"),
    *("submodule.recurse=false", "diff.ignoreSubmodules=all", "core.commitGraph=false", "core.multiPackIndex=false"),
)


class GitFailed(Exception):
    """A command of Git failed; the message is the first line of its complaint."""

    def __init__(self, command: str, status: int, complaint: str) -> None:
        """Store the command and the first line of its own that it wrote; a server's lines begin with `remote:`."""
        lines = [line for line in complaint.splitlines() if line.strip() and not line.startswith("remote:")]
        first = " ".join((lines or [f"exit code {status}"])[0].split())
        self.complaint = "".join(letter for letter in first if letter.isprintable())[:MAX_ERROR_CHARS]
        self.output = complaint
        super().__init__(f"git {command}: {self.complaint}")


@dataclass(frozen=True)
class Git:
    """Commands of Git in one private folder."""

    folder: Path
    """Folder of Git's own files, which Tenure has created."""
    objects: Path | None = None
    """Folder that receives new objects; None for the folder's own."""
    alternates: tuple[Path, ...] = ()
    """Folders of objects that are only read."""
    index: Path | None = None
    work_tree: Path | None = None
    configuration: tuple[str, ...] = ()
    """Further settings, as `name=value`."""
    locks: tuple[int, ...] = ()
    """Descriptors of locks that are held until its processes end, also if this process is killed before."""

    def bind(self, *, index: Path | None = None, work_tree: Path | None = None) -> "Git":
        """Return the same folder with an index and a work tree."""
        return replace(self, index=index, work_tree=work_tree)

    def run(
        self,
        *command: str,
        data: bytes | IO[bytes] = b"",
        seconds: float = DEFAULT_SECONDS,
        max_file_bytes: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> bytes:
        """Return the output of a command.

        Args:
            command: command and its arguments.
            data: standard input, or an open file with it.
            seconds: time after which it is ended.
            max_file_bytes: size from which a file that it writes makes it fail; None for any size.
            environment: further variables.

        Raises:
            GitFailed: it has failed.
            RepositoryUnavailable: it takes too long, or cannot be started.
            RepositoryRefused: there is no Git on this machine.
        """
        try:
            process = subprocess.Popen(
                self.build_command(*command),
                stdin=subprocess.PIPE if isinstance(data, bytes) else data,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self.work_tree or self.folder,
                env={**self._build_environment(), **(environment or {})},
                start_new_session=True,
                pass_fds=self.locks,
            )
        except OSError as error:
            raise RepositoryUnavailable(f"git cannot be started: {error.strerror}") from error
        with process:
            try:
                if max_file_bytes is not None:
                    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
                output, complaint = process.communicate(data if isinstance(data, bytes) else None, timeout=seconds)
            except BaseException as error:
                # With its helpers, which have the same session.
                os.killpg(process.pid, signal.SIGKILL)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise RepositoryUnavailable(f"git {command[0]} took more than {seconds:.0f} seconds") from error
                raise
        if process.returncode:
            raise GitFailed(command[0], process.returncode, complaint.decode("utf-8", "replace"))
        return output

    def read(self, *command: str, seconds: float = DEFAULT_SECONDS) -> str:
        """Return the output of a command as a line of text."""
        return self.run(*command, seconds=seconds).decode("utf-8", "replace").strip()

    def build_command(self, *command: str) -> list[str]:
        """Return the command line of a command."""
        settings = (*_CONFIGURATION, f"core.excludesFile={self.folder / 'info' / 'excluded'}", *self.configuration)
        return [find_git(), *(part for setting in settings for part in ("-c", setting)), *command]

    def _build_environment(self) -> dict[str, str]:
        paths = {
            "GIT_DIR": self.folder,
            "GIT_OBJECT_DIRECTORY": self.objects,
            "GIT_INDEX_FILE": self.index,
            "GIT_WORK_TREE": self.work_tree,
        }
        alternates = ":".join(map(_quote, self.alternates))
        return {
            **{name: str(path) for name, path in paths.items() if path is not None},
            **({"GIT_ALTERNATE_OBJECT_DIRECTORIES": alternates} if alternates else {}),
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_ALLOW_PROTOCOL": "none",
        }


def find_git() -> str:
    """Return the path of Git.

    Raises:
        RepositoryRefused: this machine has none.
    """
    path = shutil.which("git")
    if path is None:
        raise RepositoryRefused("there is no Git on the worker's machine: install it")
    return path


def initialize(folder: Path, object_format: str = "sha1", attributes: str = _ATTRIBUTES) -> Git:
    """Create a folder of Git without the templates of the system, and return it."""
    for name in ("objects/pack", "objects/info", "refs/heads", "refs/tags", "info"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    version, extensions = ("1", f"[extensions]\n\tobjectFormat = {object_format}\n")
    if object_format == "sha1":
        version, extensions = "0", ""
    (folder / "config").write_text(f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{extensions}")
    (folder / "info" / "attributes").write_text(attributes)
    (folder / "info" / "excluded").write_text("\n".join(_EXCLUDED) + "\n")
    # Last: a folder with this file is complete.
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    return Git(folder)


def split_records(output: bytes) -> Sequence[str]:
    """Return the records of an output that are ended by NUL; names need not be valid text."""
    return [os.fsdecode(record) for record in output.split(b"\0") if record]


def show_paths(paths: Sequence[str]) -> str:
    """Return the first paths, with unprintable characters escaped."""
    shown = ", ".join(
        "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in path)[:200]
        for path in paths[:MAX_SHOWN_PATHS]
    )
    more = len(paths) - MAX_SHOWN_PATHS
    return f"{shown} and {more:,} more" if more > 0 else shown


def _quote(path: Path) -> str:
    """Return a path for a list that is separated by colons."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
