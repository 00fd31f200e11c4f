"""Errors of the operations; each message is one line that says what to do.

TenureError              the run failed or the server refused
├── InvalidRequest       a request that does not fit, with the field that is wrong
│   ├── MissingRun       unknown run
│   ├── MissingCorpus    unknown corpus
│   └── UsedRunId        the id of a new run belongs to another one
├── QuotaReached         the owner has used what the server of a team allows
└── Unreachable          something required does not answer

A face shows the text of an error as it is, in which a field has the name of the request (`kind: …`), or names the
field in its own words, as the command line does (`--kind: …`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from tenure.installation import PROGRAM

if TYPE_CHECKING:
    from pydantic import ValidationError


class TenureError(Exception):
    """An operation failed."""


class InvalidRequest(TenureError):
    """A request does not fit.

    Attributes:
        message: fault and remedy, without the name of the field.
        field: name of the faulty field; empty for the request as a whole.
    """

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.message, self.field = message, field

    @classmethod
    def explain(cls, error: "ValidationError") -> Self:
        """Return the first fault of a request as an error."""
        first = error.errors(include_url=False, include_input=False)[0]
        # Pydantic writes `Value error, …` before the text of a validator of ours.
        return cls(first["msg"].removeprefix("Value error, "), ".".join(map(str, first["loc"])))


@contextmanager
def add_field(field: str) -> Iterator[None]:
    """Add the field to errors of the `with` block that name none."""
    try:
        yield
    except InvalidRequest as error:
        raise error if error.field else InvalidRequest(error.message, field) from error


class MissingRun(InvalidRequest):
    """Neither the server nor the archive has a run."""

    def __init__(self, run_id: str, nearest: str = "") -> None:
        advice = f"did you mean {nearest}?" if nearest else f"`{PROGRAM} list` shows all runs"
        super().__init__(f"there is no run {run_id}: {advice}")
        self.run_id = run_id


class MissingCorpus(InvalidRequest):
    """There is no corpus of a name."""

    def __init__(self, corpus: str) -> None:
        super().__init__(f"there is no corpus {corpus!r}: `{PROGRAM} corpus list` shows them")


class UsedRunId(InvalidRequest):
    """The id of a new run belongs to another one."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"{run_id} is in use: see it with `{PROGRAM} report {run_id}`, or choose another", "id")


class QuotaReached(TenureError):
    """The owner has used what the server of a team allows."""


class Unreachable(TenureError):
    """Required server, worker or file that does not answer."""
