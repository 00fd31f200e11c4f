"""Errors that end a command; each message is one line that says what to do.

CommandError             1, the run failed or the server refused
├── UsageError           2, invalid command line
│   └── MissingRun       2, unknown run
├── Unreachable          4, something required does not answer
└── Detached             130, Ctrl-C; the run continues
"""

from tenure.installation import PROGRAM


class CommandError(Exception):
    """A command failed."""

    exit_code = 1


class UsageError(CommandError):
    """The command line is invalid."""

    exit_code = 2


class MissingRun(UsageError):
    """Neither the server nor the archive has a run."""

    def __init__(self, run_id: str, nearest: str = "") -> None:
        advice = f"did you mean {nearest}?" if nearest else f"`{PROGRAM} list` shows all runs"
        super().__init__(f"there is no run {run_id}: {advice}")
        self.run_id = run_id


class Unreachable(CommandError):
    """Required server, worker or file that does not answer."""

    exit_code = 4


class Detached(CommandError):
    """The user pressed Ctrl-C while watching."""

    exit_code = 130

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"the run continues: `{PROGRAM} watch {run_id}` follows it, `{PROGRAM} cancel {run_id}` ends it"
        )
