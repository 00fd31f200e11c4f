"""Errors that end a command; each message is one line that says what to do.

CommandError             1, the run failed or the server refused
├── UsageError           2, invalid command line
│   └── UnknownRun       2, no run has the id
├── Unreachable          4, something required does not answer
└── Detached             130, Ctrl-C; the run continues
"""


class CommandError(Exception):
    """A command failed."""

    exit_code = 1


class UsageError(CommandError):
    """The command line is invalid."""

    exit_code = 2


class UnknownRun(UsageError):
    """Neither the server nor the archive has the run."""


class Unreachable(CommandError):
    """Required server, worker or file that does not answer."""

    exit_code = 4


class Detached(CommandError):
    """The user pressed Ctrl-C while watching."""

    exit_code = 130

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"the run continues: `python client.py watch {run_id}` follows it, "
            f"`python client.py cancel {run_id}` ends it"
        )
