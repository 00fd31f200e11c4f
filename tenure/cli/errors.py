"""Exit codes of errors, and the error of a command that a person leaves."""

from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest, TenureError, Unreachable


class Detached(TenureError):
    """The user pressed Ctrl-C while watching."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"the run continues: `{PROGRAM} watch {run_id}` follows it, `{PROGRAM} cancel {run_id}` ends it"
        )


def get_exit_code(error: TenureError) -> int:
    """Return the exit code of a command that ends with an error."""
    codes: tuple[tuple[type[TenureError], int], ...] = ((InvalidRequest, 2), (Unreachable, 4), (Detached, 130))
    return next((code for kind, code in codes if isinstance(error, kind)), 1)
