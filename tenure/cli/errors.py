"""What ends a command early; each message is one line that says what to do.

CommandError             1, the run failed or the server refused
├── UsageError           2, the command line asks for something that cannot be
├── Unreachable          4, what is needed does not answer
└── Detached             130, Ctrl-C; the run goes on
"""


class CommandError(Exception):
    """A command that cannot do what it was asked."""

    exit_code = 1


class UsageError(CommandError):
    """The command line asks for something that cannot be."""

    exit_code = 2


class Unreachable(CommandError):
    """Something the command needs does not answer."""

    exit_code = 4


class Detached(CommandError):
    """A person pressed Ctrl-C while watching."""

    exit_code = 130

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"the run goes on: `python client.py watch {run_id}` follows it, `python client.py cancel {run_id}` ends it"
        )
